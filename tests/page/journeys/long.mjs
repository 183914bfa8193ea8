// Long names: no screen is wider than its window, and no menu and no dialog leaves it.
import { same } from "../browser.mjs";
import { newProject, PASSWORD, project } from "../seed.mjs";

const api = "/site-builder/api";
const owner = "y".repeat(60);
const repo = `${owner}/${"z".repeat(35)}.erp`;
const account = `long.account-name_of@${"x".repeat(43)}`;
const token = "t".repeat(255);
const longBranch = `release/${"long".repeat(40)}`;
const file = `${"folder".repeat(12)}/${"n".repeat(120)}.txt`;

/** What leaves the window or cannot be seen whole without scrolling sideways. */
const wide = ({ page }) => page.evaluate(() => {
  const said = (node) => `${node.tagName.toLowerCase()}.${node.className.baseVal ?? node.className} ${(node.textContent || node.ariaLabel || "").slice(0, 20)}`;
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  const all = [document.documentElement, top, ...top.querySelectorAll("*")].filter((node) => !node.closest(".said, .skip, .tree"));
  const scrolls = (node) => /auto|scroll/.test(getComputedStyle(node).overflowX);
  const found = all
    .filter((node) => (scrolls(node) || node === document.documentElement) && node.clientWidth > 20 && node.scrollWidth > node.clientWidth)
    .map((node) => `${said(node)}: ${node.scrollWidth} in ${node.clientWidth}`);
  for (const node of all) {
    if (!node.matches("button, a, input, select, .items, dialog")) continue;
    const { left, right, width } = node.getBoundingClientRect();
    if (width > 1 && (left < -1 || right > innerWidth + 1)) found.push(`${said(node)}: from ${Math.round(left)} to ${Math.round(right)} of ${innerWidth}`);
  }
  return found;
});

const bar = (at) => ({ page }) => page.locator("header.top .menu > button").nth(at).click();
const more = (text, item) => async ({ page }) => {
  await page.locator("tr", { hasText: text }).locator(".menu > button").click();
  if (item !== undefined) await page.locator(".items button").nth(item).click();
};

export default [
  ["long names make no screen, menu or dialog wider than the window", async (world) => {
    await newProject(world.admin, repo.slice(0, -4), { [file]: "x\n", "a.txt": "x\n" }, { [file]: "y\n", "a.txt": "y\n" });
    await world.admin.json("POST", `${project(repo)}/branches`, { name: longBranch, from: "main" });
    await world.admin.json("POST", `${api}/accounts`, { name: account, password: PASSWORD, roles: [`ROLE_SITEBUILDER_USER__${owner}`, "ROLE_SITEBUILDER_USER__acme"] });
    const person = await world.at("/site-builder/");
    const { page } = person;
    await page.evaluate(([url, body]) => fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }), [`${api}/tokens`, { name: token, repos: [repo], expires_at: null }]);
    const files = `files/${repo}?branch=main`;
    const long = `files/${repo}?branch=${encodeURIComponent(longBranch)}`;
    const screens = [
      ["projects", "", "table.list"],
      ["branch", long, ".overview"],
      ["projects menu", files, ".items .acts .danger", bar(0)],
      ["branches menu", long, ".items .acts .danger", bar(1)],
      ["own menu", files, ".items", bar(2)],
      ["file", `${files}&path=${file}`, ".code"],
      ["then", `${files}&path=${file}&at=v0002`, ".code"],
      ["change", `${files}&change=v0002`, ".labels"],
      ["rollback", `${files}&change=v0002&path=${file}&rollback=v0002`, "dialog .labels"],
      ["compare", `compare/${repo}?branch=main&from=v0001`, ".labels"],
      ["tokens", "tokens", "table.tokens"],
      ["token menu", "tokens", ".items", more(token)],
      ["new token", "tokens?new=1", "dialog .picks"],
      ["edit token", "tokens", "dialog .picks", more(token, 0)],
      ["revoke token", "tokens", "dialog .danger", more(token, 1)],
      ["accounts", "accounts", "table.accounts"],
      ["roles", "accounts", "dialog .given", more(account, 0)],
      ["password", "accounts", "dialog .danger", more(account, 2)],
    ];
    const found = [];
    for (const [name, address, whole, act] of screens) {
      await person.go(`/site-builder/${address}`);
      await act?.(person);
      await page.locator(whole).first().waitFor();
      await person.settled();
      for (const width of [320, 640, 1280]) {
        await page.setViewportSize({ width, height: 640 });
        // A frame in which the page hears of it, and one in which all is in its place.
        await page.waitForFunction((width) => innerWidth === width, width);
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        await person.shot(`long ${width} ${name}`);
        for (const one of await wide(person)) found.push(`${width} ${name}: ${one}`);
      }
    }
    same(found, []);
  }],

  ["on a narrow bar a short branch is shown whole", async (world) => {
    const name = "acme/a-name-that-is-long";
    await newProject(world.admin, name, { "a.txt": "x\n" });
    const person = await world.at(`/site-builder/files/${name}.erp?branch=main`, { width: 320, height: 640 });
    const words = person.page.locator(".crumb .name").last();
    await words.waitFor();
    await person.settled();
    same(await words.evaluate((node) => node.scrollWidth <= node.clientWidth), true, "main");
    same(await person.page.locator(".crumb b").evaluate((node) => node.clientWidth >= 60), true, "the project");
  }],
];
