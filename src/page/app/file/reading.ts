// Reading a file, what is typed into it, and what is drawn of both. It lives as long as its file is on the
// screen.
import { type Encoding, type Form, isGuessed, NEW } from "../../editor/bytes.ts";
import type { Editor } from "../../editor/host.ts";
import { type DraftKey, flushDrafts, onLoginAgain } from "../../shared/drafts.ts";
import { complain } from "../../shared/notice.tsx";
import { wordsOf } from "../../shared/text.ts";
import { sameForm, versionOf } from "./conflict/conflict.ts";
import { type Drawn, START } from "./drawn.ts";
import { type Found, isFolder, lastAuthor, type Place, readFile } from "./remote.ts";
import { say } from "./words.ts";
import { NOTHING, Work } from "./work.ts";

/** As far as the declaration of an XML file is looked for, in letters. */
const HEAD = 200;

export interface Owner {
  draw: (drawn: Drawn) => void;
  /** Something was saved here: tree, history and head are others. */
  onChanged: () => void;
  mayDelete: () => boolean;
  /** A folder is there in its place. */
  onFolder?: () => void;
}

export class Reading {
  drawn: Drawn = START;
  protected readonly work: Work;
  protected readonly abort = new AbortController();
  /** Not after something was thrown away here: another tab's draft would take its place, and may go next. */
  private takesUp = true;
  /** What was typed is over another text than the draft of it says. */
  private isCarried = false;
  private readonly stopKeeping = onLoginAgain(() => this.keep());

  constructor(
    protected readonly place: Place,
    key: DraftKey,
    protected readonly owner: Owner,
  ) {
    this.work = new Work(place.at ? null : key);
  }

  /** Ends it; what was typed is kept as a draft. */
  close(): void {
    flushDrafts();
    this.stopKeeping();
    this.abort.abort();
  }

  set(change: Partial<Drawn>): void {
    if (this.abort.signal.aborted) return;
    this.drawn = { ...this.drawn, ...change };
    this.owner.draw(this.drawn);
  }

  /** Reads the file, and the draft of it that this browser has. */
  async load(): Promise<void> {
    try {
      const { signal } = this.abort;
      const draft = this.takesUp ? await this.work.drafts?.takeUp() : null;
      this.work.chosen = draft?.chosen ?? this.work.chosen;
      const found = await this.read({ signal });
      const { onFolder } = this.owner;
      const folder = found.kind === "none" && !draft && onFolder && (await isFolder(this.place, signal));
      if (this.abort.signal.aborted) return;
      if (folder) return onFolder();
      this.begin(found);
      if (!draft) return;
      if (found.kind === "text" && found.read.text === draft.text && sameForm(found.read, draft.form)) {
        // It was saved after all, and the answer did not arrive.
        return this.work.drafts?.drop();
      }
      const now = found.kind === "none" || found.kind === "same" ? null : found.etag;
      // Based on what was there when it was typed: if that is there no more, the next save is a conflict.
      this.work.base = {
        document: null,
        // What was there then is not known where it was large.
        text: now === draft.etag ? this.work.base.text : "",
        form: draft.form,
        ...draft.base,
        etag: draft.etag,
      };
      const { at, text, form, message, merge } = draft;
      this.work.merge = merge ? () => merge : null;
      const another = this.work.drafts?.next?.at ?? null;
      this.show(text, form, { restored: at, another, changed: true, isNew: draft.etag === null, message });
      if (now !== draft.etag) await this.tellNews(now === null);
    } catch (error) {
      if (!this.abort.signal.aborted) this.set({ phase: "failed", error });
    }
  }

  /** Reads what lies there now, in the encoding that was chosen for it. */
  protected read(how: { known?: string | null; signal?: AbortSignal } = {}): Promise<Found> {
    return readFile(this.place, { ...how, chosen: this.work.chosen });
  }

  /** Reads the bytes of an untouched file in another encoding. */
  async readAs(encoding: Encoding): Promise<void> {
    const { etag } = this.work.base;
    try {
      const found = await readFile(this.place, { as: encoding, signal: this.abort.signal });
      if (this.drawn.changed || this.work.base.etag !== etag) complain(say("changedMeanwhile"));
      else if (found.kind === "text") {
        this.work.chosen = encoding;
        this.begin(found);
      } else complain(say("notThatEncoding", { name: encoding }));
    } catch (error) {
      if (!this.abort.signal.aborted) complain(wordsOf(error));
    }
  }

  /** Whether nothing but its letters speaks for the encoding that the file was read in. */
  isGuess(): boolean {
    const { chosen, base } = this.work;
    if (chosen || base.etag === null || this.drawn.form.encoding !== base.form.encoding) return false;
    return isGuessed(base.document?.sliceString(0, HEAD) ?? base.text, base.form);
  }

  /** Reads the bytes in another 8-bit encoding, and lays over them what was typed. */
  async readAgain(encoding: Encoding): Promise<void> {
    const { etag, document } = this.work.base;
    try {
      const found = await readFile(this.place, { as: encoding, signal: this.abort.signal });
      const { editor, base } = this.work;
      const same = found.kind === "text" && found.etag === etag && base.document === document;
      if (!same || !editor || !document || found.read.text.length !== document.length) {
        return complain(say("changedMeanwhile"));
      }
      const { text, form } = versionOf(found.read);
      const typed = editor.over(document, text);
      this.work.chosen = encoding;
      this.work.base = { document: null, text, form, etag };
      this.isCarried = true;
      this.show(typed, form, { changed: true });
    } catch (error) {
      if (!this.abort.signal.aborted) complain(wordsOf(error));
    }
  }

  protected begin(found: Found): void {
    if (found.kind === "text") {
      const { text, form } = versionOf(found.read);
      this.work.base = { document: null, text, form, etag: found.etag };
      this.show(text, form, { size: found.size, isNew: false });
    } else if (found.kind !== "same") {
      this.work.editor = null;
      this.work.base = found.kind === "none" ? NOTHING : { ...this.work.base, etag: found.etag };
      const { edition, message } = this.drawn;
      // Nothing is left that would have been said of a text.
      this.set({ ...START, phase: "other", other: found, edition, message });
    }
  }

  /** Begins a file that is not there. */
  create(): void {
    this.work.base = NOTHING;
    this.show("", NEW, { size: 0, isNew: true, changed: true });
  }

  /** Shows a text in a new editor. */
  protected show(text: string, form: Form, change: Partial<Drawn>): void {
    this.work.editor = null;
    this.set({
      ...START,
      phase: "text",
      message: this.drawn.message,
      size: this.drawn.size,
      ...change,
      text,
      form,
      edition: this.drawn.edition + 1,
    });
  }

  /** Takes the editor that was opened with `drawn.text`. */
  attach(editor: Editor): void {
    this.work.attach(editor);
    if (this.isCarried) this.keep();
    this.isCarried = false;
  }

  /** Something was typed: says whether there is something to save, and keeps it. */
  typed(): void {
    const changed = this.differs();
    const { trouble } = this.drawn;
    const solved = trouble?.kind === "letter" || trouble?.kind === "refused";
    if (changed !== this.drawn.changed || solved) this.set({ changed, ...(solved ? { trouble: null } : {}) });
    this.keep();
  }

  setMessage(message: string): void {
    this.set({ message });
    this.keep();
  }

  /** Chooses how the next save lies in the file. */
  setForm(form: Form): void {
    if (this.work.editor && this.drawn.form.end === "mixed" && form.end !== "mixed") {
      this.work.editor.replace(this.work.editor.text().replace(/\r\n?/g, "\n"), { undoable: true });
    }
    this.set({ form, trouble: null });
    this.typed();
  }

  protected keep(): void {
    this.work.keep(() => this.drawn);
  }

  protected differs(): boolean {
    return this.work.differs(this.drawn);
  }

  /** Takes what lies there now; the cursor stays where that is possible. */
  protected adopt(found: Found): void {
    const returns = this.drawn.form.end === "mixed";
    if (found.kind !== "text" || !this.work.editor || (found.read.end === "mixed") !== returns) {
      this.begin(found);
      return;
    }
    const { text, form } = versionOf(found.read);
    this.work.base = { document: this.work.editor.versionOf(text), text: "", form, etag: found.etag };
    this.set({
      form,
      size: found.size,
      changed: false,
      isNew: false,
      news: null,
      restored: null,
      trouble: null,
    });
    this.work.editor.replace(text, { undoable: true });
    this.keep();
  }

  protected async tellNews(deleted: boolean): Promise<void> {
    const { etag } = this.work.base;
    const author = await lastAuthor(this.place);
    // A save that ended meanwhile knew of it.
    if (this.work.base.etag === etag) this.set({ news: { deleted, author } });
  }

  /** Shows other edits that are kept of this file; those that are here stay, too. */
  async turn(): Promise<void> {
    this.work.drafts?.turn();
    await this.load();
  }

  /** Throws away what was typed. What was typed in another tab is offered when the file is opened again. */
  async discard(): Promise<void> {
    this.takesUp = false;
    this.work.merge = null;
    this.set({ message: "", news: null, trouble: null, restored: null });
    await this.work.drafts?.drop();
    await this.load();
  }
}
