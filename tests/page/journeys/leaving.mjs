// Whoever goes elsewhere with something unsaved is told.
import { same, soon } from "../browser.mjs";
import { newProject, PASSWORD, project } from "../seed.mjs";
import { changed, editor, keys, open, put, saved, text, type } from "./editor/steps.mjs";

/** Somebody has typed into a.txt, and nothing is saved yet. */
async function edit(world, name) {
  const repo = await newProject(world.admin, name, { "a.txt": "a\n", "b.txt": "b\n" });
  const person = await world.at(open(repo, "a.txt"));
  await editor(person);
  await person.page.getByRole("treeitem", { name: "b.txt" }).waitFor();
  await type(person, "mine\n");
  await changed(person);
  return { repo, person, page: person.page };
}

/** Opens b.txt. */
async function leave({ page }) {
  await page.getByRole("treeitem", { name: "b.txt" }).click();
  await page.getByRole("heading", { name: "b.txt", level: 1 }).waitFor();
}

/** Chooses to log out. */
async function logOut(page) {
  await page.getByRole("button", { name: "olga", exact: true }).click();
  await page.getByRole("button", { name: "Log out", exact: true }).click();
}

/** How many drafts this browser has kept. */
async function kept() {
  const done = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
  const database = await done(indexedDB.open("siteconf"));
  const count = await done(database.transaction("drafts").objectStore("drafts").count());
  database.close();
  return count;
}

const toast = (page) => page.locator(".toast", { hasText: "a.txt is not saved" });

export default [
  ["a save that meets another's after its file was left is told, and leads back to it", async (world) => {
    const { repo, person, page } = await edit(world, "acme/left");
    person.expected.push(/412/);
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await person.route("**/files/a.txt*", async (route) => {
      if (route.request().method() === "PUT") await held;
      await route.fallback();
    });
    const sent = page.waitForRequest((request) => request.method() === "PUT");
    await keys(person, "Control+s");
    await sent;
    await put(world, repo, "a.txt", "theirs\n");
    await leave(person);
    same(await toast(page).count(), 0);
    release();
    await toast(page).getByText("Somebody else saved this file").waitFor();
    same(await person.accessibility(), []);
    await toast(page).getByRole("button", { name: "Open it" }).click();
    await page.getByText("They are not saved yet.").or(page.getByText("Your edits are kept.")).first().waitFor();
    same(await text(world, repo, "a.txt"), "theirs\n");
  }],

  ["who leaves a file that could not be saved is told, and led back to it", async (world) => {
    const { person, page } = await edit(world, "acme/without");
    person.expected.push(/ERR_INTERNET_DISCONNECTED/, /failed:/);
    await person.context.setOffline(true);
    await keys(person, "Control+s");
    await page.getByText("will be saved as soon as it does").waitFor();
    await leave(person);
    await toast(page).waitFor();
    await person.context.setOffline(false);
    await toast(page).getByRole("button", { name: "Open it" }).click();
    await editor(person);
    await page.getByText("They are not saved yet.").waitFor();
    same(await page.locator(".file .cm-content").innerText(), "a\nmine\n\n");
  }],

  ["of what is said about a file the last stays, and no more than the file is elsewhere on the screen", async (world) => {
    const { repo, person, page } = await edit(world, "acme/said-once");
    await leave(person);
    await toast(page).waitFor();
    await page.goBack();
    await editor(person);
    await page.getByText("They are not saved yet.").waitFor();
    same(await toast(page).count(), 0);
    for (const letter of ["x", "y", "z"]) {
      await type(person, letter);
      await changed(person);
      await keys(person, "Control+s");
      await saved(person);
    }
    await person.shot("said once");
    same(await page.locator(".toast").allInnerTexts(), ["Saved a.txt\nUndo"]);
    const [{ y, height }, line] = [await page.locator(".toast").boundingBox(), await page.locator(".status").boundingBox()];
    same(y + height <= line.y, true, "the line below the file can be read");
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("The save of a.txt was taken back").waitFor();
    same(await text(world, repo, "a.txt"), "a\nmine\nxy");
  }],

  ["who cannot be logged out stays inside, and is told", async (world) => {
    const person = await world.at("/site-builder/");
    const { page } = person;
    person.expected.push(/503/);
    await person.route("**/user/logout", (route) => route.fulfill({ status: 503, json: { message: "no changes" } }));
    await logOut(page);
    await page.getByText("You are still logged in. The service takes no changes at the moment.").waitFor();
    await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor();
    await page.unrouteAll();
    await logOut(page);
    await page.locator("form.login").waitFor();
    await page.reload();
    await page.locator("form.login").waitFor();
  }],

  ["who logs out with edits that are not saved is asked first", async (world) => {
    const { repo, person, page } = await edit(world, "acme/drafts");
    const question = page.getByRole("dialog", { name: "Log out" });
    await logOut(page);
    await question.getByText("1 file has edits that are not saved.").waitFor();
    same(await person.accessibility(), []);
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "detached" });
    await logOut(page);
    await question.getByRole("button", { name: "Discard them and log out" }).click();
    // A page that is left before has not forgotten them yet.
    await page.locator("form.login").waitFor();
    await person.login("olga", PASSWORD, open(repo, "a.txt"));
    await editor(person);
    same(await page.locator(".file .cm-content").innerText(), "a\n\n");
    same(await page.locator(".file .strip").count(), 0);
  }],

  ["who logs out in one window and in again in another has what is open there, after a reload too", async (world) => {
    const { repo, person, page } = await edit(world, "acme/drafts-beside");
    const other = await person.context.newPage();
    person.expected.push(/401/);
    await other.goto(open(repo, "b.txt"));
    await other.locator(".file[data-phase=text] .cm-content").click();
    await other.keyboard.press("Control+End");
    await other.keyboard.type("beside\n");
    await soon(() => other.evaluate(kept), 2);
    await logOut(page);
    const question = page.getByRole("dialog", { name: "Log out" });
    await question.getByText("2 files have edits that are not saved.").waitFor();
    await question.getByRole("button", { name: "Discard them and log out" }).click();
    await page.locator("form.login").waitFor();
    const dialog = other.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByText("What you typed on this screen is kept.").waitFor();
    await dialog.getByLabel("Password").fill(PASSWORD);
    await other.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await other.reload();
    await other.getByText("They are not saved yet.").waitFor();
    same(await other.locator(".file .cm-content").innerText(), "b\nbeside\n\n");
    // What was open where it was thrown away stays so.
    await page.goto(open(repo, "a.txt"));
    await editor(person);
    same(await page.locator(".file .cm-content").innerText(), "a\n\n");
  }],

  ["what is not saved is marked in the tree and listed, and found again from there", async (world) => {
    const repo = await newProject(world.admin, "acme/unsaved", { "f/a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.at(open(repo, "f/a.txt"));
    const { page } = person;
    const marks = () => page.locator(".row:has(.unsaved) .name").allInnerTexts();
    await editor(person);
    await page.getByRole("treeitem", { name: "b.txt" }).waitFor();
    same(await marks(), []);
    await type(person, "mine\n");
    await changed(person);
    await soon(marks, ["a.txt"]);
    await page.getByRole("treeitem", { name: "b.txt" }).click();
    await page.getByRole("heading", { name: "b.txt", level: 1 }).waitFor();
    await page.getByRole("treeitem", { name: "f" }).first().click();
    await soon(marks, ["f"]);
    await page.getByRole("treeitem", { name: "f 1 unsaved" }).waitFor();
    same(await person.accessibility(), []);
    await person.shot("unsaved in the tree");
    await page.locator(".foot").getByRole("link", { name: "1 unsaved" }).click();
    await page.getByRole("heading", { name: "Unsaved files", level: 1 }).waitFor();
    await page.getByRole("link", { name: `f/a.txt ${repo} · main` }).waitFor();
    same(await page.locator("tbody tr").count(), 1);
    same(await person.accessibility(), []);
    await person.shot("unsaved files");
    await page.getByRole("link", { name: "f/a.txt" }).click();
    await editor(person);
    same(await page.locator(".file .cm-content").innerText(), "a\nmine\n\n");
    await keys(person, "Control+s");
    await saved(person);
    await soon(marks, []);
    await soon(() => page.locator(".foot .link").count(), 0);
    await page.getByRole("button", { name: "olga", exact: true }).click();
    await page.getByRole("button", { name: "Unsaved files" }).click();
    await page.getByText("Everything is saved").waitFor();
    same(await person.accessibility(), []);
  }],

  ["what is not saved of a project that is gone is read from the list, and discarded", async (world) => {
    const repo = await newProject(world.admin, "acme/lost", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    await type(person, "mine\n");
    await changed(person);
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
    person.expected.push(/404/);
    await world.admin.send("DELETE", project(repo));
    await page.getByRole("button", { name: "olga", exact: true }).click();
    await page.getByRole("button", { name: "Unsaved files" }).click();
    await page.getByRole("link", { name: `a.txt ${repo} · main` }).click();
    await editor(person);
    same(await page.locator(".file .cm-content").innerText(), "a\nmine\n\n");
    same(await person.accessibility(), []);
    await person.shot("unsaved of a project that is gone");
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("heading", { name: `There is no project “${repo}”` }).waitFor();
    await page.getByRole("button", { name: "olga", exact: true }).click();
    await page.getByRole("button", { name: "Unsaved files" }).click();
    await page.getByText("Everything is saved").waitFor();
  }],
];
