// How many clicks each task takes, from where a person would begin.
import { counted, same, soon } from "../browser.mjs";
import { Account, newProject, PASSWORD } from "../seed.mjs";
import { editor, keys, saved, text } from "./editor/steps.mjs";

const tokens = "/site-builder/api/tokens";
const saves = [
  { "b.txt": "b one\n", "config/a.txt": "a one\n" },
  { "b.txt": "b two\n", "config/a.txt": "a two\n" },
];

const button = (page, name) => page.getByRole("button", { name, exact: true });
const moment = (page, version) => page.locator(".moment", { hasText: version });

/** Types at the end of the file that is open, once the keys go there. */
async function typeMore(person) {
  await person.page.locator(".file .cm-focused").waitFor();
  await keys(person, "Control+End");
  await person.page.keyboard.type("more");
}

async function goBack(page, files) {
  await button(page, files).click();
  await page.getByText("The branch is back at v0002").waitFor();
}

/** Two tokens, each bound to its first instance. */
async function boundTokens(world, account, repo) {
  for (const name of ["to be forgotten", "to be revoked"]) {
    const token = { name, repos: [repo], fingerprint_required: true, expires_at: null };
    const { tokenString } = await account.json("POST", tokens, token);
    await fetch(`${world.base}/site-builder/api/erp-config/projects/${encodeURIComponent(repo)}/repository/branches`, {
      headers: { "PRIVATE-TOKEN": tokenString, "X-Instance-Id": "till-1" },
    });
  }
}

/** What it is called, how many clicks it takes, where it begins, and what a person does. */
const tasks = [
  ["open a known file, edit it, save", 5, "projects", async (person, page, repo, world) => {
    await page.getByRole("link", { name: new RegExp(repo.slice("clicks/".length, -".erp".length)) }).click();
    await page.getByRole("treeitem", { name: "config" }).click();
    await page.getByRole("treeitem", { name: "a.txt" }).click();
    // The keys stay in the tree, where the arrows go on.
    await editor(person);
    await page.locator(".file .cm-content").click();
    await typeMore(person);
    await button(page, "Save").click();
    await saved(person);
    same(await text(world, repo, "config/a.txt"), "a two\nmore");
  }],
  ["the same by keys", 0, "branch", async (person, page, repo, world) => {
    await page.getByRole("treeitem", { name: "config" }).waitFor();
    await keys(person, "Control+k");
    await page.keyboard.type("a.txt");
    await page.getByRole("option", { name: /a\.txt/ }).first().waitFor();
    await keys(person, "Enter");
    await typeMore(person);
    await keys(person, "Control+s");
    await saved(person);
    same(await text(world, repo, "config/a.txt"), "a two\nmore");
  }],
  ["see what changed last, go back", 3, "branch", async (_, page, repo, world) => {
    await moment(page, "v0002").locator("a").click();
    await page.locator("main").getByRole("button", { name: "Go back to before this" }).click();
    await goBack(page, "Roll back 2 files");
    same(await text(world, repo, "b.txt"), "b one\n");
  }],
  ["the same from the list, and undo it", 3, "branch", async (_, page, repo, world) => {
    await moment(page, "v0002").hover();
    await moment(page, "v0002").getByRole("button", { name: /Go back to before this/ }).click();
    await goBack(page, "Roll back 2 files");
    await button(page, "Undo").click();
    await page.getByText("Undone").waitFor();
    same(await text(world, repo, "b.txt"), "b two\n");
  }],
  ["restore one file of a change", 4, "branch", async (_, page, repo, world) => {
    await moment(page, "v0002").locator("a").click();
    await page.locator(".changes .current").waitFor();
    await page.locator("main").getByRole("button", { name: "Go back to before this" }).click();
    await page.getByLabel("Only b.txt").click();
    await goBack(page, "Roll back 1 file");
    same([await text(world, repo, "b.txt"), await text(world, repo, "config/a.txt")], ["b one\n", "a two\n"]);
  }],
  ["what differs between any two", 2, "branch", async (_, page) => {
    await moment(page, "v0002").locator("a").click();
    await page.locator(".changes .current").waitFor();
    await moment(page, "v0001").locator("a").click({ modifiers: ["Shift"] });
    await soon(() => page.locator(".changes li").count(), 2);
  }],
  ["a new token, copied", 5, "projects", async (_, page, repo) => {
    await page.getByRole("link", { name: "Tokens" }).click();
    await button(page, "New token").click();
    const form = page.getByRole("dialog", { name: "New token" });
    await form.getByLabel("Name", { exact: true }).fill("counted");
    await form.getByLabel(repo).click();
    await form.getByRole("button", { name: "Create" }).click();
    const secret = await page.locator(".secret code").textContent();
    await button(page, "Copy").first().click();
    await soon(() => page.evaluate(() => navigator.clipboard.readText()), secret);
  }],
  ["forget an instance", 2, "tokens", async (_, page) => {
    const row = page.getByRole("row", { name: /to be forgotten/ });
    await row.getByRole("button", { name: /More about/ }).click();
    await button(page, "Forget the instance").click();
    await row.getByText("waits for its instance").waitFor();
  }],
  ["revoke a token", 3, "tokens", async (_, page) => {
    const row = page.getByRole("row", { name: /to be revoked/ });
    await row.getByRole("button", { name: /More about/ }).click();
    await button(page, "Revoke").click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await row.waitFor({ state: "detached" });
  }],
];

export default [
  ["each task takes as few clicks as it should", async (world) => {
    const olga = await Account.login(world.base, "olga", PASSWORD);
    for (const [at, [name, expected, where, act]] of tasks.entries()) {
      const repo = await newProject(world.admin, `clicks/task-${at}`, ...saves);
      if (where === "tokens") await boundTokens(world, olga, repo);
      const places = { projects: "/site-builder/", branch: `/site-builder/files/${repo}?branch=main`, tokens: "/site-builder/tokens" };
      const person = await world.at(places[where]);
      await person.settled();
      const clicks = await counted(person.page);
      await act(person, person.page, repo, world);
      const found = await clicks();
      console.log(`    ${name}: ${found} clicks`);
      same(found, expected, name);
      for (const one of await olga.json("GET", tokens)) {
        if (one.name.startsWith("to be ")) await olga.send("DELETE", `${tokens}/${one.tokenId}`);
      }
      await person.page.close();
    }
  }],
];
