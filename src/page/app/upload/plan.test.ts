import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, type Save, type Step, steps, under } from "./plan.ts";
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
  const present = { commit: "", files: new Map([["x/a", { executable: true, etag: "t" }]]) };
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

test("what a computer keeps for itself is left out", () => {
  assert.deepEqual(
    [".git/config", "a/.git/x", ".DS_Store", "a/Thumbs.db", "a/.gitignore", "git/x", "a.git"].map(isLeftOut),
    [true, true, true, true, false, false, false],
  );
});
