// Where the keys go once what had them is not there any more: not to nowhere, from where each walk begins anew.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export const isNowhere = (): boolean => !document.activeElement || document.activeElement === document.body;

/** Whether a dialog is open. Nothing else can have the keys then, and it gives them back when it closes. */
export const isDialogOpen = (): boolean => document.querySelector("dialog[open]") !== null;

/** Gives the keys to the content of the page, or to what had them before, where nothing has them. */
export function settleFocus(before?: EventTarget | null): void {
  // What is closed now gives them back first.
  setTimeout(() => {
    if (!isNowhere()) return;
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    if (isNowhere()) document.getElementById("main")?.focus();
  });
}

/** Where the row that had the keys goes, the one in its place has them. */
export function useRowFocus(): void {
  const last = useRef<{ row: HTMLTableRowElement; at: number } | null>(null);
  useEffect(() => {
    const seen = ({ target }: FocusEvent) => {
      if (!(target instanceof Element) || target.closest("dialog")) return;
      const row = target.closest("tr");
      last.current = row && { row, at: row.sectionRowIndex };
    };
    addEventListener("focusin", seen);
    return () => removeEventListener("focusin", seen);
  }, []);
  useLayoutEffect(() => {
    if (!last.current || last.current.row.isConnected || !isNowhere()) return;
    const rows = [...document.querySelectorAll<HTMLElement>("#main tbody tr")];
    const row = rows[Math.min(last.current.at, rows.length - 1)];
    const place = row?.querySelector<HTMLElement>("button, a") ?? document.getElementById("main");
    place?.focus();
  });
}
