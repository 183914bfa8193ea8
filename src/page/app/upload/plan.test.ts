import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, note, type Present, type Save, type Step, steps, under } from "./plan.ts";
import { isLeftOut } from "./walk.ts";

const step = (path: string, size: number): Step => ({
  path,
  file: new Blob([new Uint8Array(size)]),
  replaces: false,
  etag: null,
});
const names = (saves: Save[]) =>
  saves.map((save) => (save.kind === "file" ? save.file.path : save.files.map((one) => one.path)));

test("files are cut into saves by their number", () => {
  const files = ["a", "b", "c", "d", "e"].map((path) => step(path, 1));
  assert.deepEqual(names(cut(files, { entries: 2, bytes: 1 << 20 })), [["a", "b"], ["c", "d"], ["e"]]);
  assert.deepEqual(names(cut(files, { entries: 5, bytes: 1 << 20 })), [["a", "b", "c", "d", "e"]]);
  assert.deepEqual(cut([], { entries: 5, bytes: 1 << 20 }), []);
});

test("files are cut into saves by their bytes, and what no batch takes goes alone, after them", () => {
  // A file of 100 bytes takes 2,048 in an archive, whose end takes 1,024.
  const files = [step("a", 100), step("b", 100), step("large", 9000), step("c", 100)];
  assert.deepEqual(names(cut(files, { entries: 100, bytes: 5120 })), [["a", "b"], ["c"], "large"]);
  assert.deepEqual(names(cut(files, { entries: 100, bytes: 5119 })), [["a"], ["b"], ["c"], "large"]);
});

test("a folder may be written in any way", () => {
  assert.deepEqual(
    ["", "/", "x", "/x/y/"].map((folder) => under(folder, "a/b")),
    ["a/b", "a/b", "x/a/b", "x/y/a/b"],
  );
});

test("what is there is told, and stays executable", () => {
  const there = { path: "x/a", executable: true, etag: "t" };
  const present = { commit: "", files: new Map([["x/a", there]]) };
  const file = new File([], "a");
  const found = steps(
    [
      { path: "a", file },
      { path: "b", file },
    ],
    "x",
    present,
  );
  assert.deepEqual(
    found.map(({ path, replaces, executable }) => [path, replaces, executable]),
    [
      ["x/a", true, true],
      ["x/b", false, false],
    ],
  );
});

test("a name whose letters are taken apart is that of a file that looks the same, or else is composed", () => {
  const [composed, apart] = ["\u0439", "\u0438\u0306"];
  const planned = (there: string[], path: string, folder = "") => {
    const present: Present = { commit: "", files: new Map() };
    for (const one of there) note(present.files, { path: one, executable: false, etag: one });
    return steps([{ path, file: new File([], path) }], folder, present).map((one) => [one.path, one.etag]);
  };
  assert.deepEqual(planned([], apart), [[composed, null]]);
  for (const there of [composed, apart]) {
    for (const path of [composed, apart]) assert.deepEqual(planned([there], path), [[there, there]]);
  }
  for (const path of [composed, apart]) {
    assert.deepEqual(planned([composed, apart], path), [[path, path]]);
    assert.deepEqual(planned([apart, composed], path), [[path, path]]);
  }
  // The folder is as it is there.
  assert.deepEqual(planned([], apart, apart), [[`${apart}/${composed}`, null]]);
});

test("what a computer keeps for itself is left out", () => {
  assert.deepEqual(
    [".git/config", "a/.git/x", ".DS_Store", "a/Thumbs.db", "a/.gitignore", "git/x", "a.git"].map(isLeftOut),
    [true, true, true, true, false, false, false],
  );
});
