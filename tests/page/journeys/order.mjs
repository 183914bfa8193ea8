// What is told of a branch may come before the answer to what was done to it, and answers may come when somebody is
// elsewhere, or not at all.
import { same, soon, watch } from "../browser.mjs";
import { file, newProject, PASSWORD, project, REPO } from "../seed.mjs";
import { another, answerAfter, changed, editor, hold, keys, open, put, saved, text, type } from "./editor/steps.mjs";

const dialog = (page) => page.getByRole("dialog");
const strip = (page) => page.locator(".file .strip");
const toast = (page, words) => page.locator(".toast", { hasText: words });
const undo = (page, of) => toast(page, of).getByRole("button", { name: "Undo", exact: true }).click();
const names = async (world, repo) => (await world.admin.json("GET", `${project(repo)}/branches`)).map((one) => one.name);

/** Opens the menu of the project (0) or of the branch (1), and takes an item. */
async function act(page, at, item) {
  await page.locator(".crumbs .menu").nth(at).locator("button").first().click();
  await page.locator(".items").getByRole("button", { name: item }).click();
}

/** Somebody's window that counts what it reads and is not answered yet. */
async function counting(world) {
  const person = await world.somebody();
  await person.page.addInitScript(() => {
    const { fetch } = globalThis;
    globalThis.reading = 0;
    globalThis.fetch = async (path, init) => {
      const isRead = /^(GET|HEAD)$/.test(init?.method ?? "GET");
      if (isRead) globalThis.reading += 1;
      try {
        const answer = await fetch(path, init);
        // All of it is here before the page has it.
        if (isRead) await answer.clone().arrayBuffer();
        return answer;
      } finally {
        if (isRead) globalThis.reading -= 1;
      }
    };
  });
  return person;
}

/** Waits until all that such a window reads is answered, and what comes of that is drawn, which may read more. */
const answered = (page) => soon(() => page.evaluate(async () => {
  for (let frame = 0; frame < 3; frame += 1) {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    if (globalThis.reading > 0) return false;
  }
  return true;
}), true);

/** Somebody has just saved a new file, new.txt. */
async function newFile(world, name) {
  const repo = await newProject(world.admin, name, { "a.txt": "a\n" });
  const person = await counting(world);
  const { page } = person;
  person.expected.push(/404/);
  await person.login("olga", PASSWORD, open(repo, "new.txt"));
  await page.getByRole("button", { name: "Create it" }).click();
  await editor(person);
  await type(person, "b\n");
  await changed(person);
  await keys(person, "Control+s");
  await saved(person);
  await page.getByRole("treeitem", { name: "new.txt" }).waitFor();
  return { repo, person, page };
}

/** Takes back the save of the new file; the page hears of it all before it is answered. */
async function undoNew(world, repo, person) {
  const { page } = person;
  const isAnother = await another(world, repo, page);
  await answerAfter(person, "DELETE", "**/files/new.txt*", async () => {
    await isAnother();
    await page.getByRole("treeitem", { name: "new.txt" }).waitFor({ state: "detached" });
    await answered(page);
  });
  await undo(page, "Saved new.txt");
  await toast(page, "The save of new.txt was taken back").waitFor();
}

/** Somebody at the branch of a project, whose window notes the names of branches that it is told of, and are gone. */
async function hearing(world, address) {
  const person = await counting(world);
  const { page } = person;
  person.expected.push(/404/, /ERR_ABORTED/, /ERR_INCOMPLETE/);
  await page.addInitScript(() => {
    globalThis.gone = [];
    globalThis.told = [];
    globalThis.EventSource = class extends EventSource {
      constructor(...given) {
        super(...given);
        this.addEventListener("open", () => { globalThis.hears = true; });
        this.addEventListener("message", ({ data }) => {
          const { branches, deleted } = JSON.parse(data);
          globalThis.told.push(...branches.map((branch) => branch.name));
          globalThis.gone.push(...deleted);
        });
      }
    };
  });
  await person.login("olga", PASSWORD, address);
  await page.locator(".overview").waitFor();
  // What changes before that is not told, and the list of branches that it reads then is not to come after what is.
  await page.waitForFunction(() => globalThis.hears);
  await answered(page);
  return person;
}

/** The next such answer comes once the page was told that the branch is gone; gives how many dialogs there were then. */
async function answerAfterGone(person, method, name) {
  const { page } = person;
  let under;
  await answerAfter(person, method, `**/branches/${name}`, async () => {
    await page.waitForFunction((name) => globalThis.gone.includes(name), name);
    await answered(page);
    under = await dialog(page).count();
  });
  return () => under;
}

export default [
  ["the undo of one's own save is not told as a save of somebody", async (world) => {
    const repo = await newProject(world.admin, "order/undo", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    await type(person, "b\n");
    await changed(person);
    await keys(person, "Control+s");
    await saved(person);
    await answerAfter(person, "PUT", "**/files/a.txt*", await another(world, repo, page));
    await undo(page, "Saved a.txt");
    await toast(page, "The save of a.txt was taken back").waitFor();
    await soon(() => page.locator(".file .cm-content").innerText(), "a\n\n");
    // What was said of before is still there once this is.
    await put(world, repo, "a.txt", "c\n");
    await toast(page, "admin saved this file").waitFor();
    same(await toast(page, "olga saved this file").count(), 0);
  }],

  ["the undo of a new file is not told as its deletion by somebody", async (world) => {
    const { repo, person, page } = await newFile(world, "order/undo-new");
    await undoNew(world, repo, person);
    await page.locator(".filehead").getByText("new", { exact: true }).waitFor();
    same(await strip(page).count(), 0);
    same(await page.locator(".file .cm-content").innerText(), "b\n\n");
  }],

  ["the undo of a new file that was left and opened again is not told as its deletion by somebody", async (world) => {
    const { repo, person, page } = await newFile(world, "order/undo-left");
    // By keys: what takes the save back stays for as long as it is pointed at.
    await hold(page);
    await page.getByRole("treeitem", { name: "a.txt" }).press("Enter");
    await page.getByRole("heading", { name: "a.txt", level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "new.txt", level: 1 }).waitFor();
    await editor(person);
    await undoNew(world, repo, person);
    await page.locator(".filehead").getByText("new", { exact: true }).waitFor();
    same(await strip(page).count(), 0);
    same(await page.locator(".file .cm-content").innerText(), "b\n\n");
  }],

  ["what was typed since a save stays when that is taken back, and is saved with it", async (world) => {
    const repo = await newProject(world.admin, "order/undo-typed", { "a.txt": "a\n" });
    const person = await counting(world);
    await person.login("olga", PASSWORD, open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    await type(person, "b\n");
    await changed(person);
    await keys(person, "Control+s");
    await saved(person);
    await type(person, "c\n");
    await changed(person);
    await undo(page, "Saved a.txt");
    await toast(page, "The save of a.txt was taken back").waitFor();
    await answered(page);
    same(await strip(page).count(), 0);
    same(await page.locator(".file .cm-content").innerText(), "a\nb\nc\n\n");
    same(await text(world, repo, "a.txt"), "a\n");
    await keys(person, "Control+s");
    await saved(person);
    same(await dialog(page).count(), 0);
    same(await text(world, repo, "a.txt"), "a\nb\nc\n");
  }],

  ["what an upload of one's own brings into the open file is told once, as the upload", async (world) => {
    const repo = await newProject(world.admin, "order/upload", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    await answerAfter(person, "POST", "**/batch*", () =>
      soon(() => page.locator(".file .cm-content").innerText(), "b\n\n"));
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "Choose files" }).click();
    await (await chooser).setFiles([{ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("b\n") }]);
    await dialog(page).getByRole("button", { name: /^Save/ }).click();
    await dialog(page).waitFor({ state: "detached" });
    await put(world, repo, "a.txt", "c\n");
    await toast(page, "admin saved this file").waitFor();
    same(await toast(page, "olga saved this file").count(), 0);
  }],

  ["a rollback that is under way keeps what it says it does", async (world) => {
    const repo = await newProject(world.admin, "order/rollback", { "a.txt": "a\n" }, { "a.txt": "b\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002&rollback=v0002`);
    const { page } = person;
    const button = dialog(page).locator(".button.danger");
    await soon(() => button.innerText(), "Roll back 1 file");
    const isAnother = await another(world, repo, page);
    let under;
    await answerAfter(person, "POST", (url) => url.pathname.endsWith("/rollback") && !url.searchParams.has("dry_run"), async () => {
      await isAnother();
      under = await button.innerText();
    });
    await button.click();
    await page.getByText("The branch is back at v0002").waitFor();
    same(under, "Roll back 1 file");
  }],

  ["a dialog stays while its renaming of a branch is answered, and the next visit begins without it", async (world) => {
    const repo = await newProject(world.admin, "order/rename", { "a.txt": "a\n" });
    const person = await hearing(world, `/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    const under = await answerAfterGone(person, "PATCH", "main");
    const isMissed = await watch(page, "There is no branch");
    await act(page, 1, "Rename branch…");
    await dialog(page).getByLabel("Name").fill("trunk");
    await page.keyboard.press("Enter");
    await page.getByText("The branch is trunk now").waitFor();
    same([under(), await isMissed()], [1, false]);
    await dialog(page).waitFor({ state: "detached" });
    await page.locator(".overview").waitFor();
    // Whoever goes elsewhere leaves it.
    await page.locator("a.home").click();
    await page.getByRole("link", { name: repo }).first().click();
    await page.locator(".overview").waitFor();
    await act(page, 1, "Rename branch…");
    await dialog(page).waitFor();
    await page.goBack();
    await dialog(page).waitFor({ state: "detached" });
    await page.goForward();
    await page.locator(".overview").waitFor();
    same(await dialog(page).count(), 0);
  }],

  ["a branch that is deleted goes with the answer, and nothing is said of it behind the dialog before", async (world) => {
    const repo = await newProject(world.admin, "order/delete", { "a.txt": "a\n" });
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "next", from: "main" });
    const person = await hearing(world, `/site-builder/files/${repo}?branch=next`);
    const { page } = person;
    const under = await answerAfterGone(person, "DELETE", "next");
    const isMissed = await watch(page, "There is no branch");
    await act(page, 1, "Delete branch…");
    await dialog(page).getByRole("button", { name: "Delete", exact: true }).click();
    await toast(page, "Deleted next").waitFor();
    await page.locator(".overview", { hasText: "Branch main" }).waitFor();
    same([under(), await isMissed()], [1, false]);
    same(await names(world, repo), ["main"]);
  }],

  ["the dialog of a branch does not go over to one of that name in another project", async (world) => {
    const first = await newProject(world.admin, "order/one", { "a.txt": "a\n" });
    const next = await newProject(world.admin, "order/other", { "b.txt": "b\n" });
    const { page } = await world.at(`/site-builder/files/${first}?branch=main`);
    await page.locator(".overview").waitFor();
    for (const item of ["Rename branch…", "New branch"]) {
      await page.locator(".crumbs .menu").first().locator("button").first().click();
      await page.locator(".items").getByRole("link", { name: next }).click();
      await page.getByRole("treeitem", { name: "b.txt" }).waitFor();
      await act(page, 1, item);
      await dialog(page).getByLabel("Name").fill("typed");
      await page.goBack();
      await page.getByRole("treeitem", { name: "a.txt" }).waitFor();
      same(await dialog(page).count(), 0);
    }
    same([await names(world, first), await names(world, next)], [["main"], ["main"]]);
  }],

  ["a list of branches that is older than what was told of them takes nothing back", async (world) => {
    const repo = await newProject(world.admin, "order/older", { "a.txt": "a\n" });
    const person = await hearing(world, `/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    let isRead;
    const read = new Promise((resolve) => { isRead = resolve; });
    await answerAfter(person, "GET", "**/branches", async () => {
      isRead();
      await page.waitForFunction(() => globalThis.told.includes("next"));
    });
    // As for who comes back to the window: all is asked for.
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await read;
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "next", from: "main" });
    await page.waitForFunction(() => globalThis.told.includes("next"));
    await answered(page);
    await page.locator(".crumbs .menu").nth(1).locator("button").first().click();
    await page.locator(".items").getByRole("link", { name: "next" }).waitFor();
  }],

  ["a new branch is there when it is gone to", async (world) => {
    const repo = await newProject(world.admin, "order/new", { "a.txt": "a\n" });
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/events/);
    // Nothing is heard of it but the answer.
    await person.route("**/events*", (route) => route.abort());
    await person.login("olga", PASSWORD, `/site-builder/files/${repo}?branch=main`);
    await page.locator(".overview").waitFor();
    const isMissed = await watch(page, "There is no branch");
    await act(page, 1, "New branch");
    await dialog(page).getByLabel("Name").fill("next");
    await page.keyboard.press("Enter");
    await page.locator(".overview", { hasText: "Branch next" }).waitFor();
    same(await isMissed(), false);
    same(await names(world, repo), ["main", "next"]);
  }],

  ["the branches of a project that was left do not come into the next one", async (world) => {
    const first = await newProject(world.admin, "order/left", { "a.txt": "a\n" });
    const next = await newProject(world.admin, "order/next", { "b.txt": "b\n" });
    await world.admin.json("PATCH", `${project(next)}/branches/main`, { name: "trunk" });
    const person = await world.at(`/site-builder/files/${first}?branch=main`);
    const { page } = person;
    person.expected.push(/404/, /ERR_ABORTED/);
    let isElsewhere;
    const elsewhere = new Promise((resolve) => { isElsewhere = resolve; });
    await answerAfter(person, "PATCH", "**/branches/main", () => elsewhere);
    await act(page, 1, "Rename branch…");
    await dialog(page).getByLabel("Name").fill("renamed");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await page.locator("a.home").click();
    await page.getByRole("link", { name: next }).first().click();
    await page.locator(".overview", { hasText: "Branch trunk" }).waitFor();
    // Were they of the other one, they would stay until these come.
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await person.route(`**/${encodeURIComponent(next)}/branches`, async (route) => {
      await held;
      return route.fallback();
    });
    isElsewhere();
    await page.getByText("The branch is renamed now").waitFor();
    same(await page.locator(".overview", { hasText: "Branch trunk" }).count(), 1);
    release();
    same(await names(world, first), ["renamed"]);
  }],

  ["a token that could not be revoked is told of, also when its dialog was closed", async (world) => {
    const made = await world.admin.json("POST", "/site-builder/api/tokens", { name: "Till 99", repos: [REPO], expires_at: null });
    const person = await world.somebody();
    await person.login("admin", process.env.SITECONF_PASSWORD, "/site-builder/tokens");
    const { page } = person;
    person.expected.push(/503/);
    await person.route("**/api/tokens/*", async (route) => {
      if (route.request().method() !== "DELETE") return route.fallback();
      await dialog(page).waitFor({ state: "detached" });
      await route.fulfill({ status: 503, json: { message: "no changes" } });
    });
    await page.getByRole("button", { name: "More about Till 99" }).click();
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await dialog(page).waitFor();
    await keys(person, "Control+Enter");
    await page.keyboard.press("Escape");
    await toast(page, "The service takes no changes at the moment.").waitFor();
    await world.admin.json("DELETE", `/site-builder/api/tokens/${made.tokenId ?? made.token_id}`);
  }],

  ["a deletion whose answer was lost is done, and not somebody’s", async (world) => {
    const repo = await newProject(world.admin, "order/lost", { "a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/, /412/, /failed/, /ERR_FAILED/);
    let tries = 0;
    await person.route("**/files/a.txt*", async (route) => {
      if (route.request().method() !== "DELETE" || ++tries > 1) return route.fallback();
      await route.fetch();
      await route.abort("failed");
    });
    await page.getByRole("treeitem", { name: "a.txt" }).focus();
    await keys(person, "Delete");
    const button = dialog(page).getByRole("button", { name: "Delete", exact: true });
    await button.click();
    await dialog(page).getByRole("alert").getByText("The service does not answer.").waitFor();
    // The keys are still the dialog's.
    await keys(person, "Enter");
    await toast(page, "Deleted a.txt").waitFor();
    await dialog(page).waitFor({ state: "detached" });
    await world.admin.send("GET", file(repo, "main", "a.txt")).then(() => { throw new Error("it is there"); }, () => null);
    same(await text(world, repo, "b.txt"), "b\n");
  }],

  ["a move whose answer was lost is made, and its new path not taken by somebody", async (world) => {
    const repo = await newProject(world.admin, "order/lost-move", { "a.txt": "a\n", "f/c.txt": "c\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/, /failed/, /ERR_FAILED/);
    for (const [from, to] of [["a.txt", "b.txt"], ["f", "g"]]) {
      let tries = 0;
      await person.route("**/batch", async (route) => {
        if (++tries > 1) return route.fallback();
        await route.fetch();
        await route.abort("failed");
      });
      await page.getByRole("treeitem", { name: from }).focus();
      await keys(person, "F2");
      await dialog(page).getByLabel("Path").fill(to);
      await keys(person, "Enter");
      await dialog(page).getByRole("alert").getByText("The service does not answer.").waitFor();
      await keys(person, "Enter");
      await toast(page, `It is ${to} now`).waitFor();
      await dialog(page).waitFor({ state: "detached" });
      same(tries, 1);
      // Nobody can tell what would be taken back.
      same(await toast(page, `It is ${to} now`).getByRole("button").count(), 0);
      await page.unrouteAll();
      await page.getByRole("treeitem", { name: to }).waitFor();
    }
    same([await text(world, repo, "b.txt"), await text(world, repo, "g/c.txt")], ["a\n", "c\n"]);
  }],

  ["a folder whose deletion was not answered is deleted once that is heard", async (world) => {
    const repo = await newProject(world.admin, "order/folder", { "f/a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/, /failed/, /ERR_FAILED/);
    await person.route("**/batch", async (route) => {
      await route.fetch();
      await route.abort("failed");
    });
    await page.getByRole("treeitem", { name: "f" }).focus();
    await keys(person, "Delete");
    await dialog(page).getByRole("button", { name: "Delete 1 file" }).click();
    await toast(page, "Deleted f").waitFor();
    await dialog(page).waitFor({ state: "detached" });
    same(await names(world, repo), ["main"]);
  }],

  ["a file that somebody deletes while that is asked is told to be gone, and not saved", async (world) => {
    const repo = await newProject(world.admin, "order/gone", { "a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/412/);
    await page.getByRole("treeitem", { name: "a.txt" }).focus();
    await keys(person, "Delete");
    await dialog(page).waitFor();
    await world.admin.send("DELETE", file(repo, "main", "a.txt"));
    await page.getByRole("treeitem", { name: "a.txt", includeHidden: true }).waitFor({ state: "detached" });
    await dialog(page).getByRole("button", { name: "Delete", exact: true }).click();
    await dialog(page).getByRole("alert").getByText("It is not there any more: somebody deleted or moved it.").waitFor();
  }],
];
