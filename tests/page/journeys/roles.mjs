// Five roles, and every control: what each is shown on each screen, no more and no less.
import { soon } from "../browser.mjs";
import { newProject, PASSWORD } from "../seed.mjs";

/** What can be used on a screen below the bar, in its order. */
const controls = (page, within) => page.evaluate((within) => {
  const nameOf = (node) => node.getAttribute("aria-label") || (node.labels?.[0] ?? node).innerText?.split("\n")[0].trim() || node.placeholder;
  return [...document.querySelectorAll(within)]
    .flatMap((place) => [...place.querySelectorAll("a[href], button, input, select, textarea")])
    // What is there for each project, file and change is of the same kind as the one before it.
    .filter((node) => node.checkVisibility() && !(node.closest("tbody tr, [role=treeitem], .moment:not(.now) ~ .moment") && !node.closest(".items")))
    .map((node) => nameOf(node).replace(/, (just now|\d.*)$/, "").replace(/ \d+\.\S* ·/, " ·") + (node.disabled || node.ariaDisabled === "true" ? " (off)" : ""));
}, within);

const SCREEN = "body > #page > :not(header)";
const ITEMS = ".items";

const GROUP = "kin/shop.erp";
const PUBLIC = "public/kin.erp";

/** The rights to a project that change what its screens show. */
const [none, read, write] = ["none", "read", "write"];

const roles = [
  { role: "USER", [GROUP]: none, [PUBLIC]: read },
  { role: "USER__kin", [GROUP]: write, [PUBLIC]: read },
  { role: "EDITOR__PUBLIC", [GROUP]: none, [PUBLIC]: write },
  { role: "EDITOR__READONLY", [GROUP]: read, [PUBLIC]: read },
  { role: "EDITOR__ROOT", [GROUP]: write, [PUBLIC]: write, root: true },
];

const history = (right, query) => ["Compare two states", ...(query.includes("path=") ? ["This file only"] : []), "Now", "1 file", ...(right === write ? ["Go back to before this: 1 file"] : [])];

/** The screens of a project: what their address says beside it, and what they show to who reads, and who writes. */
const ofProject = [
  ["", { read: ["Filter files", "Copy"], write: ["Filter files", "Add", "Copy", "Choose files…", "Choose a folder…"] }],
  ["&path=a.txt", {
    read: ["Filter files", "Download", "Wrap lines"],
    write: ["Filter files", "Add", "Download", "Save (off)", "More about a.txt", "Wrap lines", "Encoding: UTF-8", "Line ends: LF"],
  }],
  ["&change=v0002&path=a.txt", {
    read: ["Filter files", "Files before this"],
    write: ["Filter files", "Files before this", "Go back to before this"],
  }],
  ["&at=v0002", {
    read: ["Filter files", "Compare with now", "Back to now"],
    write: ["Filter files", "Compare with now", "Go back to this state", "Back to now"],
  }],
  ["&at=v0002&path=a.txt", {
    read: ["Filter files", "Compare with now", "Back to now", "Download", "Wrap lines"],
    write: ["Filter files", "Compare with now", "Go back to this state", "Back to now", "Download", "Restore this file", "Wrap lines"],
  }],
];

/** The items of the menu that this button opens; it is closed again. */
async function items(page, button) {
  await button.click();
  await page.locator(ITEMS).waitFor();
  const found = await controls(page, ITEMS);
  await page.keyboard.press("Escape");
  return found;
}

async function inProject(person, repo, right, manages) {
  const { page } = person;
  for (const [query, shown] of ofProject) {
    await person.go(`/site-builder/files/${repo}?branch=main${query}`);
    await soon(() => controls(page, SCREEN), right === none ? ["Try again"] : [...shown[right], ...history(right, query)]);
  }
  await person.go(`/site-builder/compare/${repo}?branch=main&from=v0001&path=a.txt`);
  await soon(() => controls(page, SCREEN), right === none ? ["Try again"] : ["From", "Swap the two", "To", "Close", "a.txt"]);
  if (right === none) return;
  const branches = page.locator(".crumbs .menu").last().locator("button").first();
  await soon(() => items(page, branches), right === write ? ["main", "New branch", "Rename branch…", "Delete branch…"] : ["main"]);
  const projects = page.locator(".crumbs .menu").first().locator("button").first();
  // Projects are there by their ids, and can be filtered where they are many; the rest is what is done to this one.
  const done = async () => (await items(page, projects)).filter((item) => !item.includes("/") && item !== "Filter by name");
  await soon(done, ["Rules for contents", ...(manages ? ["Rename project…"] : []), ...(right === write ? ["Delete project…"] : [])]);
  if (right === read) return;
  await person.go(`/site-builder/files/${repo}?branch=main`);
  await soon(() => items(page, page.getByRole("button", { name: "Add", exact: true })), ["New file", "Choose files…", "Choose a folder…"]);
}

/** The screens that are about no project. */
async function outside(person, { root = false }, name) {
  const { page } = person;
  const places = ["Projects", "Tokens", ...(root ? ["Accounts", "Service"] : [])];
  await soon(() => controls(page, "header.top"), ["To the projects", "Find a file or a command", ...places, name]);
  await soon(() => items(page, page.getByRole("button", { name, exact: true })), [
    "Change the password", "Sessions", "Unsaved files", "Theme: as the system", "Theme: light", "Theme: dark", "English", "Русский", "Keys", "Log out",
    "siteconf · Licences",
  ]);
  await page.keyboard.press("Control+k");
  // Projects are there by their ids; all else is a command.
  const commands = async () => (await page.getByRole("option").allInnerTexts()).filter((text) => !text.includes("/")).sort();
  for (const word of ["accou", "servi", "tok", "proj", "passw", "sess"]) {
    await page.getByRole("combobox").fill(word);
    const found = { accou: ["Accounts", "New account"], servi: ["Service"], tok: ["New token", "Tokens"], proj: ["Projects"], passw: ["Change the password"], sess: ["Sessions"] }[word];
    await soon(commands, root || !/accou|servi/.test(word) ? found : []);
  }
  await page.keyboard.press("Escape");
  await soon(() => controls(page, SCREEN), ["Filter by name", "Deleted", "New project"]);
  await person.go("/site-builder/tokens");
  await soon(() => controls(page, SCREEN), [...(root ? ["Of all accounts"] : []), "Filter by name, owner, project", "New token"]);
  await soon(() => items(page, page.getByRole("button", { name: "More about mine" })), ["Edit the token", "Revoke"]);
  await person.go("/site-builder/accounts");
  await soon(() => controls(page, SCREEN), root ? ["Filter by name", "New account"] : []);
  await page.getByText("Accounts are for the role ROOT").or(page.locator("table.accounts")).waitFor();
  if (root) {
    await soon(() => items(page, page.getByRole("button", { name: "More about anna", exact: true })), [
      "Roles…", "Rename…", "New password…", "Disable…", "Remove…",
    ]);
    await soon(() => items(page, page.getByRole("button", { name: `More about ${name}`, exact: true })), ["Roles…"]);
  }
  await person.go("/site-builder/service");
  await page.getByText("This screen is for the role ROOT").or(page.locator(".groups")).waitFor();
  await soon(() => controls(page, SCREEN), []);
}

let made = null;
/** Makes the projects, once for all journeys. */
const makeProjects = (admin) => {
  made ??= Promise.all(["kin/shop", "public/kin"].map((name) => newProject(admin, name, { "a.txt": "a\n" }, { "a.txt": "b\n" })));
  return made;
};

export default roles.map((one) => [`each control that ${one.role} is shown`, async (world) => {
  const { role } = one;
  const name = `in-${role.replace("EDITOR__", "").toLowerCase().replace("__", "-")}`;
  await makeProjects(world.admin);
  await world.admin.json("POST", "/site-builder/api/accounts", { name, password: PASSWORD, roles: [`ROLE_SITEBUILDER_${role}`] });
  const person = await world.somebody();
  // What is not theirs is refused.
  if (one[GROUP] === none || one[PUBLIC] === none) person.expected.push(/403/, /status of 403/);
  await person.login(name, PASSWORD);
  await person.page.evaluate(() =>
    fetch("/site-builder/api/tokens", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ name: "mine", repos: ["*"], expires_at: null }),
    }));
  await outside(person, one, name);
  for (const repo of [GROUP, PUBLIC]) await inProject(person, repo, one[repo], one.root === true);
}]);
