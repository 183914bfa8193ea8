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
  const plannedAll = (there: string[], paths: string[], folder = "") => {
    const present: Present = { commit: "", files: new Map() };
    for (const one of there) note(present.files, { path: one, executable: false, etag: one });
    const picked = paths.map((path) => ({ path, file: new File([], path) }));
    const whole = steps(picked, folder, present).map((one) => [one.path, one.etag]);
    // What a save before has left says the same.
    const rest = steps(picked.slice(1), folder, present, picked).map((one) => [one.path, one.etag]);
    assert.deepEqual(rest, whole.slice(1));
    return whole;
  };
  const planned = (there: string[], path: string, folder?: string) => plannedAll(there, [path], folder);
  assert.deepEqual(planned([], apart), [[composed, null]]);
  for (const there of [composed, apart]) {
    for (const path of [composed, apart]) assert.deepEqual(planned([there], path), [[there, there]]);
  }
  for (const path of [composed, apart]) {
    assert.deepEqual(planned([composed, apart], path), [[path, path]]);
    assert.deepEqual(planned([apart, composed], path), [[path, path]]);
  }
  // The folder is as it is there, or was chosen.
  assert.deepEqual(planned([], apart, apart), [[`${apart}/${composed}`, null]]);
  assert.deepEqual(planned([], `${apart}/${apart}`), [[`${apart}/${composed}`, null]]);
  // Neither of two takes the place of the other.
  for (const there of [composed, apart]) {
    const known = (path: string) => [path, path === there ? path : null];
    assert.deepEqual(plannedAll([there], [composed, apart]), [known(composed), known(apart)]);
  }
});

test("what a computer keeps for itself is left out", () => {
  assert.deepEqual(
    [".git/config", "a/.git/x", ".DS_Store", "a/Thumbs.db", "a/.gitignore", "git/x", "a.git"].map(isLeftOut),
    [true, true, true, true, false, false, false],
  );
});
