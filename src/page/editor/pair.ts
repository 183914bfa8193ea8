// Two texts and what differs between them: side by side, or one below the other.
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, Prec, RangeSet, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap } from "@codemirror/view";
import { common, reading, type Setting, writing } from "./extensions.ts";
import type { Lines } from "./merge.ts";
import { rootOf } from "./root.ts";

/** Time to find what differs, in milliseconds; after it less exact places do. */
const DIFF_TIME = 1500;
const diffConfig = { scanLimit: 5000, timeout: DIFF_TIME };
const collapseUnchanged = { margin: 3, minSize: 5 };

/** What is on the screen until it is taken away. */
export interface Shown {
  destroy(): void;
}

export interface PairOptions {
  before: string;
  after: string;
  /** As `language` gives it. */
  language: string;
  /** What each side is called, for who cannot see them. */
  labels: [string, string];
  /** One below the other, not side by side. */
  unified: boolean;
}

/** Shows two texts with their differences marked, the older left. */
export function showPair(host: HTMLElement, options: PairOptions): Shown {
  const { before, after, labels, unified } = options;
  const root = rootOf(host);
  const setting = settingOf(options);
  if (unified) {
    const original = split(setting, before);
    return new EditorView({
      parent: root,
      root,
      doc: split(setting, after),
      extensions: [
        common({ ...setting, label: labels.join(" → ") }),
        reading(),
        unifiedMergeView({ original, mergeControls: false, gutter: true, diffConfig, collapseUnchanged }),
      ],
    });
  }
  return new MergeView({
    parent: root,
    root,
    gutter: true,
    highlightChanges: true,
    diffConfig,
    collapseUnchanged,
    a: { doc: split(setting, before), extensions: [common({ ...setting, label: labels[0] }), reading()] },
    b: { doc: split(setting, after), extensions: [common({ ...setting, label: labels[1] }), reading()] },
  });
}

export interface MergerOptions extends Omit<PairOptions, "before" | "after"> {
  /** Left, as it is. */
  theirs: string;
  /** Right, to be written in. */
  merged: string;
  /** Lines of the merged text that both sides changed. */
  clashes: Lines[];
  /** Read aloud after the name of the text to be written in: how to leave it by keys. */
  description: string;
  /** What the arrows are called that take a piece of theirs over. */
  takeOver: string;
  /** The right text is another. */
  onChange: () => void;
}

/** Two texts of which the right one is to be made from both. */
export interface Merger extends Shown {
  /** The right text as it is now, and where its marked lines are. */
  state(): { text: string; clashes: Lines[] };
  /** Shows a line of it, from 0. */
  goTo(line: number): void;
}

/** Opens two texts for merging; the right one, or the lower one, takes pieces over by arrows. */
export function openMerger(host: HTMLElement, options: MergerOptions): Merger {
  const { theirs, merged, clashes, labels, description, takeOver, unified, onChange } = options;
  const root = rootOf(host);
  const setting = settingOf({ ...options, before: theirs, after: merged });
  const right = { ...setting, label: labels[1], description };
  const marked = marks(clashes);
  const told = EditorView.updateListener.of((update) => update.docChanged && onChange());
  const written = [common(right), writing(right), marked, submit, told];
  if (unified) {
    // To reject what differs is to take theirs; what is not taken needs no button.
    const control = (type: "reject" | "accept", act: (event: MouseEvent) => void) =>
      type === "reject" ? arrow("↓", takeOver, act) : document.createElement("span");
    const original = split(setting, theirs);
    const view = new EditorView({
      parent: root,
      root,
      doc: split(setting, merged),
      extensions: [written, unifiedMergeView({ original, mergeControls: control, gutter: true, diffConfig })],
    });
    return mergerOf(view, view, marked);
  }
  const view = new MergeView({
    parent: root,
    root,
    gutter: true,
    highlightChanges: true,
    diffConfig,
    revertControls: "a-to-b",
    renderRevertControl: () => arrow("→", takeOver),
    a: { doc: split(setting, theirs), extensions: [common({ ...setting, label: labels[0] }), reading()] },
    b: { doc: split(setting, merged), extensions: written },
  });
  return mergerOf(view.b, view, marked);
}

/** The merger whose text is that of `view`. */
function mergerOf(view: EditorView, shown: Shown, marked: StateField<DecorationSet>): Merger {
  return {
    state: () => ({
      text: view.state.sliceDoc(),
      clashes: linesOf(view.state.doc, view.state.field(marked)),
    }),
    goTo: (line) => {
      const { doc } = view.state;
      const at = doc.line(Math.min(line + 1, doc.lines)).from;
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    destroy: () => shown.destroy(),
  };
}

/** Where either text still has a carriage return its line ends are mixed, and are shown as they are. */
function settingOf({ before, after, language }: Pick<PairOptions, "before" | "after" | "language">): Setting {
  return { language, label: "", keepsReturns: before.includes("\r") || after.includes("\r") };
}

function split({ keepsReturns }: Setting, text: string): Text {
  return EditorState.create({ extensions: keepsReturns ? EditorState.lineSeparator.of("\n") : [] }).toText(
    text,
  );
}

function arrow(sign: string, label: string, act?: (event: MouseEvent) => void): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = sign;
  if (act) button.onclick = act;
  button.title = label;
  button.setAttribute("aria-label", label);
  return button;
}

/** `Ctrl Enter` is the button of the sheet, and no line. */
const submit = Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => true }]));

const clash = Decoration.line({ class: "cm-clash" });

/** Marks lines; the marks move with the text while it is written. */
function marks(clashes: Lines[]) {
  return StateField.define<DecorationSet>({
    create: ({ doc }) => {
      const lines = clashes.flatMap(({ from, to }) =>
        Array.from({ length: Math.max(1, to - from) }, (_, n) => Math.min(from + n + 1, doc.lines)),
      );
      const starts = [...new Set(lines)].map((line) => doc.line(line).from);
      return RangeSet.of(
        starts.map((start) => clash.range(start)),
        true,
      );
    },
    update: (found, transaction) => found.map(transaction.changes),
    provide: (field) => EditorView.decorations.from(field),
  });
}

/** The lines that are marked; those side by side are one place. */
function linesOf(doc: Text, marked: DecorationSet): Lines[] {
  const places: Lines[] = [];
  for (const at = marked.iter(); at.value; at.next()) {
    const line = doc.lineAt(at.from).number - 1;
    const last = places.at(-1);
    if (last?.to === line) last.to = line + 1;
    else places.push({ from: line, to: line + 1 });
  }
  return places;
}
