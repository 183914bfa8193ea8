// What every browser is driven through, also those that are not Chromium: the way that people go most, and what
// browsers do each in its own way.
import { same, soon } from "../browser.mjs";
import { newProject, PASSWORD, REPO } from "../seed.mjs";
import { editor, keys, saved, text, type } from "./editor/steps.mjs";

export default [
  ["a file is found, edited, found again after a reload and saved; the save is rolled back, and that is undone", async (world) => {
    const repo = await newProject(world.admin, "everywhere/way", { "config/a.txt": "one\n" });
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/401/);
    await page.goto("/site-builder/");
    await page.getByLabel("User name").fill("olga");
    await page.getByLabel("Password").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The name or the password is wrong.").waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("searchbox").first().fill("everywhere");
    await page.getByRole("link", { name: /way/ }).click();
    await page.getByRole("treeitem", { name: "config" }).click();
    await page.getByRole("treeitem", { name: "a.txt" }).click();
    await editor(person);
    await type(person, "ещё");
    await page.getByLabel("What changed? (optional)").fill("why");
    await page.reload();
    await page.getByText("They are not saved yet.").waitFor();
    await editor(person);
    same(await page.locator(".file .cm-line").allInnerTexts(), ["one", "ещё"]);
    // One letter: of two that come one after the other some time, each is taken back by itself.
    await type(person, "!");
    await keys(person, "Control+z");
    await keys(person, "Control+s");
    await saved(person);
    same(await text(world, repo, "config/a.txt"), "one\nещё");
    await page.locator(".moment", { hasText: "why" }).locator("a").click();
    await page.locator(".pair .cm-content").first().waitFor();
    await page.locator("main").getByRole("button", { name: "Go back to before this" }).click();
    await page.getByRole("button", { name: "Roll back 1 file" }).click();
    await page.getByText("The branch is back at v0002").waitFor();
    same(await text(world, repo, "config/a.txt"), "one\n");
    await page.getByRole("button", { name: "Undo", exact: true }).last().click();
    await page.getByText("Undone").waitFor();
    same(await text(world, repo, "config/a.txt"), "one\nещё");
  }],

  ["a token is copied where the browser has no clipboard, as over plain HTTP, and the keys stay on the button", async (world) => {
    const person = await world.somebody();
    const { page } = person;
    await person.context.addInitScript(() => Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined }));
    await person.login("olga", PASSWORD, "/site-builder/tokens?new=1");
    const form = page.getByRole("dialog", { name: "New token" });
    await form.getByLabel("Name", { exact: true }).fill("Till 10");
    await form.getByLabel(REPO).check();
    await form.getByRole("button", { name: "Create" }).click();
    const secret = await page.locator(".secret code").textContent();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    const dialog = page.getByRole("dialog");
    // It says so for a moment only.
    await page.evaluate(() => {
      const look = () => { globalThis.hasTold ||= document.activeElement.innerText.trim() === "Copied"; };
      new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true });
    });
    await dialog.getByRole("button", { name: "Copy", exact: true }).first().click();
    await soon(() => page.evaluate(() => globalThis.hasTold), true);
    await page.getByRole("button", { name: "Done, I have kept it" }).click();
    await page.getByRole("searchbox").click();
    await page.keyboard.press("Control+v");
    await soon(() => page.getByRole("searchbox").inputValue(), secret);
  }],

  ["a part of the page that an updated service does not have is told, and fetched where it is there after all", async (world) => {
    const person = await world.at(`/site-builder/files/${REPO}?branch=main`);
    const { page } = person;
    person.expected.push(/404/, /failed: .*\.js$/);
    await page.getByRole("treeitem", { name: "readme.txt" }).waitFor();
    await person.route("**/site-builder/-/**", (route) => route.fulfill({ status: 404, json: { message: "there is no such asset in this version" } }));
    await person.route("**/site-builder/", (route) => route.fulfill({ contentType: "text/html", body: "another" }));
    await page.getByRole("treeitem", { name: "readme.txt" }).click();
    await page.getByText("This part of the page could not be fetched.").waitFor();
    await page.getByText("The service was updated").waitFor();
    same(await person.accessibility(), []);
    await person.shot("part missing");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".file[data-phase=text] .cm-content").waitFor();
  }],
];
