import assert from "node:assert/strict";
import { test } from "node:test";
import { address, parse, type Route } from "./route.ts";

const state = (url: string): Route => parse(new URL(url, "http://localhost"));

test("a state and its address say the same", () => {
  const states: [Route, string][] = [
    [{ screen: "projects", repo: "" }, "/site-builder/"],
    [{ screen: "tokens", repo: "", new: "1" }, "/site-builder/tokens?new=1"],
    [{ screen: "files", repo: "acme/shop.erp" }, "/site-builder/files/acme/shop.erp"],
    [
      {
        screen: "files",
        repo: "acme/shop.erp",
        branch: "release/1",
        path: "config/цены & a+b.xml",
        at: "v0009",
      },
      "/site-builder/files/acme/shop.erp?branch=release/1&path=config/%D1%86%D0%B5%D0%BD%D1%8B%20%26%20a%2Bb.xml&at=v0009",
    ],
  ];
  for (const [route, url] of states) {
    assert.equal(address(route), url);
    assert.deepEqual(state(url), route);
  }
});

test("an address that says nothing is the projects", () => {
  for (const url of [
    "/site-builder",
    "/site-builder/nothing/here",
    "/site-builder/files",
    "/site-builder/%zz",
  ]) {
    assert.deepEqual(state(url), { screen: "projects", repo: "" });
  }
});

test("an escaped slash is a slash", () => {
  assert.deepEqual(state("/site-builder/files/acme%2Fshop.erp/?branch=main&path="), {
    screen: "files",
    repo: "acme/shop.erp",
    branch: "main",
  });
});
