// What lies further back than the newest 100 changes, which is what is read of a history at first.
import { same, soon } from "../browser.mjs";
import { bytesOf, newProject } from "../seed.mjs";
import { put } from "./editor/steps.mjs";

/** A project whose a.txt was saved so often: v0001 made it "1", v0002 "2". */
async function old(world, name, saves = 120) {
  const repo = await newProject(world.admin, name);
  await more(world, repo, 1, saves);
  return repo;
}

async function more(world, repo, from, to) {
  for (let at = from; at <= to; at++) await put(world, repo, "a.txt", `${at}\n`);
}

const text = async (world, repo) => new TextDecoder().decode(await bytesOf(world.admin, repo, "main", "a.txt"));
const moment = (page, version) => page.locator(".moment", { hasText: version });
const at = (repo, query) => `/site-builder/files/${repo}?branch=main&${query}`;

/** As when somebody leaves the window, or comes back to it. */
const hide = (page, hidden) => page.evaluate((hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}, hidden);

export default [
  ["a file as it was long ago is restored from its address", async (world) => {
    const repo = await old(world, "far/then");
    const { page } = await world.at(at(repo, "at=v0003&path=a.txt"));
    await page.locator(".strip").getByRole("button", { name: "Go back to this state" }).waitFor();
    await page.getByRole("button", { name: "Restore this file" }).click();
    await page.getByRole("button", { name: "Roll back 1 file" }).click();
    await page.getByText("The branch is back at v0003").waitFor();
    same(await text(world, repo), "2\n");
  }],

  ["a change of long ago is shown, compared and gone back to from its address", async (world) => {
    const repo = await old(world, "far/change");
    const person = await world.at(at(repo, "change=v0003&path=a.txt"));
    const { page } = person;
    await page.getByText("v0003 → v0004").waitFor();
    // Its row has come, and is in sight; Tab comes to it alone, and the arrows go on from there.
    const current = page.locator(".moment.current");
    await current.getByText("v0003").waitFor();
    await soon(() => current.evaluate((row) => {
      const [inner, outer] = [row, row.closest(".timeline")].map((each) => each.getBoundingClientRect());
      return inner.top >= outer.top && inner.bottom <= outer.bottom;
    }), true);
    const stops = page.locator(".timeline :is(a, button):not([tabindex='-1'])");
    same(await stops.count(), 2);
    await person.shot("far row");
    await current.locator("a").focus();
    await page.keyboard.press("ArrowDown");
    await page.locator(".moment > a:focus", { hasText: "v0002" }).waitFor();
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: /^Go back to before this: a.txt/ }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Home");
    await page.locator(".moment.now > a:focus").waitFor();
    same(await stops.count(), 1);
    await page.locator("main").getByRole("button", { name: "Go back to before this" }).waitFor();
    await person.go(`/site-builder/compare/${repo}?branch=main&from=v0003`);
    await page.locator("option:checked", { hasText: /v0003 · .*before: a.txt/ }).waitFor({ state: "attached" });
    const from = page.locator(".pick select").first();
    same(await from.locator("option", { hasText: "v0010 ·" }).count(), 0);
    await from.selectOption({ label: "Older changes…" });
    await from.locator("option", { hasText: "v0010 ·" }).waitFor({ state: "attached" });
    same(await from.inputValue(), "v0003");
    same(await page.locator("option", { hasText: "Older changes" }).count(), 0);
    await from.selectOption("v0010");
    await page.waitForURL(/from=v0010/);
    await person.go(at(repo, "rollback=v0003"));
    await page.getByRole("button", { name: "Roll back 1 file" }).waitFor();
    await person.go(at(repo, "change=v0500"));
    await page.getByText("There is no v0500 in this branch").waitFor();
  }],

  ["the changes of the open file alone are listed, and stay so while they are looked at", async (world) => {
    const repo = await newProject(world.admin, "far/alone", { "a.txt": "0\n", "b.txt": "0\n" });
    await more(world, repo, 1, 110);
    await put(world, repo, "b.txt", "1\n");
    await put(world, repo, "a.txt", "last\n");
    const person = await world.at(at(repo, "path=b.txt"));
    const { page } = person;
    await page.getByLabel("This file only").check();
    const versions = () => page.locator(".moment .version").allInnerTexts();
    await soon(versions, ["v0112", "v0001"]);
    same(await person.accessibility(), []);
    await person.shot("history of a file");
    await moment(page, "v0112").locator("a").click();
    await page.getByText("v0112 → v0113").waitFor();
    same(await versions(), ["v0112", "v0001"]);
    await moment(page, "v0001").locator("a").click();
    await page.getByText("v0001 → v0002").waitFor();
    await page.locator(".changes .current", { hasText: "b.txt" }).waitFor();
    await page.locator(".moment.now a").click();
    await put(world, repo, "b.txt", "2\n");
    await soon(versions, ["v0114", "v0112", "v0001"]);
    await page.getByRole("treeitem", { name: "a.txt" }).click();
    await moment(page, "v0113").waitFor();
    await page.getByRole("button", { name: "Older changes" }).click();
    await moment(page, "v0001").waitFor();
    same((await versions()).includes("v0112"), false);
    await page.getByLabel("This file only").uncheck();
    await moment(page, "v0112").waitFor();
  }],

  ["older changes that cannot be read are told, and come when they are asked for again", async (world) => {
    const repo = await old(world, "far/older");
    const person = await world.at(at(repo, "path=a.txt"));
    const { page } = person;
    person.expected.push(/403/);
    await moment(page, "v0120").waitFor();
    await person.route((url) => url.pathname.endsWith("/history") && url.searchParams.has("before"), (route) =>
      route.fulfill({ status: 403, json: { message: "no" } }));
    const history = page.getByRole("complementary", { name: "History" });
    await page.getByRole("button", { name: "Older changes" }).click();
    await history.getByText("Your role does not allow this").waitFor();
    await page.unrouteAll();
    await history.getByRole("button", { name: "Try again" }).click();
    await moment(page, "v0001").waitFor();
    await page.getByText("Branch created").waitFor();
    same(await history.getByText("Your role does not allow this").count(), 0);
  }],

  ["after more than 100 changes in a hidden window the older ones can still be asked for", async (world) => {
    const repo = await old(world, "far/hidden", 2);
    const { page } = await world.at(at(repo, "path=a.txt"));
    await page.getByText("Branch created").waitFor();
    await hide(page, true);
    await more(world, repo, 3, 120);
    await hide(page, false);
    await moment(page, "v0120").waitFor();
    await page.getByRole("button", { name: "Older changes" }).click();
    await moment(page, "v0001").waitFor();
    same(await page.locator(".moment .version").count(), 120);
  }],
];
