// Where the keys go once something over the screen has closed.
import { same, soon } from "../browser.mjs";
import { newProject, PASSWORD, REPO } from "../seed.mjs";
import { changed, editor, keys, open, saved, type } from "./editor/steps.mjs";

/** What the element is called that takes the keys. */
const focused = (page) => page.evaluate(() => document.activeElement.title || document.activeElement.id || document.activeElement.tagName);

export default [
  ["who logs in again types on in the editor", async (world) => {
    const repo = await newProject(world.admin, "acme/typing", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    await type(person, "b\n");
    await changed(person);
    person.expected.push(/401/);
    await person.context.clearCookies();
    await keys(person, "Control+s");
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await saved(person);
    await page.keyboard.type("x[");
    await page.locator(".file .cm-line", { hasText: "x[" }).waitFor({ timeout: 5000 });
  }],

  ["a dialog that was opened from a menu gives the focus back to the menu's button", async (world) => {
    const { page } = await world.at(`/site-builder/files/${REPO}?branch=main`);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "New file" }).click();
    await page.locator("dialog [name=path]").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    same(await focused(page), "Add");
  }],

  ["the first link of the page skips to its content", async (world) => {
    const { page } = await world.at(`/site-builder/files/${REPO}?branch=main`);
    const skip = page.getByRole("link", { name: "Skip to the content" });
    await page.locator(".overview").waitFor();
    await page.keyboard.press("Tab");
    same(await skip.evaluate((link) => link === document.activeElement), true);
    await page.keyboard.press("Enter");
    await soon(() => focused(page), "main");
    await page.locator(".overview").waitFor();
  }],
];
