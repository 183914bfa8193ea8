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
    await page.locator(".file .cm-line", { hasText: "x[" }).waitFor();
  }],

  ["a dialog that was opened from a menu gives the focus back to the menu's button", async (world) => {
    const { page } = await world.at(`/site-builder/files/${REPO}?branch=main`);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "New file" }).click();
    await page.locator("dialog [name=path]").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    same(await focused(page), "Add");
    // A click beside it closes it too, but throws nothing away that was typed.
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "New file" }).click();
    await page.locator("dialog [name=path]").waitFor();
    await page.mouse.click(5, 5);
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "New file" }).click();
    await page.locator("dialog [name=path]").fill("typed.txt");
    await page.mouse.click(5, 5);
    same(await page.locator("dialog [name=path]").inputValue(), "typed.txt");
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
  }],

  ["the keys go to the text of a file that was found or made by its name", async (world) => {
    const repo = await newProject(world.admin, "acme/by-name", { "a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/);
    const typed = async (shown) => {
      await page.locator(".file .cm-focused").waitFor();
      await page.keyboard.type("[ x");
      await soon(() => page.locator(".file .cm-content").innerText(), shown);
    };
    for (const [name, shown] of [["a.txt", "[ xa\n\n"], ["b.txt", "[ xb\n\n"]]) {
      await keys(person, "Control+k");
      await page.keyboard.type(name);
      await page.getByRole("option", { name }).first().waitFor();
      await keys(person, "Enter");
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      await typed(shown);
    }
    // One that is open already.
    await page.getByRole("treeitem", { name: "b.txt" }).focus();
    await keys(person, "Control+k");
    await page.keyboard.type("b.txt");
    await page.getByRole("option", { name: "b.txt" }).first().waitFor();
    await keys(person, "Enter");
    await typed("[ x[ xb\n\n");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "New file" }).click();
    await page.locator("dialog [name=path]").fill("c.txt");
    await keys(person, "Enter");
    await page.getByRole("heading", { name: "c.txt", level: 1 }).waitFor();
    await typed("[ x");
    // Who goes through the tree stays there.
    await page.getByRole("treeitem", { name: "a.txt" }).click();
    await page.getByRole("heading", { name: "a.txt", level: 1 }).waitFor();
    await editor(person);
    same(await page.locator(".file .cm-focused").count(), 0);
  }],

  ["the keys have a place after a rollback, its undo, a revoked token and a removed account", async (world) => {
    const repo = await newProject(world.admin, "acme/places", { "a.txt": "a\n" }, { "a.txt": "b\n" });
    let person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002`);
    let { page } = person;
    const at = (expected) => soon(() => page.evaluate(() => document.activeElement.ariaLabel || document.activeElement.id || document.activeElement.tagName), expected);
    await page.locator("main").getByRole("button", { name: "Go back to before this" }).click();
    await page.locator("dialog .changes li").waitFor();
    await keys(person, "Control+Enter");
    await page.getByText("The branch is back at v0002").waitFor();
    await at("main");
    await page.getByRole("button", { name: "Undo", exact: true }).focus();
    await keys(person, "Enter");
    await page.getByText("Undone").waitFor();
    await at("main");
    for (const name of ["Place 1", "Place 2", "Place 3"]) {
      await world.admin.json("POST", "/site-builder/api/tokens", { name, repos: [repo], expires_at: null });
    }
    person = await world.somebody();
    ({ page } = person);
    await person.login("admin", process.env.SITECONF_PASSWORD, "/site-builder/tokens");
    const choose = async (name, item) => {
      await page.getByRole("button", { name: `More about ${name}` }).click();
      await page.getByRole("button", { name: item, exact: true }).click();
    };
    // The newest is first.
    await choose("Place 2", "Revoke");
    await keys(person, "Control+Enter");
    await page.getByText("Place 2 is revoked").waitFor();
    await at("More about Place 1");
    for (const name of ["place-1", "place-2"]) await world.admin.json("POST", "/site-builder/api/accounts", { name, password: PASSWORD, roles: [] });
    await person.go("/site-builder/accounts");
    await choose("place-1", "Remove…");
    await page.locator("dialog .danger:enabled").waitFor();
    await keys(person, "Control+Enter");
    await page.getByText("place-1 is removed").waitFor();
    await at("More about place-2");
    for (const { tokenId, name } of await world.admin.json("GET", "/site-builder/api/tokens")) {
      if (name.startsWith("Place")) await world.admin.json("DELETE", `/site-builder/api/tokens/${tokenId}`);
    }
    await world.admin.json("DELETE", "/site-builder/api/accounts/place-2");
  }],

  ["a row that goes while its deletion is answered leaves the keys to the row in its place", async (world) => {
    const repo = await newProject(world.admin, "acme/rows", { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    const row = (name) => page.getByRole("treeitem", { name });
    // What is told of the branch may come before the answer.
    await person.route("**/files/b.txt*", async (route) => {
      if (route.request().method() !== "DELETE") return route.fallback();
      const response = await route.fetch();
      await row("b.txt").waitFor({ state: "detached" });
      await route.fulfill({ response });
    });
    await row("b.txt").focus();
    await keys(person, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).waitFor();
    await keys(person, "Enter");
    await page.getByText("Deleted b.txt").waitFor();
    await soon(() => page.evaluate(() => document.activeElement.innerText.trim()), "c.txt");
  }],

  ["the keys stay where a save was sent from its message, and in the content once the last file has gone", async (world) => {
    const repo = await newProject(world.admin, "acme/last", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    person.expected.push(/404/);
    await editor(person);
    await type(person, "b\n");
    await changed(person);
    await page.getByLabel("What changed? (optional)").fill("why");
    await keys(person, "Enter");
    await saved(person);
    const words = () => page.evaluate(() => document.activeElement.textContent);
    await soon(words, "Save");
    await type(person, "c\n");
    await changed(person);
    await page.getByLabel("What changed? (optional)").fill("why");
    await keys(person, "Control+s");
    await saved(person);
    await soon(words, "Save");
    await page.getByRole("treeitem", { name: "a.txt" }).focus();
    await keys(person, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Deleted a.txt").waitFor();
    await soon(() => focused(page), "main");
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
