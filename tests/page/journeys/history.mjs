// Support at night: see what changed, go back, take that back.
import { counted, same, soon } from "../browser.mjs";
import { branch, bytesOf, file, newProject } from "../seed.mjs";
import { hold } from "./editor/steps.mjs";

const text = async (world, repo, path) => new TextDecoder().decode(await bytesOf(world.admin, repo, "main", path));

const saves = [
  { "a.txt": "a one\n", "b.txt": "b one\n" },
  { "a.txt": "a two\n", "b.txt": "b two\n" },
];

/** A tar archive of one file that may be run. */
function executable(path, text) {
  const archive = Buffer.alloc(2048);
  archive.write(path, 0);
  for (const [at, field] of [[100, "0000755"], [108, "0000000"], [116, "0000000"], [124, text.length.toString(8).padStart(11, "0")], [136, "00000000000"], [148, "        "], [156, "0"], [257, "ustar\u000000"]]) archive.write(field, at);
  archive.write(`${archive.subarray(0, 512).reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, "0")}\0 `, 148);
  archive.write(text, 512);
  return new Uint8Array(archive);
}

export default [
  ["a wrong change is gone after three clicks, and back after one more", async (world) => {
    const repo = await newProject(world.admin, "acme/night", ...saves);
    const { page } = await world.at(`/site-builder/files/${repo}`);
    const clicks = await counted(page);
    await page.locator(".moment", { hasText: "v0002" }).locator("a").click();
    await page.locator("main").getByRole("button", { name: "Go back to before this" }).click();
    await page.getByRole("button", { name: "Roll back 2 files" }).click();
    await page.getByText("The branch is back at v0002").waitFor();
    await hold(page);
    same(await clicks(), 3, "clicks");
    same([await text(world, repo, "a.txt"), await text(world, repo, "b.txt")], ["a one\n", "b one\n"]);
    await page.locator(".moment.rollback").waitFor();
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("Undone").waitFor();
    same(await clicks(), 4, "clicks");
    same([await text(world, repo, "a.txt"), await text(world, repo, "b.txt")], ["a two\n", "b two\n"]);
  }],

  ["an empty file is called one, and a long message leaves room for what it is about", async (world) => {
    const repo = await newProject(world.admin, "acme/long-message", { "empty.txt": "" });
    const long = `The first line.\n${"Prices of the whole shop were looked through. ".repeat(80)}The end.`;
    const actions = ["b.txt", "c.txt"].map((path) => ({ action: "create", file_path: path, content: "b" }));
    await world.admin.json("POST", `${branch(repo, "main")}/batch`, { message: long, actions });
    await world.admin.send("PUT", `${file(repo, "main", "d.txt")}?${new URLSearchParams({ message: long })}`, "d\n");
    const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0001`);
    const { page } = person;
    await page.locator(".pair").getByText("An empty file").waitFor();
    for (const [version, part] of [["v0002", ".what > .base"], ["v0003", ".note"]]) {
      const row = page.locator(".moment", { hasText: version });
      const words = row.locator(part);
      const [tall, line] = await words.evaluate((node) => [node.clientHeight, parseFloat(getComputedStyle(node).lineHeight)]);
      same([Math.round(tall / line), await words.getAttribute("title")], [3, long]);
      await row.locator("a").click();
      await page.locator(".change .labels", { hasText: `Before · ${version}` }).waitFor();
      same(await page.locator(".change > p").innerText(), long);
      await person.shot(`long message ${version}`);
      const [{ y: below }, { y: above, height }] = [await page.locator(".change .pair").boundingBox(), await page.locator("main").boundingBox()];
      same(below - above < height / 3, true, `${below - above} of ${height} px`);
      same(await person.accessibility(), []);
    }
  }],

  ["what somebody saves after a rollback is not undone with it", async (world) => {
    const repo = await newProject(world.admin, "acme/undone", ...saves);
    const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002&rollback=v0002`);
    const { page } = person;
    person.expected.push(/412/);
    await page.getByRole("button", { name: "Roll back 2 files" }).click();
    await page.getByText("The branch is back at v0002").waitFor();
    await world.admin.send("PUT", file(repo, "main", "c.txt"), "c\n");
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("Somebody saved since.").waitFor();
    same([await text(world, repo, "a.txt"), await text(world, repo, "c.txt")], ["a one\n", "c\n"]);
  }],

  ["a rollback that somebody leaves while it is made tells how it ends, and leads nobody away", async (world) => {
    const repo = await newProject(world.admin, "acme/left-rollback", ...saves);
    const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002`);
    const { page } = person;
    person.expected.push(/503/);
    const dialog = page.getByRole("dialog");
    const isReal = (url) => url.pathname.endsWith("/rollback") && !url.searchParams.has("dry_run");
    /** Rolls back, and is elsewhere before the answer comes; gives what lets it come. */
    const leave = async (answer) => {
      let release;
      const held = new Promise((resolve) => { release = resolve; });
      await person.route(isReal, async (route) => {
        await held;
        await answer(route);
      }, { times: 1 });
      await page.locator("main").getByRole("button", { name: "Go back to before this" }).click();
      const sent = page.waitForRequest((request) => isReal(new URL(request.url())));
      await dialog.getByRole("button", { name: "Roll back 2 files" }).click();
      await sent;
      same(await dialog.getByRole("button", { name: "Close" }).count(), 0);
      same(await dialog.getByRole("button", { name: "Cancel" }).isDisabled(), true);
      await page.goBack();
      await dialog.waitFor({ state: "detached" });
      return release;
    };
    const refuse = await leave((route) => route.fulfill({ status: 503, json: { message: "no changes" } }));
    refuse();
    const told = page.locator(".toast.bad");
    await told.waitFor();
    same(await told.innerText(), "Going back to before 2 files did not work. The service takes no changes at the moment.");
    await told.getByRole("button", { name: "Close" }).click();
    const allow = await leave((route) => route.continue());
    allow();
    await page.getByText("The branch is back at v0002").waitFor();
    await hold(page);
    same(new URL(page.url()).search, "?branch=main&change=v0002");
    await page.locator(".moment.rollback").waitFor();
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("Undone").waitFor();
    same(new URL(page.url()).search, "?branch=main&change=v0002");
  }],

  ["on a phone a change is in sight once it is tapped, each time", async (world) => {
    const repo = await newProject(world.admin, "acme/phone", ...saves);
    const person = await world.at(`/site-builder/files/${repo}?branch=main`, { width: 390, height: 844, touch: true });
    const { page } = person;
    const tabs = page.getByRole("navigation", { name: "Menu" }).getByRole("button");
    const history = page.getByRole("complementary", { name: "History" });
    for (const _ of "12") {
      await tabs.filter({ hasText: "History" }).tap();
      await page.locator(".moment", { hasText: "v0002" }).locator("a").tap();
      await page.locator(".change .labels").waitFor();
      await history.waitFor({ state: "hidden" });
      same(await tabs.nth(1).innerText(), "v0002");
    }
    same(await person.accessibility(), []);
    await person.shot("phone change");
    await page.locator("main").getByRole("button", { name: "Go back to before this" }).tap();
    await page.getByRole("button", { name: "Roll back 2 files" }).tap();
    await page.getByText("The branch is back at v0002").waitFor();
    same(await text(world, repo, "a.txt"), "a one\n");
  }],

  ["one file of a change goes back alone", async (world) => {
    const repo = await newProject(world.admin, "acme/one", ...saves);
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002&path=b.txt`);
    await page.locator("main").getByRole("button", { name: "Go back to before this" }).click();
    await page.getByLabel("Only b.txt").check();
    await page.getByRole("button", { name: "Roll back 1 file" }).click();
    await page.getByText("The branch is back at v0002").waitFor();
    same([await text(world, repo, "a.txt"), await text(world, repo, "b.txt")], ["a two\n", "b one\n"]);
  }],

  ["what somebody saves between the preview and the button is not rolled back unseen", async (world) => {
    const repo = await newProject(world.admin, "acme/race", ...saves);
    const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002&rollback=v0002`);
    const { page } = person;
    person.expected.push(/412/);
    // The word of the save is held back, as on a slow line.
    await page.getByRole("button", { name: "Roll back 2 files" }).waitFor();
    await person.route("**/rollback?*", async (route) => {
      await world.admin.send("PUT", file(repo, "main", "c.txt"), "c\n");
      await route.continue();
    }, { times: 1 });
    await page.getByRole("button", { name: "Roll back 2 files" }).click();
    await page.getByText("Somebody saved in the meantime").waitFor();
    same(await text(world, repo, "a.txt"), "a two\n");
    await page.getByRole("button", { name: "Roll back 3 files" }).click();
    await page.getByText("The branch is back at v0002").waitFor();
    same(await text(world, repo, "a.txt"), "a one\n");
  }],

  ["a change of line ends, mark, encoding or the right to run it alone is told in words", async (world) => {
    const repo = await newProject(world.admin, "acme/written-forms", { "a.txt": "цена\nдва\n", "b.txt": "Größe\r\n", "run.sh": "echo\n", "c.txt": "a\n" });
    const encoded = (bytes) => ({ content: Buffer.from(bytes).toString("base64"), encoding: "base64" });
    const actions = [
      { action: "update", file_path: "a.txt", ...encoded("\ufeffцена\r\nдва\r\n") },
      { action: "update", file_path: "b.txt", ...encoded(Buffer.from("Größe\r\n", "latin1")) },
      { action: "update", file_path: "c.txt", ...encoded("b\r\n") },
    ];
    await world.admin.json("POST", `${branch(repo, "main")}/batch`, { actions });
    const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002`);
    const { page } = person;
    const told = (expected) => soon(() => page.locator(".forms").last().locator("li").allInnerTexts(), expected);
    await told(["Line ends: LF → CRLF", "Byte order mark: added"]);
    await person.shot("forms");
    await page.getByRole("button", { name: "b.txt changed" }).click();
    await told(["Encoding: UTF-8 → Windows-1252"]);
    await person.go(`/site-builder/compare/${repo}?branch=main&from=v0002&path=c.txt`);
    await told(["Line ends: LF → CRLF"]);
    await person.go(`/site-builder/files/${repo}?branch=main&change=v0002&rollback=v0002`);
    await told(["Line ends: CRLF → LF", "Byte order mark: removed"]);
    await world.admin.send("POST", `${branch(repo, "main")}/batch`, executable("run.sh", "echo\n"), { "Content-Type": "application/x-tar" });
    await person.go(`/site-builder/files/${repo}?branch=main&change=v0003`);
    await told(["Executable: no → yes"]);
    same(await person.accessibility(), []);
  }],

  ["another's save appears by itself", async (world) => {
    const repo = await newProject(world.admin, "acme/watched", saves[0]);
    const { page } = await world.at(`/site-builder/files/${repo}`);
    await page.locator(".moment", { hasText: "v0001" }).waitFor();
    await world.admin.send("PUT", file(repo, "main", "folder/new.txt"), "new\n");
    await page.locator(".moment", { hasText: "folder/new.txt" }).waitFor();
    await page.getByRole("treeitem", { name: "folder" }).waitFor();
    await page.locator(".foot", { hasText: "3 files" }).waitFor();
  }],

  ["the files as of then are looked at, and left again", async (world) => {
    const repo = await newProject(world.admin, "acme/then", ...saves);
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002`);
    await page.getByRole("link", { name: "Files before this" }).click();
    await page.getByText("You are looking at v0002").waitFor();
    await page.locator(".strip").getByRole("button", { name: "Go back to this state" }).click();
    await page.locator("dialog").getByText("The branch gets back v0002, its state from right before admin’s change: 2 files.").waitFor();
    await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Compare with now" }).click();
    await page.getByRole("heading", { name: "Compare two states" }).waitFor();
    await soon(() => page.locator(".changes li").count(), 2);
    await page.getByRole("button", { name: "Swap the two" }).click();
    await page.waitForURL(/to=v0002/);
    await page.goBack();
    await page.goBack();
    await page.getByRole("heading", { level: 1 }).waitFor();
  }],

  ["of thousands of changed files each is come to by keys and by its name, and their kinds are counted", async (world) => {
    const nameOf = (at) => `wide/${String(at).padStart(4, "0")}.txt`;
    const repo = await newProject(world.admin, "acme/thousands", Object.fromEntries(Array.from({ length: 1300 }, (_, at) => [nameOf(at), `${at}\n`])));
    const actions = [
      ...[1, 2].map((at) => ({ action: "update", file_path: nameOf(at), content: "other" })),
      { action: "delete", file_path: nameOf(3) },
      { action: "create", file_path: "new.txt", content: "new" },
    ];
    await world.admin.json("POST", `${branch(repo, "main")}/batch`, { actions });
    const at = (more) => `/site-builder/files/${repo}?branch=main&${more}`;
    const person = await world.at(at("change=v0001"));
    const { page } = person;
    const sums = () => page.locator(".changes .sums > span").allInnerTexts();
    const rows = page.locator(".changes li");
    const shown = (name) => page.locator(".pair .cm-line", { hasText: new RegExp(`^${name}$`) }).waitFor();
    await shown("0");
    same([await sums(), await rows.count() < 80], [["1,300 added"], true]);
    same(await page.locator(".changes [tabindex='0']").count(), 1);
    await page.locator(".changes .current").focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    await shown("1298");
    same(await page.evaluate(() => document.activeElement.textContent), `${nameOf(1298)}added`);
    same(await rows.last().getAttribute("aria-posinset"), "1300");
    await page.getByLabel("Filter the changed files").fill("777");
    await soon(() => rows.allTextContents(), [`${nameOf(777)}added`]);
    await page.locator(".changes [tabindex='0']").click();
    await shown("777");
    same(await person.accessibility(), []);
    await person.shot("changes of thousands");
    // From an address its row is in sight.
    await person.go(at(`change=v0001&path=${nameOf(900)}`));
    await shown("900");
    await soon(() => page.locator(".changes .current").evaluate((node) => {
      const [its, all] = [node.getBoundingClientRect(), node.closest(".changes").getBoundingClientRect()];
      return its.top >= all.top && its.bottom <= all.bottom;
    }), true);
    await person.go(at("change=v0002"));
    await soon(sums, ["1 added", "2 changed", "1 removed"]);
    same(await page.getByLabel("Filter the changed files").count(), 0);
    await person.go(at("rollback=v0002"));
    await soon(() => page.locator("dialog .changes .sums > span").allInnerTexts(), ["1 to come back", "2 to change back", "1 to go away"]);
  }],

  ["a version tells what it held, one that is not there that it is not, and a folder's address opens it", async (world) => {
    const repo = await newProject(world.admin, "acme/held", { "config/a.txt": "a\n" }, { "b.txt": "bbb\n", "c.txt": "c\n" });
    const [newest] = await world.admin.json("GET", `${branch(repo, "main")}/history?limit=1`);
    const at = (more) => `/site-builder/files/${repo}?branch=main${more}`;
    const person = await world.at(at("&at=v0002"));
    const { page } = person;
    person.expected.push(/40[04]/);
    const facts = () => page.locator(".facts dd").allInnerTexts();
    await soon(facts, ["1", "2 B", newest.short_id]);
    await soon(() => page.locator(".foot").innerText(), "1 file · 2 B");
    await person.shot("as of then");
    await person.go(at("&at=v0001"));
    await soon(() => page.locator(".foot").innerText(), "0 files · 0 B");
    for (const [version, more] of [["v9999", ""], ["zzz", ""], ["v9999", "&path=b.txt"]]) {
      await person.go(at(`&at=${version}${more}`));
      await page.getByText(`There is no ${version} in this branch`).waitFor();
      same(await page.getByText("You are looking at").count(), 0);
      same(await page.locator(".foot, .left .empty").count(), 0);
    }
    await person.shot("no such version");
    await page.locator("main").getByRole("link", { name: "Back to now" }).click();
    await soon(async () => (await facts())[0], "3");
    for (const more of ["", "&at=v0002"]) {
      await person.go(at(`&path=config${more}`));
      await page.getByRole("treeitem", { name: "a.txt" }).waitFor();
      await page.locator(".overview").waitFor();
      same(await page.getByRole("button", { name: "Save" }).count(), 0);
    }
  }],

  ["keys go from change to change", async (world) => {
    const repo = await newProject(world.admin, "acme/keys", ...saves);
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main`);
    await page.locator(".moment", { hasText: "v0001" }).waitFor();
    const steps = [["[", /change=v0002/], ["[", /change=v0001/], ["]", /change=v0002/], ["]", /branch=main$/]];
    for (const [key, url] of steps) {
      await page.keyboard.press(key);
      await page.waitForURL(url);
    }
    // As on a Russian keyboard.
    for (const [key, url] of steps) {
      const made = key === "[" ? { key: "х", code: "BracketLeft" } : { key: "ъ", code: "BracketRight" };
      await page.evaluate((key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { ...key, bubbles: true, cancelable: true })), made);
      await page.waitForURL(url);
    }
    // In a list of changes Tab comes to the one that is shown.
    await page.keyboard.press("[");
    const stops = page.locator(".changes button:not([tabindex='-1'])");
    await soon(() => stops.allInnerTexts(), ["a.txt\nchanged"]);
    await stops.focus();
    await page.keyboard.press("ArrowDown");
    await soon(() => stops.allInnerTexts(), ["b.txt\nchanged"]);
    await page.locator(".changes button:focus", { hasText: "b.txt" }).waitFor();
    await page.goto(`/site-builder/files/${repo}?branch=main`);
    await page.locator(".moment", { hasText: "v0001" }).waitFor();
    // What differs from now is asked from what is looked at on.
    const compare = page.getByRole("link", { name: "Compare two states" });
    for (const [key, from] of [[null, "v0002"], ["[", "v0002"], ["[", "v0001"]]) {
      if (key) await page.keyboard.press(key);
      await page.waitForURL(key ? new RegExp(`change=${from}`) : /branch=main$/);
      same(new URL(await compare.getAttribute("href"), world.base).searchParams.get("from"), from);
    }
  }],

  ["two changes are compared with shift", async (world) => {
    const repo = await newProject(world.admin, "acme/shift", ...saves, { "a.txt": "a three\n" });
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main&change=v0003`);
    await page.locator(".moment", { hasText: "v0002" }).locator("a").click({ modifiers: ["Shift"] });
    await page.waitForURL(/compare.*from=v0002$/);
    await soon(() => page.locator(".changes li").count(), 2);
  }],

  ["a branch is made from how another was", async (world) => {
    const repo = await newProject(world.admin, "acme/fork", ...saves);
    const person = await world.at(`/site-builder/files/${repo}?branch=main&at=v0002`);
    const { page } = person;
    await page.getByRole("navigation", { name: "Branches" }).getByRole("button", { name: "main" }).click();
    await page.getByRole("button", { name: "New branch" }).click();
    await page.getByLabel("Name").fill("release/1");
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/branch=release\/1/);
    const made = new TextDecoder().decode(await bytesOf(world.admin, repo, "release/1", "a.txt"));
    same(made, "a one\n");
    person.expected.push(/404/);
    await world.admin.send("DELETE", branch(repo, "release/1"));
    await page.getByRole("heading", { name: "There is no branch “release/1”" }).waitFor();
    await person.shot("no such branch");
    same(await person.accessibility(), []);
    await page.locator("main").getByRole("link", { name: "main" }).click();
    await page.getByRole("heading", { name: repo, level: 1 }).waitFor();
    await person.go("/site-builder/files/acme/no-such.erp?branch=main");
    await page.getByRole("heading", { name: "There is no project “acme/no-such.erp”" }).waitFor();
    await page.locator("main").getByRole("link", { name: "To the projects" }).click();
    await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor();
  }],

  ["what a change did is said not to come where an updated service lacks a part of the page, and comes when it is there", async (world) => {
    const person = await world.at("/site-builder/");
    const { page } = person;
    person.expected.push(/404/);
    await person.route("**/site-builder/-/**", (route) => route.fulfill({ status: 404, json: { message: "there is no such asset in this version" } }));
    await page.getByRole("link", { name: /shop/ }).click();
    await page.locator(".moment", { hasText: "v0003" }).locator("a").click();
    await page.locator(".pair").getByText("This part of the page could not be fetched.").waitFor();
    await page.unrouteAll();
    await page.locator(".pair").getByRole("button", { name: "Try again" }).click();
    await page.locator(".pair .cm-content").first().waitFor();
  }],
];
