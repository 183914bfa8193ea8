import "../../shared/stand-in.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { setAccount } from "../api.ts";
import { cut, type Present, steps } from "./plan.ts";
import { nothingMade, sendAll } from "./series.ts";

/** A branch of which nothing but requests and its answers is left: `commits` are told one by one. */
function service(commits: (string | null)[], tags: Record<string, string>, head: string) {
  const asked: string[] = [];
  let version = 1;
  globalThis.fetch = async (path, options) => {
    const { method = "GET", headers } = options ?? {};
    const given = new Headers(headers);
    const condition = given.get("If-Match") ?? given.get("If-None-Match") ?? "";
    const place = String(path).replace("/site-builder/api/projects/p.erp/branches/main", "");
    asked.push(`${method} ${place} ${condition}`.trim());
    if (method !== "GET") {
      version += 1;
      return Response.json({ snapshot: `v000${version}`, commit_id: commits.shift() });
    }
    if (!place) return Response.json({ commit: { id: head } });
    return Response.json(
      Object.entries(tags).map(([path, etag]) => ({ type: "blob", path, mode: "100644", etag })),
    );
  };
  return asked;
}

const target = { repo: "p.erp", branch: "main" };
const there = { path: "b", executable: false, etag: '"b0"' };
const looked: Present = { commit: "c0", files: new Map([["b", there]]) };
const picked = ["a", "large", "b"].map((path) => ({
  path,
  file: new File(["x".repeat(path.length * 2000)], path),
}));
// Each batch takes one of the two small files, and none the large one.
const saves = cut(steps(picked, "", looked), { entries: 1, bytes: 5120 });
const send = (made = nothingMade(), signal = new AbortController().signal) =>
  sendAll(target, saves, looked, "", made, { signal, onNext: () => undefined }).then(() => ({
    saves: made.saves,
    first: made.first,
    commit: made.commit,
  }));

test("each batch is made on the state of the one before, and a large file on what it replaces, last", async () => {
  const asked = service(["c1", "c2", "c3"], {}, "");
  assert.deepEqual(await send(), { saves: 3, first: "v0002", commit: "c3" });
  assert.deepEqual(asked, ['POST /batch "c0"', 'POST /batch "c1"', "PUT /files/large *"]);
});

test("where a save tells no state, it is looked again whether what comes next is untouched", async () => {
  const asked = service([null, "c2", "c3"], { b: '"b0"' }, "c1");
  assert.deepEqual(await send(), { saves: 3, first: "v0002", commit: "c3" });
  assert.deepEqual(asked, ['POST /batch "c0"', "GET", "GET /tree", 'POST /batch "c1"', "PUT /files/large *"]);
});

test("where somebody saved meanwhile what comes next, nothing more is saved", async () => {
  const asked = service([null], { b: '"theirs"' }, "c1");
  const made = nothingMade();
  await assert.rejects(send(made), { status: 412 });
  assert.equal(made.saves, 1);
  assert.deepEqual(asked, ['POST /batch "c0"', "GET", "GET /tree"]);
});

test("what others saved between two saves is not taken back with them", async () => {
  service(["c1", "c2", "c3"], {}, "");
  const made = { ...nothingMade(), first: "v0000", last: "v0000" };
  assert.deepEqual(await send(made), { saves: 3, first: null, commit: "c3" });
});

test("nothing more is saved in the name of another account", async () => {
  const asked = service(["c1", "c2", "c3"], {}, "");
  const answer = globalThis.fetch;
  setAccount("anna");
  globalThis.fetch = async (path, options) => {
    setAccount("sergei");
    return answer(path, options);
  };
  const made = nothingMade();
  await assert.rejects(send(made), {
    status: 401,
    words: "Another account is logged in now, so this was not done.",
  });
  assert.equal(made.saves, 1);
  assert.deepEqual(asked, ['POST /batch "c0"']);
});
