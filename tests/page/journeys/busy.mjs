// A service that has too much to do, or is started anew behind a proxy: what can wait comes by itself, what cannot is told.
import { same, soon } from "../browser.mjs";
import { newProject, PASSWORD } from "../seed.mjs";
import { changed, editor, keys, open, put, saved, text, type } from "./editor/steps.mjs";

const busy = { status: 429, headers: { "Retry-After": "1" }, json: { message: "too many requests" } };
const words = "The service is busy. Try again in a moment.";

/** What is read of a branch, by the address. */
function kindOf(url) {
  if (url.pathname.endsWith("/history")) return "history";
  if (!url.pathname.endsWith("/tree")) return null;
  return url.searchParams.has("search") ? "search" : "tree";
}

const row = (page, name) => page.getByRole("treeitem", { name });
const moment = (page, name) => page.locator(".moment", { hasText: name });
const filter = (page) => page.getByRole("searchbox", { name: "Filter files" });

export default [
  ["what is refused for a moment comes by itself", async (world) => {
    const repo = await newProject(world.admin, "busy/moment", { "a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/429/);
    const refused = new Set();
    await person.route((url) => kindOf(url) !== null, (route) => {
      const kind = kindOf(new URL(route.request().url()));
      if (refused.has(kind)) return route.continue();
      refused.add(kind);
      return route.fulfill(busy);
    });
    await person.login("olga", PASSWORD, `/site-builder/files/${repo}?branch=main`);
    await moment(page, "v0001").waitFor();
    await row(page, "a.txt").waitFor();
    await filter(page).fill("b.t");
    await row(page, "a.txt").waitFor({ state: "detached" });
    await row(page, "b.txt").waitFor();
    same([...refused].sort(), ["history", "search", "tree"]);
  }],

  ["what is refused for longer is told beside what was there, and comes when it is asked for again", async (world) => {
    const repo = await newProject(world.admin, "busy/longer", { "a.txt": "a\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/429/);
    await moment(page, "v0001").waitFor();
    await row(page, "a.txt").waitFor();
    await person.route((url) => kindOf(url) !== null, (route) => route.fulfill(busy));
    await put(world, repo, "c.txt", "c\n");
    const panes = [page.locator("aside.left"), page.locator("aside.right")];
    for (const pane of panes) await pane.getByText(words).waitFor();
    await row(page, "a.txt").waitFor();
    await moment(page, "v0001").waitFor();
    same(await person.accessibility(), []);
    await person.shot("busy");
    await filter(page).fill("c.t");
    await page.getByText(`The files could not be searched. ${words}`).waitFor();
    await filter(page).fill("");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("c.t");
    await page.getByRole("dialog").getByText(`The files could not be searched. ${words}`).waitFor();
    same(await person.accessibility(), []);
    await page.keyboard.press("Escape");
    await page.unrouteAll();
    for (const pane of panes) await pane.getByRole("button", { name: "Try again" }).click();
    await row(page, "c.txt").waitFor();
    await moment(page, "c.txt").waitFor();
    for (const pane of panes) await soon(() => pane.getByText(words).count(), 0);
  }],

  ["another's save that cannot be read at once is told, and comes by itself", async (world) => {
    const repo = await newProject(world.admin, "busy/save", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    person.expected.push(/503/, /ERR_FAILED/, /failed:/);
    await editor(person);
    for (const [refuse, why, theirs] of [
      [(route) => route.fulfill({ status: 503, json: { message: "too much at once" } }), "The service cannot show this at the moment. Try again soon.", "b"],
      [(route) => route.abort("failed"), "The service does not answer.", "c"],
    ]) {
      await person.route("**/files/a.txt*", refuse);
      await put(world, repo, "a.txt", `${theirs}\n`);
      await page.locator(".file .strip").getByText(`What you see may be out of date: it could not be read again. ${why}`).waitFor();
      same(await person.accessibility(), []);
      await page.unrouteAll();
      await soon(() => page.locator(".file .cm-content").innerText(), `${theirs}\n\n`);
      same(await page.locator(".file .strip").count(), 0);
    }
  }],

  ["a proxy's word that nothing is behind it counts as no answer: kept, and saved once there is one", async (world) => {
    const repo = await newProject(world.admin, "busy/proxy", { "a.txt": "a\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    person.expected.push(/502/);
    await editor(person);
    await type(person, "b\n");
    await changed(person);
    await person.route("**/site-builder/api/**", (route) =>
      route.fulfill({ status: 502, contentType: "text/html", body: "<h1>502 Bad Gateway</h1>" }));
    await keys(person, "Control+s");
    await page.locator(".file .strip").getByText("The service does not answer.").waitFor();
    await page.getByText("The service does not answer. What you typed is kept; trying again").waitFor();
    await page.unrouteAll();
    await saved(person);
    same(await text(world, repo, "a.txt"), "a\nb\n");
    await page.getByText("The service does not answer.").waitFor({ state: "detached" });
  }],
];
