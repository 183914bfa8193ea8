// What the words need of a browser, for unit tests: node has none of it.
Object.assign(globalThis, {
  document: { documentElement: {} },
  localStorage: { getItem: () => null },
  navigator: { languages: ["en"] },
});
