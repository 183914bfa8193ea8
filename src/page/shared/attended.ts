// Whether somebody is at the page: what it reads by itself meanwhile keeps nobody logged in.

/** After so long without a touch, in milliseconds, nobody is. */
const AWAY_AFTER = 60_000;

let touched = Date.now();

for (const type of ["pointerdown", "keydown", "wheel"]) {
  globalThis.addEventListener?.(
    type,
    () => {
      touched = Date.now();
    },
    { capture: true, passive: true },
  );
}

/** Whether somebody has touched the page a moment ago. */
export const isAttended = (): boolean => Date.now() - touched < AWAY_AFTER;
