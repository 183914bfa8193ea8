import "../../shared/stand-in.ts";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Following } from "./following.ts";

const place = { repo: "p", branch: "main", path: "a.txt" };
const form = { encoding: "utf-8", bom: false, end: "\n" };

/** The service: the file as it is, or out of order. */
function service(answers: (Response | null)[]) {
  globalThis.fetch = async (path) => {
    if (!String(path).includes("/files/")) return Response.json([]);
    const answer = answers.shift();
    if (!answer) throw new Error("offline");
    return answer;
  };
}
const file = (text: string) => new Response(text, { headers: { ETag: '"1"' } });

/** Leaves a draft in the browser, as a page does that ends. */
function leave(text: string, at: number): string {
  const name = `draft\nanna\np\nmain\na.txt\n${at}`;
  const draft = { text, form, message: "why", etag: '"1"', base: { text: "read", form }, at };
  localStorage.setItem(name, JSON.stringify(draft));
  return name;
}

function open() {
  const owner = { draw: () => undefined, onChanged: () => undefined, mayDelete: () => true };
  return new Following(place, { account: "anna", ...place }, owner);
}

function shown({ drawn: { phase, text, message, restored, changed } }: Following) {
  return { phase, text, message, restored, changed };
}

const read = { phase: "text", text: "read", message: "", restored: null, changed: false };

beforeEach(() => {
  for (const store of [localStorage, sessionStorage]) {
    for (const name of Object.keys(store)) store.removeItem(name);
  }
});

test("a file that could not be read comes with its draft when its branch has another head", async () => {
  leave("typed", 1);
  service([null, file("read")]);
  const here = open();
  await here.load();
  assert.deepEqual(shown(here), { ...read, phase: "failed", text: "" });
  await here.follow("c2");
  assert.deepEqual(shown(here), { phase: "text", text: "typed", message: "why", restored: 1, changed: true });
  here.close();
});

test("when a draft is thrown away, that of another tab is not shown in its place, nor lost", async () => {
  const other = leave("other", 1);
  leave("mine", 2);
  service([file("read"), file("read"), file("read")]);
  const here = open();
  await here.load();
  assert.deepEqual(shown(here), { phase: "text", text: "mine", message: "why", restored: 2, changed: true });
  for (let time = 1; time <= 2; time += 1) {
    await here.discard();
    assert.deepEqual(shown(here), read);
    assert.deepEqual(Object.keys(localStorage), [other]);
  }
  here.close();
});
