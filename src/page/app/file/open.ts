// The open file: the way of a save, and what to do when somebody else saved it too.
import { encode, type Form, NEW } from "../../editor/bytes.ts";
import type { DraftKey, LeftMerge, Version } from "../../shared/drafts.ts";
import { complain, notify, unsay } from "../../shared/notice.tsx";
import { t, wordsOf } from "../../shared/text.ts";
import { accountNow, hasStatus, onReach, type Schemas } from "../api.ts";
import { type Opened, openedIn } from "../parts/opened.ts";
import { go } from "../route.ts";
import { type Conflict, conflictOf, sameForm, takeUp } from "./conflict/conflict.ts";
import { Following } from "./following.ts";
import type { Owner } from "./reading.ts";
import {
  deleteFile,
  type Found,
  type FoundText,
  lastAuthor,
  type Place,
  readFile,
  saveFile,
} from "./remote.ts";
import { troubleOf } from "./trouble.ts";
import { say } from "./words.ts";
import { type Base, versionOfBase } from "./work.ts";

export class OpenFile extends Following {
  private saveAgain = false;
  private isReleased = false;
  private readonly stopListening: () => void;

  constructor(
    place: Place,
    readonly key: DraftKey,
    owner: Owner,
  ) {
    super(place, key, owner);
    this.stopListening = onReach((reachable) => {
      if (reachable && this.drawn.trouble?.kind === "offline" && !this.drawn.saving) void this.save();
    });
  }

  /** What is said of it in a notice: the last of each replaces the one before. */
  private about(what: "saved" | "unsaved"): string {
    const { repo, branch, path } = this.place;
    return [what, repo, branch, path].join("\n");
  }

  override async load(): Promise<void> {
    // Its own screen says it now.
    if (!this.place.at) unsay(this.about("unsaved"));
    await super.load();
  }

  get etag(): string | null {
    return this.work.base.etag;
  }

  release(): void {
    this.isReleased = true;
    this.work.drafts?.cancel();
  }

  override close(): void {
    this.stopListening();
    // A save that is under way tells how it ends.
    if (!this.drawn.saving && this.isPrecious()) this.tellUnsaved();
    super.close();
  }

  /** Saves the text as it is in the editor now, whatever was drawn last. */
  async save(): Promise<void> {
    const { editor, base } = this.work;
    this.saveAgain = this.drawn.saving;
    if (!editor || this.drawn.saving || this.drawn.conflict || this.place.at || !this.differs()) return;
    const document = editor.version();
    const { form, message } = this.drawn;
    const text = editor.text();
    this.set({ saving: true, trouble: null });
    try {
      const saved = await saveFile(this.place, encode(text, form), base.etag, message);
      this.saved(saved, { document, text: "", form, etag: saved.etag }, base);
    } catch (error) {
      if (hasStatus(error, 412)) await this.meet({ text, form });
      else this.fail(error);
    }
    this.set({ saving: false });
    if (this.saveAgain) await this.save();
    await this.look();
  }

  /** The service has the file so now. What was typed meanwhile is an edit of that. */
  private saved(saved: Schemas["SavedFile"], now: Base, before: Base): void {
    if (now.form.encoding !== before.form.encoding) this.work.chosen = now.form.encoding;
    this.work.base = now;
    this.work.merge = null;
    this.ownCommit = saved.commit_id;
    // Where a save before this one was refused.
    this.work.editor?.show([]);
    this.set({ size: saved.size, isNew: false, restored: null, news: null, message: "" });
    this.set({ changed: this.differs() });
    this.keep();
    const run = () => {
      // Who saved it takes it back.
      if (accountNow() === this.key.account) void this.here().undo(saved.etag, before);
      else complain(t("otherAccount"));
    };
    const undo = { label: t("undo"), run };
    const can = before.etag !== null || this.owner.mayDelete();
    unsay(this.about("unsaved"));
    notify(say("saved", { path: this.place.path }), can ? undo : undefined, this.about("saved"));
    this.owner.onChanged();
    if (this.abort.signal.aborted && this.isPrecious()) this.tellUnsaved();
  }

  /** This file as it is on the screen, which may have been left and opened again since; else this one. */
  private here(): Opened {
    const open = openedIn(this.key);
    return open?.key.path === this.key.path ? open : this;
  }

  /** Whether somebody would miss what is on the screen. */
  isPrecious(): boolean {
    const { phase } = this.drawn;
    if (this.isReleased || phase !== "text" || this.work.editor === null) return false;
    return this.work.isPrecious(this.drawn);
  }

  /** Says of a file that is no longer on the screen, where its state would be told, that it waits to be saved. */
  private tellUnsaved(message?: string): void {
    // Whoever is logged in by now is not to hear of another's edits, nor could they open them.
    if (accountNow() !== this.key.account) return;
    const { repo, branch, path } = this.place;
    const back = { label: say("openAgain"), run: () => go({ screen: "files", repo, branch, path }) };
    const about = this.about("unsaved");
    if (message) complain(say("keptUnsaved", { path, message }), back, about);
    else notify(say("notSaved", { path }), back, about);
  }

  private fail(error: unknown): void {
    if (this.abort.signal.aborted) {
      this.tellUnsaved(wordsOf(error));
      return;
    }
    const trouble = troubleOf(error);
    this.set({ trouble });
    const place = trouble.kind === "refused" && trouble.broken?.place;
    if (!place || !this.work.editor) return;
    const { line, column } = place;
    const from = this.work.editor.offset(line, column);
    const to = this.work.editor.offset(line, Number.MAX_SAFE_INTEGER);
    this.work.editor.show([{ from, to, message: say("check.service", { message: trouble.message }) }]);
    this.work.editor.goTo(from);
  }

  /** Puts back what was there before a save, unless somebody saved since. */
  async undo(etag: string, before: Base): Promise<void> {
    const { chosen } = this.work;
    // What was read so before is so again.
    if (chosen) this.work.chosen = before.form.encoding;
    this.isUndoing = true;
    try {
      const { text, form } = versionOfBase(before);
      const isNew = before.etag === null;
      const done = isNew
        ? await deleteFile(this.place, etag)
        : await saveFile(this.place, encode(text, form), etag, "");
      this.ownCommit = done.commit_id;
      this.isUndoing = false;
      notify(say("undone", { path: this.place.path }), undefined, this.about("saved"));
      // A file that is deleted has neither.
      const { etag: tag, size = 0 }: Partial<Schemas["SavedFile"]> = done;
      // What was left may have been discarded since, or have a newer draft.
      const isEdited = !this.abort.signal.aborted && this.isPrecious();
      if (this.work.base.etag === etag && (isNew || isEdited)) {
        // What is here stays, as an edit of what is there again.
        this.work.base = { document: this.work.documentOf(text), text, form, etag: tag ?? null };
        this.set({ isNew, size, news: null });
        this.typed();
        await this.look();
      } else await this.follow(null);
      this.owner.onChanged();
    } catch (error) {
      this.work.chosen = chosen;
      this.isUndoing = false;
      void this.look();
      const late = hasStatus(error, 412);
      complain(late ? say("undoLate", { path: this.place.path }) : wordsOf(error));
    }
  }

  /** Sets what is here, or was sent, against what lies there now. */
  async meet(sent?: Version): Promise<void> {
    const { editor } = this.work;
    if (!editor) return;
    const here = () => ({ text: editor.text(), form: this.drawn.form });
    const known = sent ?? here();
    try {
      const [found, author] = await Promise.all([this.read(), lastAuthor(this.place)]);
      const arrived = await this.arrived(found, known);
      if (this.work.editor !== editor) return;
      if (arrived) {
        // An earlier save had arrived, and its answer had not. What was typed since is an edit of that.
        const { text, form } = known;
        if (form.encoding !== this.work.base.form.encoding) this.work.chosen = form.encoding;
        this.work.base = { document: editor.versionOf(text), text: "", form, etag: arrived.etag };
        this.set({ size: arrived.size, isNew: false, news: null, restored: null, trouble: null });
        this.typed();
        return;
      }
      if (sent && this.abort.signal.aborted) return this.tellUnsaved(`${say("conflict")}.`);
      const conflict = conflictOf(found, here(), this.work.baseVersion(), author);
      this.set({ conflict: conflict && takeUp(conflict, this.work.merge?.() ?? null) });
    } catch (error) {
      this.fail(error);
    }
  }

  /** What lies there, if it is this version: bytes of another encoding may be read as something else. */
  private async arrived(found: Found, { text, form }: Version): Promise<FoundText | null> {
    const other = found.kind === "text" && found.read.encoding !== form.encoding;
    const again = other ? await readFile(this.place, { as: form.encoding }) : found;
    return again.kind === "text" && again.read.text === text && sameForm(again.read, form) ? again : null;
  }

  /** Something was written into what is made of both: keeps it. */
  merging(left: () => LeftMerge): void {
    this.work.merge = left;
    this.keep();
  }

  /** Ends a conflict without an answer: the edits stay, what they are based on, and what was made of both. */
  leaveConflict(left: LeftMerge | null): void {
    if (left) this.merging(() => left);
    this.set({ conflict: null });
    void this.look();
  }

  /** Takes what lies there, and throws away what was typed. */
  async takeTheirs(): Promise<void> {
    this.set({ conflict: null });
    await this.discard();
  }

  /** Saves a text over what lies there now, and nothing newer. */
  async resolve(conflict: Conflict, text: string, form: Form): Promise<void> {
    if (!this.work.editor) return;
    this.work.merge = null;
    const theirs = conflict.theirs ?? { text: "", form: NEW };
    this.work.base = {
      document: this.work.editor.versionOf(theirs.text),
      text: "",
      form: theirs.form,
      etag: conflict.etag,
    };
    this.work.editor.replace(text, { undoable: true });
    this.set({ conflict: null, news: null, form, isNew: conflict.etag === null });
    this.typed();
    await this.save();
  }

  /** Saves a file that was deleted meanwhile again, with the text that is here. */
  async restore(): Promise<void> {
    this.work.base = { ...this.work.base, etag: null };
    this.set({ news: null, isNew: true, changed: true });
    await this.save();
  }
}
