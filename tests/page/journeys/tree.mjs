// Folders of more files than a screen has lines.
import { same } from "../browser.mjs";
import { file, newProject, PASSWORD } from "../seed.mjs";
import { put } from "./editor/steps.mjs";

const nameOf = (at) => `f-${String(at).padStart(3, "0")}.txt`;

/** A project with a folder of 250 files. */
const wide = (world, name) =>
  newProject(world.admin, name, Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`wide/${nameOf(at)}`, "."])));

/** True for what asks for all of the folder. */
const asksForAll = (url) => url.pathname.endsWith("/tree") && url.searchParams.get("path") === "wide" && !url.searchParams.has("limit");

const row = (page, name) => page.getByRole("treeitem", { name });

export default [
  ["the first files of a large folder are there before the rest, and the open one is shown once it has come", async (world) => {
    const repo = await wide(world, "tree/first");
    const person = await world.somebody();
    const { page } = person;
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await person.route(asksForAll, async (route) => {
      await held;
      await route.continue();
    });
    await person.login("olga", PASSWORD, `/site-builder/files/${repo}?branch=main&path=wide/${nameOf(249)}`);
    await row(page, nameOf(0)).waitFor();
    await row(page, "wide").locator(".busy").waitFor();
    const place = (at) => row(page, nameOf(at)).evaluate((node) => [node.ariaPosInSet, node.ariaSetSize]);
    // How many there will be is not known yet.
    same(await place(0), ["1", "-1"]);
    same(await person.accessibility(), []);
    release();
    await row(page, nameOf(249)).waitFor();
    same(await place(249), ["250", "250"]);
    // The row of the open file has a menu that is not seen, and lies over no name.
    const name = row(page, nameOf(249)).locator(".name");
    const menu = row(page, nameOf(249)).locator(".menu");
    same(await menu.evaluate((node) => getComputedStyle(node).backgroundColor), "rgba(0, 0, 0, 0)");
    await row(page, nameOf(249)).hover();
    same((await name.boundingBox()).x + (await name.boundingBox()).width <= (await menu.boundingBox()).x, true, "where it is seen");
    await page.locator(".tree").evaluate((tree) => { tree.scrollTop = 0; });
    await row(page, "wide").getByText("250").waitFor();
  }],

  ["the name of a file that lies 30 folders deep can be scrolled to", async (world) => {
    const repo = await newProject(world.admin, "tree/deep", { [`${"d/".repeat(30)}deepest.txt`]: "x" });
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main&path=${"d/".repeat(30)}deepest.txt`);
    const name = row(page, "deepest.txt").locator(".name");
    await name.waitFor();
    same(await name.evaluate((node) => {
      const tree = node.closest(".tree");
      tree.scrollLeft = tree.scrollWidth;
      const [its, all] = [node.getBoundingClientRect(), tree.getBoundingClientRect()];
      return its.width >= 60 && its.left >= all.left && its.right <= all.right + 1;
    }), true);
  }],

  ["a large folder does not move under who looks at it when somebody saves", async (world) => {
    const repo = await wide(world, "tree/still");
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main`);
    await row(page, "wide").click();
    await row(page, "wide").getByText("250").waitFor();
    const tree = page.locator(".tree");
    await tree.evaluate((node) => {
      node.scrollTop = node.scrollHeight;
      globalThis.tops = new Set([node.scrollTop]);
      node.addEventListener("scroll", () => globalThis.tops.add(node.scrollTop));
    });
    await put(world, repo, "wide/g.txt", ".");
    await page.locator('[role=treeitem][aria-setsize="251"]').first().waitFor();
    same(await page.evaluate(() => globalThis.tops.size), 1, "places scrolled to");
  }],

  ["Enter opens nothing that an earlier text found, nor while an input method has it", async (world) => {
    const repo = await newProject(world.admin, "tree/enter", { "a.txt": "a", "b.txt": "b" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    const path = () => new URL(page.url()).searchParams.get("path");
    const compose = (field) => field.evaluate((node) => {
      const key = { key: "Enter", isComposing: true, bubbles: true, cancelable: true };
      node.dispatchEvent(new KeyboardEvent("keydown", key));
    });
    const filter = page.getByLabel("Filter files");
    await filter.fill("a.t");
    await row(page, "b.txt").waitFor({ state: "detached" });
    await row(page, "a.txt").waitFor();
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await person.route((url) => url.searchParams.get("search") === "b.t", async (route) => {
      await held;
      await route.continue();
    });
    await filter.fill("b.t");
    await filter.press("Enter");
    same(path(), null);
    release();
    await row(page, "b.txt").waitFor();
    await compose(filter);
    same(path(), null);
    await filter.press("Enter");
    await page.waitForURL(/path=b.txt/);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("a.txt");
    await page.getByRole("option").filter({ hasText: "a.txt" }).waitFor();
    await compose(page.getByRole("combobox"));
    same([path(), await page.locator("dialog.finder").count()], ["b.txt", 1]);
    await page.keyboard.press("Enter");
    await page.waitForURL(/path=a.txt/);
  }],

  ["an open folder that somebody removes goes without a complaint", async (world) => {
    const repo = await newProject(world.admin, "tree/gone", { "a.txt": "a", "wide/b.txt": "b" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/);
    await row(page, "wide").click();
    await row(page, "b.txt").waitFor();
    const asked = page.waitForResponse((response) => new URL(response.url()).searchParams.get("path") === "wide");
    await world.admin.send("DELETE", file(repo, "main", "wide/b.txt"));
    await asked;
    await row(page, "wide").waitFor({ state: "detached" });
    same(await page.locator(".strip").count(), 0);
  }],

  ["a folder whose rest cannot be read says so, and is asked for again when it is opened again", async (world) => {
    const repo = await wide(world, "tree/half");
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/503/);
    await person.route(asksForAll, (route) => route.fulfill({ status: 503, json: { message: "too much at once; try again in a moment" } }));
    await row(page, "wide").click();
    await row(page, "wide").getByRole("img", { name: "This folder could not be read." }).waitFor();
    await page.unrouteAll();
    await row(page, "wide").click();
    await row(page, "wide").click();
    await row(page, "wide").getByText("250").waitFor();
  }],
];
