// Edits that are not saved yet, kept in this browser until they are saved or thrown away: a reload or the end of a
// session costs nothing, a crash no more than what was typed last. Each draft has a name of its own, and one that a file
// keeps replaces the one which that file kept before, or took up, and no other: the same file may be open in another
// tab. What is typed there after its draft was taken up here is kept under another name. Each tab knows which is its own.
import {
  type Draft,
  type DraftKey,
  forget,
  idOf,
  type KeptDraft,
  type LeftMerge,
  leave,
  left,
  leftNames,
  nameNow,
  nameOf,
  ownName,
  rangeOf,
  run,
  setOwnName,
  tellDrafts,
  textOf,
  underWay,
  type Version,
  write,
} from "./drafts/store.ts";

export type { Draft, DraftKey, LeftMerge, Version };

/** After the last key, in milliseconds. */
const PAUSE = 300;

/** The open files that have something to keep. */
export const waiting = new Set<Drafts>();

/** The drafts of one open file. */
export class Drafts {
  /** The name of the one that was kept here, or taken up, last. */
  private last: string[] | null = null;
  /** The names that may still be in the database: that, and those which are to go. */
  private names: string[][] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private make: (() => Draft) | null = null;
  /** The one beside that which was taken up last: the next older one, and after the oldest the newest. */
  next: KeptDraft | null = null;

  constructor(readonly key: DraftKey) {}

  /**
   * The draft that this tab kept of this file, or else the newest, be it of which tab it may: what is kept from now on
   * replaces it.
   */
  async takeUp(): Promise<Draft | null> {
    const id = idOf(this.key);
    const late: KeptDraft[] = leftNames(id).flatMap((text) => {
      const draft = left(text);
      return draft ? { ...draft, name: nameOf(text) } : [];
    });
    for (const { name = id, replaces = [], ...draft } of late) void write(name, draft, replaces);
    // Those too which the database does not take.
    const here: KeptDraft[] = [...underWay]
      .map(([text, draft]) => ({ ...draft, name: nameOf(text) }))
      .filter(({ name }) => textOf(name.slice(0, id.length)) === textOf(id));
    const kept: KeptDraft[] = (await run("readonly", (store) => store.getAll(rangeOf(...id)))) ?? [];
    const textOfOne = (draft: KeptDraft) => textOf(draft.name ?? id);
    const old = new Set(here.flatMap(({ replaces = [] }) => replaces.map(textOf)));
    const all = new Map([...kept, ...here].map((draft) => [textOfOne(draft), draft]));
    const list = [...all.values()].filter((one) => !old.has(textOfOne(one))).sort((a, b) => b.at - a.at);
    const own = ownName(id);
    const at = Math.max(
      0,
      list.findIndex((one) => textOfOne(one) === own),
    );
    const found = list[at];
    this.next = list.length > 1 ? (list[at + 1] ?? list[0]!) : null;
    if (!found) return null;
    const { last } = this;
    this.last = found.name ?? id;
    setOwnName(id, textOf(this.last));
    this.names = [...this.names.filter((name) => name !== last), ...(found.replaces ?? []), this.last];
    return found;
  }

  /** Has the next one be that which is taken up. */
  turn(): void {
    this.flush();
    const id = idOf(this.key);
    if (this.next) setOwnName(id, textOf(this.next.name ?? id));
  }

  /** Keeps a draft 300 ms after the last call; `make` gives it then. */
  keep(make: () => Draft): void {
    const isFirst = !this.last && !this.make;
    this.cancel();
    this.make = make;
    this.timer = setTimeout(() => this.flush(), PAUSE);
    waiting.add(this);
    if (isFirst) tellDrafts();
  }

  /** Keeps at once what waits to be kept. */
  flush(): void {
    const { make } = this;
    this.cancel();
    if (make) void this.replace(make());
  }

  private async replace(draft: Draft): Promise<void> {
    const { last, names } = this;
    const name = nameNow(idOf(this.key));
    this.last = name;
    setOwnName(idOf(this.key), textOf(name));
    this.names = [...names, name];
    const writing = write(name, draft, names);
    if (last) forget(last, textOf(name));
    this.gone((await writing) ? names : [name]);
  }

  /** These are not in the database. */
  private gone(names: string[][]): void {
    this.names = this.names.filter((name) => !names.includes(name));
  }

  /** Forgets what waits to be kept. */
  cancel(): void {
    clearTimeout(this.timer);
    this.make = null;
    waiting.delete(this);
  }

  /** Forgets what was kept here, or taken up. */
  async drop(): Promise<void> {
    const { last, names } = this;
    this.cancel();
    if (last) forget(last);
    this.last = null;
    setOwnName(idOf(this.key), null);
    const [first, ...others] = names;
    if (!first) return tellDrafts();
    const done = await run("readwrite", (store) => {
      for (const one of others) store.delete(one);
      return store.delete(first);
    });
    if (done !== null) this.gone(names);
    tellDrafts();
  }
}

/** Keeps at once what waits to be kept: the page may be about to end. */
export function flushDrafts(): void {
  for (const drafts of waiting) drafts.flush();
  for (const text of underWay.keys()) leave(text);
}

/** What keeps the drafts of the open files anew. */
const keepers = new Set<() => void>();

/** Has a draft kept anew each time that somebody has logged in again over it; gives what ends that. */
export function onLoginAgain(keep: () => void): () => void {
  keepers.add(keep);
  return () => {
    keepers.delete(keep);
  };
}

/** Keeps what is open anew: another window may have forgotten all drafts when it logged out. */
export function keepAgain(): void {
  for (const keep of keepers) keep();
}

// Before a page is left there is time to write while the next one is asked for; when it is hidden, often none.
addEventListener("beforeunload", flushDrafts);
addEventListener("pagehide", flushDrafts);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") flushDrafts();
});
