import assert from "node:assert/strict";
import { mock, test } from "node:test";

test("nobody is at a page that was not touched for a minute", async () => {
  const heard: Record<string, (event: { isTrusted: boolean }) => void> = {};
  Object.assign(globalThis, {
    addEventListener: (type: string, listener: (typeof heard)[string]) => {
      heard[type] = listener;
    },
  });
  mock.timers.enable({ apis: ["Date"] });
  const { isAttended } = await import("./attended.ts");
  for (const type of ["pointerdown", "click", "popstate"]) {
    assert.ok(isAttended());
    mock.timers.tick(59_999);
    assert.ok(isAttended());
    mock.timers.tick(1);
    heard[type]?.({ isTrusted: false });
    assert.ok(!isAttended());
    heard[type]?.({ isTrusted: true });
  }
  assert.ok(isAttended());
  mock.timers.reset();
});
