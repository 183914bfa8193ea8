import assert from "node:assert/strict";
import { test } from "node:test";
import { merge } from "./merge.ts";

const run = (base: string, ours: string, theirs: string) => {
  const merged = merge([...base], [...ours], [...theirs]);
  return [merged.lines.join(""), merged.clashes] as const;
};

test("changes of one side are taken", () => {
  assert.deepEqual(run("abc", "abc", "abc"), ["abc", []]);
  assert.deepEqual(run("abc", "aBc", "abc"), ["aBc", []]);
  assert.deepEqual(run("abc", "abc", "abC"), ["abC", []]);
  assert.deepEqual(run("abc", "abc", ""), ["", []]);
  assert.deepEqual(run("", "ab", ""), ["ab", []]);
});

test("changes of other lines are both taken", () => {
  assert.deepEqual(run("abcdef", "Abcdef", "abcdeF"), ["AbcdeF", []]);
  assert.deepEqual(run("abcdef", "xabcdef", "abdef"), ["xabdef", []]);
  assert.deepEqual(run("abcd", "aBcd", "abCd"), ["aBCd", []]);
  assert.deepEqual(run("abcdefgh", "1bcdef2h", "abc3efghij"), ["1bc3ef2hij", []]);
});

test("the same change is taken once", () => {
  assert.deepEqual(run("abc", "aXc", "aXc"), ["aXc", []]);
  assert.deepEqual(run("abc", "abcd", "abcd"), ["abcd", []]);
});

test("ours stands where both changed the same lines, and the place is told", () => {
  assert.deepEqual(run("abc", "aXc", "aYZc"), [
    "aXc",
    [{ merged: { from: 1, to: 2 }, theirs: { from: 1, to: 3 } }],
  ]);
  assert.deepEqual(run("abc", "ac", "aYc"), [
    "ac",
    [{ merged: { from: 1, to: 1 }, theirs: { from: 1, to: 2 } }],
  ]);
  assert.deepEqual(run("ab", "aXb", "aYb"), [
    "aXb",
    [{ merged: { from: 1, to: 2 }, theirs: { from: 1, to: 2 } }],
  ]);
  assert.deepEqual(run("abcdef", "aXXdef", "abYYef"), [
    "aXXdef",
    [{ merged: { from: 1, to: 4 }, theirs: { from: 1, to: 4 } }],
  ]);
  // Each side's other changes are still taken.
  assert.deepEqual(run("abcdefgh", "1bcXefgh", "abcYefg2"), [
    "1bcXefg2",
    [{ merged: { from: 3, to: 4 }, theirs: { from: 3, to: 4 } }],
  ]);
});

test("against random edits: what one side left alone is the other's, and no line is lost", () => {
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  for (let round = 0; round < 2000; round++) {
    const base = Array.from({ length: next(14) }, () => "abcd"[next(4)] ?? "");
    const edit = (mark: string) => {
      const lines = [...base];
      for (let n = next(4); n > 0; n--)
        lines.splice(next(lines.length + 1), next(3), ...mark.repeat(next(3)));
      return lines;
    };
    const [ours, theirs] = [edit("x"), edit("y")];
    assert.deepEqual(merge(base, ours, base), { lines: ours, clashes: [] });
    assert.deepEqual(merge(base, base, theirs), { lines: theirs, clashes: [] });
    assert.deepEqual(merge(base, ours, ours), { lines: ours, clashes: [] });
    const merged = merge(base, ours, theirs);
    const count = (lines: string[], letter: string) => lines.filter((line) => line === letter).length;
    assert.equal(count(merged.lines, "x"), count(ours, "x"));
    let lost = 0;
    for (const { merged: at, theirs: their } of merged.clashes) {
      assert.ok(at.from <= at.to && at.to <= merged.lines.length && their.to <= theirs.length);
      lost += count(theirs.slice(their.from, their.to), "y");
    }
    assert.equal(count(merged.lines, "y"), count(theirs, "y") - lost);
  }
});

test("two texts with nothing in common are one clash, soon", () => {
  const lines = (mark: string) => Array.from({ length: 20_000 }, (_, n) => `${mark}${n}`);
  const start = performance.now();
  const merged = merge(lines("a"), lines("b"), lines("c"));
  assert.equal(merged.clashes.length, 1);
  assert.ok(performance.now() - start < 5000);
});

test("a run of more lines than a call takes arguments is taken", () => {
  const many = Array.from({ length: 200_000 }, (_, n) => `${n}`);
  assert.deepEqual(merge([], many, []), { lines: many, clashes: [] });
});
