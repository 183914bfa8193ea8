// Branches and projects get other names, are deleted and restored.
import { same, soon } from "../browser.mjs";
import { branch, newProject, PASSWORD, project } from "../seed.mjs";
import { changed, editor, hold, open, put, type } from "./editor/steps.mjs";

const api = "/site-builder/api";
const dialog = (page) => page.getByRole("dialog");
const undo = (page) => page.locator(".toast").getByRole("button", { name: "Undo" }).last().click();
const shown = (page) => page.locator(".file .cm-content").innerText();
const crumb = (page, at) => page.locator(".crumbs .menu").nth(at).locator("button").first();
const [PROJECT, BRANCH] = [0, 1];

/** Opens the menu of the project or of the branch, and takes an item. */
async function act(page, at, item) {
  await crumb(page, at).click();
  await page.locator(".items").getByRole("button", { name: item }).click();
}

const names = async (world, repo) => (await world.admin.json("GET", `${project(repo)}/branches`)).map((one) => one.name);
const isThere = (world, repo) => world.admin.send("GET", project(repo)).then(() => true, () => false);
const place = (page) => {
  const { pathname, searchParams } = new URL(page.url());
  return [decodeURIComponent(pathname.replace("/site-builder/", "")), searchParams.get("branch"), searchParams.get("path")];
};
const row = (page, name) => page.locator("table.deleted tbody tr", { hasText: name });

/** What becomes of a branch or a project on another screen is told there. */
const elsewhere = [/404/, /ERR_ABORTED/, /ERR_INCOMPLETE/];

/** Begins to rename a branch or a project into whose file something was typed; `lead` is what the dialog says. */
async function beginRename(world, repo, at, item, lead) {
  const person = await world.at(open(repo, "a.txt"));
  const { page } = person;
  person.expected.push(/400/, ...elsewhere);
  await editor(person);
  await type(person, "mine\n");
  await changed(person);
  await act(page, at, item);
  await dialog(page).getByText(lead).waitFor();
  same(await person.accessibility(), []);
  return person;
}

/** The file is open under these names, with what was typed into it. */
async function isOpenAs(person, repo, name) {
  same(place(person.page), [`files/${repo}`, name, "a.txt"]);
  await editor(person);
  same(await shown(person.page), "a\nmine\n\n");
}

export default [
  ["a branch is renamed with what was typed in it, and back", async (world) => {
    const repo = await newProject(world.admin, "deleted/branch-name", { "a.txt": "a\n" });
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "taken" });
    const person = await beginRename(world, repo, BRANCH, "Rename branch…", "Clients that ask for “main” get 404");
    const { page } = person;
    await person.shot("rename branch");
    const name = dialog(page).getByLabel("Name");
    for (const [wrong, words] of [["taken", "There is a branch of this name already."], ["a b", "A branch’s name has no spaces"]]) {
      await name.fill(wrong);
      await page.keyboard.press("Enter");
      await dialog(page).getByRole("alert").getByText(words).waitFor();
    }
    await name.fill("release/2");
    await page.keyboard.press("Enter");
    await page.getByText("The branch is release/2 now").waitFor();
    await hold(page);
    same(await names(world, repo), ["release/2", "taken"]);
    await isOpenAs(person, repo, "release/2");
    same(await page.getByText("is not saved").count(), 0);
    await undo(page);
    await page.getByText("The branch is main again").waitFor();
    same(await names(world, repo), ["main", "taken"]);
    await isOpenAs(person, repo, "main");
  }],

  ["a branch is deleted at the state that was seen, and restored", async (world) => {
    const repo = await newProject(world.admin, "deleted/branch", { "a.txt": "a\n" });
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "dev", from: "main" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/412/, ...elsewhere);
    await act(page, BRANCH, "Delete branch…");
    await dialog(page).getByText("It can be restored with its history for 30 days:").waitFor();
    await dialog(page).getByText("It is the default branch").waitFor();
    same(await person.accessibility(), []);
    await person.shot("delete branch");
    await put(world, repo, "a.txt", "theirs\n");
    const confirm = () => dialog(page).getByRole("button", { name: "Delete", exact: true }).click();
    await soon(() => page.locator(".moment.save").count(), 1);
    await confirm();
    await dialog(page).getByRole("alert").getByText("Somebody saved in this branch meanwhile, so it was not deleted.").waitFor();
    same(await names(world, repo), ["dev", "main"]);
    await confirm();
    await page.getByText("Deleted main").waitFor();
    await hold(page);
    same(await names(world, repo), ["dev"]);
    await soon(() => place(page), [`files/${repo}`, "dev", null]);
    await undo(page);
    await page.getByText("main is back").waitFor();
    same(await names(world, repo), ["dev", "main"]);
    await crumb(page, BRANCH).click();
    await page.locator(".items").getByRole("link", { name: "main" }).click();
    await page.locator(".moment.save").waitFor();
    // Nor does it take the place of what others made since; where it is, is told.
    person.expected.push(/400/);
    await act(page, BRANCH, "Delete branch…");
    await confirm();
    await soon(() => names(world, repo), ["dev"]);
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "main" });
    await undo(page);
    const refused = page.locator(".toast.bad", { hasText: "There is a branch of this name already." });
    await refused.getByRole("button", { name: "Deleted" }).click();
    await row(page, repo).getByRole("button", { name: "Restore main" }).waitFor();
  }],

  ["a project is renamed with all that was typed in it, and back", async (world) => {
    const repo = await newProject(world.admin, "deleted/project-name", { "a.txt": "a\n" });
    const person = await beginRename(world, repo, PROJECT, "Rename project…", "Clients must be told its new id");
    const { page } = person;
    await person.shot("rename project");
    await dialog(page).getByLabel("Name").fill("acme/shop");
    await page.keyboard.press("Enter");
    await dialog(page).getByRole("alert").getByText("There is a project of this name already.").waitFor();
    await dialog(page).getByLabel("Name").fill("deleted/named");
    await dialog(page).getByLabel("Type").fill("pos");
    await page.keyboard.press("Enter");
    await page.getByText("The project is deleted/named.pos now").waitFor();
    await hold(page);
    same([await isThere(world, repo), await isThere(world, "deleted/named.pos")], [false, true]);
    await isOpenAs(person, "deleted/named.pos", "main");
    await undo(page);
    await page.getByText(`The project is ${repo} again`).waitFor();
    same([await isThere(world, repo), await isThere(world, "deleted/named.pos")], [true, false]);
    await isOpenAs(person, repo, "main");
  }],

  ["a project is deleted, and restored from its notice", async (world) => {
    const repo = await newProject(world.admin, "deleted/project", { "a.txt": "a\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(...elsewhere);
    await act(page, PROJECT, "Delete project…");
    await dialog(page).getByText("Tokens that name it stay").waitFor();
    same(await person.accessibility(), []);
    await person.shot("delete project");
    await dialog(page).getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText(`Deleted ${repo}`).waitFor();
    await hold(page);
    same(await isThere(world, repo), false);
    await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor();
    same(await page.getByRole("link", { name: "deleted/project.erp" }).count(), 0);
    await undo(page);
    await page.getByText(`${repo} is back`).waitFor();
    same(await isThere(world, repo), true);
    await page.locator("table.list").getByText("deleted/project.erp").or(page.locator("table.list tr", { hasText: "deleted/project" })).first().waitFor();
  }],

  ["what was deleted is listed, and restored, by another name where its own is taken", async (world) => {
    const repo = await newProject(world.admin, "deleted/list", { "a.txt": "a\n" });
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "dev", from: "main" });
    await world.admin.send("DELETE", branch(repo, "dev"));
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "dev" });
    const gone = await newProject(world.admin, "deleted/gone", { "a.txt": "a\n" });
    await world.admin.send("DELETE", project(gone));
    const person = await world.at("/site-builder/");
    const { page } = person;
    person.expected.push(/400/, /404/);
    await page.getByRole("link", { name: "Deleted", exact: true }).click();
    await row(page, gone).waitFor();
    same(place(page)[0], "deleted");
    await page.getByRole("columnheader", { name: "Owner" }).waitFor();
    await row(page, gone).getByRole("img", { name: "project" }).waitFor();
    same(await person.accessibility(), []);
    await person.shot("deleted");
    await row(page, repo).getByRole("button", { name: "Restore dev" }).click();
    await dialog(page).getByText("Its name is taken meanwhile.").waitFor();
    same(await person.accessibility(), []);
    await person.shot("restore as");
    same(await dialog(page).getByLabel("Name").inputValue(), "dev-2");
    await dialog(page).getByLabel("Name").fill("main");
    await page.keyboard.press("Enter");
    await dialog(page).getByRole("alert").getByText("There is a branch of this name already.").waitFor();
    await dialog(page).getByLabel("Name").fill("dev-old");
    await page.keyboard.press("Enter");
    await page.getByText("dev-old is back").waitFor();
    await row(page, repo).waitFor({ state: "detached" });
    same(await names(world, repo), ["dev", "dev-old", "main"]);
    await row(page, gone).getByRole("button", { name: `Restore ${gone}` }).click();
    await page.getByText(`${gone} is back`).waitFor();
    same(await isThere(world, gone), true);
    await soon(() => page.evaluate(() => document.activeElement.id), "main");
    await page.locator(".toast", { hasText: gone }).getByRole("button", { name: "Open it" }).click();
    await soon(() => place(page), [`files/${gone}`, "main", null]);
  }],

  ["what another has restored meanwhile is told, and the list is another", async (world) => {
    const gone = await newProject(world.admin, "deleted/twice", { "a.txt": "a\n" });
    const { id } = await world.admin.json("GET", project(gone));
    await world.admin.send("DELETE", project(gone));
    const person = await world.at("/site-builder/deleted");
    const { page } = person;
    person.expected.push(/404/);
    await row(page, gone).waitFor();
    await world.admin.json("POST", `${api}/deleted/project-${id}/restore`);
    await row(page, gone).getByRole("button", { name: "Restore" }).click();
    await page.getByText("It is not there to be restored any more").waitFor();
    await row(page, gone).waitFor({ state: "detached" });
  }],

  ["more than a page of what was deleted comes page by page", async (world) => {
    const repo = await newProject(world.admin, "deleted/many", { "a.txt": "a\n" });
    for (let at = 0; at < 60; at += 1) {
      await world.admin.json("POST", `${project(repo)}/branches`, { name: `b${at}` });
      await world.admin.send("DELETE", branch(repo, `b${at}`));
    }
    const { page } = await world.at("/site-builder/deleted");
    const rows = page.locator("table.deleted tbody tr");
    await soon(() => rows.count(), 50);
    await page.getByRole("button", { name: "Show more" }).click();
    await row(page, "b0").filter({ hasText: repo }).first().waitFor();
    same(new Set(await rows.allInnerTexts()).size, await rows.count());
  }],

  ["a list that cannot be read says so, and is asked for again", async (world) => {
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/503/);
    await person.login("olga", PASSWORD);
    await person.route("**/api/deleted?*", (route) => route.fulfill({ status: 503, json: { message: "not now" } }));
    await page.getByRole("link", { name: "Deleted", exact: true }).click();
    await page.getByText("The service cannot show this at the moment.").waitFor();
    same(await person.accessibility(), []);
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator("table.deleted").or(page.getByText("Nothing to restore")).waitFor();
  }],

  ["nothing is wider than the window of a small phone", async (world) => {
    const repo = await newProject(world.admin, "deleted/a-group-with-a-long-name/and-a-project", { "config/a-rather-long-name-of-a-file-2026.xml": "a\n" });
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "release/a-rather-long-name" });
    await world.admin.send("DELETE", branch(repo, "release/a-rather-long-name"));
    const person = await world.at("/site-builder/deleted", { width: 320, height: 640, touch: true });
    const { page } = person;
    const fits = () => page.evaluate(() => [document.documentElement, ...document.querySelectorAll(".sheet-page, dialog, dialog .content, .subject")]
      .every((node) => node.scrollWidth <= node.clientWidth));
    await row(page, repo).waitFor();
    await person.shot("small deleted");
    same(await fits(), true, "what was deleted");
    await person.go(open(repo, "config/a-rather-long-name-of-a-file-2026.xml"));
    await editor(person);
    for (const at of [PROJECT, BRANCH]) {
      // Its place is computed when it opens; what the service tells comes later and widens it: so once more.
      await crumb(page, at).click();
      await page.locator(".items .acts .danger").waitFor();
      await page.keyboard.press("Escape");
      await crumb(page, at).click();
      await page.locator(".items .acts .danger").waitFor();
      same(await page.locator(".items").evaluate((items) => {
        const { left, right } = items.getBoundingClientRect();
        return left >= 0 && right <= innerWidth;
      }), true, "menu");
      await page.keyboard.press("Escape");
    }
    const tab = () => page.locator(".tabs button").first().click();
    const dots = page.locator(".row", { hasText: "2026" }).getByRole("button", { name: "More about" });
    for (const [name, begin] of [
      ["project", () => act(page, PROJECT, "Delete project…")],
      ["new project name", () => act(page, PROJECT, "Rename project…")],
      ["branch", () => act(page, BRANCH, "Delete branch…")],
      ["file", async () => { await tab(); await dots.click(); await person.shot("small menu"); await page.locator(".items").getByRole("button", { name: "Delete…" }).click(); }],
      ["path", async () => { await dots.click(); await page.locator(".items").getByRole("button", { name: "Rename" }).click(); }],
    ]) {
      await begin();
      await dialog(page).locator(".form").waitFor();
      await person.settled();
      await person.shot(`small ${name}`);
      same(await fits(), true, name);
      await page.keyboard.press("Escape");
      await dialog(page).waitFor({ state: "detached" });
    }
  }],

  ["who owns nothing that was deleted sees that; who may not manage is offered no name and no way back", async (world) => {
    const repo = await newProject(world.admin, "public/deleted-roles", { "a.txt": "a\n" });
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "dev", from: "main" });
    const name = "deleter";
    await world.admin.json("POST", `${api}/accounts`, { name, password: PASSWORD, roles: ["ROLE_SITEBUILDER_EDITOR__PUBLIC"] });
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(...elsewhere);
    await person.login(name, PASSWORD, "/site-builder/deleted");
    await page.getByText("Nothing to restore").waitFor();
    same(await person.accessibility(), []);
    await person.go(`/site-builder/files/${repo}?branch=dev`);
    await crumb(page, PROJECT).click();
    await page.locator(".items").getByRole("button", { name: "Delete project…" }).waitFor();
    same(await page.getByRole("button", { name: "Rename project…" }).count(), 0);
    await page.keyboard.press("Escape");
    await act(page, BRANCH, "Delete branch…");
    await dialog(page).getByText("admin, who owns the project, can restore it").waitFor();
    await dialog(page).getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Deleted dev").waitFor();
    same(await page.getByRole("button", { name: "Undo" }).count(), 0);
    same(await names(world, repo), ["main"]);
    const reader = await world.somebody();
    await reader.login("auditor", PASSWORD, `/site-builder/files/${repo}?branch=main`);
    for (const [at, items] of [[PROJECT, ["Rules for contents"]], [BRANCH, []]]) {
      await crumb(reader.page, at).click();
      await reader.page.locator(".items a").first().waitFor();
      same(await reader.page.locator(".items button").allInnerTexts(), items);
      await reader.page.keyboard.press("Escape");
    }
  }],
];
