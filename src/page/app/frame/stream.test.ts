import assert from "node:assert/strict";
import { test } from "node:test";
import { listen } from "./stream.ts";

/** A stream of which nothing comes but what the test sends. */
class Source extends EventTarget {
  static readonly CLOSED = 2;
  static readonly all: Source[] = [];
  readyState = 0;
  onopen = (): void => undefined;
  onerror = (): void => undefined;
  onmessage = (_: { data: string }): void => undefined;

  constructor(readonly url: string) {
    super();
    Source.all.push(this);
  }

  close(): void {
    this.readyState = Source.CLOSED;
  }
}

test("a stream that has been silent for too long is opened again, a quiet one is not", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  Object.assign(globalThis, { EventSource: Source });
  const told: string[] = [];
  const stop = listen("/events", {
    onOpen: () => told.push("open"),
    onRefused: () => told.push("refused"),
    onData: (data) => told.push(data),
  });
  const last = () => Source.all.at(-1)!;
  const states = () => Source.all.map((source) => source.readyState);
  last().onopen();
  for (const say of [
    () => last().onmessage({ data: "news" }),
    () => last().dispatchEvent(new Event("quiet")),
  ]) {
    mock.timers.tick(99_999);
    say();
  }
  mock.timers.tick(99_999);
  assert.deepEqual([states(), told], [[0], ["open", "news"]]);
  mock.timers.tick(1);
  assert.deepEqual(states(), [2, 0]);
  // One that is refused is opened again sooner.
  last().readyState = 2;
  last().onerror();
  mock.timers.tick(15_000);
  assert.deepEqual(
    [states(), told],
    [
      [2, 2, 0],
      ["open", "news", "refused"],
    ],
  );
  stop();
  mock.timers.tick(200_000);
  assert.deepEqual(states(), [2, 2, 2]);
});
