// Files and folders of this computer become one save.
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { same } from "../browser.mjs";
import { branch, newProject, PASSWORD } from "../seed.mjs";
import { bytes, editor, hold, open, text } from "./editor/steps.mjs";

/** Drops files on the page, as a drag from the desktop would; `null` stands for a folder, which the path names. */
async function drop(page, files, over = "Drop to add to main") {
  await page.getByRole("heading", { name: "History", level: 2 }).waitFor();
  await page.evaluate((list) => {
    const fileEntry = (name, body) => ({
      name,
      isFile: true,
      file: (found) => found(new File([body], name)),
    });
    const folderEntry = (name, children) => ({
      name,
      isFile: false,
      createReader: () => {
        const parts = [children, []];
        return { readEntries: (found) => found(parts.shift()) };
      },
    });
    const tree = (prefix) => {
      const here = Object.entries(list).filter(([path]) => path.startsWith(prefix));
      const names = [...new Set(here.map(([path]) => path.slice(prefix.length).split("/")[0]))].filter(Boolean);
      return names.map((name) => {
        const body = list[prefix + name];
        return body === undefined ? folderEntry(name, tree(`${prefix}${name}/`)) : fileEntry(name, body);
      });
    };
    const items = tree("").map((entry) => ({ kind: "file", webkitGetAsEntry: () => entry }));
    const event = (type) => {
      const made = new DragEvent(type, { bubbles: true, cancelable: true });
      Object.defineProperty(made, "dataTransfer", { value: { types: ["Files"], items } });
      return made;
    };
    dispatchEvent(event("dragenter"));
    globalThis.dropEvent = event("drop");
  }, files);
  await page.getByText(over).first().waitFor();
  await page.evaluate(() => void dispatchEvent(globalThis.dropEvent));
}

/** The next look at what is there, as after a try that failed: until it begins the plan of that one is on the screen. */
const look = (page) => page.waitForResponse((response) => response.request().method() === "GET" && response.url().endsWith("/branches/main"));

export default [
  ["a folder is dropped: one look, one save, one undo", async (world) => {
    const repo = await newProject(world.admin, "acme/drop", { "config/a.txt": "old\n" });
    const long = `config/${"п".repeat(80)}.xml`;
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/);
    await drop(page, { "config/a.txt": "new\n", "config/b/empty": "", [long]: "<a/>", "config/.git/HEAD": "ref", "config/.DS_Store": "x" });
    const sheet = page.getByRole("dialog", { name: "Add 3 files" });
    await sheet.getByText("2 new · 1 replaced").waitFor();
    await sheet.getByText("2 left out").waitFor();
    same(await person.accessibility(), []);
    await person.shot("upload");
    await sheet.getByLabel("What changed? (optional)").fill("the new release");
    await sheet.getByRole("button", { name: "Save 3 files" }).click();
    await page.getByText("Saved 3 files").waitFor();
    await hold(page);
    same(await text(world, repo, "config/a.txt"), "new\n");
    same(await bytes(world, repo, "config/b/empty"), []);
    same(await text(world, repo, long), "<a/>");
    const [last] = await world.admin.json("GET", `${branch(repo, "main")}/history`);
    same([last.operation, last.message], ["batch", "the new release"]);
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("The files are as they were before").waitFor();
    same(await text(world, repo, "config/a.txt"), "old\n");
  }],

  ["files are laid under a folder, and somebody's save meanwhile is not overwritten unseen", async (world) => {
    const repo = await newProject(world.admin, "acme/under", { "x/a.txt": "old\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/, /412/);
    await drop(page, { "a.txt": "mine\n" });
    const sheet = page.getByRole("dialog", { name: "Add 1 file" });
    await sheet.getByText("1 new · 0 replaced").waitFor();
    await sheet.getByLabel("Under the folder").fill("/x/");
    await sheet.getByText("0 new · 1 replaced").waitFor();
    await world.admin.send("PUT", `${branch(repo, "main")}/files/${encodeURIComponent("x/a.txt")}`, "theirs\n");
    const looked = look(page);
    await sheet.getByRole("button", { name: "Save 1 file" }).click();
    await sheet.getByText("Somebody saved to this branch meanwhile.").waitFor();
    same(await text(world, repo, "x/a.txt"), "theirs\n");
    await looked;
    await sheet.getByText("0 new · 1 replaced").waitFor();
    await sheet.getByRole("button", { name: "Save 1 file" }).click();
    await page.getByText("Saved 1 file").waitFor();
    same(await text(world, repo, "x/a.txt"), "mine\n");
  }],

  ["a file that is dropped on the open text is added, and not written into it", async (world) => {
    const repo = await newProject(world.admin, "acme/drop-on-text", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    await page.locator(".file .cm-content").evaluate((node) => {
      // What a script drops is no entry of a folder for a browser.
      DataTransferItem.prototype.webkitGetAsEntry = function () {
        const file = this.getAsFile();
        return { name: file.name, isFile: true, file: (found) => found(file) };
      };
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["dropped\n"], "b.txt"));
      node.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, composed: true, dataTransfer }));
    });
    await page.getByRole("dialog", { name: "Add 1 file" }).getByText("1 new · 0 replaced").waitFor();
    same(await page.locator(".file .cm-content").innerText(), "a\n\n");
    same(await page.locator(".file").getAttribute("data-changed"), "false");
  }],

  ["a name whose letters are taken apart, as by a Mac, makes no second file that looks the same", async (world) => {
    // Each is one letter: composed, and taken apart.
    const [composed, apart] = ["\u0439.txt", "\u0435\u0308.txt"];
    const repo = await newProject(world.admin, "acme/apart", { [composed]: "old\n", [apart]: "old\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    await drop(page, { "\u0438\u0306.txt": "new\n", [apart]: "new\n", "\u0418\u0306.txt": "new\n" });
    const sheet = page.getByRole("dialog", { name: "Add 3 files" });
    await sheet.getByText("1 new · 2 replaced").waitFor();
    await sheet.getByRole("button", { name: "Save 3 files" }).click();
    await page.getByText("Saved 3 files").waitFor();
    const there = await world.admin.json("GET", `${branch(repo, "main")}/tree`);
    same(there.map((entry) => entry.path).sort(), [composed, apart, "\u0419.txt"].sort());
    for (const { path } of there) same(await text(world, repo, path), "new\n");
  }],

  ["a file that was changed after it was chosen is named, and not the network", async (world) => {
    const repo = await newProject(world.admin, "acme/changed-since", { "a.txt": "a\n" });
    const here = mkdtempSync(join(tmpdir(), "siteconf-changed-"));
    const path = join(here, "b.txt");
    writeFileSync(path, "before");
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.locator(".items").getByRole("button", { name: "Choose files" }).click();
    await (await chooser).setFiles(path);
    const sheet = page.getByRole("dialog", { name: "Add 1 file" });
    await sheet.getByText("1 new · 0 replaced").waitFor();
    writeFileSync(path, "and after");
    // However coarse the clock of the disk is.
    utimesSync(path, new Date(), new Date(Date.now() + 60_000));
    person.expected.push(/failed/, /ERR_/);
    await sheet.getByRole("button", { name: "Save 1 file" }).click();
    await sheet.getByRole("alert").getByText("This cannot be read: “b.txt”.").waitFor();
    rmSync(here, { recursive: true });
  }],

  ["a name that the service refuses is told in the sheet", async (world) => {
    const repo = await newProject(world.admin, "acme/refused", { "a.txt": "a\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    person.expected.push(/400/, /404/);
    await drop(person.page, { "a\\b.txt": "x" });
    const sheet = person.page.getByRole("dialog", { name: "Add 1 file" });
    const told = sheet.getByRole("alert");
    const save = sheet.getByRole("button", { name: "Save 1 file" });
    await save.click();
    await told.getByText("“a\\b.txt”: The path has a “\\”.").waitFor();
    await sheet.getByLabel("Under the folder").fill("x//y");
    await told.getByText("A name is missing").waitFor();
    same([await save.isDisabled(), await sheet.getByRole("button", { name: "Try again" }).count()], [true, 0]);
    await sheet.getByRole("button", { name: "Cancel" }).click();
    await drop(person.page, { "b.txt": "x" });
    const asked = person.page.waitForResponse("**/tree?path=a.txt");
    await sheet.getByLabel("Under the folder").fill(" a.txt ");
    await asked;
    await save.click();
    await told.getByText("“a.txt/b.txt”: “a.txt” is a file: nothing can be below it.").waitFor();
    // A cut is told of once, and needs no click once it is over.
    const looked = person.page.waitForResponse("**/tree?path=new");
    await sheet.getByLabel("Under the folder").fill("  new  ");
    await looked;
    await sheet.getByText("new/b.txt").waitFor();
    person.expected.push(/failed|ERR_/);
    await person.route("**/{batch*,tree*,branches/main,health}", (route) => route.abort());
    await save.click();
    await told.getByText("The connection broke off. Nothing was saved. The service does not answer.").waitFor();
    same(await told.count(), 1);
    await person.page.unrouteAll();
    await save.click();
    await person.page.getByText("Saved 1 file").waitFor();
    same(await text(world, repo, "new/b.txt"), "x");
  }],

  ["what a try that ended half-way has saved is not sent again, and is taken back with the rest", async (world) => {
    const repo = await newProject(world.admin, "acme/parts", { "a.txt": "old\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/503/);
    // A batch takes one file here, and the second is refused once.
    await person.route("**/user/session", async (route) => {
      const response = await route.fetch();
      const session = await response.json();
      session.limits.batch_actions_max = 1;
      await route.fulfill({ response, json: session });
    });
    const batches = [];
    await person.route("**/batch*", (route) => {
      batches.push(route.request().url());
      return batches.length === 2 ? route.fulfill({ status: 503, json: { message: "no changes" } }) : route.fallback();
    });
    await page.reload();
    await drop(page, { "a.txt": "new\n", "b.txt": "b\n", "c.txt": "c\n" });
    const sheet = page.getByRole("dialog", { name: "Add 3 files" });
    await sheet.getByText("it becomes 3, one after the other").waitFor();
    const looked = look(page);
    await sheet.getByRole("button", { name: "Save 3 files" }).click();
    await sheet.getByText("1 of 3 saves are made.").waitFor();
    await looked;
    await sheet.getByText("2 new · 0 replaced").waitFor();
    await sheet.getByRole("button", { name: "Save 2 files" }).click();
    await page.getByText("Saved 3 files").waitFor();
    await hold(page);
    same(batches.length, 4);
    same([await text(world, repo, "a.txt"), await text(world, repo, "c.txt")], ["new\n", "c\n"]);
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("The files are as they were before").waitFor();
    same(await text(world, repo, "a.txt"), "old\n");
    const left = await world.admin.json("GET", `${branch(repo, "main")}/tree`);
    same(left.map((entry) => entry.path), ["a.txt"]);
  }],

  ["an upload tells how far it is, asks before the page is closed, and can be stopped and taken back", async (world) => {
    const repo = await newProject(world.admin, "acme/stopped", { "a.txt": "old\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    // A batch takes one file here.
    await person.route("**/user/session", async (route) => {
      const response = await route.fetch();
      const session = await response.json();
      session.limits.batch_actions_max = 1;
      await route.fulfill({ response, json: session });
    });
    await page.reload();
    await drop(page, { "a.txt": "new\n", "b.txt": "b".repeat(4_000_000) });
    await page.unrouteAll();
    const sheet = page.getByRole("dialog", { name: "Add 2 files" });
    await sheet.getByText("1 new · 1 replaced").waitFor();
    const network = await person.context.newCDPSession(page);
    const slow = (bytes) => network.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: bytes });
    await network.send("Network.enable");
    // It is still under way when all of this has been looked at.
    await slow(40_000);
    await sheet.getByRole("button", { name: "Save 2 files" }).click();
    const progress = sheet.getByRole("progressbar");
    await progress.waitFor();
    await page.waitForFunction(() => {
      const { value, max } = document.querySelector("progress");
      return value > 100_000 && value < max && max > 4_000_000;
    });
    same(/^[\d.]+ .B of 3.8 MB sent$/.test(await sheet.locator(".flow .sub").innerText()), true);
    same(await person.accessibility(), []);
    await person.shot("upload under way");
    const asked = page.waitForEvent("dialog");
    await page.close({ runBeforeUnload: true });
    const question = await asked;
    same(question.type(), "beforeunload");
    await question.dismiss();
    await page.keyboard.press("Escape");
    const told = sheet.getByRole("alert");
    await told.getByText("Stopped. 1 of 2 saves are made. 1 file is not saved.").waitFor();
    await sheet.getByText("1 new · 0 replaced").waitFor();
    await person.shot("upload stopped");
    same(await text(world, repo, "a.txt"), "new\n");
    await slow(-1);
    await told.getByRole("button", { name: "Undo" }).click();
    await page.getByText("The files are as they were before").waitFor();
    same(await text(world, repo, "a.txt"), "old\n");
    // What the network swallows is told of, and can be given up.
    await person.route("**/batch*", () => undefined);
    await drop(page, { "c.txt": "c\n" });
    const one = page.getByRole("dialog", { name: "Add 1 file" });
    await page.clock.install();
    await one.getByRole("button", { name: "Save 1 file" }).click();
    await progress.or(one.getByRole("progressbar")).waitFor();
    await page.clock.fastForward(7000);
    await one.getByRole("alert").getByText("Nothing has gone out for some seconds").waitFor();
    await person.shot("upload hangs");
    await one.getByRole("button", { name: "Cancel" }).click();
    await one.getByRole("alert").getByText("Stopped. Nothing was saved.").waitFor();
    await page.keyboard.press("Escape");
    await one.waitFor({ state: "detached" });
  }],

  ["a folder is chosen by keys alone, and what cannot be added is told", async (world) => {
    const repo = await newProject(world.admin, "acme/chosen-by-keys");
    const here = mkdtempSync(join(tmpdir(), "siteconf-chosen-"));
    mkdirSync(join(here, "shop/sub"), { recursive: true });
    writeFileSync(join(here, "shop/a.txt"), "a");
    writeFileSync(join(here, "shop/sub/b.txt"), "b");
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/);
    const sheet = page.getByRole("dialog", { name: "Add 2 files" });
    const choose = async (keys) => {
      const chooser = page.waitForEvent("filechooser");
      for (const key of keys) await page.keyboard.press(key);
      await (await chooser).setFiles(join(here, "shop"));
      await sheet.getByText("shop/sub/b.txt").waitFor();
    };
    await page.getByRole("heading", { name: "An empty branch" }).waitFor();
    await person.shot("choose in an empty branch");
    await page.locator("main").getByRole("button", { name: "Choose a folder…" }).focus();
    await choose(["Enter"]);
    await page.keyboard.press("Control+Enter");
    await page.getByText("Saved 2 files").waitFor();
    same(await text(world, repo, "shop/sub/b.txt"), "b");
    await page.locator("main").getByRole("button", { name: "Choose a folder…" }).waitFor();
    same(await person.accessibility(), []);
    await person.shot("choose beside the drop hint");
    const add = page.getByRole("button", { name: "Add", exact: true });
    await add.focus();
    await page.keyboard.press("Enter");
    await person.shot("choose in the menu");
    await choose(["ArrowDown", "ArrowDown", "Enter"]);
    await sheet.getByText("0 new · 2 replaced").waitFor();
    await page.keyboard.press("Escape");
    rmSync(here, { recursive: true });
    const told = page.locator(".toast.bad");
    await drop(page, { "empty/": "" });
    await told.getByText("There is nothing to add: a folder is kept only with files in it.").waitFor();
    await person.go(`/site-builder/files/${repo}?branch=main&at=v0001`);
    const past = "Nothing can be added to the past.";
    await drop(page, { "a.txt": "a" }, past);
    await told.getByText(past).waitFor();
    const reader = await world.somebody();
    await reader.login("auditor", PASSWORD, `/site-builder/files/${repo}?branch=main`);
    const forbidden = "Nothing can be added here: your role may only read this branch.";
    await drop(reader.page, { "a.txt": "a" }, forbidden);
    await reader.page.locator(".toast.bad").getByText(forbidden).waitFor();
    await reader.shot("drop refused");
  }],

  ["what is there is asked for once a folder is typed, and again where it could not be seen", async (world) => {
    const repo = await newProject(world.admin, "acme/unseen", { "a.txt": "old\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/, /503/);
    await drop(page, { "a.txt": "new\n" });
    const sheet = page.getByRole("dialog", { name: "Add 1 file" });
    await sheet.getByText("0 new · 1 replaced").waitFor();
    const folder = "some/folder";
    const asked = [];
    await person.route("**/tree?path=*", (route) => {
      asked.push(new URL(route.request().url()).searchParams.get("path"));
      return asked.filter((path) => path === folder).length === 1 ? route.fulfill({ status: 503, json: { message: "not now" } }) : route.fallback();
    });
    await sheet.getByLabel("Under the folder").pressSequentially(folder);
    await sheet.getByRole("alert").getByText("The service cannot show this at the moment.").waitFor();
    same(await person.accessibility(), []);
    await sheet.getByRole("button", { name: "Try again" }).click();
    await sheet.getByText("1 new · 0 replaced").waitFor();
    same(asked.slice(-2), [folder, folder]);
    // A slow machine may come to ask between two letters, and not between all.
    same(asked.length < folder.length, true);
  }],

  ["where nobody can tell what state an upload made, one click takes nothing back", async (world) => {
    const repo = await newProject(world.admin, "acme/untold", { "a.txt": "old\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    // As in a branch of more files than it is told for.
    await person.route("**/batch*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), commit_id: null } });
    });
    await drop(page, { "a.txt": "new\n" });
    await page.getByRole("dialog").getByRole("button", { name: "Save 1 file" }).click();
    const told = page.locator(".toast", { hasText: "Saved 1 file" });
    await told.waitFor();
    same(await told.innerText(), "Saved 1 file");
    same(await text(world, repo, "a.txt"), "new\n");
  }],

  ["an upload goes on where somebody leaves its branch, and tells how it ends; one that has not begun is closed", async (world) => {
    const repo = await newProject(world.admin, "acme/left-alone", { "a.txt": "old\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0001`);
    const { page } = person;
    person.expected.push(/503/);
    await page.locator(".change .labels").waitFor();
    await page.getByRole("treeitem", { name: "a.txt" }).click();
    const sheet = page.getByRole("dialog", { name: "Add 1 file" });
    await drop(page, { "a.txt": "new\n" });
    await sheet.getByText("0 new · 1 replaced").waitFor();
    await page.goBack();
    await sheet.waitFor({ state: "detached" });
    await page.goForward();
    await page.getByRole("heading", { name: "a.txt", level: 1 }).waitFor();
    same(await sheet.count(), 0);
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await person.route("**/batch*", async (route) => {
      await held;
      await route.fulfill({ status: 503, json: { message: "no changes" } });
    });
    await drop(page, { "a.txt": "new\n" });
    const sent = page.waitForRequest("**/batch*");
    await sheet.getByRole("button", { name: "Save 1 file" }).click();
    await sent;
    await page.goBack();
    await page.locator(".change .labels").waitFor();
    same(await sheet.getByRole("button").allInnerTexts(), ["Cancel", "Saving…"]);
    const looked = look(page);
    release();
    await sheet.getByRole("alert").getByText("The service takes no changes at the moment.").waitFor();
    await looked;
    await page.unrouteAll();
    await sheet.getByRole("button", { name: "Save 1 file" }).click();
    await page.getByText("Saved 1 file").waitFor();
    same(await text(world, repo, "a.txt"), "new\n");
  }],
];
