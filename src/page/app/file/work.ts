// The text in the editor and what it began from: whether they differ, and the draft of what was typed.
import { COLOUR_MAX, type Encoding, type Form, NEW } from "../../editor/bytes.ts";
import type { Document, Editor } from "../../editor/host.ts";
import { type DraftKey, Drafts, type LeftMerge, type Version } from "../../shared/drafts.ts";
import { sameForm } from "./conflict/conflict.ts";

/** What an edit began from, or was saved last. */
export interface Base {
  /** Null until there is an editor; it costs nothing beside the editor's own. */
  document: Document | null;
  text: string;
  form: Form;
  /** What a save has to name; null: the file is not there. */
  etag: string | null;
}

/** What a file begins from that is not there yet. */
export const NOTHING: Base = { document: null, text: "", form: NEW, etag: null };

/** How the text in the editor is to be saved. */
interface Intent {
  form: Form;
  message: string;
  /** What is drawn; it counts while there is no editor to ask. */
  changed: boolean;
}

export class Work {
  editor: Editor | null = null;
  base: Base = NOTHING;
  /** The encoding that somebody chose for the file as it lies there; null: it is found in its bytes. */
  chosen: Encoding | null = null;
  /** A merge to go on with at the next conflict, as it is now. */
  merge: (() => LeftMerge) | null = null;

  /** Null where nothing can be written. */
  readonly drafts: Drafts | null;

  constructor(key: DraftKey | null) {
    this.drafts = key && new Drafts(key);
  }

  attach(editor: Editor): void {
    this.editor = editor;
    this.base = { ...this.base, document: editor.versionOf(this.base.text) };
  }

  /** The document that a text would be in this editor. */
  documentOf(text: string): Document | null {
    return this.editor?.versionOf(text) ?? null;
  }

  baseVersion(): Version {
    return versionOfBase(this.base);
  }

  /** Whether there is something to save. Never by a string of the whole text: it is asked at every key. */
  differs({ form, changed }: Intent): boolean {
    const { editor, base } = this;
    if (!editor || !base.document) return changed;
    return base.etag === null || !sameForm(form, base.form) || !editor.version().eq(base.document);
  }

  /** Whether somebody would miss what is in the editor. */
  isPrecious(intent: Intent): boolean {
    return this.differs(intent) && (this.base.etag !== null || this.editor?.version().length !== 0);
  }

  /** Keeps what was typed, or nothing where it is what was read. */
  keep(intent: () => Intent): void {
    const { editor, base, chosen, merge, drafts } = this;
    if (!editor || !drafts) return;
    if (!this.isPrecious(intent())) {
      void drafts.drop();
      return;
    }
    drafts.keep(() => ({
      text: editor.text(),
      form: intent().form,
      message: intent().message,
      etag: base.etag,
      ...(base.document && base.document.length <= COLOUR_MAX ? { base: versionOfBase(base) } : {}),
      ...(chosen ? { chosen } : {}),
      ...(merge ? { merge: merge() } : {}),
      at: Date.now(),
    }));
  }
}

/** The text of a base and how it lies in its file. */
export function versionOfBase({ document, text, form }: Base): Version {
  return { text: document?.toString() ?? text, form };
}
