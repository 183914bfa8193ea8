// Files and folders are deleted: what goes is told, what others saved is not removed unseen, and there is a way back.
import { same, soon } from "../browser.mjs";
import { branch, newProject, PASSWORD } from "../seed.mjs";
import { changed, editor, hold, keys, open, put, text, type } from "./editor/steps.mjs";

const row = (page, name) => page.getByRole("treeitem").filter({ has: page.locator(".name").getByText(name, { exact: true }) });
const heading = (page, name) => page.getByRole("heading", { name, level: 1 });

/** The paths of the files that there are now. */
const paths = async (world, repo) =>
  (await world.admin.json("GET", `${branch(repo, "main")}/tree?recursive=1`)).filter((one) => one.type === "blob").map((one) => one.path);

/** Opens the menu in the head of the open file, and takes an item. */
async function ofFile(page, path, item) {
  await page.locator(".filehead").getByRole("button", { name: `More about ${path}` }).click();
  await page.getByRole("button", { name: item }).click();
}

/** Opens the menu of a row of the tree, and takes an item. */
async function ofRow(page, name, item) {
  await row(page, name).hover();
  await row(page, name).getByRole("button", { name: "More about" }).click();
  await page.locator(".items").getByRole("button", { name: item }).click();
}

/** The paths of the drafts that this browser keeps of a project. */
const drafts = async (page, repo) => {
  const keys = await page.evaluate(async () => {
    const done = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
    const database = await done(indexedDB.open("siteconf"));
    const found = await done(database.transaction("drafts").objectStore("drafts").getAllKeys());
    database.close();
    return found;
  });
  return keys.filter(([, of]) => of === repo).map(([, , , path]) => path);
};

const dialog = (page) => page.getByRole("dialog");
const confirm = (page, name = "Delete") => dialog(page).getByRole("button", { name, exact: true }).click();
const undo = (page) => page.locator(".toast").getByRole("button", { name: "Undo" }).last().click();

export default [
  ["a file is deleted from its head, and comes back", async (world) => {
    const repo = await newProject(world.admin, "remove/file", { "config/a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.at(open(repo, "config/a.txt"));
    const { page } = person;
    // The folder that is open in the tree goes with its last file.
    person.expected.push(/404/);
    await editor(person);
    await ofFile(page, "config/a.txt", "Delete…");
    await dialog(page).getByText("Clients no longer get it.").waitFor();
    same(await dialog(page).getByText("did not save").count(), 0);
    same(await person.accessibility(), []);
    await person.shot("remove file");
    await confirm(page);
    await page.getByText("Deleted config/a.txt").waitFor();
    await hold(page);
    same(await paths(world, repo), ["b.txt"]);
    await heading(page, repo).waitFor();
    same(new URL(page.url()).searchParams.get("path"), null);
    same(await page.evaluate(() => document.activeElement.id), "main");
    await row(page, "config").waitFor({ state: "detached" });
    await page.locator(".moment.delete", { hasText: "a.txt" }).waitFor();
    await undo(page);
    await page.getByText("config/a.txt is back").waitFor();
    same(await text(world, repo, "config/a.txt"), "a\n");
    await row(page, "config").waitFor();
    // Whoever goes back does not come to a file that is not there.
    await ofRow(page, "b.txt", "Delete…");
    await confirm(page);
    await row(page, "b.txt").waitFor({ state: "detached" });
    await heading(page, repo).waitFor();
  }],

  ["what another saves while the question is asked is not deleted", async (world) => {
    const repo = await newProject(world.admin, "remove/late", { "a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    // The open file is looked for once its branch is told to be another.
    person.expected.push(/412/, /404/);
    await editor(person);
    for (const [name, begin] of [["a.txt", () => ofFile(page, "a.txt", "Delete…")], ["b.txt", () => ofRow(page, "b.txt", "Delete…")]]) {
      await begin();
      await dialog(page).getByRole("button", { name: "Delete", exact: true }).waitFor();
      await put(world, repo, name, "theirs\n");
      await confirm(page);
      await dialog(page).getByRole("alert").getByText("Somebody saved this file meanwhile, so it was not deleted.").waitFor();
      same(await person.accessibility(), []);
      same(await text(world, repo, name), "theirs\n");
      await page.keyboard.press("Escape");
      await dialog(page).waitFor({ state: "detached" });
    }
    await soon(() => page.locator(".file .cm-content").innerText(), "theirs\n\n");
    await ofFile(page, "a.txt", "Delete…");
    await confirm(page);
    await page.getByText("Deleted a.txt").waitFor();
    same(await paths(world, repo), ["b.txt"]);
  }],

  ["a folder is deleted with all in it, at the state that is told", async (world) => {
    const repo = await newProject(world.admin, "remove/folder", { "f/a.txt": "a", "f/g/b.txt": "b", "f2/c.txt": "c" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/412/);
    await ofRow(page, "f", "Delete…");
    await dialog(page).getByRole("button", { name: "Delete 2 files" }).waitFor();
    const isBatch = (url) => url.pathname.endsWith("/batch");
    await person.route(isBatch, async (route) => {
      await put(world, repo, "f/late.txt", "theirs");
      await route.continue();
    }, { times: 1 });
    await confirm(page, "Delete 2 files");
    await dialog(page).getByText("Somebody saved in this branch meanwhile, so nothing was deleted.").waitFor();
    same(await paths(world, repo), ["f/a.txt", "f/g/b.txt", "f/late.txt", "f2/c.txt"]);
    await dialog(page).getByRole("button", { name: "Delete 3 files" }).waitFor();
    await person.shot("remove folder");
    // The page hears of the new state of the branch before it is answered.
    await person.route(isBatch, async (route) => {
      const response = await route.fetch();
      await row(page, "f").waitFor({ state: "detached" });
      await route.fulfill({ response });
    }, { times: 1 });
    await confirm(page, "Delete 3 files");
    await page.getByText("Deleted f", { exact: true }).waitFor();
    await hold(page);
    same(await paths(world, repo), ["f2/c.txt"]);
    await undo(page);
    await page.getByText("f is back").waitFor();
    same(await paths(world, repo), ["f/a.txt", "f/g/b.txt", "f/late.txt", "f2/c.txt"]);
  }],

  ["no key deletes a folder before what goes with it is counted", async (world) => {
    const repo = await newProject(world.admin, "remove/uncounted", { "f/a.txt": "a" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    let batches = 0;
    page.on("request", (request) => { if (request.url().endsWith("/batch")) batches += 1; });
    await row(page, "f").waitFor();
    await person.route((url) => url.pathname.endsWith("/tree") && url.searchParams.get("path") === "f", () => undefined);
    await ofRow(page, "f", "Delete…");
    await dialog(page).getByRole("button", { name: "Delete", exact: true }).waitFor();
    await keys(person, "Control+Enter");
    await page.evaluate(() => fetch("/livez"));
    same([batches, await dialog(page).count(), await paths(world, repo)], [0, 1, ["f/a.txt"]]);
  }],

  ["a file that is no text, and one that was found, are deleted, too", async (world) => {
    const repo = await newProject(world.admin, "remove/other", { "deep/in/x.bin": "\u0000\u0001", "deep/in/y.txt": "y" });
    const person = await world.at(open(repo, "deep/in/x.bin"));
    const { page } = person;
    person.expected.push(/404/);
    await page.getByText("Not text").waitFor();
    await ofFile(page, "deep/in/x.bin", "Delete…");
    await confirm(page);
    await page.getByText("Deleted deep/in/x.bin").waitFor();
    await page.getByLabel("Filter files").fill("y.txt");
    const found = page.locator(".row", { hasText: "deep/in/y.txt" });
    await found.waitFor();
    await found.getByRole("button", { name: "More about deep/in/y.txt" }).focus();
    await keys(person, "Enter");
    await page.locator(".items").getByRole("button", { name: "Delete…" }).click();
    await confirm(page);
    await page.getByText("Deleted deep/in/y.txt").waitFor();
    same(await paths(world, repo), []);
    await page.getByText("Nothing matches “y.txt”").waitFor();
  }],

  ["a deletion is not taken back over what others saved since", async (world) => {
    const repo = await newProject(world.admin, "remove/since", { "a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/412/);
    await ofRow(page, "a.txt", "Delete…");
    await confirm(page);
    await page.getByText("Deleted a.txt").waitFor();
    await hold(page);
    await put(world, repo, "a.txt", "theirs\n");
    await undo(page);
    await page.getByText("Somebody saved since.").waitFor();
    same(await text(world, repo, "a.txt"), "theirs\n");
  }],

  ["what was typed and not saved is told, and goes with its file and its folder", async (world) => {
    const repo = await newProject(world.admin, "remove/typed", { "f/a.txt": "a\n", "f/b.txt": "b\n", "c.txt": "c\n" });
    const person = await world.at(open(repo, "c.txt"));
    const { page } = person;
    person.expected.push(/404/);
    await editor(person);
    await type(person, "mine\n");
    await changed(person);
    await ofFile(page, "c.txt", "Delete…");
    await dialog(page).getByText("What you typed in it and did not save goes, too").waitFor();
    same(await person.accessibility(), []);
    await person.shot("remove typed");
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    same(await page.locator(".file .cm-content").innerText(), "c\nmine\n\n");
    await ofRow(page, "c.txt", "Delete…");
    await confirm(page);
    await page.getByText("Deleted c.txt").waitFor();
    same(await page.getByText("is not saved").count(), 0);
    await row(page, "f").click();
    for (const name of ["a.txt", "b.txt"]) {
      await row(page, name).click();
      await heading(page, name).waitFor();
      await editor(person);
      await type(person, "more\n");
      await changed(person);
    }
    await ofRow(page, "f", "Delete…");
    await dialog(page).getByText("You typed in 2 of its files and did not save").waitFor();
    await confirm(page, "Delete 2 files");
    await page.getByText("Deleted f", { exact: true }).waitFor();
    await hold(page);
    same(await paths(world, repo), []);
    same(await drafts(page, repo), []);
    await undo(page);
    await page.getByText("f is back").waitFor();
    await page.goto(open(repo, "f/a.txt"));
    await editor(person);
    same(await page.locator(".file .cm-content").innerText(), "a\n\n");
  }],

  ["another tab keeps what was typed there into a file that is deleted here", async (world) => {
    const repo = await newProject(world.admin, "remove/tabs", { "a.txt": "a\n", "b.txt": "b\n" });
    const first = await world.at(open(repo, "b.txt"));
    await editor(first);
    const second = { page: await first.context.newPage() };
    await second.page.goto(open(repo, "a.txt"));
    await editor(second);
    await type(second, "mine\n");
    await changed(second);
    await soon(async () => (await drafts(second.page, repo)).length, 1);
    await ofRow(first.page, "a.txt", "Delete…");
    await dialog(first.page).getByText("What you typed in it and did not save goes, too").waitFor();
    await confirm(first.page);
    await first.page.getByText("Deleted a.txt").waitFor();
    await heading(first.page, "b.txt").waitFor();
    await second.page.getByText("olga deleted this file").waitFor();
    same(await second.page.locator(".file .cm-content").innerText(), "a\nmine\n\n");
    await second.page.getByRole("button", { name: "Restore it with this text" }).click();
    await second.page.getByText("Saved a.txt").waitFor();
    same(await text(world, repo, "a.txt"), "a\nmine\n");
  }],

  ["what the tree points at is deleted by keys, and the keys stay in the tree", async (world) => {
    const repo = await newProject(world.admin, "remove/keys", { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    await row(page, "a.txt").focus();
    await keys(person, "ArrowDown");
    await keys(person, "Delete");
    await dialog(page).getByText("b.txt").first().waitFor();
    await keys(person, "Escape");
    await dialog(page).waitFor({ state: "detached" });
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("role") && document.activeElement.innerText.trim());
    same(await focused(), "b.txt");
    await keys(person, "Delete");
    await dialog(page).getByRole("button", { name: "Delete", exact: true }).waitFor();
    await keys(person, "Enter");
    await page.getByText("Deleted b.txt").waitFor();
    same(await paths(world, repo), ["a.txt", "c.txt"]);
    await soon(focused, "c.txt");
    // By its button: from the row with Tab.
    await keys(person, "Tab");
    await keys(person, "Enter");
    await page.locator(".items").getByRole("button", { name: "Delete…" }).waitFor();
    await keys(person, "ArrowDown");
    await keys(person, "Enter");
    await dialog(page).getByText("c.txt").first().waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await page.locator(".keys").getByText("F2").waitFor();
  }],

  ["who has lost the role while the question is asked is told, and nothing is done", async (world) => {
    const repo = await newProject(world.admin, "remove/lost", { "a.txt": "a\n" });
    const [name, role] = ["losing", "ROLE_SITEBUILDER_USER__remove"];
    const roles = "/site-builder/api/accounts";
    await world.admin.json("POST", roles, { name, password: PASSWORD, roles: [role] });
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/403/, /failed:/, /ERR_FAILED/);
    await person.login(name, PASSWORD, open(repo, "a.txt"));
    await editor(person);
    await ofFile(page, "a.txt", "Delete…");
    await dialog(page).getByRole("button", { name: "Delete", exact: true }).waitFor();
    // What may be done is not heard of before it is tried.
    await person.route("**/branches", (route) => route.abort());
    await person.route("**/events", (route) => route.abort());
    await world.admin.send("DELETE", `${roles}/${name}/roles/${role}`);
    await confirm(page);
    await dialog(page).getByRole("alert").getByText("Your role does not allow this").waitFor();
    same(await paths(world, repo), ["a.txt"]);
  }],

  ["who may only read is offered nothing of it, nor is anybody in a snapshot", async (world) => {
    const repo = await newProject(world.admin, "remove/roles", { "a.txt": "a\n" }, { "a.txt": "b\n" });
    const reader = await world.somebody();
    await reader.login("auditor", PASSWORD, open(repo, "a.txt"));
    const none = async ({ page }) => {
      await row(page, "a.txt").waitFor();
      await heading(page, "a.txt").waitFor();
      same(await page.getByRole("button", { name: "More about" }).count(), 0);
      await row(page, "a.txt").focus();
      for (const key of ["Delete", "F2"]) await page.keyboard.press(key);
      same(await dialog(page).count(), 0);
    };
    await editor(reader);
    await none(reader);
    const writer = await world.at(open(repo, "a.txt"));
    await editor(writer);
    await writer.page.locator(".filehead").getByRole("button", { name: "More about a.txt" }).waitFor();
    await writer.page.goto(open(repo, "a.txt", "&at=v0002"));
    await none(writer);
  }],
];
