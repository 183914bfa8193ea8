import assert from "node:assert/strict";
import { test } from "node:test";
import { frame } from "./frame.en.ts";
import { history } from "./history.en.ts";
import { tokens } from "./tokens.en.ts";

test("no table has a key of another", () => {
  const keys = [frame, history, tokens].flatMap((table) => Object.keys(table));
  const twice = keys.filter((key, at) => keys.indexOf(key) !== at);
  assert.deepEqual(twice, []);
});
