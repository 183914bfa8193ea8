// Files and folders get other paths: what was typed goes along, nothing is replaced, and there is a way back.
import { same, soon } from "../browser.mjs";
import { branch, newProject } from "../seed.mjs";
import { changed, editor, hold, keys, open, put, saved, text, type } from "./editor/steps.mjs";

const row = (page, name) => page.getByRole("treeitem").filter({ has: page.locator(".name").getByText(name, { exact: true }) });
/** Of the file that is open: its last name. */
const heading = (page, path) => page.getByRole("heading", { name: path.split("/").at(-1), level: 1 });
const dialog = (page) => page.getByRole("dialog");
const field = (page) => dialog(page).getByLabel("Path");
const shown = (page) => page.locator(".file .cm-content").innerText();
const undo = (page) => page.locator(".toast").getByRole("button", { name: "Undo" }).last().click();
const query = (page) => new URL(page.url()).searchParams.get("path");

const paths = async (world, repo) =>
  (await world.admin.json("GET", `${branch(repo, "main")}/tree?recursive=1`)).filter((one) => one.type === "blob").map((one) => one.path);

/** Begins with the file that is open. */
async function begin(page, path) {
  await page.locator(".filehead").getByRole("button", { name: `More about ${path}` }).click();
  await page.getByRole("button", { name: "Rename or move…" }).click();
  await field(page).waitFor();
}

/** Begins with the row of a tree, by its key. */
async function beginRow(page, name) {
  await row(page, name).focus();
  await page.keyboard.press("F2");
  await field(page).waitFor();
}

async function to(page, path) {
  await field(page).fill(path);
  await page.keyboard.press("Enter");
}

/** There is no file at the path that is looked at first. */
const looks = /404/;

export default [
  ["a file is renamed and moved with what was typed into it, and goes back with it", async (world) => {
    const repo = await newProject(world.admin, "rename/file", { "config/a.b.txt": "a\n", "z.txt": "z\n" });
    const person = await world.at(open(repo, "config/a.b.txt"));
    const { page } = person;
    person.expected.push(looks);
    await editor(person);
    await type(person, "mine\n");
    await page.getByLabel("What changed? (optional)").fill("why");
    await changed(person);
    await begin(page, "config/a.b.txt");
    same(await person.accessibility(), []);
    await person.shot("move file");
    same(await dialog(page).getByRole("button", { name: "Rename", exact: true }).isDisabled(), true);
    // Its name is selected, without what tells its kind.
    await page.keyboard.type("new");
    same(await field(page).inputValue(), "config/new.txt");
    await to(page, "other/deep/new.txt");
    await page.getByText("It is other/deep/new.txt now").waitFor();
    await hold(page);
    await heading(page, "other/deep/new.txt").waitFor();
    same(query(page), "other/deep/new.txt");
    same(await paths(world, repo), ["other/deep/new.txt", "z.txt"]);
    same(await text(world, repo, "other/deep/new.txt"), "a\n");
    await editor(person);
    same(await shown(page), "a\nmine\n\n");
    same(await page.getByLabel("What changed? (optional)").inputValue(), "why");
    same(await page.getByText("is not saved").count(), 0);
    await row(page, "new.txt").waitFor();
    await row(page, "config").waitFor({ state: "detached" });
    await page.locator(".moment", { hasText: "config/a.b.txt → other/deep/new.txt" }).waitFor();
    await undo(page);
    await page.getByText("It is config/a.b.txt again").waitFor();
    same(await paths(world, repo), ["config/a.b.txt", "z.txt"]);
    await heading(page, "config/a.b.txt").waitFor();
    await editor(person);
    same(await shown(page), "a\nmine\n\n");
    await keys(person, "Control+s");
    await saved(person);
    same(await text(world, repo, "config/a.b.txt"), "a\nmine\n");
    // The address of what is not there any more is not kept.
    await page.goBack();
    same(query(page), null);
  }],

  ["a folder moves with all that is typed in it, and the open file follows", async (world) => {
    const repo = await newProject(world.admin, "rename/folder", { "f/a.txt": "a\n", "f/g/b.txt": "b\n", "f2/c.txt": "c\n" });
    const person = await world.at(open(repo, "f/a.txt"));
    const { page } = person;
    person.expected.push(looks);
    for (const name of ["a.txt", "g/b.txt"]) {
      if (name !== "a.txt") await page.goto(open(repo, `f/${name}`));
      await editor(person);
      await type(person, "mine\n");
      await changed(person);
    }
    await beginRow(page, "f");
    await person.shot("move folder");
    await page.keyboard.type("h");
    same(await field(page).inputValue(), "h");
    await to(page, "h");
    await page.getByText("It is h now").waitFor();
    await hold(page);
    same(await paths(world, repo), ["f2/c.txt", "h/a.txt", "h/g/b.txt"]);
    await heading(page, "h/g/b.txt").waitFor();
    await editor(person);
    same(await shown(page), "b\nmine\n\n");
    // Until the tree has come anew it has the file at its old path.
    await row(page, "f").waitFor({ state: "detached" });
    await row(page, "a.txt").click();
    // That what was left is not saved is said after it.
    await page.locator(".toast", { hasText: "It is h now" }).hover();
    await heading(page, "h/a.txt").waitFor();
    await editor(person);
    same(await shown(page), "a\nmine\n\n");
    // After the first: that of the way back.
    await undo(page);
    await page.getByText("It is f again").waitFor();
    same(await paths(world, repo), ["f/a.txt", "f/g/b.txt", "f2/c.txt"]);
    await heading(page, "f/a.txt").waitFor();
    await editor(person);
    same(await shown(page), "a\nmine\n\n");
  }],

  ["nothing that is there is replaced, and that is said before anything is sent", async (world) => {
    const repo = await newProject(world.admin, "rename/taken", { "a.txt": "a\n", "b.txt": "b\n", "f/c.txt": "c\n", "g/d.txt": "d\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    person.expected.push(looks, /400/);
    let batches = 0;
    page.on("request", (request) => { if (request.url().endsWith("/batch")) batches += 1; });
    await editor(person);
    await begin(page, "a.txt");
    for (const [path, words] of [
      ["b.txt", "There is a file “b.txt” already."],
      ["f", "“f” is a folder."],
      ["b.txt/x", "“b.txt” is a file: nothing can be below it."],
      ["x//y", "A name is missing"],
      ["x/", "A name is missing"],
    ]) {
      await to(page, path);
      await dialog(page).getByRole("alert").getByText(words).waitFor();
    }
    same(await person.accessibility(), []);
    await person.shot("move taken");
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await beginRow(page, "f");
    for (const [path, words] of [["f/inside", "A folder cannot be moved into itself."], ["g", "“g” is a folder."], ["b.txt", "There is a file “b.txt” already."]]) {
      await to(page, path);
      await dialog(page).getByRole("alert").getByText(words).waitFor();
    }
    await page.keyboard.press("Escape");
    same(batches, 0);
    same(await paths(world, repo), ["a.txt", "b.txt", "f/c.txt", "g/d.txt"]);
    // A file makes room for a folder of its name.
    await dialog(page).waitFor({ state: "detached" });
    await begin(page, "a.txt");
    await to(page, "a.txt/a");
    await page.getByText("It is a.txt/a now").waitFor();
    same(await paths(world, repo), ["a.txt/a", "b.txt", "f/c.txt", "g/d.txt"]);
  }],

  ["what comes to the new path, or into the file, after the look is not overwritten", async (world) => {
    const repo = await newProject(world.admin, "rename/late", { "a.txt": "a\n", "f/c.txt": "c\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    person.expected.push(looks, /400/, /412/);
    await editor(person);
    const meanwhile = async (act) => person.route((url) => url.pathname.endsWith("/batch"), async (route) => {
      await act();
      await route.continue();
    }, { times: 1 });
    await begin(page, "a.txt");
    await meanwhile(() => put(world, repo, "b.txt", "theirs\n"));
    await to(page, "b.txt");
    await dialog(page).getByRole("alert").getByText("Somebody has put something at this path meanwhile.").waitFor();
    same([await text(world, repo, "a.txt"), await text(world, repo, "b.txt")], ["a\n", "theirs\n"]);
    await meanwhile(() => put(world, repo, "a.txt", "newer\n"));
    await to(page, "x.txt");
    await dialog(page).getByRole("alert").getByText("Somebody saved this file meanwhile, so it was not moved.").waitFor();
    same(await text(world, repo, "a.txt"), "newer\n");
    await page.keyboard.press("Escape");
    await soon(() => shown(page), "newer\n\n");
    await beginRow(page, "f");
    await meanwhile(() => put(world, repo, "f/late.txt", "late\n"));
    await to(page, "h");
    await dialog(page).getByRole("alert").getByText("Somebody saved in this branch meanwhile, so nothing was moved.").waitFor();
    same(await paths(world, repo), ["a.txt", "b.txt", "f/c.txt", "f/late.txt"]);
    await soon(async () => {
      if (await dialog(page).count() > 0) await page.keyboard.press("Enter");
      return paths(world, repo);
    }, ["a.txt", "b.txt", "h/c.txt", "h/late.txt"]);
    // Nor is a way back gone over what others did.
    await page.getByText("It is h now").waitFor();
    await put(world, repo, "h/c.txt", "theirs\n");
    await undo(page);
    await page.locator(".toast.bad").getByText("Somebody saved since.").waitFor();
    same(await paths(world, repo), ["a.txt", "b.txt", "h/c.txt", "h/late.txt"]);
  }],

  ["another tab keeps what was typed there into a file that is moved here", async (world) => {
    const repo = await newProject(world.admin, "rename/tabs", { "a.txt": "a\n" });
    const first = await world.at(`/site-builder/files/${repo}?branch=main`);
    first.expected.push(looks);
    const second = { page: await first.context.newPage() };
    await second.page.goto(open(repo, "a.txt"));
    await editor(second);
    await type(second, "mine\n");
    await changed(second);
    await row(first.page, "a.txt").waitFor();
    await beginRow(first.page, "a.txt");
    await to(first.page, "b.txt");
    await first.page.getByText("It is b.txt now").waitFor();
    await second.page.getByText("olga deleted this file").or(second.page.getByText("This file was deleted")).first().waitFor();
    same(await shown(second.page), "a\nmine\n\n");
    same(await paths(world, repo), ["b.txt"]);
  }],
];
