// The administrator: a token for a client, its binding, its end.
import { same, soon } from "../browser.mjs";
import { Account, PASSWORD, REPO } from "../seed.mjs";

const DAY_MS = 86_400_000;

/** What a client is answered with this token. */
async function asked(world, token, instance) {
  const repo = encodeURIComponent(REPO);
  const answer = await fetch(`${world.base}/site-builder/api/erp-config/projects/${repo}/repository/branches`, {
    headers: { "PRIVATE-TOKEN": token, ...(instance ? { "X-Instance-Id": instance } : {}) },
  });
  return answer.status;
}

async function make(page, name) {
  await page.getByRole("button", { name: "New token" }).click();
  const form = page.getByRole("dialog", { name: "New token" });
  await form.getByLabel("Name", { exact: true }).fill(name);
  await form.getByLabel(REPO).check();
  await form.getByRole("button", { name: "Create" }).click();
  return await page.locator(".secret code").textContent();
}

export default [
  ["a token is made, copied, and gone from the screen only when somebody has kept it", async (world) => {
    const { page } = await world.at("/site-builder/tokens");
    const secret = await make(page, "Till 7");
    same(/^[0-9a-f]{64}$/.test(secret), true);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    await page.getByRole("button", { name: "Copy", exact: true }).first().click();
    await soon(() => page.evaluate(() => navigator.clipboard.readText()), secret);
    same((await page.locator(".snippet").textContent()).includes(secret), false);
    await page.getByRole("button", { name: "Done, I have kept it" }).click();
    await page.getByRole("row", { name: /Till 7/ }).waitFor();
    same(await page.getByText(secret).count(), 0);
    same(await asked(world, secret, "till-7"), 200);
    same(await asked(world, secret, "till-8"), 401);
  }],

  ["a token forgets its instance, is changed, and is revoked when somebody says so", async (world) => {
    const { page } = await world.at("/site-builder/tokens");
    const secret = await make(page, "Till 8");
    await page.getByRole("button", { name: "Done, I have kept it" }).click();
    same(await asked(world, secret, "old"), 200);
    await page.reload();
    const row = page.getByRole("row", { name: /Till 8/ });
    await row.getByText("one instance").waitFor();
    const choose = async (item) => {
      await row.getByRole("button", { name: "More about Till 8" }).click();
      await page.getByRole("button", { name: item, exact: true }).click();
    };
    await choose("Forget the instance");
    await row.getByText("waits for its instance").waitFor();
    same(await asked(world, secret, "new"), 200);
    await choose("Edit the token");
    await page.getByLabel("Expires").fill("2020-01-01");
    await page.getByRole("button", { name: "Save the token" }).click();
    await row.getByText(/^expired/).waitFor();
    same(await asked(world, secret, "new"), 401);
    await choose("Revoke");
    await page.getByRole("dialog", { name: "Revoke Till 8?" }).getByRole("button", { name: "Cancel" }).click();
    await choose("Revoke");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await row.waitFor({ state: "detached" });
  }],

  ["a token keeps its deleted project when something else of it is changed, and loses it when unticked", async (world) => {
    // The tokens of olga, whose window it is.
    const olga = await Account.login(world.base, "olga", PASSWORD);
    const ask = (method, path, json) => olga.json(method, `/site-builder/api${path}`, json);
    const gone = "tokens/gone.erp";
    await ask("POST", "/projects", { name: "tokens/gone", type: "erp" });
    const { tokenId } = await ask("POST", "/tokens", { name: "Till 9", repos: [REPO, gone] });
    await ask("DELETE", `/projects/${encodeURIComponent(gone)}`);
    // Another of this name is not what the token was given, and is not listed as if it were.
    await ask("POST", "/projects", { name: "tokens/gone", type: "erp" });
    const { page } = await world.at("/site-builder/tokens");
    const row = page.getByRole("row", { name: /Till 9/ });
    const edit = async () => {
      await row.getByRole("button", { name: "More about Till 9" }).click();
      await page.getByRole("button", { name: "Edit the token", exact: true }).click();
    };
    const save = () => page.getByRole("button", { name: "Save the token" }).click();
    const repos = async () => {
      const all = await ask("GET", "/tokens");
      return all.find((token) => token.tokenId === tokenId).repos;
    };
    await edit();
    await page.getByLabel("Expires").fill("2099-01-01");
    await save();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    same(await repos(), [REPO]);
    await ask("DELETE", `/projects/${encodeURIComponent(gone)}`);
    same(await repos(), [REPO, gone]);
    await page.reload();
    await edit();
    await page.getByLabel(`${gone} is deleted`).uncheck();
    await save();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    same(await repos(), [REPO]);
  }],

  ["whoever may see the tokens of all finds one by its name and its owner, and revokes it", async (world) => {
    const anna = await Account.login(world.base, "anna", PASSWORD);
    const make = (account, name, days) =>
      account.json("POST", "/site-builder/api/tokens", { name, repos: [REPO], expires_at: new Date(Date.now() + days * DAY_MS).toISOString() });
    await make(anna, "Till of anna", 29);
    await make(world.admin, "Till of admin", 31);
    const person = await world.at("/site-builder/tokens");
    const { page } = person;
    const filter = page.getByRole("searchbox", { name: "Filter by name, owner, project" });
    const rows = async () => (await page.locator("tbody tr").allInnerTexts()).map((text) => text.split(" …")[0]);
    const head = async () => (await page.locator("thead th").allInnerTexts()).map((text) => text.trim());
    await filter.fill("pos term");
    await soon(rows, ["POS terminals"]);
    await filter.fill("till of");
    await page.getByText("Nothing matches “till of”").waitFor();
    same((await head()).includes("Owner"), false);
    await page.getByLabel("Of all accounts").check();
    await page.waitForURL(/tokens\?all=1$/);
    await soon(rows, ["Till of admin", "Till of anna"]);
    same(await head(), ["Name", "Owner", "Projects", "Bound to", "Expires", "Last used", "More"]);
    // The service counts those that expire within 30 days.
    same(await page.locator("tbody tr").evaluateAll((all) => all.map((one) => one.querySelector(".pill.warn") !== null)), [false, true]);
    same(await person.accessibility(), []);
    await person.shot("tokens of all");
    await filter.fill("anna");
    await soon(rows, ["Till of anna"]);
    await page.getByRole("button", { name: "More about Till of anna" }).click();
    same(await page.locator(".items").getByRole("button").allInnerTexts(), ["Revoke"]);
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    const { suffix } = (await anna.json("GET", "/site-builder/api/tokens"))[0];
    await page.getByRole("dialog").getByText(`Owner: anna · …${suffix}`).waitFor();
    same(await person.accessibility(), []);
    await person.shot("revoke a token");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Till of anna is revoked").waitFor();
    await soon(async () => (await anna.json("GET", "/site-builder/api/tokens")).length, 0);
    // It is an address; who may not see them is shown their own.
    await page.reload();
    await page.getByRole("row", { name: /Till of admin/ }).waitFor();
    const other = await world.somebody();
    await other.login("anna", PASSWORD, "/site-builder/tokens?all=1");
    await other.page.getByText("No tokens yet").waitFor();
    same(await other.page.getByLabel("Of all accounts").count(), 0);
  }],
];
