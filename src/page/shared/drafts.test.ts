import "./stand-in.ts";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { countDrafts, draftedIn, dropDrafts, moveDrafts } from "./drafts/places.ts";
import { onDrafts } from "./drafts/store.ts";
import { type Draft, type DraftKey, Drafts, flushDrafts } from "./drafts.ts";

/** What the database has, by its keys as JSON. */
const stored = new Map<string, Draft>();
let isFull = false;

/** A transaction of a database that takes nothing more, or does at once what it is asked for, and tells it later. */
function transaction() {
  const now = new Map(stored);
  const told = { oncomplete: () => undefined, onabort: () => undefined };
  let puts = false;
  const found = (start: string[]) =>
    [...now].filter(([key]) => key.startsWith(JSON.stringify(start).slice(0, -1)));
  const store = {
    put: (draft: Draft, key: string[]) => {
      puts = true;
      now.set(JSON.stringify(key), draft);
      return { result: key };
    },
    delete: (key: string[]) => {
      now.delete(JSON.stringify(key));
      return {};
    },
    getAll: (start: string[]) => ({ result: found(start).map(([, draft]) => draft) }),
    getAllKeys: (start: string[]) => ({ result: found(start).map(([key]) => JSON.parse(key)) }),
  };
  const commit = () => {
    const aborts = puts && isFull;
    if (!aborts) {
      stored.clear();
      for (const [key, draft] of now) stored.set(key, draft);
    }
    setImmediate(() => (aborts ? told.onabort() : told.oncomplete()));
  };
  return Object.assign(told, { objectStore: () => store, commit });
}

Object.assign(globalThis, {
  IDBKeyRange: { bound: (start: string[]) => start },
  indexedDB: {
    open: () => {
      const request = { onsuccess: () => undefined, result: { transaction } };
      setImmediate(() => request.onsuccess());
      return request;
    },
  },
});

const key: DraftKey = { account: "anna", repo: "p", branch: "main", path: "a.txt" };
const form = { encoding: "utf-8", bom: false, end: "\n" } as const;
let at = 0;

/** All that was begun has been told. */
const settled = async () => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((done) => setImmediate(done));
};

async function keep(drafts: Drafts, text: string): Promise<void> {
  at += 1;
  const draft = { text, form, message: "", etag: null, at };
  drafts.keep(() => draft);
  drafts.flush();
  await settled();
}

async function takeUp(drafts: Drafts): Promise<string | undefined> {
  const draft = await drafts.takeUp();
  await settled();
  return draft?.text;
}

const texts = () => [...stored.values()].map(({ text }) => text);

beforeEach(() => {
  stored.clear();
  isFull = false;
  for (const store of [localStorage, sessionStorage]) {
    for (const name of Object.keys(store)) store.removeItem(name);
  }
});

test("a draft goes with the next one that the database takes, or with what was typed", async () => {
  for (const end of ["kept", "dropped"]) {
    const drafts = new Drafts(key);
    await keep(drafts, "one");
    isFull = true;
    await keep(drafts, "two");
    await keep(drafts, "three");
    assert.deepEqual(texts(), ["one"]);
    isFull = false;
    if (end === "kept") await keep(drafts, "four");
    assert.deepEqual(texts(), [end === "kept" ? "four" : "one"]);
    await drafts.drop();
    assert.deepEqual(texts(), []);
  }
});

test("what a page left that ended replaces what it would have", async () => {
  const before = new Drafts(key);
  await keep(before, "one");
  isFull = true;
  await keep(before, "two");
  flushDrafts();
  const drafts = new Drafts(key);
  assert.equal(await takeUp(drafts), "two");
  assert.deepEqual(texts(), ["one"]);
  isFull = false;
  const again = new Drafts(key);
  assert.equal(await takeUp(again), "two");
  assert.deepEqual([texts(), Object.keys(localStorage)], [["two"], []]);
  await again.drop();
  assert.deepEqual(texts(), []);
});

test("what was taken up, but not shown, stays when another tab's draft is taken up in its place", async () => {
  await keep(new Drafts(key), "one");
  const drafts = new Drafts(key);
  assert.equal(await takeUp(drafts), "one");
  await keep(new Drafts(key), "two");
  assert.equal(await takeUp(drafts), "two");
  await keep(drafts, "three");
  assert.deepEqual(texts(), ["one", "three"]);
});

test("a tab takes up its own draft and shows each of the others in turn, also by another path", async () => {
  await keep(new Drafts(key), "one");
  const own = { ...sessionStorage };
  sessionStorage.removeItem(Object.keys(own)[0]!);
  await keep(new Drafts(key), "two");
  await keep(new Drafts(key), "three");
  Object.assign(sessionStorage, own);
  await moveDrafts(key, { ...key, path: "b.txt" });
  const drafts = new Drafts({ ...key, path: "b.txt" });
  for (const text of ["one", "three", "two", "one"]) {
    assert.equal(await takeUp(drafts), text);
    drafts.turn();
  }
  assert.equal(await takeUp(drafts), "three");
  await drafts.drop();
  assert.equal(await takeUp(drafts), "two");
  assert.deepEqual(texts().sort(), ["one", "two"]);
});

test("the drafts of a folder go along to its other path, be they in the database or not, and no others", async () => {
  const place = { account: "anna", repo: "p", branch: "main" };
  const of = (path: string, more = {}) => new Drafts({ ...place, path, ...more });
  await keep(of("f/a.txt"), "stored");
  await keep(of("f2/a.txt"), "another folder");
  await keep(of("f/a.txt", { branch: "dev" }), "another branch");
  isFull = true;
  await keep(of("f/b.txt"), "left");
  flushDrafts();
  isFull = false;
  const waits = of("f/c.txt");
  waits.keep(() => ({ text: "waits", form, message: "", etag: null, at: 9 }));
  assert.equal(await countDrafts({ ...place, path: "f" }), 3);
  await moveDrafts({ ...place, path: "f" }, { ...place, path: "g/h" });
  assert.deepEqual(
    [await countDrafts({ ...place, path: "f" }), await countDrafts({ ...place, path: "g" })],
    [0, 3],
  );
  for (const [name, text] of [
    ["a.txt", "stored"],
    ["b.txt", "left"],
    ["c.txt", "waits"],
  ]) {
    assert.equal(await takeUp(of(`g/h/${name}`)), text);
    assert.equal(await takeUp(of(`f/${name}`)), undefined);
  }
  // All of a branch, with its name.
  await moveDrafts(place, { ...place, branch: "release" });
  assert.equal(await takeUp(of("g/h/b.txt", { branch: "release" })), "left");
  await dropDrafts({ ...place, branch: "release", path: "g/h/b.txt" });
  assert.equal(await takeUp(of("g/h/b.txt", { branch: "release" })), undefined);
  await dropDrafts({ account: "anna", repo: "p", branch: "release" });
  assert.deepEqual(texts(), ["another branch"]);
  assert.equal(await countDrafts({ account: "anna" }), 1);
  await dropDrafts({ account: "anna" });
  assert.deepEqual(Object.keys(localStorage), []);
});

test("what no database takes is there again while the page is", async () => {
  isFull = true;
  await keep(new Drafts(key), "typed");
  await moveDrafts(key, { ...key, path: "b.txt" });
  const there = new Drafts({ ...key, path: "b.txt" });
  assert.equal(await takeUp(there), "typed");
  assert.equal(await takeUp(new Drafts(key)), undefined);
  await there.drop();
  assert.equal(await takeUp(new Drafts({ ...key, path: "b.txt" })), undefined);
});

test("the files with drafts are listed once each, and who lists them is told when there are others", async () => {
  let told = 0;
  const stop = onDrafts(() => {
    told += 1;
  });
  const began = Date.now();
  const drafts = new Drafts(key);
  // Each key that is typed before the first pause.
  for (const text of ["o", "on"]) drafts.keep(() => ({ text, form, message: "", etag: null, at: 0 }));
  assert.equal(told, 1);
  await keep(drafts, "one");
  await keep(drafts, "two");
  await keep(new Drafts({ ...key, repo: "o", path: "f/b.txt" }), "three");
  assert.equal(told, 2);
  const found = await draftedIn({ account: "anna" });
  assert.deepEqual(
    found.map(({ at: _at, ...file }) => file),
    [{ ...key, repo: "o", path: "f/b.txt" }, key],
  );
  assert.ok(found.every(({ at }) => at >= began && at <= Date.now()));
  await drafts.drop();
  assert.equal(told, 3);
  assert.deepEqual(
    (await draftedIn({ account: "anna" })).map(({ path }) => path),
    ["f/b.txt"],
  );
  assert.deepEqual(await draftedIn({ account: "boris" }), []);
  stop();
});
