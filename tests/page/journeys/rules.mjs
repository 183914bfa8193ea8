// What the service refuses because a rule of the project does not allow it: file, line and rule are told, and nothing
// typed is lost.
import { same } from "../browser.mjs";
import { branch, newProject, PASSWORD, project } from "../seed.mjs";
import { changed, editor, keys, open, saved, text, type } from "./editor/steps.mjs";

const SCHEMA = '{ "type": "object", "properties": { "port": { "type": "integer" } } }\n';
const PORT = '{\n  "port": 1\n}\n';

/** A project that asks for JSON, and of the files of `ports` that a schema allows them. */
async function ruled(world, name) {
  const repo = await newProject(world.admin, name, { "port.schema": SCHEMA, "a.json": "{\n}\n", "ports/b.json": PORT });
  const rules = [{ patterns: ["*.json"], check: "json" }, { patterns: ["ports/*"], check: "schema", schema: "port.schema" }];
  await world.admin.json("PUT", `${project(repo)}/validation`, { rules });
  return repo;
}

const bar = (page) => page.locator(".file .strip");

export default [
  ["a save that breaks a rule is refused with file, line and rule; the text stays and is saved once it is right", async (world) => {
    const repo = await ruled(world, "acme/ruled");
    const person = await world.at(open(repo, "a.json"));
    const { page } = person;
    await editor(person);
    await type(person, "[");
    await changed(person);
    person.expected.push(/400/);
    await keys(person, "Control+s");
    await bar(page).getByText("The service refused the text; it is kept in this browser. a.json, line 3: rule 1 (JSON): trailing characters").waitFor();
    await page.getByText("Ln 3, Col 1").waitFor();
    await bar(page).getByRole("link", { name: "Rules for contents" }).click();
    await page.getByRole("dialog").getByText("*.json").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    same(await person.accessibility(), []);
    await person.shot("rule broken");
    same(await text(world, repo, "a.json"), "{\n}\n");
    await page.reload();
    await editor(person);
    same(await page.locator(".file .cm-line").allInnerTexts(), ["{", "}", "["]);
    await page.locator(".file .cm-content").click();
    await keys(person, "Control+End");
    await keys(person, "Backspace");
    for (const key of ["Control+Home", "ArrowRight"]) await keys(person, key);
    await page.keyboard.type(' "a": 1');
    await keys(person, "Control+s");
    await saved(person);
    same(await text(world, repo, "a.json"), '{ "a": 1\n}\n');
  }],

  ["what a schema does not allow is shown at its place", async (world) => {
    const repo = await ruled(world, "acme/schema");
    const person = await world.somebody({ locale: "ru-RU" });
    const { page } = person;
    await page.clock.install();
    await person.login("olga", PASSWORD, open(repo, "ports/b.json"));
    await editor(person);
    await page.locator(".file .cm-content").click();
    for (const key of ["Control+Home", "ArrowDown", "End"]) await keys(person, key);
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 60_000));
    await page.keyboard.type(".5");
    await changed(person);
    person.expected.push(/400/);
    await keys(person, "Control+s");
    await bar(page).getByText("Сервис не принял текст; он сохранён в этом браузере. ports/b.json, строка 2: правило 2 (схема):").waitFor();
    await page.locator(".file .cm-lintRange-error", { hasText: "1.5" }).waitFor();
    // The check of what was typed, in the page, finds nothing and takes nothing away.
    await page.clock.runFor(1000);
    await page.clock.resume();
    await page.locator(".file .cm-lintRange-error", { hasText: "1.5" }).waitFor();
    same(await text(world, repo, "ports/b.json"), PORT);
    // Nothing of it is left once the same text is taken.
    await world.admin.json("PUT", `${project(repo)}/validation`, { rules: [] });
    await keys(person, "Control+s");
    await saved(person);
    await page.locator(".file .cm-lintRange-error").waitFor({ state: "detached" });
  }],

  ["files that are added and a rollback are refused in the same words", async (world) => {
    const repo = await ruled(world, "acme/ruledmany");
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/400/);
    await page.getByRole("button", { name: "Add" }).click();
    const files = ["x.json", "y.json"].map((name) => ({ name, mimeType: "application/json", buffer: Buffer.from("{\n[}") }));
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Choose files…" }).first().click();
    await (await chooser).setFiles(files);
    await page.getByRole("button", { name: "Save 2 files" }).click();
    const told = page.getByRole("alert");
    await told.waitFor();
    same((await told.innerText()).split("\n").map((line) => line.replace(/\): .*/, ")")), [
      "Nothing was changed: 2 files break rules of the project.",
      "x.json, line 2: rule 1 (JSON)",
      "y.json, line 2: rule 1 (JSON)",
    ]);
    same(await person.accessibility(), []);
    await person.shot("rules broken by an upload");
    await page.getByRole("button", { name: "Cancel" }).click();

    await world.admin.json("PUT", `${project(repo)}/validation`, { rules: [] });
    await world.admin.json("POST", `${branch(repo, "main")}/batch`, { actions: [{ action: "update", file_path: "a.json", content: "[" }] });
    await world.admin.json("POST", `${branch(repo, "main")}/batch`, { actions: [{ action: "update", file_path: "a.json", content: "[]" }] });
    await world.admin.json("PUT", `${project(repo)}/validation`, { rules: [{ patterns: ["*.json"], check: "json" }] });
    const history = await world.admin.json("GET", `${branch(repo, "main")}/history?limit=1`);
    await person.go(`/site-builder/files/${repo}?branch=main&change=${history[0].version}&rollback=${history[0].version}`);
    await page.getByRole("alert").getByText("Nothing was changed: a file breaks a rule of the project.\na.json, line 1: rule 1 (JSON)").waitFor();
    same(await page.getByRole("dialog").locator(".button.danger").isDisabled(), true);
    same(await text(world, repo, "a.json"), "[]");
  }],

  ["the rules of a project are looked up by the numbers that a refused save names, also by who may only read", async (world) => {
    const repo = await ruled(world, "acme/lookedup");
    const none = await newProject(world.admin, "acme/unruled", { "a.txt": "a\n" });
    const person = await world.somebody();
    const { page } = person;
    await person.login("auditor", PASSWORD, `/site-builder/files/${repo}?branch=main`);
    const look = async () => {
      await page.locator(".crumbs .menu").first().locator("button").first().click();
      await page.getByRole("button", { name: "Rules for contents" }).click();
      await page.getByRole("dialog", { name: "Rules for contents" }).waitFor();
    };
    await look();
    const rules = page.getByRole("dialog").locator(".given li");
    await rules.first().waitFor();
    same((await rules.allInnerTexts()).map((text) => text.split(/\s*\n\s*/)), [
      ["1", "*.json", "must be JSON"],
      ["2", "ports/*", "must keep to the schema port.schema"],
    ]);
    same(await page.getByText("Rules are set").count(), 0);
    same(await person.accessibility(), []);
    await person.shot("rules");
    await rules.getByRole("link", { name: "port.schema" }).click();
    await page.getByRole("heading", { name: "port.schema", level: 1 }).waitFor();
    same(await page.getByRole("dialog").count(), 0);
    await person.go(`/site-builder/files/${none}?branch=main`);
    await look();
    await page.getByText("This project has no rules").waitFor();
  }],

  ["where no branch is open a rule names its schema all the same", async (world) => {
    const repo = await ruled(world, "acme/branchless");
    await world.admin.send("DELETE", branch(repo, "main"));
    const person = await world.at(`/site-builder/files/${repo}?rules=1`);
    const rule = person.page.getByRole("dialog").locator(".given li").last();
    await rule.waitFor();
    same([await rule.locator(".sub").innerText(), await rule.getByRole("link").count()], ["must keep to the schema port.schema", 0]);
    same(await person.accessibility(), []);
    await person.shot("rules without a branch");
  }],
];
