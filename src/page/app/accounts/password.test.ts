import assert from "node:assert/strict";
import { test } from "node:test";
import { madeUp } from "./password.ts";

test("a password that is made up has 100 bits, and is another each time", () => {
  const made = Array.from({ length: 200 }, madeUp);
  for (const password of made) assert.match(password, /^([a-km-np-z2-9]{5}-){3}[a-km-np-z2-9]{5}$/);
  assert.equal(new Set(made).size, made.length);
  const seen = new Set(made.join("").replaceAll("-", ""));
  assert.equal(seen.size, 32, [...seen].sort().join(""));
});
