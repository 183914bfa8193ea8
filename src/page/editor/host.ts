// Texts, and comparisons of texts, on the screen. This module is a chunk of its own, fetched when a text is
// first shown: import it with `await import("../editor/host.ts")`.
import { type Diagnostic, forceLinting, linter, setDiagnostics } from "@codemirror/lint";
import { diff } from "@codemirror/merge";
import {
  Compartment,
  EditorSelection,
  type EditorState,
  StateEffect,
  type Text,
  Transaction,
} from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { common, reading, type Setting, writing } from "./extensions.ts";
import { rootOf } from "./root.ts";

export { type Merger, openMerger, type PairOptions, showPair } from "./pair.ts";

/** A text as it was at some time: kept at no cost, compared by `eq`. */
export type Document = Text;

/** What is told of a place in the text; `from` and `to` count UTF-16 units. */
export interface Mark {
  from: number;
  to: number;
  message: string;
  warning?: boolean;
}

/** Marks of a text, which do not hold for another. */
interface Told {
  of: Text;
  marks: Mark[];
}

export interface TextSetting extends Setting {
  text: string;
  editable: boolean;
  wrap?: boolean;
  /** The line to begin at, from 1. */
  line?: number;
  /** Looks at a text a moment after the last key; what it tells is shown at its place. */
  check?: (text: string) => Promise<Mark[]>;
  onChange?: () => void;
  onMove?: (cursor: Cursor) => void;
}

/** Where the cursor is, from 1, and how many letters are selected. */
export interface Cursor {
  line: number;
  column: number;
  selected: number;
}

/** An open text. */
export interface Editor {
  /** The document as it is now: to keep it costs nothing. */
  version(): Document;
  /** The document that a text would be here. */
  versionOf(text: string): Document;
  /** The whole text as one string: for saving, not for each key. */
  text(): string;
  /** Puts another text in place of this one; what both have in common stays, and the cursor in it. */
  replace(text: string, how?: { undoable?: boolean }): void;
  /** What was typed here since a text, over another that has a letter for each of that one's. */
  over(before: Document, text: string): string;
  setEditable(editable: boolean): void;
  setWrap(wrap: boolean): void;
  /** Checks the text now. */
  recheck(): void;
  /** Shows what the service said of the text, until the next key. */
  show(marks: Mark[]): void;
  /** The place of a line and a column, both from 1, as far as the text has them. */
  offset(line: number, column: number): number;
  /** The line of a place, from 1. */
  lineOf(offset: number): number;
  /** Goes to a place, shows it in the middle, and takes the focus. */
  goTo(offset: number): void;
  focus(): void;
  destroy(): void;
}

/** Asks for another check of the same text. */
const again = StateEffect.define();

const diagnostic = (mark: Mark, length: number): Diagnostic => ({
  from: Math.min(mark.from, length),
  to: Math.min(mark.to, length),
  severity: mark.warning ? "warning" : "error",
  message: mark.message,
});

/** Opens a text in an element. */
export function openText(host: HTMLElement, setting: TextSetting): Editor {
  const root = rootOf(host);
  const mode = new Compartment();
  const wrapping = new Compartment();
  const modeOf = (editable: boolean) => (editable ? writing(setting) : reading());
  const wrapOf = (wrap: boolean) => (wrap ? EditorView.lineWrapping : []);
  const { check, onChange, onMove } = setting;
  // What the check says of a text, and what others do: neither takes the other's marks away.
  let found: Told | null = null;
  let shown: Told | null = null;
  const marksOf = ({ doc }: EditorState): Diagnostic[] =>
    [found, shown]
      .flatMap((told) => (told?.of === doc ? told.marks : []))
      .map((mark) => diagnostic(mark, doc.length));
  const view = new EditorView({
    parent: root,
    root,
    doc: setting.text,
    extensions: [
      // Before the others: in a mixed text this decides what a line is.
      common(setting),
      mode.of(modeOf(setting.editable)),
      wrapping.of(wrapOf(setting.wrap ?? false)),
      // Without a check, too: what was shown is not of the text that is typed on.
      linter(
        async ({ state }) => {
          if (check) found = { of: state.doc, marks: await check(state.doc.toString()) };
          return marksOf(state);
        },
        {
          delay: 400,
          needsRefresh: ({ transactions }) =>
            transactions.some(({ effects }) => effects.some((one) => one.is(again))),
        },
      ),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange?.();
        if (update.docChanged || update.selectionSet) onMove?.(cursorOf(update.state));
      }),
    ],
  });
  const show = (offset: number): void => {
    view.dispatch({
      selection: EditorSelection.cursor(Math.min(offset, view.state.doc.length)),
      effects: EditorView.scrollIntoView(Math.min(offset, view.state.doc.length), { y: "center" }),
    });
  };
  const offset = (line: number, column: number): number => {
    const found = view.state.doc.line(Math.max(1, Math.min(line, view.state.doc.lines)));
    return Math.min(found.from + Math.max(0, column - 1), found.to);
  };
  if (setting.line && setting.line > 1) show(offset(setting.line, 1));
  return {
    version: () => view.state.doc,
    versionOf: (text) => view.state.toText(text),
    text: () => view.state.sliceDoc(),
    replace: (text, how) => replace(view, text, how?.undoable ?? false),
    over: (before, text) => over(before.toString(), view.state.sliceDoc(), text),
    setEditable: (editable) => view.dispatch({ effects: mode.reconfigure(modeOf(editable)) }),
    setWrap: (wrap) => view.dispatch({ effects: wrapping.reconfigure(wrapOf(wrap)) }),
    recheck: () => {
      view.dispatch({ effects: again.of(null) });
      forceLinting(view);
    },
    show: (marks) => {
      shown = { of: view.state.doc, marks };
      view.dispatch(setDiagnostics(view.state, marksOf(view.state)));
    },
    offset,
    lineOf: (at) => view.state.doc.lineAt(Math.min(at, view.state.doc.length)).number,
    goTo: (at) => {
      show(at);
      view.focus();
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

function cursorOf(state: EditorState): Cursor {
  const { main, ranges } = state.selection;
  const line = state.doc.lineAt(main.head);
  const selected = ranges.reduce((sum, range) => sum + range.to - range.from, 0);
  return { line: line.number, column: main.head - line.from + 1, selected };
}

function over(before: string, mine: string, text: string): string {
  let made = "";
  let at = 0;
  for (const change of diff(before, mine)) {
    made += text.slice(at, change.fromA) + mine.slice(change.fromB, change.toB);
    at = change.toA;
  }
  return made + text.slice(at);
}

/** Replaces what lies between the longest common start and end: the cursor elsewhere stays where it is. */
function replace(view: EditorView, text: string, undoable: boolean): void {
  const next = view.state.toText(text);
  const old = view.state.doc;
  if (next.eq(old)) return;
  const [before, after] = [old.toString(), next.toString()];
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  let end = 0;
  while (
    end < most - start &&
    before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)
  ) {
    end++;
  }
  view.dispatch({
    changes: { from: start, to: before.length - end, insert: next.slice(start, after.length - end) },
    annotations: Transaction.addToHistory.of(undoable),
  });
}
