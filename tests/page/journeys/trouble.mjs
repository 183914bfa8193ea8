// What can come between a person and a save: each state in words of its own, and nothing typed is lost.
import { same, soon } from "../browser.mjs";
import { branch, file, newProject, PASSWORD, project } from "../seed.mjs";
import { bytes, changed, editor, keys, open, put, saved, text, type } from "./editor/steps.mjs";

/** Somebody has typed into a.txt, and nothing is saved yet. */
async function edit(world, name, options) {
  const repo = await newProject(world.admin, name, { "a.txt": "a\n" });
  const person = await world.at(open(repo, "a.txt"), options);
  await editor(person);
  await type(person, "b\n");
  await changed(person);
  return { repo, person, page: person.page };
}

/** Has `act` make the page read a.txt; gives what lets it have the answer. */
async function hold(person, act) {
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  const isRead = (request) => request.method() === "GET" && /\/files\/a\.txt/.test(request.url());
  await person.route("**/files/a.txt*", async (route) => {
    if (!isRead(route.request())) return route.fallback();
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  });
  await Promise.all([person.page.waitForRequest(isRead), act()]);
  return release;
}

const bar = (page) => page.locator(".file .strip");

const accounts = "/site-builder/api/accounts";

export default [
  ["a session ends during an edit: log in, saved", async (world) => {
    const { repo, person, page } = await edit(world, "acme/session");
    person.expected.push(/401/);
    await person.context.clearCookies();
    await keys(person, "Control+s");
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await saved(person);
    same(await text(world, repo, "a.txt"), "a\nb\n");
  }],

  ["somebody else logs in where a session has ended: nothing is saved in their name, and the edits are kept", async (world) => {
    const { repo, person, page } = await edit(world, "acme/another");
    person.expected.push(/401/);
    await person.context.clearCookies();
    await keys(person, "Control+s");
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("User name").fill("anna");
    await dialog.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByText("You are logged in as anna now. What olga typed and did not save is kept for olga.").waitFor();
    await page.getByRole("button", { name: "anna", exact: true }).waitFor();
    await editor(person);
    same(await page.locator(".file .cm-content").innerText(), "a\n\n");
    same(await page.locator(".toast", { hasText: "is not saved" }).count(), 0);
    same(await text(world, repo, "a.txt"), "a\n");
    await person.context.clearCookies();
    await person.login("olga", PASSWORD, open(repo, "a.txt"));
    await editor(person);
    await bar(page).getByText("They are not saved yet.").waitFor();
    same(await page.locator(".file .cm-content").innerText(), "a\nb\n\n");
  }],

  ["offline: kept, and saved as soon as the service answers", async (world) => {
    const { repo, person, page } = await edit(world, "acme/offline");
    person.expected.push(/ERR_INTERNET_DISCONNECTED/, /failed:/);
    await person.context.setOffline(true);
    await keys(person, "Control+s");
    await bar(page).getByText("The service does not answer.").waitFor();
    same(await person.accessibility(), []);
    await type(person, "c\n");
    await person.context.setOffline(false);
    // If nothing is answered before, which saves it by itself.
    bar(page).getByRole("button", { name: "Try again" }).click().catch(() => {});
    await saved(person);
    same(await text(world, repo, "a.txt"), "a\nb\nc\n");
  }],

  ["a network that swallows a save is told of while the save waits", async (world) => {
    const repo = await newProject(world.admin, "acme/swallowed", { "a.txt": "a\n" });
    const person = await world.somebody();
    const { page } = person;
    await page.clock.install();
    await person.login("olga", PASSWORD, open(repo, "a.txt"));
    await editor(person);
    await type(person, "b\n");
    await changed(person);
    await page.locator(".health.ok").waitFor();
    // The look of every 30 s comes now, and not in between: from here on no time goes by but what is told to.
    const looked = page.waitForResponse("**/health");
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 60_000));
    await looked;
    for (const asked of ["**/files/a.txt*", "**/health"]) await person.route(asked, () => {});
    const sent = page.waitForRequest((request) => request.method() === "PUT");
    await keys(person, "Control+s");
    await sent;
    const told = page.getByText("The service does not answer. What you typed is kept; trying again…");
    const probed = page.waitForRequest("**/health");
    await page.clock.runFor(9_000);
    same(await told.count(), 0);
    await page.clock.runFor(1_000);
    await probed;
    await page.clock.runFor(8_000);
    await told.waitFor();
    await page.unroute("**/health");
    await page.clock.resume();
    await page.clock.runFor(3_000);
    await told.waitFor({ state: "detached" });
  }],

  ["a save whose answer is lost is not a conflict with oneself", async (world) => {
    const { repo, person, page } = await edit(world, "acme/lost");
    person.expected.push(/failed:/, /ERR_FAILED/, /412/);
    await person.route("**/files/a.txt*", async (route) => {
      if (route.request().method() === "PUT") {
        await route.fetch();
        await route.abort("failed");
        await page.unrouteAll();
      } else await route.continue();
    });
    await keys(person, "Control+s");
    await saved(person).catch(async () => {
      await bar(page).getByRole("button", { name: "Try again" }).click();
      await saved(person);
    });
    same(await page.locator("dialog[open]").count(), 0);
    same(await text(world, repo, "a.txt"), "a\nb\n");
  }],

  ["what is typed while a save finds that it had arrived before stays", async (world) => {
    const { repo, person, page } = await edit(world, "acme/arrived");
    person.expected.push(/failed:/, /ERR_FAILED/, /412/);
    let isLost = false;
    await person.route("**/files/a.txt*", async (route) => {
      if (isLost || route.request().method() !== "PUT") return route.fallback();
      isLost = true;
      await route.fetch();
      await route.abort("failed");
    });
    const release = await hold(person, async () => {
      const refused = page.waitForResponse((response) => response.status() === 412);
      await keys(person, "Control+s");
      // If nothing else is answered meanwhile, it does not save once more by itself.
      bar(page).getByRole("button", { name: "Try again" }).click().catch(() => {});
      await refused;
    });
    await type(person, "c\n");
    release();
    await page.locator(".file[data-saving=false]").waitFor();
    same(await page.locator("dialog[open]").count(), 0);
    same(await page.locator(".file .cm-content").innerText(), "a\nb\nc\n\n");
    await keys(person, "Control+s");
    await saved(person);
    same(await text(world, repo, "a.txt"), "a\nb\nc\n");
  }],

  ["a draft survives a reload, and is dropped by a save", async (world) => {
    const { repo, person, page } = await edit(world, "acme/draft");
    await page.reload();
    await editor(person);
    await bar(page).getByText("They are not saved yet.").waitFor();
    await person.shot("draft");
    same(await person.accessibility(), []);
    await keys(person, "Control+s");
    await saved(person);
    same(await text(world, repo, "a.txt"), "a\nb\n");
    await page.reload();
    await editor(person);
    same(await bar(page).count(), 0);
  }],

  ["a draft survives a page that ends before the browser has written it", async (world) => {
    const repo = await newProject(world.admin, "acme/ends", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    await page.evaluate(() => {
      const { put } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.put = function (...given) {
        const request = put.apply(this, given);
        this.transaction.abort();
        return request;
      };
    });
    await type(person, "b\n");
    await changed(person);
    for (let reload = 0; reload < 2; reload++) {
      await page.reload();
      await editor(person);
      await bar(page).getByText("They are not saved yet.").waitFor();
    }
    // It came to the database at the first one.
    await page.waitForFunction(() => !Object.keys(localStorage).some((name) => name.startsWith("draft")));
    await page.reload();
    await bar(page).getByRole("button", { name: "Discard" }).click();
    await saved(person);
    await page.reload();
    await editor(person);
    same(await bar(page).count(), 0);
  }],

  ["a draft is discarded when it is not wanted", async (world) => {
    const { repo, person, page } = await edit(world, "acme/discard");
    await page.reload();
    await bar(page).getByRole("button", { name: "Discard" }).click();
    await saved(person);
    await page.reload();
    await editor(person);
    same(await page.locator(".file .cm-line").allInnerTexts(), ["a", "\n"].map((line) => line.trim() || line));
    same(await text(world, repo, "a.txt"), "a\n");
  }],

  ["each refusal has words of its own, and the text stays", async (world) => {
    const { repo, person, page } = await edit(world, "acme/refusals");
    person.expected.push(/: PUT/, /status of (4|5)\d\d/);
    // One route for all: between two routes a save would reach the service.
    let refusal;
    await person.route("**/files/a.txt*", (route) =>
      route.request().method() === "PUT" ? route.fulfill(refusal) : route.continue());
    for (const [status, message, words] of [
      [507, "no room", "The disk of the service is full"],
      [503, "no changes", "The service takes no changes at the moment."],
      [429, "too many", "The service takes no changes at the moment."],
      [413, "too large", "The file is too large for this service."],
      [403, "not allowed", "Your role does not let you save here any more."],
      [404, "no branch", "The branch is not there any more."],
      [400, "not as it has to be", "The service refused the text; it is kept in this browser. not as it has to be"],
      [500, "something went wrong", "Not saved: something went wrong"],
    ]) {
      refusal = { status, json: { message } };
      // Two of them have the same words.
      const refused = page.waitForResponse((response) => response.request().method() === "PUT" && response.status() === status);
      await keys(person, "Control+s");
      await refused;
      await bar(page).getByText(words).waitFor();
      await person.shot(`refused ${status}`);
      same(await page.locator(".file .cm-content").innerText(), "a\nb\n\n", `${status}`);
    }
    await page.unrouteAll();
    same(await text(world, repo, "a.txt"), "a\n");
    await keys(person, "Control+s");
    await saved(person);
    same(await text(world, repo, "a.txt"), "a\nb\n");
  }],

  ["what cannot be read now is said so, and comes when it is asked for again", async (world) => {
    const repo = await newProject(world.admin, "acme/unready", { "a.txt": "a\n" });
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/503/);
    await person.route("**/files/a.txt*", (route) => route.fulfill({ status: 503, json: { message: "too much at once; try again in a moment" } }));
    await person.login("olga", PASSWORD, open(repo, "a.txt"));
    await page.getByText("The service cannot show this at the moment. Try again soon.").waitFor();
    same(await person.accessibility(), []);
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await editor(person);
  }],

  ["a role is taken away while somebody types: the text stays and can be taken elsewhere", async (world) => {
    const repo = await newProject(world.admin, "acme/role", { "a.txt": "a\n" });
    const role = "ROLE_SITEBUILDER_USER__acme";
    await world.admin.json("POST", accounts, { name: "vera", password: PASSWORD, roles: [role] });
    const person = await world.somebody();
    await person.login("vera", PASSWORD, open(repo, "a.txt"));
    const { page } = person;
    person.expected.push(/401/, /403/, /404/);
    await editor(person);
    await type(person, "b\n");
    await changed(person);
    await world.admin.json("PUT", `${accounts}/vera/roles/ROLE_SITEBUILDER_EDITOR__READONLY`);
    await world.admin.json("DELETE", `${accounts}/vera/roles/${role}`);
    await keys(person, "Control+s");
    const again = page.getByRole("dialog", { name: "Your session has ended" });
    await bar(page).or(again).first().waitFor();
    if (await again.count()) {
      await again.getByLabel("Password").fill(PASSWORD);
      await page.keyboard.press("Enter");
    }
    await bar(page).getByText("Your role does not let you save here any more.").waitFor();
    const download = page.waitForEvent("download");
    await bar(page).getByRole("button", { name: "Download my text" }).click();
    same((await download).suggestedFilename(), "a.txt");
    same(await text(world, repo, "a.txt"), "a\n");
  }],

  ["a branch goes while somebody types: the text stays, also for whoever comes back to it", async (world) => {
    const { repo, person, page } = await edit(world, "acme/without-branch");
    person.expected.push(/404/);
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "other" });
    await world.admin.send("DELETE", branch(repo, "main"));
    await bar(page).getByText("The branch is not there any more. Your text is kept in this browser.").waitFor();
    same(await person.accessibility(), []);
    await type(person, "c\n");
    await page.locator("header.top a[href=\"/site-builder/\"]").first().click();
    await page.getByRole("button", { name: "Open it" }).click();
    for (const turn of ["come back to", "reloaded"]) {
      await editor(person);
      await bar(page).getByText("The branch is not there any more.").waitFor();
      same(await page.locator(".file .cm-content").innerText(), "a\nb\nc\n\n", turn);
      same(await person.accessibility(), []);
      if (turn !== "reloaded") await page.reload();
    }
    const download = page.waitForEvent("download");
    await bar(page).getByRole("button", { name: "Download my text" }).click();
    same((await download).suggestedFilename(), "a.txt");
    await bar(page).getByRole("button", { name: "Discard" }).click();
    await page.getByRole("heading", { name: "There is no branch" }).waitFor();
  }],

  ["another's save follows into an untouched file, and is told of in a touched one", async (world) => {
    const repo = await newProject(world.admin, "acme/follow", { "a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    await put(world, repo, "a.txt", "A\n");
    // Not by its line, for `hasText` takes no notice of case.
    await soon(() => page.locator(".file .cm-content").innerText(), "A\n\n");
    await type(person, "mine\n");
    await put(world, repo, "a.txt", "AA\n");
    await bar(page).getByText("saved this file").waitFor({ timeout: 30_000 });
    await person.shot("saved meanwhile");
    same(await bytes(world, repo, "a.txt"), [...Buffer.from("AA\n")]);
    // The page may look before the deletion is answered.
    person.expected.push(/404/);
    await world.admin.send("DELETE", file(repo, "main", "a.txt"));
    await bar(page).getByText("deleted this file").waitFor({ timeout: 30_000 });
  }],

  ["another's way back to what was saved here follows as any save does", async (world) => {
    const repo = await newProject(world.admin, "acme/comes-back", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    const shows = (words) => soon(() => page.locator(".file .cm-content").innerText(), words);
    await editor(person);
    await type(person, "b\n");
    await changed(person);
    await keys(person, "Control+s");
    await saved(person);
    await put(world, repo, "a.txt", "theirs\n");
    await shows("theirs\n\n");
    // The branch has the commit of that save again: it says what the files hold.
    await put(world, repo, "a.txt", "a\nb\n");
    await shows("a\nb\n\n");
  }],

  ["a deletion that is taken back is not told any more", async (world) => {
    const repo = await newProject(world.admin, "acme/rolled-back", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    person.expected.push(/404/);
    const { snapshot } = await world.admin.json("DELETE", file(repo, "main", "a.txt"));
    await bar(page).getByText("admin deleted this file").waitFor();
    await world.admin.json("POST", `${branch(repo, "main")}/rollback?to=${snapshot}`);
    await bar(page).waitFor({ state: "detached" });
    same(await page.locator(".file .cm-content").innerText(), "a\n\n");
  }],

  ["another's save that comes while the file is read follows all the same", async (world) => {
    const repo = await newProject(world.admin, "acme/early", { "a.txt": "a\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    const release = await hold(person, () => page.getByRole("treeitem", { name: "a.txt" }).click());
    await put(world, repo, "a.txt", "A\n");
    await page.locator(".moment", { hasText: "v0002" }).waitFor();
    release();
    await soon(() => page.locator(".file .cm-content").allInnerTexts(), ["A\n\n"]);
  }],

  ["another's save that comes while a sheet is open is told once it is closed", async (world) => {
    const { repo, person, page } = await edit(world, "acme/sheet");
    person.expected.push(/412/);
    await put(world, repo, "a.txt", "A\n");
    await keys(person, "Control+s");
    await page.getByRole("dialog").waitFor();
    // The page may look before the deletion is answered.
    person.expected.push(/404/);
    await world.admin.send("DELETE", file(repo, "main", "a.txt"));
    await page.locator(".moment", { hasText: "v0003" }).waitFor();
    await page.getByRole("button", { name: "Back to my text" }).click();
    await bar(page).getByText("admin deleted this file").waitFor();
  }],

  ["what is typed while another's save is on its way stays", async (world) => {
    const repo = await newProject(world.admin, "acme/meanwhile", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    const release = await hold(person, () => put(world, repo, "a.txt", "A\n"));
    await type(person, "mine\n");
    await changed(person);
    release();
    await bar(page).getByText("saved this file").waitFor();
    same(await page.locator(".file .cm-content").innerText(), "a\nmine\n\n");
  }],

  ["what is typed while the text in another encoding is on its way stays", async (world) => {
    const repo = await newProject(world.admin, "acme/coding", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    await editor(person);
    const release = await hold(person, async () => {
      await page.getByRole("button", { name: "Encoding:" }).click();
      await page.locator(".items button", { hasText: "KOI8-R" }).first().click();
    });
    await type(person, "b\n");
    await changed(person);
    release();
    await page.getByText("The text has changed in the meantime").waitFor();
    same(await page.locator(".file .cm-content").innerText(), "a\nb\n\n");
    await page.getByRole("button", { name: "Encoding: UTF-8" }).waitFor();
  }],
];
