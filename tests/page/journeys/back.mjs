// Whoever goes back finds the lists where they left them.
import { same, soon } from "../browser.mjs";
import { branch, newProject, PASSWORD } from "../seed.mjs";
import { put } from "./editor/steps.mjs";

const nameOf = (at) => `f-${String(at).padStart(3, "0")}.txt`;
const PHONE = { width: 390, height: 844, touch: true };

/** A folder of 250 files. */
const WIDE = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`wide/${nameOf(at)}`, "."]));

/** A project with that folder. */
const wide = (world, name) => newProject(world.admin, name, WIDE);

/** A project with more changes than a page of the history has. */
async function long(world, name) {
  const repo = await newProject(world.admin, name, { "a.txt": "0" });
  for (let at = 1; at <= 130; at++) await put(world, repo, "a.txt", `${at}`);
  return repo;
}

const row = (page, name) => page.getByRole("treeitem", { name });
const moment = (page, version) => page.locator(".moment", { hasText: version }).locator("a");
const heading = (page, name) => page.getByRole("heading", { name, level: 1 });
const top = (list) => list.evaluate((node) => node.scrollTop);

/** Scrolls a list, and waits until that is drawn. */
const scroll = (list, to) => list.evaluate((node, to) => new Promise((done) => {
  node.scrollTop = to;
  requestAnimationFrame(() => requestAnimationFrame(() => done(node.scrollTop)));
}), to);

const focused = (page) => page.evaluate(() => document.activeElement.innerText.split("\n")[0].trim());

/** Holds the answers to what is asked for here until `go` is called; `asked` is kept once something is. */
async function held(person, of) {
  let go, ask;
  const going = new Promise((done) => { go = done; });
  const asked = new Promise((done) => { ask = done; });
  await person.route(of, async (route) => {
    ask();
    await going;
    // The page may have given it up.
    await route.continue().catch(() => null);
  });
  return { asked, go: () => { go(); return person.page.unrouteAll({ behavior: "wait" }); } };
}

/** Opens the folder, scrolls in it, and opens a file; gives where the tree was scrolled to. */
async function openFile(page) {
  await row(page, "wide").click();
  await row(page, "wide").getByText("250").waitFor();
  const at = await scroll(page.locator(".tree"), 3000);
  await row(page, nameOf(120)).click();
  await heading(page, nameOf(120)).waitFor();
  await page.locator(".file .cm-content").waitFor();
  return at;
}

export default [
  ["the way back from a file, and from another screen, leads to its row in the tree", async (world) => {
    const repo = await wide(world, "back/tree");
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    const tree = page.locator(".tree");
    const at = await openFile(page);
    await page.locator(".file .cm-content").click();
    await scroll(tree, 0);
    await page.goBack();
    await heading(page, repo).waitFor();
    await soon(() => top(tree), at);
    await soon(() => focused(page), nameOf(120));
    await page.getByRole("link", { name: "Tokens" }).click();
    await heading(page, "Tokens").waitFor();
    await page.goBack();
    await soon(() => tree.evaluate((node) => node.scrollTop).catch(() => null), at);
    await soon(() => row(page, nameOf(120)).getAttribute("tabindex"), "0");
    // Whoever leaves before it has come finds it as it was before.
    const late = await held(person, (url) => url.searchParams.get("path") === "wide");
    await page.goForward();
    await heading(page, "Tokens").waitFor();
    await page.goBack();
    await late.asked;
    await row(page, "wide").waitFor();
    await page.goForward();
    await heading(page, "Tokens").waitFor();
    await late.go();
    await page.goBack();
    await soon(() => tree.evaluate((node) => node.scrollTop).catch(() => null), at);
    // Forward, and to it by its address: that is no way back.
    await page.getByRole("link", { name: "To the projects" }).click();
    await page.getByRole("link", { name: repo }).click();
    await row(page, "wide").waitFor();
    same(await row(page, "wide").getAttribute("aria-expanded"), "false");
  }],

  ["the way back to a long list of files waits for the rest of it", async (world) => {
    const files = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [nameOf(at), "."]));
    const repo = await newProject(world.admin, "back/root", files);
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main`);
    const tree = page.locator(".tree");
    await row(page, nameOf(0)).and(page.locator("[aria-setsize='300']")).waitFor();
    const at = await scroll(tree, 8000);
    await page.getByRole("link", { name: "Tokens" }).click();
    await heading(page, "Tokens").waitFor();
    await page.goBack();
    await soon(() => tree.evaluate((node) => node.scrollTop).catch(() => null), at);
  }],

  ["the way back to a tree that was filtered leads to its filter and its row", async (world) => {
    const repo = await wide(world, "back/filter");
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main`);
    const tree = page.locator(".tree");
    const field = page.getByLabel("Filter files");
    await row(page, "wide").waitFor();
    await field.fill("f-1");
    await row(page, nameOf(100)).waitFor();
    const at = await scroll(tree, 1200);
    await row(page, nameOf(150)).click();
    await heading(page, nameOf(150)).waitFor();
    await field.fill("f-2");
    await row(page, nameOf(249)).waitFor();
    await scroll(tree, 0);
    const isBack = async () => {
      await soon(() => tree.evaluate((node) => node.scrollTop).catch(() => null), at);
      await soon(() => row(page, nameOf(150)).getAttribute("tabindex"), "0");
      same(await field.inputValue(), "f-1");
    };
    await page.goBack();
    await heading(page, repo).waitFor();
    await isBack();
    await page.goForward();
    await row(page, nameOf(200)).waitFor();
    same(await field.inputValue(), "f-2");
    await page.goBack();
    await isBack();
    await page.getByRole("link", { name: "Tokens" }).click();
    await heading(page, "Tokens").waitFor();
    await page.goBack();
    await isBack();
  }],

  ["who scrolls in the tree before all of it has come back stays there", async (world) => {
    const repo = await newProject(world.admin, "back/hand", { ...WIDE, "z/a.txt": "a" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    const tree = page.locator(".tree");
    await row(page, "z").click();
    await row(page, "a.txt").waitFor();
    await row(page, "wide").click();
    await row(page, "wide").getByText("250").waitFor();
    const at = await scroll(tree, 3000);
    const height = () => page.locator(".tree .rows").evaluate((node) => node.clientHeight);
    const all = await height();
    await page.getByRole("link", { name: "Tokens" }).click();
    await heading(page, "Tokens").waitFor();
    const late = await held(person, (url) => url.searchParams.get("path") === "z");
    await page.goBack();
    await soon(() => tree.evaluate((node) => node.scrollTop).catch(() => null), at);
    await tree.hover();
    await page.mouse.wheel(0, -1000);
    await soon(() => top(tree), at - 1000);
    await late.go();
    await soon(height, all);
    same(await top(tree), at - 1000);
  }],

  ["after the way back the keys of the tree act on the row that has them", async (world) => {
    const repo = await newProject(world.admin, "back/keys", { "a.txt": "a", "b.txt": "b" });
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main`);
    const press = (key) => page.keyboard.press(key);
    await row(page, "a.txt").waitFor();
    await row(page, "a.txt").focus();
    await press("Enter");
    await heading(page, "a.txt").waitFor();
    await press("ArrowDown");
    await press("Enter");
    await heading(page, "b.txt").waitFor();
    for (const name of ["a.txt", repo]) {
      await page.goBack();
      await heading(page, name).waitFor();
    }
    await soon(async () => [await focused(page), await page.evaluate(() => document.activeElement.tabIndex)], ["a.txt", 0]);
    await press("F2");
    same(await page.getByRole("dialog").getByRole("textbox").inputValue(), "a.txt");
  }],

  ["the way back from a change, and from a comparison, leads to its row in the history", async (world) => {
    const repo = await long(world, "back/history");
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main`);
    const list = page.locator(".timeline");
    await moment(page, "v0131").waitFor();
    await page.getByRole("button", { name: "Older changes" }).click();
    await moment(page, "v0005").waitFor();
    await moment(page, "v0010").scrollIntoViewIfNeeded();
    const at = await scroll(list, (await top(list)) - 40);
    await moment(page, "v0010").click();
    await page.locator(".change .labels", { hasText: "v0010" }).waitFor();
    await scroll(list, 0);
    await page.goBack();
    await heading(page, repo).waitFor();
    await soon(() => top(list), at);
    await soon(() => moment(page, "v0010").evaluate((node) => [node.tabIndex, node === document.activeElement]), [0, true]);
    await page.getByRole("link", { name: "Compare two states" }).click();
    await page.locator(".compare").waitFor();
    await page.goBack();
    await moment(page, "v0005").waitFor();
    await soon(() => top(list), at);
    await soon(() => moment(page, "v0010").evaluate((node) => node.tabIndex), 0);
  }],

  ["the way back reads a history again as far as its row would be looked for", async (world) => {
    const repo = await newProject(world.admin, "back/far", { "a.txt": "0" });
    const person = await world.at("/site-builder/tokens");
    const { page } = person;
    const [{ version: _, ...one }] = await world.admin.json("GET", `${branch(repo, "main")}/history`);
    let asked = 0;
    const newest = 2000;
    await person.route((url) => url.pathname.endsWith("/main/history"), (route) => {
      asked += 1;
      const before = Number(new URL(route.request().url()).searchParams.get("before")?.slice(1) ?? newest + 1);
      return route.fulfill({ json: Array.from({ length: 100 }, (_, at) => ({ ...one, version: `v${before - 1 - at}` })) });
    });
    await page.goto(`/site-builder/files/${repo}?branch=main`);
    const count = () => page.locator(".moment:has(.version)").count();
    for (let pages = 1; pages <= 12; pages += 1) {
      await soon(count, pages * 100);
      if (pages < 12) await page.getByRole("button", { name: "Older changes" }).click();
    }
    await page.getByRole("link", { name: "Tokens" }).click();
    await heading(page, "Tokens").waitFor();
    asked = 0;
    await page.goBack();
    await soon(count, 1000);
    await person.settled();
    same([await count(), asked], [1000, 10]);
  }],

  ["the way back leads to the changes of the file that were shown alone", async (world) => {
    const repo = await newProject(world.admin, "back/alone", { "a.txt": "0", "b.txt": "0" });
    for (let at = 1; at <= 40; at++) await put(world, repo, at % 4 ? "a.txt" : "b.txt", `${at}`);
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main&path=a.txt`);
    const list = page.locator(".timeline");
    const alone = page.getByLabel("This file only");
    const moments = (count) => soon(() => page.locator(".moment:has(.version)").count(), count);
    await heading(page, "a.txt").waitFor();
    await moment(page, "v0041").waitFor();
    await alone.check();
    await moments(31);
    const at = await scroll(list, 700);
    await row(page, "b.txt").click();
    await heading(page, "b.txt").waitFor();
    await moments(11);
    await page.goBack();
    await moments(31);
    await soon(() => top(list), at);
    await page.goForward();
    await moments(11);
    await alone.uncheck();
    await moments(41);
    for (const [file, count] of [["a.txt", 31], [null, 41]]) {
      if (file) await page.goBack(); else await page.goForward();
      await moments(count);
      same(await alone.isChecked(), file !== null);
      if (file) await soon(() => top(list), at);
    }
  }],

  ["who logs in next does not find by the way back what the one before had filtered and opened", async (world) => {
    const repo = await wide(world, "acme/back");
    const person = await world.somebody();
    const { page } = person;
    await person.login("anna", PASSWORD, `/site-builder/files/${repo}?branch=main`);
    await row(page, "wide").click();
    await row(page, "wide").getByText("250").waitFor();
    await page.getByLabel("Filter files").fill("f-1");
    await row(page, nameOf(100)).waitFor();
    await page.getByRole("link", { name: "Tokens" }).click();
    await heading(page, "Tokens").waitFor();
    await page.getByRole("button", { name: "anna", exact: true }).click();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("User name").fill("olga");
    await page.locator("input[type=password]").fill(PASSWORD);
    await page.locator("form.login button[type=submit]").click();
    await heading(page, "Tokens").waitFor();
    await page.goBack();
    await row(page, "wide").waitFor();
    same([await page.getByLabel("Filter files").inputValue(), await row(page, "wide").getAttribute("aria-expanded")], ["", "false"]);
  }],

  ["on a telephone the way back leads to the tree and to the history", async (world) => {
    const repo = await wide(world, "back/phone");
    for (let at = 1; at <= 30; at++) await put(world, repo, "a.txt", `${at}`);
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main`, PHONE);
    const tab = (name) => page.locator(".tabs").getByRole("button", { name, exact: true });
    await tab("Files").click();
    const at = await openFile(page);
    same(await page.locator(".tree").isVisible(), false);
    await page.goBack();
    await page.locator(".tree").waitFor();
    await soon(() => top(page.locator(".tree")), at);
    await soon(() => focused(page), nameOf(120));
    await tab("History").click();
    const list = page.locator(".timeline");
    await moment(page, "v0010").scrollIntoViewIfNeeded();
    const far = await scroll(list, (await top(list)) - 40);
    same(far > 0, true);
    await moment(page, "v0010").click();
    await page.locator(".change").waitFor();
    await list.waitFor({ state: "hidden" });
    await page.goBack();
    await list.waitFor();
    await soon(() => top(list), far);
    await page.goForward();
    await page.locator(".change .filehead").waitFor();
    same(await list.isVisible(), false);
  }],
];
