import assert from "node:assert/strict";
import { test } from "node:test";
import { frame } from "./frame.en.ts";
import { history } from "./history.en.ts";

test("no table has a key of another", () => {
  const keys = [frame, history].flatMap((table) => Object.keys(table));
  const twice = keys.filter((key, at) => keys.indexOf(key) !== at);
  assert.deepEqual(twice, []);
});
