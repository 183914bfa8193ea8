// The paths that differ, of which there may be thousands: how many of each kind, a filter, and the rows in sight.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../../shared/icons.tsx";
import { Path } from "../../../shared/parts.tsx";
import { REM_PX } from "../../../shared/rem.ts";
import { type Key, t } from "../../../shared/text.ts";
import type { Schemas } from "../../api.ts";
import { say, type Word } from "./words.ts";

type Difference = Schemas["Difference"];
type Kind = Difference["change"];

interface ChangesProps {
  list: Difference[];
  current: string | undefined;
  onChoose: (path: string) => void;
  /** Going back is undone: its list is that of a diff from then to now turned round. */
  as: "done" | "undone";
}

/** What each kind of change is called, and so many of it. */
const words: Record<ChangesProps["as"], Record<Kind, [Key, Word]>> = {
  done: {
    added: ["wasAdded", "sumAdded"],
    modified: ["wasChanged", "sumChanged"],
    deleted: ["wasRemoved", "sumRemoved"],
  },
  undone: {
    added: ["comesBack", "sumBack"],
    modified: ["changesBack", "sumChangedBack"],
    deleted: ["goesAway", "sumAway"],
  },
};
const kinds: Kind[] = ["added", "modified", "deleted"];

const ROW_PX = 1.75 * REM_PX;
const MORE_ROWS = 8;
/** So many can be filtered. */
const MANY = 12;

export function Changes({ list, current, onChoose, as }: ChangesProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [filter, setFilter] = useState("");
  /** The path whose row takes the keys once it is there. */
  const goal = useRef<string | null>(null);
  useLayoutEffect(() => {
    const node = box.current!;
    const observer = new ResizeObserver(() => setHeight(node.clientHeight));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  const wanted = filter.trim().toLowerCase();
  const shown = wanted ? list.filter(({ path }) => path.toLowerCase().includes(wanted)) : list;
  const at = shown.findIndex(({ path }) => path === current);
  const first = Math.max(0, Math.floor(top / ROW_PX) - MORE_ROWS);
  const last = Math.min(shown.length, Math.ceil((top + height) / ROW_PX) + MORE_ROWS);
  const reveal = (index: number) => {
    const node = box.current!;
    // With some room below it; before that where the row begins.
    const least = (index + 2) * ROW_PX - node.clientHeight;
    node.scrollTop = Math.min(index * ROW_PX, Math.max(least, node.scrollTop));
    setTop(node.scrollTop);
  };
  const revealed = useRef<string | undefined>(undefined);
  useEffect(() => {
    // Once: who scrolls on stays there when the list is read anew.
    if (at < 0 || revealed.current === current) return;
    revealed.current = current;
    reveal(at);
  }, [current, list]);
  const page = Math.max(1, Math.floor(height / ROW_PX) - 1);
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -shown.length,
    End: shown.length,
  };
  const move = (event: KeyboardEvent) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(shown.length - 1, at + step));
    const next = shown[index];
    if (!next) return;
    goal.current = next.path;
    reveal(index);
    onChoose(next.path);
  };
  // One of the rows that are there can be come to by keys, from which the arrows go on.
  const entrance = at >= first && at < last ? at : first;
  return (
    <div class="changes">
      {list.length > 1 && (
        <div class="sums">
          {kinds.map((kind) => {
            const n = list.filter(({ change }) => change === kind).length;
            return n === 0 ? null : (
              <span key={kind}>
                <span class={`mark ${kind}`} />
                {say(words[as][kind][1], { n })}
              </span>
            );
          })}
          {list.length >= MANY && (
            <label class="field">
              <Icon of="search" />
              <input
                type="search"
                placeholder={t("filterFiles")}
                aria-label={say("filter")}
                value={filter}
                onInput={(event) => {
                  setFilter(event.currentTarget.value);
                  box.current!.scrollTop = 0;
                  setTop(0);
                }}
              />
            </label>
          )}
        </div>
      )}
      <div class="shown" ref={box} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <ul
          aria-label={t("changes")}
          onKeyDown={move}
          ref={(node) => {
            if (!node) return;
            node.style.height = `${shown.length * ROW_PX}px`;
            node.style.paddingTop = `${first * ROW_PX}px`;
          }}
        >
          {shown.slice(first, last).map((entry, step) => (
            <li key={entry.path} aria-setsize={shown.length} aria-posinset={first + step + 1}>
              <button
                type="button"
                class={entry.path === current ? "current" : ""}
                aria-current={entry.path === current ? "true" : undefined}
                tabIndex={first + step === entrance ? 0 : -1}
                ref={(node) => {
                  if (!node || goal.current !== entry.path) return;
                  goal.current = null;
                  node.focus({ preventScroll: true });
                }}
                onClick={() => onChoose(entry.path)}
              >
                <span class={`mark ${entry.change}`} />
                <Path path={entry.path} />
                <span class="sub">
                  {entry.renamed_from
                    ? t("movedFrom", { path: entry.renamed_from })
                    : t(words[as][entry.change][0])}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {shown.length === 0 && <p class="hint inset">{t("nothingMatches", { q: filter })}</p>}
      </div>
    </div>
  );
}
