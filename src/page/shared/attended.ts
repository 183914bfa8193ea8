// Whether somebody is at the page: what it reads by itself meanwhile keeps nobody logged in.

/** After so long without a touch, in milliseconds, nobody is. */
const AWAY_AFTER = 60_000;

let touched = Date.now();

// A click may come from a screen reader alone, and "popstate" from the buttons of the browser.
for (const type of ["pointerdown", "keydown", "wheel", "click", "input", "popstate", "drop"]) {
  globalThis.addEventListener?.(
    type,
    ({ isTrusted }) => {
      if (isTrusted) touched = Date.now();
    },
    { capture: true, passive: true },
  );
}

/** Whether somebody has touched the page a moment ago. */
export const isAttended = (): boolean => Date.now() - touched < AWAY_AFTER;
