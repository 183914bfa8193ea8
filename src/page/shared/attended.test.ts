import assert from "node:assert/strict";
import { mock, test } from "node:test";

test("nobody is at a page that was not touched for a minute", async () => {
  const heard: Record<string, () => void> = {};
  Object.assign(globalThis, {
    addEventListener: (type: string, listener: () => void) => {
      heard[type] = listener;
    },
  });
  mock.timers.enable({ apis: ["Date"] });
  const { isAttended } = await import("./attended.ts");
  for (const type of ["pointerdown", "keydown", "wheel"]) {
    assert.ok(isAttended());
    mock.timers.tick(59_999);
    assert.ok(isAttended());
    mock.timers.tick(1);
    assert.ok(!isAttended());
    heard[type]?.();
  }
  assert.ok(isAttended());
  mock.timers.reset();
});
