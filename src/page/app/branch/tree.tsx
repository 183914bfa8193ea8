// The files of a state. Only the rows in sight are in the document, so that a folder of 100,000 entries scrolls
// as one of ten does.
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isDialogOpen, isNowhere, settleFocus } from "../../shared/focus.ts";
import { REM_PX } from "../../shared/rem.ts";
import { size, t } from "../../shared/text.ts";
import { entryNow, useWayBack } from "../parts/entries.ts";
import type { Act, Acts } from "./entry/acts.tsx";
import { Line, RowMenu, unsavedIn } from "./tree/line.tsx";
import type { Row } from "./tree/state.ts";

const ROW_PX = 1.625 * REM_PX;
const MORE_ROWS = 8;
/** Letters that come within this time belong to one word. */
const WORD_MS = 700;

/** How it looked when it was left. */
interface Look {
  /** The text by which its rows were found. */
  found: string | null;
  top: number;
  /** The row that the keys come to. */
  row: string | undefined;
  /** It had them. */
  held: boolean;
}

interface TreeProps {
  rows: Row[];
  /** The text by which the rows are found: their whole path is shown. Null where they are those of the folders. */
  found: string | null;
  current: string | undefined;
  onOpen: (path: string) => void;
  onToggle: (path: string, open?: boolean) => void;
  /** Null where nothing may be done to files and folders. */
  acts: Acts | null;
  /** The files that have edits which are not saved. */
  unsaved: string[];
}

// By the way that the event takes: an item goes with its menu before the row hears of the click.
const isOfMenu = (event: Event): boolean =>
  event.composedPath().some((node) => node instanceof Element && node.matches(".menu"));

const place = (top: number, indent: number) => (row: HTMLElement | null) => {
  if (!row) return;
  row.style.top = `${top}px`;
  row.style.paddingInlineStart = `${indent}px`;
};

export function Tree({ rows, found, current, onOpen, onToggle, acts, unsaved }: TreeProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [focus, setFocus] = useState<string | null>(null);
  const [moves, setMoves] = useState(0);
  const typed = useRef({ text: "", at: 0 });
  useLayoutEffect(() => {
    const node = box.current!;
    const observer = new ResizeObserver(() => setHeight(node.clientHeight));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  const wanted = focus ?? current;
  const focused = Math.max(
    0,
    rows.findIndex((row) => row.path === wanted),
  );
  const first = Math.max(0, Math.floor(top / ROW_PX) - MORE_ROWS);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_PX) + MORE_ROWS);

  const reveal = (index: number) => {
    const node = box.current!;
    if (index * ROW_PX < node.scrollTop) node.scrollTop = index * ROW_PX;
    const bottom = (index + 1) * ROW_PX;
    if (bottom > node.scrollTop + node.clientHeight) node.scrollTop = bottom - node.clientHeight;
  };
  const revealed = useRef<string | undefined>(undefined);
  const entry = entryNow();
  const [look, done] = useWayBack<Look>("tree", () => ({
    found,
    top,
    row: wanted,
    held: box.current!.contains(document.activeElement),
  }));
  useLayoutEffect(() => {
    const node = box.current!;
    if (!look) return;
    // Where it is not shown, a browser keeps what it was scrolled to.
    if (node.clientHeight === 0) return void done();
    revealed.current = current;
    // What was found is searched for again.
    if (look.found !== found) return;
    node.scrollTop = look.top;
    setTop(node.scrollTop);
    // Folders that were open there are read again, and the rest of a long one comes later.
    if (rows.some((row) => row.of < 0 || (row.open && row.count === undefined && !row.failed))) return;
    done();
    setFocus(look.row ?? null);
    // What is done by keys is done to that row: another one that has them is not to keep them.
    if (node.contains(document.activeElement) || (look.held && isNowhere())) setMoves((moves) => moves + 1);
  }, [entry, rows, found]);
  useEffect(() => {
    // Once, when its row has come: who scrolls on stays there.
    const index = current === revealed.current ? -1 : rows.findIndex((row) => row.path === current);
    if (index < 0) return;
    reveal(index);
    revealed.current = current;
  }, [current, rows]);

  const move = (to: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    setFocus(rows[index]?.path ?? null);
    reveal(index);
    setTop(box.current!.scrollTop);
    setMoves((moves) => moves + 1);
  };
  // Before the next key: a row that goes while it has the focus takes the keys after it along.
  useLayoutEffect(() => {
    if (moves > 0) box.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  }, [moves]);
  // Nor do those after a row that others take away, as its own deletion does: it may go while that is still asked.
  const held = useRef<Element | null>(null);
  const at = useRef(focused);
  useLayoutEffect(() => {
    const isThere = rows[focused]?.path === wanted;
    if (isThere) at.current = focused;
    if (!held.current || held.current.isConnected || isDialogOpen()) return;
    held.current = null;
    // One that was scrolled out of sight is still there.
    if (isThere || !isNowhere()) return;
    if (rows.length > 0) move(at.current);
    else settleFocus();
  });
  const act = (row: Row) => (row.folder ? onToggle(row.path) : onOpen(row.path));
  const outOf = (row: Row) => {
    if (row.folder && row.open) return onToggle(row.path, false);
    let index = focused;
    while (index > 0 && rows[index]!.depth >= row.depth) index -= 1;
    if (rows[index]!.depth < row.depth) move(index);
  };
  const into = (row: Row) => {
    if (!row.folder) return;
    if (row.open) move(focused + 1);
    else onToggle(row.path, true);
  };
  const typeAhead = (letter: string) => {
    const now = performance.now();
    const { text, at } = typed.current;
    typed.current = { text: (now - at < WORD_MS ? text : "") + letter.toLowerCase(), at: now };
    const word = typed.current.text;
    const from = word.length > 1 ? focused : focused + 1;
    for (let step = 0; step < rows.length; step += 1) {
      const index = (from + step) % rows.length;
      if (rows[index]!.name.toLowerCase().startsWith(word)) return move(index);
    }
  };
  const begin = (act: Act) => (row: Row) => acts?.can(act, row.folder) && acts.begin(act, row);
  const pageOf = Math.max(1, Math.floor(height / ROW_PX) - 1);
  const keys: Record<string, (row: Row) => void> = {
    ArrowDown: () => move(focused + 1),
    ArrowUp: () => move(focused - 1),
    ArrowRight: into,
    ArrowLeft: outOf,
    Home: () => move(0),
    End: () => move(rows.length - 1),
    PageDown: () => move(focused + pageOf),
    PageUp: () => move(focused - pageOf),
    F2: begin("move"),
    Delete: begin("remove"),
    Enter: act,
    " ": act,
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[focused];
    if (!row || isOfMenu(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    done();
    const key = keys[event.key];
    if (key) key(row);
    else if (event.key.length === 1 && event.key !== "[" && event.key !== "]" && event.key !== "?")
      typeAhead(event.key);
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="tree"
      ref={box}
      role="tree"
      aria-label={t("files")}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      // Whoever scrolls or chooses while folders still come is not taken back to where they were.
      onWheel={done}
      onPointerDown={done}
      onKeyDown={onKeyDown}
      onFocusCapture={(event) => {
        held.current = event.target as Element;
      }}
      onBlurCapture={({ target }) => {
        // A row that goes loses the focus as well, and a dialog over it gives it back.
        queueMicrotask(() => {
          if (held.current === target && held.current?.isConnected && !isDialogOpen()) held.current = null;
        });
      }}
    >
      <div
        class="rows"
        role="presentation"
        ref={(node) => {
          if (node) node.style.height = `${rows.length * ROW_PX}px`;
        }}
      >
        {rows.slice(first, last).map((row, step) => {
          const index = first + step;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the tree hears the keys
            <div
              key={row.path}
              class={row.path === current ? "row current" : "row"}
              role="treeitem"
              aria-labelledby={`${id}-${index}`}
              aria-level={row.depth + 1}
              aria-expanded={row.folder ? row.open : undefined}
              aria-selected={row.path === current}
              aria-setsize={row.of}
              aria-posinset={row.place}
              tabIndex={index === focused ? 0 : -1}
              title={row.folder || row.size === undefined ? row.path : `${row.path} · ${size(row.size)}`}
              ref={place(index * ROW_PX, 8 + row.depth * 14)}
              onFocusCapture={() => setFocus(row.path)}
              onClick={(event) => {
                if (isOfMenu(event)) return;
                setFocus(row.path);
                act(row);
              }}
            >
              <span class="line" id={`${id}-${index}`}>
                <Line row={row} found={found !== null} unsaved={unsavedIn(row, unsaved)} />
              </span>
              {acts && <RowMenu row={row} acts={acts} tabIndex={index === focused ? 0 : -1} />}
            </div>
          );
        })}
      </div>
    </div>
  );
}
