// What the journeys through the editor have in common.
import { branch, bytesOf, file } from "../../seed.mjs";

/** The address of a file. */
export const open = (repo, path, more = "") => `/site-builder/files/${repo}?branch=main&path=${encodeURIComponent(path)}${more}`;

/** Waits for the editor. */
export async function editor(person) {
  await person.page.locator(".file[data-phase=text] .cm-content").waitFor();
}

/** Types at the end of the text. */
export async function type(person, text) {
  await person.page.locator(".file .cm-content").click();
  await person.page.keyboard.press("Control+End");
  await person.page.keyboard.type(text);
}

export const keys = (person, combination) => person.page.keyboard.press(combination);

/** Waits until nothing is left to save. */
export const saved = (person) => person.page.locator(".file[data-changed=false][data-saving=false]").waitFor();

/** Waits until there is something to save. */
export const changed = (person) => person.page.locator(".file[data-changed=true]").waitFor();

/** Points at what was said last, so that its way back is there for as long as others look for something else. */
export const hold = (page) => page.locator(".toast").last().hover();

/** The next answer to such a request comes once `before` is over. */
export const answerAfter = (person, method, of, before) => {
  let isOver = false;
  return person.route(of, async (route) => {
    if (isOver || route.request().method() !== method) return route.fallback();
    isOver = true;
    const response = await route.fetch();
    await before();
    await route.fulfill({ response });
  });
};

/** Waits until the branch is another than it was when this was made. */
export const another = async (world, repo, page) => {
  const { commit: { short_id: was } } = await world.admin.json("GET", branch(repo, "main"));
  // What was done before may be heard of after its answer.
  await page.locator(".digest code", { hasText: was }).waitFor({ state: "attached" });
  return () => page.waitForFunction((was) => document.querySelector(".digest code").innerText !== was, was);
};

/** The bytes of a file now, as a list. */
export const bytes = async (world, repo, path) => [...(await bytesOf(world.admin, repo, "main", path))];

/** The text of a file now. */
export const text = async (world, repo, path) => Buffer.from(await bytes(world, repo, path)).toString();

/** Somebody else saves a file. */
export const put = (world, repo, path, body) => world.admin.send("PUT", file(repo, "main", path), Uint8Array.from(Buffer.from(body)));

export function utf16(text, little) {
  const bytes = Buffer.from(text, "utf16le");
  return little ? bytes : bytes.swap16();
}
