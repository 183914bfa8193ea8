// Where the list of changes is scrolled to, and which of its rows has the keys.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isNowhere } from "../../../shared/focus.ts";
import { entryNow, lookOf, useWayBack } from "../../parts/entries.ts";
import type { Change, HistoryState } from "../history-state.ts";

/** As far back as the row of what is shown is looked for, and the list read again that was left. */
const SOUGHT_MAX = 1000;

/** Stands for the branch as it is now. */
export const NOW = "";

/** The rows of a list, the first of which is the branch as it is now. */
const rowsOf = (box: HTMLElement) => [...box.querySelectorAll<HTMLElement>(".moment > a")];

/** How the list looked when it was left. */
interface Look {
  /** The file whose changes alone were listed. */
  of: string | undefined;
  top: number;
  /** The row that the keys come to. */
  row: string;
  /** It had them. */
  held: boolean;
  /** How many changes had come. */
  count: number;
}

/**
 * Brings the row of what is shown into sight, once, with the changes that came before it where those are not there; and
 * on the way back the list as it was, unless somebody wants to `stay` where it is.
 */
export function useSight(
  history: HistoryState,
  of: string | undefined,
  version: string | undefined,
  row: string,
) {
  const box = useRef<HTMLDivElement>(null);
  const seen = useRef<string | undefined>(undefined);
  const { list, whole, error } = history;
  const entry = entryNow();
  const [look, done] = useWayBack<Look>("history", () => ({
    of,
    top: box.current?.scrollTop ?? 0,
    row,
    held: box.current?.contains(document.activeElement) ?? false,
    count: list?.length ?? 0,
  }));
  useLayoutEffect(() => {
    const node = box.current;
    if (!list || !node || !look || look.of !== of) return;
    if (list.length < Math.min(look.count, SOUGHT_MAX) && !whole && !error) return void history.older();
    done();
    seen.current = version;
    node.scrollTop = look.top;
    if (look.held && isNowhere()) {
      const at = list.findIndex((one) => one.version === look.row) + 1;
      rowsOf(node)[at]?.focus({ preventScroll: true });
    }
  }, [entry, of, list, whole, error]);
  useEffect(() => {
    if (!list || look || version === seen.current) return;
    const isFurther = !list.some((one) => one.version === version) && !whole && list.length < SOUGHT_MAX;
    if (version && isFurther && isOlder(version, list)) {
      if (!error) void history.older();
      return;
    }
    seen.current = version;
    if (version) box.current?.querySelector(".current")?.scrollIntoView({ block: "nearest" });
  }, [version, list, whole, error]);
  const stay = () => {
    done();
    seen.current = version;
  };
  return { box, stay };
}

/** Numbers are as long as they need to be, four digits at least. */
const isOlder = (version: string, list: Change[]): boolean =>
  Number(version.slice(1)) < Number(list.at(-1)?.version.slice(1));

/** Keys go from row to row; gives the row that Tab comes to. */
export function useRows(version: string | undefined) {
  const [row, setRow] = useState<string | undefined>(undefined);
  useLayoutEffect(() => setRow(lookOf<Look>("history")?.row), [version]);
  const onKeyDown = (event: KeyboardEvent) => {
    const links = rowsOf(event.currentTarget as HTMLElement);
    const at = links.findIndex((link) => link.parentElement?.contains(event.target as Node));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (to === undefined || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    links[Math.max(0, Math.min(links.length - 1, to))]?.focus();
  };
  return { row: row ?? version ?? NOW, setRow, onKeyDown };
}
