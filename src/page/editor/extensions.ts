// What every editor is made of.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  indentOnInput,
  indentUnit,
  StreamLanguage,
} from "@codemirror/language";
import { properties } from "@codemirror/legacy-modes/mode/properties";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
  ViewPlugin,
} from "@codemirror/view";
import { bsl } from "./bsl.ts";
import { phrases } from "./phrases.ts";
import { look } from "./theme.ts";

/** What is the same for an editor as long as it lives. */
export interface Setting {
  language: string;
  /** Read aloud as the name of the field. */
  label: string;
  /** Read aloud after the name: how to leave the field by keys. */
  description?: string;
  /** No colours and no folding: the text is large. */
  plain?: boolean;
  /** Line ends are `\n` alone, and a carriage return is a letter: the text has mixed line ends. */
  keepsReturns?: boolean;
}

/** The rules of a language, as far as they are in this chunk or come in one of their own. */
function grammar(language: string): Extension {
  switch (language) {
    case "xml":
      return later(async () => (await import("@codemirror/lang-xml")).xml());
    case "json":
      return later(async () => (await import("@codemirror/lang-json")).json());
    case "yaml":
      return later(async () => (await import("@codemirror/lang-yaml")).yaml());
    case "ini":
    case "properties":
      return StreamLanguage.define(properties);
    case "bsl":
      return [bsl(), indentUnit.of("\t")];
    default:
      return [];
  }
}

/** Something that an editor takes once it has come; without it, the text is there all the same. */
function later(load: () => Promise<Extension>): Extension {
  const slot = new Compartment();
  const loader = ViewPlugin.define((view) => {
    let gone = false;
    load().then(
      (found) => !gone && view.dispatch({ effects: slot.reconfigure(found) }),
      () => undefined,
    );
    return {
      destroy: () => {
        gone = true;
      },
    };
  });
  return [slot.of([]), loader];
}

/** A carriage return is shown small and pale: in a mixed file many lines have one. */
function special(code: number, description: string | null, placeholder: string): HTMLElement {
  const mark = document.createElement("span");
  mark.className = code === 13 ? "cm-return" : "cm-specialChar";
  mark.textContent = code === 13 ? "↵" : placeholder;
  mark.title = description ?? "";
  mark.setAttribute("aria-label", mark.title);
  return mark;
}

/** What an editor has whether one can write in it or not. */
export function common(setting: Setting): Extension {
  const { plain, keepsReturns, description } = setting;
  return [
    lineNumbers(),
    plain ? [] : [foldGutter(), grammar(setting.language), highlightSelectionMatches()],
    highlightSpecialChars({ render: special, addSpecialChars: keepsReturns ? /\r/ : null }),
    drawSelection(),
    rectangularSelection(),
    bracketMatching(),
    search({ top: true }),
    EditorState.allowMultipleSelections.of(true),
    keepsReturns ? EditorState.lineSeparator.of("\n") : [],
    EditorState.phrases.of(phrases()),
    EditorView.contentAttributes.of({
      "aria-label": setting.label,
      ...(description ? { "aria-description": description } : {}),
    }),
    keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...foldKeymap]),
    look,
  ];
}

/** What it has besides where one can write. Escape and then Tab leaves it, by the view's own rule. */
export function writing(setting: Setting): Extension {
  return [
    history(),
    indentOnInput(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    dropCursor(),
    // Files that are dropped are added to the branch: the editor would write what is in them into the text as well.
    EditorView.domEventHandlers({
      drop: ({ dataTransfer }) => dataTransfer?.types.includes("Files") ?? false,
    }),
    setting.plain ? [] : lintGutter(),
    keymap.of([indentWithTab, ...lintKeymap]),
  ];
}

/** What it has besides where one can only read: it still takes the focus, for the keys that scroll and find. */
export function reading(): Extension {
  return [
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({ tabindex: "0" }),
  ];
}
