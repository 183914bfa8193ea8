// The administrator: accounts, their roles and passwords, and what is in the way of a removal.
import { same, soon } from "../browser.mjs";
import { Account, newProject, PASSWORD, project } from "../seed.mjs";

const api = "/site-builder/api/accounts";
const ROOT = "ROLE_SITEBUILDER_EDITOR__ROOT";
const READONLY = "ROLE_SITEBUILDER_EDITOR__READONLY";

/** Makes an account, and opens the screen as `olga`. */
async function withAccount(world, name, roles = []) {
  await world.admin.json("POST", api, { name, password: PASSWORD, roles });
  const person = await world.at("/site-builder/accounts");
  return { person, page: person.page, row: person.page.getByRole("row", { name: new RegExp(`^\\S* ?${name}\\b`) }) };
}

/** Chooses what is to be done to an account. */
async function choose(page, name, item) {
  await page.getByRole("button", { name: `More about ${name}`, exact: true }).click();
  await page.locator(".items").getByRole("button", { name: item, exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  return dialog;
}

const rolesOf = async (world, name) => (await world.admin.json("GET", `${api}/${name}`)).roles;

/** What a login with this password is answered. */
async function login(world, username, password) {
  const answer = await fetch(`${world.base}/user/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ username, password }),
  });
  return answer.status;
}

export default [
  ["an account is made, its password is shown once, and lets in", async (world) => {
    const { page } = await world.at("/site-builder/");
    await page.getByRole("link", { name: "Accounts" }).click();
    await page.getByRole("button", { name: "New account" }).click();
    const form = page.getByRole("dialog", { name: "New account" });
    await form.getByLabel("Name", { exact: true }).fill("rita");
    await form.getByText("Their own projects, which everybody may make.").waitFor();
    await form.getByRole("combobox", { name: "Role" }).selectOption("USER__…");
    await form.getByText("All projects of this name or below it").waitFor();
    await form.getByLabel("Group or project").fill("acme/shop");
    await page.keyboard.press("Enter");
    const secret = await page.locator(".secret code").textContent();
    same(/^([a-km-np-z2-9]{5}-){3}[a-km-np-z2-9]{5}$/.test(secret), true, secret);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await soon(() => page.evaluate(() => navigator.clipboard.readText()), secret);
    await page.getByRole("button", { name: "Done, I have kept it" }).click();
    await page.getByRole("row", { name: /rita.*USER__acme\/shop/ }).waitFor();
    await soon(() => page.getByText(secret).count(), 0);
    await soon(() => new URL(page.url()).search, "");
    same(await rolesOf(world, "rita"), ["ROLE_SITEBUILDER_USER__acme/shop"]);
    same(await login(world, "rita", secret), 200);
  }],

  ["an account that cannot be made says why, and what was typed stays", async (world) => {
    const person = await world.at("/site-builder/accounts?new=1");
    const { page } = person;
    person.expected.push(/400/);
    const form = page.getByRole("dialog", { name: "New account" });
    const name = form.getByLabel("Name", { exact: true });
    for (const [typed, group, words] of [
      ["anna", "", "There is an account of this name already."],
      ["anna b", "", "A name has 1 to 64 letters"],
      ["nina", "acme/../x", "This is no name of a project"],
    ]) {
      await name.fill(typed);
      if (group) {
        await form.getByRole("combobox", { name: "Role" }).selectOption("USER__…");
        await form.getByLabel("Group or project").fill(group);
      }
      await form.getByRole("button", { name: "Create" }).click();
      await form.getByText(words).waitFor();
      same(await name.inputValue(), typed);
    }
    await page.keyboard.press("Escape");
    await form.waitFor({ state: "detached" });
    await page.getByRole("row", { name: /anna/ }).waitFor();
    same(await page.getByRole("row", { name: /nina/ }).count(), 0);
  }],

  ["roles are given and taken, and each says what it opens", async (world) => {
    const { person, page, row } = await withAccount(world, "igor");
    person.expected.push(/400/, /404/);
    const dialog = await choose(page, "igor", "Roles…");
    await dialog.getByText("No role: igor has nothing but projects of their own.").waitFor();
    const give = async (role, group) => {
      await dialog.getByLabel("Give a role").selectOption(role);
      if (group) await dialog.getByLabel("Group or project").fill(group);
      await dialog.getByRole("button", { name: "Give", exact: true }).click();
    };
    await give("EDITOR__READONLY");
    await dialog.locator(".given").getByText("to read, and nothing else").waitFor();
    await give("USER__…", "nordwind");
    await dialog.locator(".given").getByText("USER__nordwind").waitFor();
    same(await rolesOf(world, "igor"), [READONLY, "ROLE_SITEBUILDER_USER__nordwind"]);
    await give("USER__…", "a b");
    await dialog.getByText("This is no name of a project").waitFor();
    await dialog.getByRole("button", { name: "Take EDITOR__READONLY away" }).click();
    await soon(() => rolesOf(world, "igor"), ["ROLE_SITEBUILDER_USER__nordwind"]);
    await soon(() => dialog.locator(".given li").count(), 1);
    await world.admin.json("DELETE", `${api}/igor/roles/ROLE_SITEBUILDER_USER__nordwind`);
    await dialog.getByRole("button", { name: "Take USER__nordwind away" }).click();
    await dialog.getByText("The account did not have this role any more.").waitFor();
    await page.keyboard.press("Escape");
    await row.waitFor();
  }],

  ["who takes ROOT from themselves is told what it means, and then has it no more", async (world) => {
    await world.admin.json("POST", api, { name: "boss", password: PASSWORD, roles: [ROOT] });
    const person = await world.somebody();
    await person.login("boss", PASSWORD, "/site-builder/accounts");
    const { page } = person;
    await page.getByRole("button", { name: "More about boss" }).click();
    await page.getByText("Another with ROOT can disable or remove you.").waitFor();
    same(await page.locator(".items button").allInnerTexts(), ["Roles…"]);
    await page.getByRole("button", { name: "Roles…" }).click();
    const take = page.getByRole("button", { name: "Take EDITOR__ROOT away" });
    const sure = page.getByRole("dialog", { name: "Take ROOT from yourself?" });
    await take.click();
    await sure.getByText("another with ROOT has to").waitFor();
    same(await person.accessibility(), []);
    await person.shot("take own root");
    await sure.getByRole("button", { name: "Cancel" }).click();
    same(await rolesOf(world, "boss"), [ROOT]);
    await take.click();
    await sure.getByRole("button", { name: "Take it from me" }).click();
    await page.getByRole("heading", { name: "Accounts are for the role ROOT" }).waitFor();
    await soon(() => page.getByRole("link", { name: "Accounts" }).count(), 0);
    same(await rolesOf(world, "boss"), []);
  }],

  ["the last ROOT stays one", async (world) => {
    await world.admin.json("POST", api, { name: "solo", password: PASSWORD, roles: [ROOT] });
    const solo = await Account.login(world.base, "solo", PASSWORD);
    const others = (await solo.json("GET", api)).filter(({ name, roles }) => name !== "solo" && roles.includes(ROOT));
    const person = await world.somebody();
    await person.login("solo", PASSWORD, "/site-builder/accounts");
    const { page } = person;
    person.expected.push(/400/);
    try {
      for (const { name } of others) await solo.json("DELETE", `${api}/${name}/roles/${ROOT}`);
      await choose(page, "solo", "Roles…");
      await page.getByRole("button", { name: "Take EDITOR__ROOT away" }).click();
      await page.getByRole("button", { name: "Take it from me" }).click();
      await page.getByText("solo is the last account with ROOT that can log in.").waitFor();
    } finally {
      for (const { name } of others) await solo.json("PUT", `${api}/${name}/roles/${ROOT}`);
    }
    same(await rolesOf(world, "solo"), [ROOT]);
  }],

  ["an account is disabled, and enabled again", async (world) => {
    const { page, row } = await withAccount(world, "pavel");
    const dialog = await choose(page, "pavel", "Disable…");
    await dialog.getByText("their tokens open nothing").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    same(await login(world, "pavel", PASSWORD), 200);
    await choose(page, "pavel", "Disable…");
    await page.keyboard.press("Enter");
    await row.getByText("disabled").waitFor();
    same(await login(world, "pavel", PASSWORD), 401);
    await page.getByRole("button", { name: "More about pavel" }).click();
    await page.getByRole("button", { name: "Enable", exact: true }).click();
    await page.getByText("pavel can log in again").waitFor();
    await row.getByText("disabled").waitFor({ state: "detached" });
    same(await login(world, "pavel", PASSWORD), 200);
  }],

  ["a new password is made up, and the old one counts no more", async (world) => {
    const { page } = await withAccount(world, "lena");
    const dialog = await choose(page, "lena", "New password…");
    await dialog.getByText("whoever is logged in as lena is logged out").waitFor();
    await dialog.getByRole("button", { name: "Make a new password" }).click();
    const secret = await page.locator(".secret code").textContent();
    await page.getByRole("button", { name: "Done, I have kept it" }).click();
    await dialog.waitFor({ state: "detached" });
    same([await login(world, "lena", PASSWORD), await login(world, "lena", secret)], [401, 200]);
  }],

  ["an account gets another name", async (world) => {
    const { person, page } = await withAccount(world, "masha");
    person.expected.push(/400/, /404/);
    const dialog = await choose(page, "masha", "Rename…");
    const name = dialog.getByLabel("Name", { exact: true });
    await name.fill("anna");
    await page.keyboard.press("Enter");
    await dialog.getByText("There is an account of this name already.").waitFor();
    await name.fill("maria");
    await page.keyboard.press("Enter");
    await page.getByText("masha is now called maria").waitFor();
    await page.getByRole("row", { name: /maria/ }).waitFor();
    same(await login(world, "maria", PASSWORD), 200);
    await choose(page, "maria", "Rename…");
    await world.admin.json("DELETE", `${api}/maria`);
    await name.fill("mia");
    await page.keyboard.press("Enter");
    await dialog.getByText("The account is not there any more").waitFor();
  }],

  ["a removal says what goes with it, and is done", async (world) => {
    const { page, row } = await withAccount(world, "oleg", ["ROLE_SITEBUILDER_USER__acme"]);
    const oleg = await Account.login(world.base, "oleg", PASSWORD);
    await oleg.json("POST", "/site-builder/api/tokens", { name: "his", repos: ["*"], expires_at: null });
    const dialog = await choose(page, "oleg", "Remove…");
    await dialog.getByText("1 token is revoked").waitFor();
    await dialog.getByText("1 session ends.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await choose(page, "oleg", "Remove…");
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("oleg is removed").waitFor();
    await row.waitFor({ state: "detached" });
    same(await login(world, "oleg", PASSWORD), 401);
  }],

  ["an account that owns projects is not removed, and says which", async (world) => {
    const { person, page } = await withAccount(world, "dima");
    person.expected.push(/400/);
    const dima = await Account.login(world.base, "dima", PASSWORD);
    const repo = await newProject(dima, "dima/till");
    const dialog = await choose(page, "dima", "Remove…");
    await dialog.getByText("The account owns 1 project.").waitFor();
    await dialog.getByRole("link", { name: repo }).waitFor();
    same(await dialog.getByRole("button", { name: "Remove", exact: true }).isDisabled(), true);
    same(await person.accessibility(), []);
    await person.shot("remove owner");
    await page.keyboard.press("Escape");
    // Deleted, it can still be restored, and would be nobody's.
    await dima.send("DELETE", project(repo));
    await choose(page, "dima", "Remove…");
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await dialog.getByText("dima owns 1 deleted project (dima/till.erp) that can still be restored.").waitFor();
    same((await world.admin.json("GET", `${api}/dima`)).enabled, true);
  }],

  ["of many accounts some are shown, and a name finds each", async (world) => {
    const person = await world.somebody();
    const { page } = person;
    const made = new Date().toISOString();
    const many = Array.from({ length: 120 }, (_, n) =>
      ({ name: `person-${String(n).padStart(3, "0")}`, roles: [], enabled: true, created_at: made }));
    await person.route("**/api/accounts", (route) => route.fulfill({ json: many }));
    await person.login("olga", PASSWORD, "/site-builder/accounts");
    const rows = page.locator("table.accounts tbody tr");
    await soon(() => rows.count(), 50);
    await page.getByRole("button", { name: "Show 50 more" }).click();
    await soon(() => rows.count(), 100);
    await page.getByRole("button", { name: "Show 20 more" }).click();
    await soon(() => rows.count(), 120);
    await soon(() => page.getByRole("button", { name: /^Show/ }).count(), 0);
    await page.getByRole("searchbox").fill("son-119");
    await soon(() => rows.locator("b").allInnerTexts(), ["person-119"]);
    await page.getByRole("searchbox").fill("nobody");
    await page.getByText("Nothing matches “nobody”").waitFor();
  }],

  ["who is alone is told so, and trouble has words and a second try", async (world) => {
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/503/, /403/);
    await person.route("**/api/accounts", (route) => route.fulfill({ status: 503, json: { message: "no" } }));
    await person.login("olga", PASSWORD, "/site-builder/accounts");
    await page.getByText("The service cannot show this at the moment.").waitFor();
    await page.unrouteAll();
    await person.route("**/api/accounts", (route) => route.fulfill({ status: 403, json: { message: "403 Forbidden" } }));
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Your role does not allow this").waitFor();
    await page.unrouteAll();
    const alone = [{ name: "olga", roles: [ROOT], enabled: true, created_at: new Date().toISOString() }];
    await person.route("**/api/accounts", (route) => route.fulfill({ json: alone }));
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Nobody but you has an account yet.").waitFor();
  }],

  ["a word in the finder opens the accounts, by keys alone", async (world) => {
    const { page } = await world.at("/site-builder/");
    for (const [word, found] of [["accounts", "Accounts"], ["service", "Service"]]) {
      await page.keyboard.press("Control+k");
      await page.keyboard.type(word);
      await page.getByRole("option", { name: found, exact: true }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: found, level: 1 }).waitFor();
    }
    await page.keyboard.press("Control+k");
    await page.keyboard.type("new acc");
    await page.getByRole("option", { name: "New account" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "New account" }).waitFor();
  }],
];
