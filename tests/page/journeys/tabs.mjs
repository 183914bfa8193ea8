// One file in two tabs of one browser: neither loses what was typed in the other.
import { same, soon } from "../browser.mjs";
import { newProject } from "../seed.mjs";
import { editor, keys, open, put, saved, text, type } from "./editor/steps.mjs";

/** One person with a.txt open in two tabs. */
async function twoTabs(world, name) {
  const repo = await newProject(world.admin, name, { "a.txt": "a\n" });
  const first = await world.at(open(repo, "a.txt"));
  await editor(first);
  const second = { page: await first.context.newPage() };
  await second.page.goto(open(repo, "a.txt"));
  await editor(second);
  return { repo, first, second };
}

/** The texts of all drafts that this browser has kept. */
const drafts = ({ page }) =>
  page.evaluate(async () => {
    const done = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
    const database = await done(indexedDB.open("siteconf"));
    const kept = await done(database.transaction("drafts").objectStore("drafts").getAll());
    database.close();
    return kept.map((draft) => draft.text).sort();
  });

const shown = ({ page }) => page.locator(".file .cm-content").innerText();

export default [
  ["a tab where nothing is left to save keeps the draft of another", async (world) => {
    const { repo, first, second } = await twoTabs(world, "tabs/untouched");
    await type(first, "mine\n");
    await soon(() => drafts(first), ["a\nmine\n"]);
    await type(second, "x");
    await keys(second, "Control+z");
    await saved(second);
    // Its own, if time went by between the keys, goes a moment later.
    await soon(() => drafts(first), ["a\nmine\n"]);
    await put(world, repo, "a.txt", "theirs\n");
    await soon(() => shown(second), "theirs\n\n");
    await type(second, "more\n");
    await keys(second, "Control+s");
    await saved(second);
    same(await text(world, repo, "a.txt"), "theirs\nmore\n");
    await soon(() => drafts(first), ["a\nmine\n"]);
    await first.page.reload();
    await editor(first);
    same(await shown(first), "a\nmine\n\n");
    await first.page.getByText("saved this file").waitFor();
  }],

  ["what was typed in each of two tabs is there again in its own, and the other can be shown", async (world) => {
    const { repo, first, second } = await twoTabs(world, "tabs/both");
    await type(first, "first\n");
    await soon(() => drafts(first), ["a\nfirst\n"]);
    await type(second, "second\n");
    await soon(() => drafts(first), ["a\nfirst\n", "a\nsecond\n"]);
    const { page } = first;
    await page.reload();
    await editor(first);
    same(await shown(first), "a\nfirst\n\n");
    await second.page.reload();
    await editor(second);
    same(await shown(second), "a\nsecond\n\n");
    await second.page.close();
    await first.shot("draft of another tab");
    same(await first.accessibility(), []);
    await type(first, "more\n");
    await page.getByRole("button", { name: "Show the other text" }).click();
    await soon(() => shown(first), "a\nsecond\n\n");
    await soon(() => drafts(first), ["a\nfirst\nmore\n", "a\nsecond\n"]);
    await page.getByRole("button", { name: "Discard" }).click();
    await soon(() => shown(first), "a\n\n");
    same(await drafts(first), ["a\nfirst\nmore\n"]);
    await page.reload();
    await editor(first);
    same(await shown(first), "a\nfirst\nmore\n\n");
    await page.getByText("They are not saved yet.").waitFor();
    same(await page.getByRole("button", { name: "Show the other text" }).count(), 0);
    await keys(first, "Control+s");
    await saved(first);
    same(await text(world, repo, "a.txt"), "a\nfirst\nmore\n");
    await soon(() => drafts(first), []);
  }],

  ["a draft that another tab has taken up goes with that tab's save, but not what was typed since", async (world) => {
    const repo = await newProject(world.admin, "tabs/taken", { "a.txt": "a\n" });
    const first = await world.at(open(repo, "a.txt"));
    await editor(first);
    await type(first, "mine\n");
    await soon(() => drafts(first), ["a\nmine\n"]);
    const second = { page: await first.context.newPage() };
    await second.page.goto(open(repo, "a.txt"));
    await second.page.getByText("They are not saved yet.").waitFor();
    await editor(second);
    await type(first, "more\n");
    await soon(() => drafts(first), ["a\nmine\nmore\n"]);
    await keys(second, "Control+s");
    await saved(second);
    same(await text(world, repo, "a.txt"), "a\nmine\n");
    same(await drafts(first), ["a\nmine\nmore\n"]);
  }],

  ["a draft that was kept by an older page, under the name of its file, is there and goes", async (world) => {
    const repo = await newProject(world.admin, "tabs/older", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    await page.evaluate(async (name) => {
      const done = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
      const database = await done(indexedDB.open("siteconf"));
      const form = { encoding: "utf-8", bom: false, end: "\n" };
      const draft = { text: "a\nolder\n", form, message: "", etag: "other", base: { text: "a\n", form }, at: 1 };
      await done(database.transaction("drafts", "readwrite").objectStore("drafts").put(draft, name));
      database.close();
    }, ["olga", repo, "main", "a.txt"]);
    await page.reload();
    await editor(person);
    same(await shown(person), "a\nolder\n\n");
    await type(person, "more\n");
    await soon(() => drafts(person), ["a\nolder\nmore\n"]);
  }],
];
