// Where drafts lie: in IndexedDB, because local storage ends at 5 MB; but a page that ends may be gone before IndexedDB
// has written, and local storage is written at once: what is under way then lies there until it has come.
import type { Encoding, Form } from "../../editor/bytes.ts";
import type { Lines } from "../../editor/merge.ts";

/** A text and how it lies in its file. */
export interface Version {
  text: string;
  form: Form;
}

/** What was made by hand of two texts: how far, and what is still marked. */
export interface LeftMerge {
  mine: Version;
  theirs: Version;
  text: string;
  clashes: Lines[];
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
  /** What was made of it and another's save. */
  merge?: LeftMerge;
  /** When it was kept, in milliseconds. */
  at: number;
}

/** A draft under its name: where it lies in the database. */
export interface KeptDraft extends Draft {
  /** Absent in what was kept by a page that had one draft of each file: it lies under the key of the file. */
  name?: string[];
  /** The names of those that go when it comes into the database; told of what has not come there yet. */
  replaces?: string[][];
}

const listeners = new Set<() => void>();

/** Has `listener` told whenever other files have drafts than before, as far as this tab knows; gives what ends that. */
export function onDrafts(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

export function tellDrafts(): void {
  for (const listener of listeners) listener();
}

const STORE = "drafts";
/** What the names of drafts in local storage begin with. */
export const LEFT = "draft\n";

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

export async function run<T>(
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

export const idOf = ({ account, repo, branch, path }: DraftKey): string[] => [account, repo, branch, path];
export const textOf = (name: string[]): string => name.join("\n");
export const nameOf = (text: string): string[] => text.split("\n");
/** The name of a draft of a file that is kept now: no two tabs come to one. */
export const nameNow = (id: string[]): string[] => [...id, `${Date.now()} ${Math.random()}`];
/** When a draft of this name was kept, in milliseconds; 0 where its name does not say. */
export const keptAt = (name: string[]): number => Number.parseFloat(name[4] ?? "") || 0;
export const rangeOf = (...start: string[]) => IDBKeyRange.bound(start, [...start, []]);

/** What the names of files are kept under that have a draft of this tab. */
const OWN = "draft of\n";

/** The draft of a file that this tab kept or took up last, by its name as a text. */
export const ownName = (id: string[]): string | null => sessionStorage.getItem(OWN + textOf(id));

export function setOwnName(id: string[], name: string | null): void {
  try {
    if (name === null) sessionStorage.removeItem(OWN + textOf(id));
    else sessionStorage.setItem(OWN + textOf(id), name);
  } catch {
    // There is no room for it: of several drafts the newest counts.
  }
}

/** Drafts that are not in the database yet, by their names. */
export const underWay = new Map<string, KeptDraft>();

/** Writes a draft in the place of those that it replaces, and says whether that is done. */
export async function write(name: string[], draft: Draft, replaces: string[][]): Promise<boolean> {
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
export function leave(text: string): void {
  try {
    localStorage.setItem(LEFT + text, JSON.stringify(underWay.get(text)));
  } catch {
    // There is no room for it; the database is likely to get it all the same.
  }
}

/** Forgets a draft that is not in the database yet; `next` takes its place where a page left it that ended. */
export function forget(name: string[], next?: string): void {
  const text = textOf(name);
  underWay.delete(text);
  if (next && localStorage.getItem(LEFT + text) !== null) leave(next);
  localStorage.removeItem(LEFT + text);
}

/** The names of drafts, by how they begin, that pages left which ended. */
export function leftNames(start: string[]): string[] {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(LEFT));
  const texts = keys.map((key) => key.slice(LEFT.length));
  return texts.filter((text) => `${text}\n`.startsWith(`${textOf(start)}\n`));
}

/** A draft that a page left, by its name as a text. */
export function left(text: string): KeptDraft | null {
  try {
    return JSON.parse(localStorage.getItem(LEFT + text) ?? "null");
  } catch {
    return null;
  }
}
