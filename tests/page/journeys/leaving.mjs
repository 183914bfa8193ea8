// Whoever goes elsewhere with something unsaved is told.
import { same } from "../browser.mjs";
import { newProject } from "../seed.mjs";
import { changed, editor, keys, open, put, text, type } from "./editor/steps.mjs";

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
];
