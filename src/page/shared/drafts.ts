// Edits that are not saved yet, kept in this browser until they are saved or thrown away: a reload or the end of a
// session costs nothing, a crash no more than what was typed last. In IndexedDB, because local storage ends at 5 MB;
// but a page that ends may be gone before IndexedDB has written, and local storage is written at once: what is under
// way then lies there until it has come. Each draft has a name of its own, and one that a file keeps replaces the one
// which that file kept before, or took up, and no other: the same file may be open in another tab. What is typed there
// after its draft was taken up here is kept under another name.
import type { Encoding, Form } from "../editor/bytes.ts";
import type { Lines } from "../editor/merge.ts";

/** A text and how it lies in its file. */
interface Version {
  text: string;
  form: Form;
}

/** Whose text it is, and of which file. */
export interface DraftKey {
  account: string;
  repo: string;
  branch: string;
  path: string;
}

export interface Draft {
  text: string;
  form: Form;
  /** What was typed into the field for the message. */
  message: string;
  /** The tag of what the edit began from; null for a new file. */
  etag: string | null;
  /** What the edit began from, for a merge; absent where it is large. */
  base?: Version;
  /** The encoding that somebody chose to read the file in. */
  chosen?: Encoding;
  /** What was made by hand of it and another's save: of which two texts, how far, and what is still marked. */
  merge?: { mine: Version; theirs: Version; text: string; clashes: Lines[] };
  /** When it was kept, in milliseconds. */
  at: number;
}

/** A draft under its name: where it lies in the database. */
interface Kept extends Draft {
  /** Absent in what was kept by a page that had one draft of each file: it lies under the key of the file. */
  name?: string[];
  /** The names of those that go when it comes into the database; told of what has not come there yet. */
  replaces?: string[][];
}

const STORE = "drafts";
/** What the names of drafts in local storage begin with. */
const LEFT = "draft\n";
/** After the last key, in milliseconds. */
const PAUSE = 300;

let database: Promise<IDBDatabase | null> | null = null;
/** What `database` came to: a page that ends has no time to wait for it. */
let opened: IDBDatabase | null = null;

/** Null where a browser keeps nothing, as in some private windows: then there are no drafts. */
function open(): Promise<IDBDatabase | null> {
  database ??= new Promise((resolve) => {
    let request: IDBOpenDBRequest;
    try {
      request = indexedDB.open("siteconf", 1);
    } catch {
      return resolve(null);
    }
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onerror = () => resolve(null);
    request.onblocked = () => resolve(null);
    request.onsuccess = () => {
      // Another window with a newer page must be able to change the database.
      request.result.onversionchange = () => {
        request.result.close();
        database = null;
        opened = null;
      };
      opened = request.result;
      resolve(opened);
    };
  });
  return database;
}

async function run<T>(
  mode: IDBTransactionMode,
  act: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T | null> {
  const ready = opened ?? (await open());
  if (!ready) return null;
  return new Promise((resolve) => {
    try {
      const transaction = ready.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      // Not when the answer has come: a page that ends does not see it, and what is not committed is taken back.
      transaction.commit();
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = () => resolve(null);
      transaction.onabort = () => resolve(null);
    } catch {
      resolve(null);
    }
  });
}

const idOf = ({ account, repo, branch, path }: DraftKey): string[] => [account, repo, branch, path];
const textOf = (name: string[]): string => name.join("\n");
const nameOf = (text: string): string[] => text.split("\n");
const rangeOf = (...start: string[]) => IDBKeyRange.bound(start, [...start, []]);

/** The open files that have something to keep. */
const waiting = new Set<Drafts>();
/** Drafts that are not in the database yet, by their names. */
const underWay = new Map<string, Kept>();

/** Writes a draft in the place of those that it replaces, and says whether that is done. */
async function write(name: string[], draft: Draft, replaces: string[][]): Promise<boolean> {
  const text = textOf(name);
  underWay.set(text, { ...draft, replaces });
  const done = await run("readwrite", (store) => {
    for (const one of replaces) store.delete(one);
    return store.put({ ...draft, name }, name);
  });
  if (done === null) return false;
  underWay.delete(text);
  localStorage.removeItem(LEFT + text);
  return true;
}

/** Leaves a draft that is under way where it is at once. */
function leave(text: string): void {
  try {
    localStorage.setItem(LEFT + text, JSON.stringify(underWay.get(text)));
  } catch {
    // There is no room for it; the database is likely to get it all the same.
  }
}

/** Forgets a draft that is not in the database yet; `next` takes its place where a page left it that ended. */
function forget(name: string[], next?: string): void {
  const text = textOf(name);
  underWay.delete(text);
  if (next && localStorage.getItem(LEFT + text) !== null) leave(next);
  localStorage.removeItem(LEFT + text);
}

/** The names of drafts, by how they begin, that pages left which ended. */
function leftNames(start: string[]): string[] {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(LEFT));
  const texts = keys.map((key) => key.slice(LEFT.length));
  return texts.filter((text) => `${text}\n`.startsWith(`${textOf(start)}\n`));
}

/** A draft that a page left. */
function left(text: string): Kept | null {
  try {
    return JSON.parse(localStorage.getItem(LEFT + text) ?? "null");
  } catch {
    return null;
  }
}

/** The drafts of one open file. */
export class Drafts {
  /** The name of the one that was kept here, or taken up, last. */
  private last: string[] | null = null;
  /** The names that may still be in the database: that, and those which are to go. */
  private names: string[][] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private make: (() => Draft) | null = null;

  constructor(readonly key: DraftKey) {}

  /** The newest draft of this file, be it of which tab it may: what is kept from now on replaces it. */
  async takeUp(): Promise<Draft | null> {
    const id = idOf(this.key);
    const late: Kept[] = leftNames(id).flatMap((text) => {
      const draft = left(text);
      return draft ? { ...draft, name: nameOf(text) } : [];
    });
    for (const { name = id, replaces = [], ...draft } of late) void write(name, draft, replaces);
    const kept: Kept[] = (await run("readonly", (store) => store.getAll(rangeOf(...id)))) ?? [];
    const [newest] = [...late, ...kept].sort((a, b) => b.at - a.at);
    if (!newest) return null;
    const { last } = this;
    this.last = newest.name ?? id;
    this.names = [...this.names.filter((name) => name !== last), ...(newest.replaces ?? []), this.last];
    return newest;
  }

  /** Keeps a draft 300 ms after the last call; `make` gives it then. */
  keep(make: () => Draft): void {
    this.cancel();
    this.make = make;
    this.timer = setTimeout(() => this.flush(), PAUSE);
    waiting.add(this);
  }

  /** Keeps at once what waits to be kept. */
  flush(): void {
    const { make } = this;
    this.cancel();
    if (make) void this.replace(make());
  }

  private async replace(draft: Draft): Promise<void> {
    const { last, names } = this;
    // No two tabs come to one name.
    const name = [...idOf(this.key), `${Date.now()} ${Math.random()}`];
    this.last = name;
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
    const [first, ...others] = names;
    if (!first) return;
    const done = await run("readwrite", (store) => {
      for (const one of others) store.delete(one);
      return store.delete(first);
    });
    if (done !== null) this.gone(names);
  }
}

/** Keeps at once what waits to be kept: the page may be about to end. */
export function flushDrafts(): void {
  for (const drafts of waiting) drafts.flush();
  for (const text of underWay.keys()) leave(text);
}

/** How many files have drafts of an account. */
export async function countDrafts(account: string): Promise<number> {
  const ids = [...waiting].map(({ key }) => idOf(key)).filter(([whose]) => whose === account);
  const names = [...leftNames([account]), ...underWay.keys()]
    .map(nameOf)
    .filter(([whose]) => whose === account);
  const kept = ((await run("readonly", (store) => store.getAllKeys(rangeOf(account)))) ?? []) as string[][];
  return new Set([...ids, ...names, ...kept].map((name) => textOf(name.slice(0, 4)))).size;
}

/** Forgets all drafts of an account: whoever logs out leaves nothing in a browser that others use too. */
export async function dropDrafts(account: string): Promise<void> {
  for (const drafts of waiting) if (drafts.key.account === account) drafts.cancel();
  for (const text of [...leftNames([account]), ...underWay.keys()]) {
    if (nameOf(text)[0] === account) forget(nameOf(text));
  }
  await run("readwrite", (store) => store.delete(rangeOf(account)));
}

// Before a page is left there is time to write while the next one is asked for; when it is hidden, often none.
addEventListener("beforeunload", flushDrafts);
addEventListener("pagehide", flushDrafts);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") flushDrafts();
});
