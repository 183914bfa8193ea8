import assert from "node:assert/strict";
import { test } from "node:test";
import { NEW } from "../../../editor/bytes.ts";
import type { Version } from "../../../shared/drafts.ts";
import { conflictOf } from "./conflict.ts";

const version = (text: string): Version => ({ text, form: NEW });

/** What is made of two texts that began from `base`. */
function merged(base: string, mine: string, theirs: string) {
  const found = { kind: "text", read: { ...NEW, text: theirs }, etag: "theirs", size: 1 } as const;
  const made = conflictOf(found, version(mine), version(base), null)?.merged;
  return made && [made.text, made.clashes];
}

test("what two people wrote into a new file is one clash, whatever lines they have in common", () => {
  const whole = (lines: number) => [{ from: 0, to: lines }];
  assert.deepEqual(merged("", "mine\n", "theirs\n"), ["mine\n", whole(2)]);
  assert.deepEqual(merged("", "a\nmine", "a\ntheirs\n"), ["a\nmine", whole(2)]);
  assert.deepEqual(merged("", "\nmine\n", "theirs\n\n"), ["\nmine\n", whole(3)]);
});

test("what only one of two people wrote into a new file is taken", () => {
  assert.deepEqual(merged("", "", "theirs\n"), ["theirs\n", []]);
  assert.deepEqual(merged("", "mine\n", ""), ["mine\n", []]);
  assert.deepEqual(merged("", "both\n", "both\n"), ["both\n", []]);
});

test("an emptied text against another's edit is a clash", () => {
  assert.deepEqual(merged("a\nb\n", "", "a\nB\n"), ["", [{ from: 0, to: 0 }]]);
});
