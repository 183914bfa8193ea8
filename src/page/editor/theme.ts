// How the editor looks: every colour is a custom property of the page, which the shadow root inherits, so one
// theme serves light and dark.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const field = {
  font: "inherit",
  color: "inherit",
  backgroundColor: "var(--paper)",
  backgroundImage: "none",
  border: "1px solid var(--edge)",
  borderRadius: "6px",
};

const text = EditorView.theme({
  "&": {
    color: "var(--text)",
    backgroundColor: "var(--paper)",
    fontSize: "var(--code-size)",
    height: "100%",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--accent)" },
  ".cm-line": { padding: "0 14px 0 8px" },
  ".cm-gutters": {
    backgroundColor: "var(--paper)",
    color: "var(--faint)",
    border: "none",
    paddingLeft: "6px",
  },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "28px", padding: "0 6px 0 4px" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--line) 70%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--select)",
  },
  ".cm-selectionMatch, .cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--select)",
    outline: "none",
  },
  ".cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket": {
    backgroundColor: "var(--del-soft)",
    color: "inherit",
  },
  ".cm-specialChar": { color: "var(--warn)" },
  ".cm-return": { color: "var(--faint)", opacity: ".7", fontSize: ".8em", userSelect: "none" },
  ".cm-foldGutter .cm-gutterElement": { color: "var(--faint)", cursor: "pointer" },
  ".cm-foldPlaceholder": { background: "var(--fill)", border: "none", color: "var(--dim)", padding: "0 6px" },
  ".cm-clash": { boxShadow: "inset 3px 0 var(--warn)", backgroundColor: "var(--warn-soft)" },
});

const panels = EditorView.theme({
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)", borderColor: "var(--edge)" },
  ".cm-panels-top": { borderBottom: "1px solid var(--edge)" },
  ".cm-panel.cm-search": {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    gap: "6px",
    padding: "7px 40px 7px 12px",
    fontFamily: "var(--sans)",
    fontSize: ".8125rem",
    "& br": { flexBasis: "100%", content: '""', height: "0" },
    "& input, & button, & label": { margin: "0" },
    "& input[type=checkbox]": { margin: "0 2px 0 4px" },
    "& label": { display: "inline-flex", alignItems: "center", fontSize: ".75rem", color: "var(--dim)" },
  },
  ".cm-panel input:not([type=checkbox])": { ...field, height: "1.8rem", padding: "0 9px", width: "11rem" },
  ".cm-panel input[type=checkbox]": { accentColor: "var(--accent-fill)" },
  ".cm-panel input:focus": { outline: "none", borderColor: "var(--accent)" },
  ".cm-panel .cm-button": { ...field, height: "1.8rem", padding: "0 10px", cursor: "pointer" },
  ".cm-panel .cm-button:hover": { borderColor: "var(--edge-strong)" },
  ".cm-panel :focus-visible": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-panel.cm-search [name=close], .cm-dialog-close": {
    position: "absolute",
    top: "7px",
    right: "10px",
    width: "1.8rem",
    height: "1.8rem",
    borderRadius: "6px",
    fontSize: "1.1rem",
    color: "var(--dim)",
    cursor: "pointer",
  },
  ".cm-searchMatch": { backgroundColor: "var(--warn-soft)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--select)" },
  ".cm-tooltip": {
    backgroundColor: "var(--panel)",
    color: "var(--text)",
    border: "1px solid var(--edge)",
    borderRadius: "8px",
    boxShadow: "var(--shadow)",
    overflow: "hidden",
  },
  ".cm-diagnostic": {
    padding: "6px 12px",
    fontFamily: "var(--sans)",
    fontSize: ".8125rem",
    maxWidth: "30rem",
    whiteSpace: "pre-wrap",
  },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--del)" },
  ".cm-diagnostic-warning": { borderLeft: "3px solid var(--warn)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--del) 1px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1px" },
  ".cm-lintRange": { paddingBottom: "0" },
  ".cm-gutter-lint": { width: "1em" },
  ".cm-lint-marker": { width: ".6em", height: ".6em", margin: ".45em .1em", borderRadius: "50%" },
  ".cm-lint-marker-error": { content: '""', background: "var(--del)" },
  ".cm-lint-marker-warning": { content: '""', background: "var(--warn)" },
});

const merge = EditorView.theme({
  ".cm-changedLine, &.cm-merge-b .cm-changedLine, .cm-inlineChangedLine": {
    backgroundColor: "var(--add-soft)",
  },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--del-soft)" },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": { background: "var(--del-mark)" },
  ".cm-deletedChunk .cm-chunkButtons button": {
    minWidth: "1.6rem",
    height: "1.5rem",
    border: "1px solid var(--edge)",
    background: "var(--panel)",
    color: "var(--accent)",
    fontWeight: "600",
  },
  "&.cm-merge-b .cm-changedText": { background: "var(--add-mark)" },
  "&.cm-merge-b .cm-clash, &.cm-merge-b .cm-clash.cm-changedLine": { backgroundColor: "var(--warn-soft)" },
  "&.cm-merge-a .cm-changedLineGutter, .cm-deletedLineGutter": { background: "var(--del)" },
  "&.cm-merge-b .cm-changedLineGutter": { background: "var(--add)" },
  ".cm-changeGutter": { width: "3px", paddingLeft: "0" },
  ".cm-collapsedLines": {
    background: "var(--line)",
    color: "var(--dim)",
    fontFamily: "var(--sans)",
    fontSize: ".75rem",
    padding: "3px 12px",
    "&:before, &:after": { content: "''", margin: "0" },
  },
  ".cm-deletedChunk": { paddingLeft: "8px" },
  ".cm-insertedLine, .cm-deletedChunk del, .cm-deletedLine del": { textDecoration: "none" },
});

const colours = HighlightStyle.define([
  {
    tag: [tags.tagName, tags.keyword, tags.propertyName, tags.definition(tags.propertyName)],
    color: "var(--syn-a)",
  },
  { tag: [tags.attributeName, tags.atom, tags.bool, tags.null], color: "var(--syn-b)" },
  { tag: [tags.string, tags.attributeValue, tags.special(tags.string)], color: "var(--syn-c)" },
  { tag: tags.number, color: "var(--syn-d)" },
  { tag: [tags.comment, tags.meta, tags.processingInstruction], color: "var(--syn-e)" },
  { tag: [tags.function(tags.variableName), tags.heading, tags.labelName], color: "var(--syn-f)" },
  { tag: [tags.angleBracket, tags.punctuation], color: "var(--dim)" },
]);

/** The look of every editor. */
export const look: Extension = [text, panels, merge, syntaxHighlighting(colours)];

/** What the shadow root itself needs: two views side by side are laid out outside of each of them. */
export function hostSheet(): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    :host { display: flex; flex-direction: column; min-height: 0; min-width: 0; }
    .cm-editor { flex: 1; min-height: 0; }
    .cm-mergeView { flex: 1; min-height: 0; overflow: auto; background: var(--paper); }
    .cm-mergeViewEditors { min-height: 100%; }
    .cm-mergeViewEditor + .cm-mergeViewEditor, .cm-merge-revert + .cm-mergeViewEditor { border-inline-start: 1px solid var(--edge); }
    .cm-merge-revert { width: 1.7rem !important; background: var(--ground); border-inline-start: 1px solid var(--edge); }
    .cm-merge-revert button {
      width: 1.4rem; height: 1.4rem; margin-inline-start: .12rem; padding: 0; display: grid; place-items: center;
      border: 1px solid var(--edge); border-radius: 6px; background: var(--panel); color: var(--accent);
      font: 600 .8rem var(--sans); cursor: pointer;
    }
    /* Where the colours of the page are not shown: a line is marked at its start, a word by a line through or under it. */
    @media (forced-colors: active) {
      .cm-editor:is(.cm-merge-a, .cm-merge-b) .cm-line { border-inline-start: 4px solid Canvas; }
      .cm-editor.cm-merge-b .cm-changedLine, .cm-editor .cm-inlineChangedLine { border-inline-start: 4px solid CanvasText; }
      .cm-editor.cm-merge-a .cm-changedLine, .cm-editor .cm-deletedChunk { border-inline-start: 4px dashed CanvasText; }
      .cm-editor.cm-merge-b .cm-changedText { text-decoration: underline 2px; }
      .cm-editor.cm-merge-a .cm-changedText, .cm-editor .cm-deletedChunk .cm-deletedText { text-decoration: line-through 2px; }
      .cm-editor.cm-merge-b .cm-line.cm-clash { border-inline-start: 4px solid Highlight; outline: 2px solid Highlight; outline-offset: -2px; }
      .cm-editor .cm-selectionBackground { outline: 1px solid Highlight; outline-offset: -1px; }
      .cm-editor .cm-searchMatch-selected { outline: 2px solid Highlight; }
      .cm-editor .cm-panel input:focus { outline: 2px solid Highlight; }
      .cm-editor .cm-lint-marker { forced-color-adjust: none; }
    }
    .cm-merge-revert button:hover { border-color: var(--accent); }
    .cm-merge-revert button:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
  `);
  return sheet;
}
