// Two people and one file: nothing is overwritten unseen, and nothing that was typed is lost.
import { same, soon } from "../browser.mjs";
import { file, newProject, PASSWORD } from "../seed.mjs";
import { changed, editor, keys, open, put, saved, text, type } from "./editor/steps.mjs";

const start = "one\ntwo\nthree\nfour\nfive\n";

/** Somebody edits a.txt at its end; then another saves it. */
async function meet(world, name, theirs, mine = "six\n", options = {}) {
  const repo = await newProject(world.admin, name, { "a.txt": start });
  const person = await world.at(open(repo, "a.txt"), options);
  person.expected.push(/412/);
  // The page may look for what is deleted before that is answered.
  if (theirs === null) person.expected.push(/404/);
  await editor(person);
  await type(person, mine);
  if (theirs === null) await world.admin.send("DELETE", file(repo, "main", "a.txt"));
  else await put(world, repo, "a.txt", theirs);
  return { repo, person, page: person.page };
}

const sheet = (page) => page.getByRole("dialog", { name: "Somebody else saved this file" });

export default [
  ["what two changed in different lines is merged", async (world) => {
    const { repo, person, page } = await meet(world, "acme/merged", start.replace("one", "ONE"));
    await keys(person, "Control+s");
    await sheet(page).locator(".cm-content").last().waitFor();
    await sheet(page).getByText("is together on the right already").waitFor();
    same(await person.accessibility(), []);
    await person.shot("conflict merged");
    await page.getByRole("button", { name: "Save the merged text" }).click();
    await saved(person);
    same(await text(world, repo, "a.txt"), `${start.replace("one", "ONE")}six\n`);
    await soon(() => page.locator(".file .cm-line").first().innerText(), "ONE");
  }],

  ["what both changed is marked, a piece taken over, and the rest written by hand", async (world) => {
    const { repo, person, page } = await meet(world, "acme/clash", `${start}SIX\n`);
    await keys(person, "Control+s");
    await sheet(page).getByText("1 place was changed by both").waitFor();
    await soon(() => sheet(page).locator(".cm-clash").count(), 1);
    await page.getByRole("button", { name: "Next marked place" }).click();
    await person.shot("conflict clash");
    await page.getByRole("button", { name: "Take this piece over" }).first().click();
    await sheet(page).locator(".cm-content").last().click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("seven\n");
    await page.keyboard.press("Control+Enter");
    await saved(person);
    same(await text(world, repo, "a.txt"), `${start}SIX\nseven\n`);
  }],

  ["what two people wrote into a new file of one name is marked, and theirs can be taken over", async (world) => {
    const repo = await newProject(world.admin, "acme/both-new", { "a.txt": start });
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/404/, /412/);
    await person.login("olga", PASSWORD, open(repo, "new.txt"));
    await page.getByRole("button", { name: "Create it" }).click();
    await editor(person);
    await type(person, "mine\n");
    await put(world, repo, "new.txt", "theirs\n");
    await keys(person, "Control+s");
    await sheet(page).getByText("1 place was changed by both").waitFor();
    await soon(() => sheet(page).locator(".cm-clash").allInnerTexts(), ["mine", "\n"]);
    await page.getByRole("button", { name: "Take this piece over" }).click();
    await page.getByRole("button", { name: "Save the merged text" }).click();
    await saved(person);
    same(await text(world, repo, "new.txt"), "theirs\n");
  }],

  ["a file that was deleted, and made anew by another, is merged with what it was", async (world) => {
    const { repo, person, page } = await meet(world, "acme/anew", null);
    await page.locator(".file .strip").getByText("admin deleted this file").waitFor();
    let isMade = false;
    await person.route("**/files/a.txt*", async (route) => {
      if (!isMade && route.request().method() === "PUT") {
        isMade = true;
        await put(world, repo, "a.txt", start.replace("one", "ONE"));
      }
      await route.fallback();
    });
    await page.getByRole("button", { name: "Restore it with this text" }).click();
    await sheet(page).getByText("is together on the right already").waitFor();
    await page.getByRole("button", { name: "Save the merged text" }).click();
    await saved(person);
    same(await text(world, repo, "a.txt"), `${start.replace("one", "ONE")}six\n`);
  }],

  ["mine is kept", async (world) => {
    const { repo, person, page } = await meet(world, "acme/mine", "theirs\n");
    await keys(person, "Control+s");
    await sheet(page).getByRole("button", { name: "Keep mine" }).click();
    await saved(person);
    same(await text(world, repo, "a.txt"), `${start}six\n`);
  }],

  ["theirs is taken", async (world) => {
    const { repo, person, page } = await meet(world, "acme/theirs", "theirs\n");
    await keys(person, "Control+s");
    await sheet(page).getByRole("button", { name: "Take theirs" }).click();
    await saved(person);
    await page.locator(".file .cm-line", { hasText: "theirs" }).waitFor();
    same(await text(world, repo, "a.txt"), "theirs\n");
  }],

  ["what was merged by hand goes by no key, and is there again at the next save", async (world) => {
    const { repo, person, page } = await meet(world, "acme/later", `${start}SIX\n`);
    await keys(person, "Control+s");
    await soon(() => sheet(page).locator(".cm-clash").count(), 1);
    await sheet(page).locator(".cm-content").last().click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("seven\n");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.mouse.click(2, 2);
    await page.getByRole("button", { name: "Back to my text" }).click();
    await sheet(page).waitFor({ state: "detached" });
    await changed(person);
    same(await text(world, repo, "a.txt"), `${start}SIX\n`);
    await type(person, "eight\n");
    await put(world, repo, "a.txt", `ONE${start.slice(3)}SIX\n`);
    await keys(person, "Control+s");
    await sheet(page).locator(".cm-line", { hasText: "seven" }).waitFor();
    const merged = sheet(page).locator(".cm-content").last();
    await soon(() => merged.innerText().then((told) => /^ONE\n[^]*seven/.test(told)), true);
    same(await merged.getAttribute("aria-description"), "Escape and then Tab leaves the editor.");
    await merged.click();
    // However long the keys take, no time goes by between them: after two seconds Tab is a letter again.
    await page.evaluate(() => {
      const { now } = Date;
      const began = now();
      Date.now = () => began;
      globalThis.goOn = () => { Date.now = now; };
    });
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    await page.evaluate(() => globalThis.goOn());
    await page.waitForFunction(() => document.activeElement.matches("dialog footer button"));
    await page.getByRole("button", { name: "Save the merged text" }).click();
    await saved(person);
    const told = await text(world, repo, "a.txt");
    same([told.startsWith("ONE\ntwo\n"), told.includes("seven\n"), told.includes("SIX\n")], [true, true, false]);
  }],

  ["what was merged by hand is there again after Back, and after a reload", async (world) => {
    const repo = await newProject(world.admin, "acme/kept-merge", { "a.txt": start, "b.txt": "b\n" });
    const person = await world.at(open(repo, "b.txt"));
    const { page } = person;
    person.expected.push(/412/);
    await page.getByRole("treeitem", { name: "a.txt" }).click();
    await page.getByRole("heading", { name: "a.txt", level: 1 }).waitFor();
    await editor(person);
    await type(person, "six\n");
    await put(world, repo, "a.txt", `${start}SIX\n`);
    await keys(person, "Control+s");
    const merged = sheet(page).locator(".cm-content").last();
    await merged.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("seven\n");
    await page.goBack();
    await page.getByRole("heading", { name: "b.txt", level: 1 }).waitFor();
    for (const come of [() => page.goForward(), () => page.reload()]) {
      await come();
      await editor(person);
      await page.getByRole("button", { name: "Compare", exact: true }).last().click();
      await sheet(page).getByText("1 place was changed by both").waitFor();
      await soon(() => merged.innerText(), `${start}six\nseven\n\n`);
      await soon(() => sheet(page).locator(".cm-clash").count(), 1);
    }
    await page.getByRole("button", { name: "Save the merged text" }).click();
    await saved(person);
    same(await text(world, repo, "a.txt"), `${start}six\nseven\n`);
  }],

  ["theirs deleted it: mine brings it back", async (world) => {
    const { repo, person, page } = await meet(world, "acme/deleted", null);
    await keys(person, "Control+s");
    await page.getByRole("dialog").getByText("admin deleted this file").waitFor();
    await person.shot("conflict deleted");
    await page.getByRole("button", { name: "Restore it with this text" }).last().click();
    await saved(person);
    same(await text(world, repo, "a.txt"), `${start}six\n`);
  }],

  ["theirs deleted it: let it go", async (world) => {
    const { repo, person, page } = await meet(world, "acme/gone", null);
    await keys(person, "Control+s");
    await page.getByRole("dialog").getByRole("button", { name: "Let it go" }).click();
    await page.getByRole("heading", { name: "There is no file “a.txt” here" }).waitFor();
    same(await page.locator(".filehead .pill").count(), 0);
    const left = await world.admin.json("GET", `/site-builder/api/projects/${encodeURIComponent(repo)}/branches/main/tree`);
    same(left, []);
  }],

  ["in a narrow window the two are one below the other, and a piece is taken over there", async (world) => {
    const phone = { width: 390, height: 844, touch: true };
    const { repo, person, page } = await meet(world, "acme/narrow", `${start.replace("two", "TWO")}SIX\n`, "six\n", phone);
    await keys(person, "Control+s");
    await sheet(page).getByText("1 place was changed by both").waitFor();
    await soon(() => sheet(page).locator(".cm-editor").count(), 1);
    await soon(() => sheet(page).locator(".cm-deletedChunk").innerText().then((told) => /SIX/.test(told)), true);
    same(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    same(await person.accessibility(), []);
    await person.shot("conflict narrow");
    await sheet(page).getByRole("button", { name: "Take this piece over" }).click();
    await soon(() => sheet(page).locator(".cm-deletedChunk").count(), 0);
    await page.getByRole("button", { name: "Save the merged text" }).click();
    await saved(person);
    same(await text(world, repo, "a.txt"), `${start.replace("two", "TWO")}SIX\n`);
  }],

  ["an edit on the way of another's save, after a reload, is still merged", async (world) => {
    const { repo, person, page } = await meet(world, "acme/reload", start.replace("one", "ONE"));
    await page.reload();
    await editor(person);
    await page.getByText("admin saved this file").waitFor();
    await page.getByRole("button", { name: "Compare", exact: true }).last().click();
    await sheet(page).getByText("is together on the right already").waitFor();
    await page.getByRole("button", { name: "Save the merged text" }).click();
    await saved(person);
    same(await text(world, repo, "a.txt"), `${start.replace("one", "ONE")}six\n`);
  }],
];
