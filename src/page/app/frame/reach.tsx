// Bars: while the service does not answer, once it is another version than this page, and where what is shown could
// not be asked for again.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Loaded } from "../../shared/load.ts";
import { Behind } from "../../shared/parts.tsx";
import { t, wordsOf } from "../../shared/text.ts";
import { hasStatus, onReach, onSlow } from "../api.ts";
import { health } from "./health.ts";

const AGAIN_MS = 3000;
/** What comes of it is told to all who listen. */
const look = (): void => void health().catch(() => null);
/** Of its document, which names the page's version. */
const OURS = document.querySelector<HTMLScriptElement>("script[src]")?.getAttribute("src") ?? "";

/** True if the service now serves another page than this one. */
async function isUpdated(): Promise<boolean> {
  const answer = await fetch("/site-builder/", { cache: "no-cache" });
  return answer.ok && !(await answer.text()).includes(OURS);
}

export function Reach() {
  const [away, setAway] = useState(false);
  const [updated, setUpdated] = useState(false);
  useLayoutEffect(() => onReach((reachable) => setAway(!reachable)), []);
  useLayoutEffect(() => onSlow(look), []);
  useEffect(() => {
    if (!away) return;
    const timer = setInterval(look, AGAIN_MS);
    return () => {
      clearInterval(timer);
      // It may have been started anew as another version.
      isUpdated().then(setUpdated, () => null);
    };
  }, [away]);
  if (away) {
    return (
      <div class="strip" role="status">
        <span class="busy" />
        {t("offlineBar")}
      </div>
    );
  }
  if (!updated) return null;
  return (
    <div class="strip" role="status">
      {t("updated")}
      <button type="button" class="button" onClick={() => location.reload()}>
        {t("reload")}
      </button>
    </div>
  );
}

/** A bar where what is shown is what came before, since it was refused the last time. */
export function Stale({ of: { value, error, again } }: { of: Omit<Loaded<unknown>, "change"> }) {
  // That nothing answers is told already.
  if (!error || value === null || hasStatus(error, 0)) return null;
  return <Behind words={t("stale", { why: wordsOf(error) })} onAgain={again} />;
}
