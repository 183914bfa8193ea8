// What the page needs of a browser, for unit tests: node has none of it.
const store = {
  getItem(key: string): string | null {
    return Object.hasOwn(this, key) ? ((this as unknown as Record<string, string>)[key] ?? null) : null;
  },
  setItem(key: string, value: string): void {
    Object.assign(this, { [key]: value });
  },
  removeItem(key: string): void {
    Reflect.deleteProperty(this, key);
  },
};

Object.assign(globalThis, {
  addEventListener: () => undefined,
  document: { documentElement: {}, addEventListener: () => undefined },
  // What it keeps are properties of its own, and nothing else is.
  localStorage: Object.create(store),
  sessionStorage: Object.create(store),
  navigator: { languages: ["en"], userActivation: { isActive: true } },
});
