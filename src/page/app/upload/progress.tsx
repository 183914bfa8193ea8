import { useEffect, useState } from "preact/hooks";
import { Alert } from "../../shared/parts.tsx";
import { size, t } from "../../shared/text.ts";
import type { Flow } from "./carry.ts";
import { say } from "./words.ts";

/** How often it is looked how far an upload has come, in milliseconds. */
const LOOK_MS = 200;

/** Where nothing has moved for this time, in milliseconds, that is told. */
const STILL_MS = 6000;

/** Draws again and again while something is under way. */
function useTicks(ms: number): void {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), ms);
    return () => clearInterval(timer);
  }, []);
}

/** How much of an upload has gone out. */
export function Progress({ flow }: { flow: Flow }) {
  useTicks(LOOK_MS);
  const { bytes, total, whole } = flow;
  return (
    <div class="grow flow">
      <progress max={total} value={bytes} aria-label={t("saving")} />
      <span class="sub">
        {whole && bytes === total
          ? say("uploadSentAll", { total: size(total) })
          : say("uploadSent", { sent: size(bytes), total: size(total) })}
      </span>
    </div>
  );
}

/** That nothing moves any more, and what can be done about it. */
export function Still({ flow }: { flow: Flow }) {
  useTicks(1000);
  const still = performance.now() - flow.moved;
  if (still < STILL_MS) return null;
  // The same words all the time: a reader of the screen hears them once.
  return <Alert>{say(flow.whole ? "uploadNoAnswer" : "uploadStill")}</Alert>;
}
