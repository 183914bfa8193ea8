// The administrator: a token for a client, its binding, its end.
import { same, soon } from "../browser.mjs";
import { Account, PASSWORD, REPO } from "../seed.mjs";

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
    // Another of this name is not what the token was given.
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
    same(await repos(), [REPO, gone]);
    await ask("DELETE", `/projects/${encodeURIComponent(gone)}`);
    await page.reload();
    await edit();
    await page.getByLabel(`${gone} is deleted`).uncheck();
    await save();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    same(await repos(), [REPO]);
  }],
];
