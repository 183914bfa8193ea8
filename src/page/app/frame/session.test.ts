import "../../shared/stand-in.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { onSessionEnd, send, setAccount } from "../api.ts";

/** A service that refuses the first request for want of a session; the login then is that of `next`. */
function loggedInMeanwhile(next: string): string[] {
  const asked: string[] = [];
  setAccount("anna");
  onSessionEnd(async () => setAccount(next));
  globalThis.fetch = async (_, options) => {
    asked.push(String(options?.body));
    return asked.length === 1 ? Response.json({ message: "401" }, { status: 401 }) : Response.json({});
  };
  return asked;
}

test("a request is repeated once the same account has logged in again", async () => {
  const asked = loggedInMeanwhile("anna");
  assert.equal((await send("/file", { method: "PUT", body: "text" })).status, 200);
  assert.deepEqual(asked, ["text", "text"]);
});

test("a request is not repeated in the name of another account", async () => {
  const asked = loggedInMeanwhile("sergei");
  await assert.rejects(send("/file", { method: "PUT", body: "text" }), {
    status: 401,
    words: "Another account is logged in now, so this was not done.",
  });
  assert.deepEqual(asked, ["text"]);
});

test("a request that finds nobody logged in any more says so", async () => {
  setAccount("anna");
  globalThis.fetch = async () => {
    setAccount(null);
    return Response.json({ message: "401" }, { status: 401 });
  };
  await assert.rejects(send("/file", { method: "PUT", body: "text" }), {
    status: 401,
    words: "Your session has ended, so this was not done.",
  });
});
