// Keys of the branch's screen.
import { useLayoutEffect, useRef } from "preact/hooks";
import { isDialogOpen } from "../../shared/focus.ts";
import { go, type Route } from "../route.ts";
import type { Change } from "./history-state.ts";

/** True while somebody types, or a sheet is open: then a key means a letter, or the sheet. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (isDialogOpen()) return true;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(input|textarea|select)$/i.test(target.localName);
}

/** The keys, also where they have another letter on them; on other keyboards the sign is elsewhere. */
const isOlder = ({ key, code }: KeyboardEvent): boolean =>
  key === "[" || (code === "BracketLeft" && key !== "]");
const isNewer = ({ key, code }: KeyboardEvent): boolean =>
  key === "]" || (code === "BracketRight" && key !== "[");

/** `[` goes to the older change, `]` to the newer one, and from the newest to now. */
export function useChangeKeys(route: Route, list: Change[] | null): void {
  // What is drawn, and not what was when the listener was made: a key may come in between.
  const now = useRef({ route, list });
  now.current = { route, list };
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const { route, list } = now.current;
      const older = isOlder(event);
      if ((!older && !isNewer(event)) || event.ctrlKey || event.metaKey || event.altKey) return;
      // In the tree a letter looks for a name.
      if (!list || event.defaultPrevented || isTyping(event)) return;
      event.preventDefault();
      const at = list.findIndex((one) => one.version === route.change);
      // It is further back than the list: what is beside it is not known.
      if (route.change && at < 0) return;
      const next = list[older ? at + 1 : at - 1];
      const { repo, branch } = route;
      const here = { screen: "files", repo, branch: branch! } as const;
      if (next) go({ ...here, change: next.version, ...(next.path ? { path: next.path } : {}) });
      else if (!older && at === 0) go(here);
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}
