// How long things take on the first screen, and in a tree of many files.
import { Figures, heap, percentile, rounds, took } from "../bars.mjs";
import { same } from "../browser.mjs";
import { branch, newProject, PASSWORD, REPO } from "../seed.mjs";

const ROWS_MAX = 80;
/** In one folder, and in all: a single round is content with the one folder. */
const [WIDE, ALL] = [20_000, rounds >= 5 ? 100_000 : 20_000];
const BATCH = 10_000;

/** What a window shows first: paints, shifts and long tasks from its beginning on. */
async function firstScreen(world, network) {
  const person = await world.somebody();
  const { page, context } = person;
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  if (network) await session.send("Network.emulateNetworkConditions", { offline: false, ...network });
  const assets = new Map();
  session.on("Network.responseReceived", ({ requestId, response }) => {
    if (!response.url.includes("/site-builder/api/")) assets.set(requestId, 0);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (assets.has(requestId)) assets.set(requestId, encodedDataLength);
  });
  await context.addInitScript(() => {
    globalThis.seen = { shift: 0, long: 0 };
    const watch = (type, note) => new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
    watch("layout-shift", (entry) => { if (!entry.hadRecentInput) globalThis.seen.shift += entry.value; });
    watch("longtask", (entry) => { globalThis.seen.long += Math.max(0, entry.duration - 50); });
  });
  return { person, page, assets };
}

/** A project of many files, the first folder with most. */
async function wideProject(admin) {
  const repo = await newProject(admin, "bars/wide", { "readme.txt": "." });
  for (let from = 0; from < ALL; from += BATCH) {
    const folder = from < WIDE ? "wide" : `folder-${from / BATCH}`;
    const actions = Array.from({ length: BATCH }, (_, at) => ({
      action: "create",
      file_path: `${folder}/catalog-${String(from + at).padStart(6, "0")}.xml`,
      content: `<a>${from + at}</a>`,
    }));
    await admin.json("POST", `${branch(repo, "main")}/batch`, { actions });
  }
  return repo;
}

/** Milliseconds between the frames of two seconds of scrolling. */
const scrolled = (page) =>
  page.evaluate(() => new Promise((resolve) => {
    const tree = document.querySelector(".tree");
    const frames = [];
    let last = performance.now();
    const began = last;
    const step = (now) => {
      frames.push(now - last);
      last = now;
      tree.scrollTop += 400;
      if (now - began < 2000) requestAnimationFrame(step);
      else resolve(frames.slice(1));
    };
    requestAnimationFrame(step);
  }));

export default [
  ["the first screen is light, soon there, and stays where it is", async (world) => {
    const figures = new Figures({
      "first screen, KB": 70, "first screen, requests": 30, "first paint, ms": 800,
      "first paint at 100 ms and 5 Mbit/s, ms": 1500, "layout shift": 0.02, "long tasks beyond 50 ms, ms": 150,
    });
    for (let round = 0; round < rounds; round++) {
      for (const slow of [false, true]) {
        const network = slow ? { latency: 100, downloadThroughput: 625_000, uploadThroughput: 625_000 } : null;
        const { person, page, assets } = await firstScreen(world, network);
        await person.login("olga", PASSWORD, `/site-builder/files/${REPO}?branch=main`);
        await person.settled();
        // A paint is noted once it is on the screen, which may be later than it is in the document.
        await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
        const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
        figures.note(slow ? "first paint at 100 ms and 5 Mbit/s, ms" : "first paint, ms", paint);
        if (!slow) {
          const { shift, long } = await page.evaluate(() => globalThis.seen);
          figures.note("layout shift", shift);
          figures.note("long tasks beyond 50 ms, ms", long);
          const bytes = [...assets.values()].reduce((sum, size) => sum + size, 0);
          figures.note("first screen, KB", bytes / 1024);
          figures.note("first screen, requests", assets.size);
          same([bytes <= 70 * 1024, assets.size <= 30], [true, true], `${bytes} bytes in ${assets.size} requests`);
        }
        await page.close();
      }
    }
    figures.judge();
  }],

  ["a folder of many files opens, scrolls and is searched in time", async (world) => {
    const repo = await wideProject(world.admin);
    const figures = new Figures({
      "open a folder of 20,000, ms": 300, "have all of it, ms": 1000, "frame while it scrolls, p95, ms": 34, "filter, ms": 60, "heap of the tree, MB": 40,
    });
    for (let round = 0; round < rounds; round++) {
      const person = await world.at(`/site-builder/files/${repo}?branch=main`);
      const { page } = person;
      await page.getByRole("treeitem", { name: "wide" }).waitFor();
      await person.settled();
      const before = await heap(person);
      const began = performance.now();
      const folder = page.getByRole("treeitem", { name: "wide" });
      await folder.click();
      await page.getByRole("treeitem", { name: "catalog-000000.xml" }).waitFor();
      figures.note("open a folder of 20,000, ms", performance.now() - began);
      await folder.getByText("20,000").waitFor();
      figures.note("have all of it, ms", performance.now() - began);
      same(await page.getByRole("treeitem").count() <= ROWS_MAX, true, "rows in the document");
      figures.note("frame while it scrolls, p95, ms", percentile(await scrolled(page), 95));
      same(await page.getByRole("treeitem").count() <= ROWS_MAX, true, "rows in the document, further down");
      figures.note("heap of the tree, MB", ((await heap(person)) - before) / 1e6);
      await page.getByLabel("Filter files").focus();
      figures.note("filter, ms", await took(async () => {
        await page.keyboard.insertText("019998");
        await page.getByText("catalog-019998.xml").first().waitFor();
      }));
      await page.close();
    }
    figures.judge();
  }],
];
