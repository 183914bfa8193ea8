import assert from "node:assert/strict";
import { test } from "node:test";
import { score } from "./score.ts";

const best = (typed: string, texts: string[]): string | undefined =>
  texts
    .filter((text) => score(text, typed) >= 0)
    .sort((a, b) => score(b, typed) - score(a, typed))
    .at(0);

test("the beginning of a name comes first", () => {
  assert.equal(
    best("price", ["config/old/subprice.xml", "config/prices.xml", "prices/readme.txt"]),
    "config/prices.xml",
  );
  assert.equal(best("цен", ["src/Оценка.bsl", "src/ценник.bsl"]), "src/ценник.bsl");
});

test("letters in their order will do, others will not", () => {
  assert.equal(best("cfpr", ["readme.txt", "config/prices.xml"]), "config/prices.xml");
  assert.equal(score("readme.txt", "xyz"), -1);
});

test("nothing typed fits all", () => {
  assert.ok(score("config/prices.xml", "") >= 0);
});
