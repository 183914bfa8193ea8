// Every screen, as each window shows it: axe finds nothing, and a picture of it goes to who asked for pictures.
import { same } from "../browser.mjs";
import { PASSWORD, REPO } from "../seed.mjs";

const files = `files/${REPO}?branch=main`;

/** Opens the menu of an account's row, and takes the item at this place. */
const ofAccount = (at) => async ({ page }) => {
  await page.locator("table.accounts tr", { hasText: "anna" }).locator(".menu > button").click();
  await page.locator(".items button").nth(at).click();
};
/** Opens one's own menu, and takes the item with this sign. */
const ofOwn = (at) => async ({ page }) => {
  await page.locator("header.top .menu").last().locator("button").click();
  await page.locator("header.top .items button").nth(at).click();
};

/** Opens the menu of the open file, and takes the item at this place. */
const ofFile = (at) => async ({ page }) => {
  await page.locator(".filehead .menu > button").click();
  await page.locator(".items button").nth(at).click();
};
/** Opens the menu of the project, or of the branch, and takes the last item but so many. */
const ofCrumb = (crumb, last) => async ({ page }) => {
  await page.locator(".branch, main").first().waitFor();
  await page.locator(".crumbs .menu > button").nth(crumb).click();
  await page.locator(".items .acts .danger").waitFor();
  await page.locator(".items button").nth(-1 - last).click();
};

/** Name, address, what stands there once it is whole, and what is done there to come to that. */
const screens = [
  ["projects", "", "table.list"],
  ["branch", files, ".overview"],
  ["change", `${files}&change=v0006&path=config/prices.xml`, ".labels"],
  ["changes", `${files}&change=v0003&path=rules/скидки.xml`, ".labels"],
  ["then", `${files}&at=v0003`, ".strip"],
  ["rollback", `${files}&change=v0006&rollback=v0006`, "dialog .labels"],
  ["compare", `compare/${REPO}?branch=main&from=v0002&path=rules/скидки.xml`, ".labels"],
  ["move", `${files}&path=config/prices.xml`, "dialog input", ofFile(0)],
  ["remove file", `${files}&path=config/prices.xml`, "dialog .subject", ofFile(1)],
  ["rename branch", files, "dialog input", ofCrumb(1, 1)],
  ["delete branch", files, "dialog .points", ofCrumb(1, 0)],
  ["rename project", files, "dialog input", ofCrumb(0, 1)],
  ["delete project", files, "dialog .points", ofCrumb(0, 0)],
  ["deleted", "deleted", "table.deleted"],
  ["tokens", "tokens", "table.tokens"],
  ["new token", "tokens?new=1", "dialog .picks"],
  ["accounts", "accounts", "table.accounts"],
  ["new account", "accounts?new=1", "dialog select"],
  ["roles", "accounts", "dialog .given", ofAccount(0)],
  ["rename", "accounts", "dialog input", ofAccount(1)],
  ["new password", "accounts", "dialog .danger", ofAccount(2)],
  ["disable", "accounts", "dialog .danger", ofAccount(3)],
  ["remove", "accounts", "dialog .danger:enabled", ofAccount(4)],
  ["service", "service", ".group"],
  ["own password", "service", "dialog input[type=password]", ofOwn(0)],
  ["own sessions", "service", "dialog .given", ofOwn(1)],
];

const windows = [
  ["light", { width: 1280, height: 800 }],
  ["dark", { width: 1920, height: 1080, dark: true }],
  ["phone", { width: 390, height: 844, touch: true, locale: "ru-RU" }],
  ["phone dark", { width: 390, height: 844, touch: true, dark: true }],
];

export default [
  ...windows.map(([name, options]) => [`axe finds nothing: ${name}`, async (world) => {
    const person = await world.somebody(options);
    person.expected.push(/401/);
    await person.page.goto("/site-builder/");
    await person.page.locator("form.login").waitFor();
    await person.shot(`${name} login`);
    same(await person.accessibility(), [], "login");
    await person.login("olga", PASSWORD);
    for (const [screen, address, whole, act] of screens) {
      await person.go(`/site-builder/${address}`);
      await act?.(person);
      await person.page.locator(whole).first().waitFor();
      await person.settled();
      await person.shot(`${name} ${screen}`);
      same(await person.accessibility(), [], screen);
    }
    const tabs = person.page.locator(".tabs button");
    await person.go(`/site-builder/${files}`);
    await person.page.locator(".overview").waitFor();
    if (await tabs.first().isVisible()) {
      for (const at of [0, 2]) {
        await tabs.nth(at).click();
        await person.shot(`${name} tab ${at}`);
        same(await person.accessibility(), [], `tab ${at}`);
      }
    }
    await person.page.keyboard.press("Control+k");
    await person.page.getByRole("option").first().waitFor();
    await person.shot(`${name} finder`);
    same(await person.accessibility(), [], "finder");
    await person.page.keyboard.press("Escape");
    await person.page.keyboard.press("?");
    await person.page.locator(".keys").waitFor();
    same(await person.accessibility(), [], "keys");
  }]),
];
