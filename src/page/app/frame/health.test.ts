import "../../shared/stand-in.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { onReach, onSlow, send } from "../api.ts";
import { health } from "./health.ts";

test("a service that says nothing counts as away after eight seconds, and is asked once at a time", async ({
  mock,
}) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const heard: boolean[] = [];
  onReach((reachable) => heard.push(reachable));
  let asked = 0;
  globalThis.fetch = (_, options) => {
    asked += 1;
    return new Promise((_, fail) =>
      options?.signal?.addEventListener("abort", () => fail(new Error("aborted"))),
    );
  };
  const [first, second] = [health(), health()];
  mock.timers.tick(7_999);
  assert.deepEqual([asked, heard], [1, []]);
  mock.timers.tick(1);
  for (const one of [first, second]) await assert.rejects(one, { status: 0 });
  assert.deepEqual([asked, heard], [1, [false]]);
  globalThis.fetch = async () => Response.json({});
  await health();
  assert.deepEqual(heard, [false, true]);
});

test("of a request that is not answered it is told every ten seconds, until it is", async ({ mock }) => {
  mock.timers.enable({ apis: ["setInterval"] });
  let told = 0;
  onSlow(() => {
    told += 1;
  });
  let answer = (_: Response): void => undefined;
  globalThis.fetch = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  const sent = send("/file", { method: "PUT", body: "text" });
  mock.timers.tick(9_999);
  assert.equal(told, 0);
  mock.timers.tick(10_001);
  assert.equal(told, 2);
  answer(Response.json({}));
  await sent;
  mock.timers.tick(60_000);
  assert.equal(told, 2);
});
