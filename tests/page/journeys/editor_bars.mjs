// How long things take in the editor.
import { Figures, heap, median, rounds, took } from "../bars.mjs";
import { newProject } from "../seed.mjs";
import { changed, editor, keys, open, put, saved, type } from "./editor/steps.mjs";

const KEYS = 20;

/** 10 MB of lines that differ. */
function large() {
  const lines = ['<?xml version="1.0"?>', "<prices>"];
  for (let at = 0, size = 0; size < 10_000_000; at++) {
    const line = `  <price sku="A-${at}" unit="pcs" note="some words of a line">${(at * 1.37).toFixed(2)}</price>`;
    size += line.length + 1;
    lines.push(line);
  }
  return `${[...lines, "</prices>"].join("\n")}\n`;
}

/** Milliseconds from each key to the end of the frame that shows it. */
async function keyFrames(person) {
  await person.page.evaluate(() => {
    globalThis.frames = [];
    addEventListener("keydown", () => {
      const began = performance.now();
      requestAnimationFrame(() => setTimeout(() => globalThis.frames.push(performance.now() - began)));
    }, { capture: true });
  });
  for (let n = 0; n < KEYS; n++) {
    await keys(person, "x");
    await person.page.waitForFunction((count) => globalThis.frames.length === count, n + 1);
  }
  return person.page.evaluate(() => globalThis.frames);
}

export default [
  ["10 MB and a small file are opened, typed into and saved in time", async (world) => {
    const repo = await newProject(world.admin, "acme/bars", { "small.xml": "<a>\n  <b/>\n</a>\n" });
    await put(world, repo, "large.xml", large());
    const figures = new Figures({ "open 10 MB, ms": 2000, "key to frame in 10 MB, ms": 34, "save 10 MB, ms": 3000, "heap of 10 MB, MB": 60, "save a small file, ms": 150 });
    for (let round = 0; round < rounds; round++) {
      const person = await world.at(`/site-builder/files/${repo}?branch=main`);
      const before = await heap(person);
      figures.note("open 10 MB, ms", await took(async () => {
        await person.page.goto(open(repo, "large.xml"));
        await editor(person);
      }));
      await person.page.locator(".cm-content").click();
      figures.note("key to frame in 10 MB, ms", median(await keyFrames(person)));
      await changed(person);
      figures.note("heap of 10 MB, MB", ((await heap(person)) - before) / 1e6);
      figures.note("save 10 MB, ms", await took(async () => {
        await keys(person, "Control+s");
        await saved(person);
      }));
      await person.page.goto(open(repo, "small.xml"));
      await editor(person);
      await type(person, "\n");
      await changed(person);
      figures.note("save a small file, ms", await took(async () => {
        await keys(person, "Control+s");
        await saved(person);
      }));
      await person.close();
    }
    figures.judge();
  }],
];
