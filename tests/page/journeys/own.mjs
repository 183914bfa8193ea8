// One's own account: the password, and where one is logged in.
import { same, soon } from "../browser.mjs";
import { Account, PASSWORD } from "../seed.mjs";

const ANOTHER = "twelve-brown-horses-9";

/** A window of a new account. */
async function own(world, name) {
  await world.admin.json("POST", "/site-builder/api/accounts", { name, password: PASSWORD, roles: [] });
  const person = await world.somebody();
  await person.login(name, PASSWORD);
  return { person, page: person.page };
}

async function menu(page, name, item) {
  await page.getByRole("button", { name, exact: true }).click();
  await page.locator(".items").getByRole("button", { name: item, exact: true }).click();
  return page.getByRole("dialog", { name: item });
}

export default [
  ["somebody changes their password, and their other sessions end", async (world) => {
    const { person, page } = await own(world, "zoya");
    person.expected.push(/400/);
    const elsewhere = await Account.login(world.base, "zoya", PASSWORD);
    const dialog = await menu(page, "zoya", "Change the password");
    const change = async (old, fresh, again) => {
      await dialog.getByLabel("Present password").fill(old);
      await dialog.getByLabel("New password", { exact: true }).fill(fresh);
      await dialog.getByLabel("New password, again").fill(again);
      await dialog.getByRole("button", { name: "Change it" }).click();
    };
    for (const [old, fresh, again, words] of [
      [PASSWORD, ANOTHER, `${ANOTHER}!`, "The new password is not the same both times."],
      ["not the password", ANOTHER, ANOTHER, "The present password is another."],
      [PASSWORD, "short", "short", "A password has at least 12 characters."],
      [PASSWORD, "passwordpassword", "passwordpassword", "This password is guessed soon: take several words."],
    ]) {
      await change(old, fresh, again);
      await dialog.getByText(words).waitFor();
    }
    same(await person.accessibility(), []);
    await change(PASSWORD, ANOTHER, ANOTHER);
    await page.getByText("The password is changed; your other sessions have ended.").waitFor();
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("heading", { name: "No tokens yet" }).waitFor();
    same(await elsewhere.send("GET", "/user/session").then(() => "in", (refused) => /401/.test(refused) && "out"), "out");
    await Account.login(world.base, "zoya", ANOTHER);
  }],

  ["somebody sees where they are logged in, and ends what is elsewhere", async (world) => {
    const { person, page } = await own(world, "yana");
    const elsewhere = [];
    for (let n = 0; n < 3; n++) elsewhere.push(await Account.login(world.base, "yana", PASSWORD));
    const isIn = (account) => account.send("GET", "/user/session").then(() => true, () => false);
    const dialog = await menu(page, "yana", "Sessions");
    const rows = dialog.locator(".given li");
    await soon(() => rows.count(), 4);
    same(await rows.filter({ hasText: "this one" }).count(), 1);
    same(await rows.filter({ hasText: "this one" }).getByRole("button").count(), 0);
    await rows.filter({ hasNotText: "this one" }).first().getByRole("button").click();
    await soon(() => rows.count(), 3);
    await dialog.getByRole("button", { name: "End all 2 others" }).click();
    await dialog.getByText("You are logged in nowhere else.").waitFor();
    same(await Promise.all(elsewhere.map(isIn)), [false, false, false]);
    same(await person.accessibility(), []);
    person.expected.push(/401/);
    await dialog.getByRole("button", { name: "Log out" }).click();
    await page.locator("form.login").waitFor();
  }],

  ["the password and the sessions are found by their words", async (world) => {
    const { page } = await own(world, "xena");
    for (const [word, found] of [["change the", "Change the password"], ["sessions", "Sessions"]]) {
      await page.keyboard.press("Control+k");
      await page.keyboard.type(word);
      await page.getByRole("option", { name: found, exact: true }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: found }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  }],
];
