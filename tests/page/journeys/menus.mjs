// Menus by the keyboard: they close when the focus leaves them, and many items can be filtered.
import { same, soon } from "../browser.mjs";
import { newProject, project } from "../seed.mjs";

const focused = (page) => page.evaluate(() => document.activeElement.textContent || document.activeElement.ariaLabel);

/** Waits until what a menu has of the service is there: one that is opened before takes nobody to its first item. */
async function filled(page, button) {
  await button.click();
  await page.locator("header.top .items .acts").waitFor();
  await page.keyboard.press("Escape");
}

export default [
  ["a menu closes when the focus leaves it, and gives way to a sheet", async (world) => {
    const repo = await newProject(world.admin, "acme/menu-focus", { "a.txt": "x" });
    const { page } = await world.at(`/site-builder/files/${repo}?branch=main`);
    const open = page.locator("header.top .items");
    await page.locator(".overview").waitFor();
    const button = page.locator("header.top .menu > button").first();
    await filled(page, button);
    await button.focus();
    await page.keyboard.press("Enter");
    same(await open.count(), 1, "opened");
    await page.keyboard.press("Shift+Tab");
    same([await open.count(), await button.evaluate((node) => node === document.activeElement)], [1, true], "its own button");
    await page.keyboard.press("Shift+Tab");
    await soon(() => open.count(), 0);
    same(await focused(page), "To the projects");
    // A click beside the items keeps it, and Escape closes it after that.
    await page.locator("header.top .menu > button").last().click();
    await page.locator(".items .label b").click();
    same(await open.count(), 1, "after a click beside the items");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor();
    await page.keyboard.press("Escape");
    same(await open.count(), 1, "after the finder");
    await page.keyboard.press("Escape");
    await soon(() => open.count(), 0);
  }],

  ["a menu of many branches is filtered, and Home and End are its ends", async (world) => {
    const repo = await newProject(world.admin, "acme/menu-many", { "a.txt": "x" });
    for (let at = 0; at < 210; at += 1) await world.admin.json("POST", `${project(repo)}/branches`, { name: `release/${String(at).padStart(3, "0")}`, from: "main" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    const button = page.locator("header.top .menu > button").nth(1);
    const items = page.locator("header.top .items");
    await page.locator(".overview").waitFor();
    await filled(page, button);
    await button.focus();
    await page.keyboard.press("Enter");
    await person.shot("menu many");
    same(await page.evaluate(() => document.activeElement.type), "search");
    await items.getByText("and 11 more").waitFor();
    await page.keyboard.press("ArrowDown");
    same(await focused(page), "main1 file");
    await page.keyboard.press("End");
    same(await focused(page), "Delete branch…");
    for (let up = 0; up < 3; up += 1) await page.keyboard.press("ArrowUp");
    same(await focused(page), "release/1981 file");
    await page.keyboard.press("Home");
    await page.keyboard.type("nothing such");
    await items.getByText("nothing such").waitFor();
    same(await items.getByRole("link").count(), 0);
    same(await person.accessibility(), []);
    await page.keyboard.press("Control+a");
    await page.keyboard.type("/207");
    await soon(() => items.getByRole("link").allInnerTexts().then((list) => list.map((text) => text.split("\n")[0])), ["release/207"]);
    await person.shot("menu filtered");
    await page.keyboard.press("Enter");
    await page.waitForURL(/branch=release(\/|%2F)207/);
    await soon(() => items.count(), 0);
    await soon(() => button.innerText(), "release/207");
    // The next time it is whole again, with where we are and the default in sight.
    await button.click();
    same(await items.getByRole("link").count(), 200);
    same((await items.getByRole("link").allInnerTexts()).slice(0, 3).map((text) => text.split("\n")[0]), ["main", "release/207", "release/000"]);
  }],

  ["in the dark, too, what is pointed at and what is a chip can be told from what it lies on", async (world) => {
    const { page } = await world.at("/site-builder/accounts", { dark: true });
    const row = page.getByRole("row", { name: /anna/ });
    /** How much lighter one is than what it lies on, as a contrast. */
    const lighter = (one, below) => page.evaluate(([one, below]) => {
      const light = (selector) => {
        const parts = getComputedStyle(document.querySelector(selector)).backgroundColor.match(/[\d.]+/g).slice(0, 3);
        const [r, g, b] = parts.map((part) => (part / 255 + 0.055) / 1.055).map((part) => part ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
      };
      return light(one) / light(below) > 1.15;
    }, [one, below]);
    await row.waitFor();
    same(await lighter(".ref:not(.all)", "table.accounts"), true, "a chip");
    await row.hover();
    same(await lighter("table.accounts tr:hover", "table.accounts"), true, "a row");
    same(await lighter("table.accounts tr:hover", "tr:hover .ref"), true, "a chip in it");
    await page.locator("header.top .menu > button").last().click();
    await page.locator("header.top .items button").first().hover();
    same(await lighter(".items button:hover", ".items"), true, "an item");
  }],

  ["names are not words to translate, the keys of the editor are listed, and the sign of a menu is seen", async (world) => {
    const repo = await newProject(world.admin, "acme/nemo", { "piano/forte.txt": "x" }, { "piano/forte.txt": "y" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main&path=piano/forte.txt`);
    const { page } = person;
    /** What stands there that a browser would translate, and has one of these words in it. */
    const translated = () => page.evaluate((names) => {
      const found = [];
      const walker = document.createTreeWalker(document.getElementById("page"), NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (node.parentElement.translate && names.test(node.data)) found.push(node.data);
      }
      return found;
    }, /nemo|piano|forte|^main$|^admin$/);
    const screens = ["&path=piano/forte.txt", "&change=v0002&path=piano/forte.txt", ""];
    for (const screen of screens) {
      await person.go(`/site-builder/files/${repo}?branch=main${screen}`);
      await page.locator(".moment .base").first().waitFor();
      await page.getByRole("treeitem", { name: "piano" }).waitFor();
      await person.settled();
      await page.locator("header.top .menu > button").first().click();
      same(await translated(), [], screen);
      await page.keyboard.press("Escape");
    }
    for (const screen of ["", "accounts"]) {
      await person.go(`/site-builder/${screen}`);
      await page.locator("table.list td").first().waitFor();
      same(await translated(), [], screen);
    }
    same(await page.locator("table.accounts .dots").first().evaluate((sign) => getComputedStyle(sign).strokeWidth), "2.2px");
    await page.keyboard.press("?");
    const list = page.locator("dialog .keys > div");
    await list.filter({ hasText: "Alt Z" }).getByText("Wrap lines").waitFor();
    await list.filter({ hasText: "Esc Tab" }).getByText("leave the editor").waitFor();
    await person.shot("keys");
  }],
];
