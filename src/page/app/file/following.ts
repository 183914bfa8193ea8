// What others do to the open file: each head of its branch that is told is looked at once, as soon as that is possible.
import type { DraftKey } from "../../shared/drafts.ts";
import { notify } from "../../shared/notice.tsx";
import { isAway } from "../../shared/text.ts";
import { hasStatus, onReach, takeMade } from "../api.ts";
import { allMade } from "../parts/making.ts";
import { type Owner, Reading } from "./reading.ts";
import { type Found, lastAuthor, type Place } from "./remote.ts";
import { say } from "./words.ts";

/** After how many milliseconds a file is asked for again that could not be read. */
const AGAIN_MS = 5000;

export class Following extends Reading {
  /** The commit that the last save here made, or its undo: that it appears is no news. */
  protected ownCommit: string | null = null;
  /** A save is being taken back: what is heard of that is looked at after its answer. */
  protected isUndoing = false;
  /** The head that is still to be looked at; null: one that is not known. */
  private unseen: string | null | undefined;
  private isLooking = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly stopWaiting: () => void;

  constructor(place: Place, key: DraftKey, owner: Owner) {
    super(place, key, owner);
    this.stopWaiting = onReach((reachable) => {
      const { behind, phase, error } = this.drawn;
      if (!reachable) return;
      if (hasStatus(behind, 0)) void this.look();
      else if (phase === "failed" && isAway(error)) {
        this.set({ phase: "loading" });
        void this.load();
      }
    });
  }

  override close(): void {
    clearTimeout(this.timer);
    this.stopWaiting();
    super.close();
  }

  override async load(): Promise<void> {
    await super.load();
    await this.look();
  }

  /** The branch has another head: if the file is another too, an untouched one follows, else that is told. */
  async follow(head: string | null): Promise<void> {
    if (this.place.at) return;
    this.unseen = head;
    await this.look();
  }

  /** Looks at what is still to be looked at, unless something is under way; it is called again after that. */
  async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    clearTimeout(this.timer);
    try {
      while (this.unseen !== undefined && !this.isBusy()) await this.lookAt(this.unseen);
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.set({ behind: error });
      this.timer = setTimeout(() => void this.look(), AGAIN_MS);
    } finally {
      this.isLooking = false;
    }
  }

  private isBusy(): boolean {
    const { phase, saving, conflict } = this.drawn;
    return phase === "loading" || saving || this.isUndoing || conflict !== null;
  }

  private async lookAt(head: string | null): Promise<void> {
    if (this.drawn.phase === "failed") {
      // What was typed before comes back with it.
      this.unseen = undefined;
      return super.load();
    }
    const { ownCommit } = this;
    const { etag } = this.work.base;
    const isOwn = head !== null && head === ownCommit;
    const found: Found = isOwn
      ? { kind: "same" }
      : await this.read({ known: etag, signal: this.abort.signal });
    // A save that began meanwhile meets what was found as a conflict; after one that ended it may be older than
    // what is here.
    if (this.isBusy() || this.ownCommit !== ownCommit || this.work.base.etag !== etag) return;
    if (this.unseen === head) this.unseen = undefined;
    // A commit comes back with what it holds: that of a save here may next be what others went back to.
    if (!isOwn) this.ownCommit = null;
    const isSame = found.kind === "same" || (found.kind === "none" && etag === null);
    const { behind, news } = this.drawn;
    // What was told of a file is over once it is again what is known here.
    if (behind || (isSame && news)) this.set({ behind: null, news: isSame ? null : news });
    if (isSame) {
      // It has appeared.
      if (head !== null) takeMade(head);
      return;
    }
    // Asked now, not before the read: what was typed meanwhile counts.
    const edited = this.drawn.phase === "text" && this.work.isPrecious(this.drawn);
    const deleted = found.kind === "none";
    if (edited || (deleted && this.drawn.phase === "text")) return this.tellNews(deleted);
    this.adopt(found);
    if (head === null) return;
    const author = await lastAuthor(this.place);
    if (!author) return;
    // What was done elsewhere on the page, as an upload, is told there, and may be heard of before its answer.
    void allMade.then(() => {
      if (!this.abort.signal.aborted && !takeMade(head)) notify(say("followed", { who: author.who }));
    });
  }
}
