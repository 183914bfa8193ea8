// Edits that are not saved yet, kept in this browser until they are saved or thrown away: a reload, a crash
// or the end of a session costs nothing. In IndexedDB, because local storage ends at 5 MB; but a page that ends
// may be gone before IndexedDB has written, and local storage is written at once: what is under way then lies there
// until it has come.
import type { Form } from "../editor/bytes.ts";

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
  base?: { text: string; form: Form };
  /** When it was kept, in milliseconds. */
  at: number;
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
const nameOf = (key: DraftKey): string => idOf(key).join("\n");

interface Waiting {
  timer: ReturnType<typeof setTimeout>;
  make: () => Draft;
  key: DraftKey;
}
const waiting = new Map<string, Waiting>();
/** Drafts that are not in the database yet. */
const underWay = new Map<string, Draft>();

async function write(key: DraftKey, draft: Draft): Promise<void> {
  const name = nameOf(key);
  underWay.set(name, draft);
  const done = await run("readwrite", (store) => store.put(draft, idOf(key)));
  if (done === null || underWay.get(name) !== draft) return;
  underWay.delete(name);
  localStorage.removeItem(LEFT + name);
}

/** Leaves what is under way where it is at once. */
function leave(): void {
  for (const [name, draft] of underWay) {
    try {
      localStorage.setItem(LEFT + name, JSON.stringify(draft));
    } catch {
      // There is no room for it; the database is likely to get it all the same.
    }
  }
}

/** What a page left that ended. */
function left(name: string): Draft | null {
  try {
    return JSON.parse(localStorage.getItem(LEFT + name) ?? "null");
  } catch {
    return null;
  }
}

/** Forgets what is not in the database yet. */
function forget(name: string): void {
  clearTimeout(waiting.get(name)?.timer);
  waiting.delete(name);
  underWay.delete(name);
  localStorage.removeItem(LEFT + name);
}

/** Keeps a draft 300 ms after the last call; `make` gives it then. */
export function keepDraft(key: DraftKey, make: () => Draft): void {
  const name = nameOf(key);
  clearTimeout(waiting.get(name)?.timer);
  const timer = setTimeout(() => {
    waiting.delete(name);
    void write(key, make());
  }, PAUSE);
  waiting.set(name, { timer, make, key });
}

/** Keeps at once what waits to be kept: the page may be about to end. */
export function flushDrafts(): void {
  for (const [name, { timer, make, key }] of waiting) {
    clearTimeout(timer);
    waiting.delete(name);
    void write(key, make());
  }
  leave();
}

export async function readDraft(key: DraftKey): Promise<Draft | null> {
  const name = nameOf(key);
  const last = left(name);
  const kept = (await run("readonly", (store) => store.get(idOf(key)))) as Draft | null | undefined;
  if (!last) return kept ?? null;
  if (kept && kept.at >= last.at) {
    localStorage.removeItem(LEFT + name);
    return kept;
  }
  void write(key, last);
  return last;
}

export async function dropDraft(key: DraftKey): Promise<void> {
  forget(nameOf(key));
  await run("readwrite", (store) => store.delete(idOf(key)));
}

const rangeOf = (...start: string[]) => IDBKeyRange.bound(start, [...start, []]);

/** The names of an account's drafts that may not be in the database yet. */
function namesOf(account: string): string[] {
  const names = Object.keys(localStorage).filter((key) => key.startsWith(LEFT));
  const all = [...waiting.keys(), ...underWay.keys(), ...names.map((key) => key.slice(LEFT.length))];
  return all.filter((name) => name.startsWith(`${account}\n`));
}

/** How many drafts of an account there are. */
export async function countDrafts(account: string): Promise<number> {
  const names = namesOf(account);
  const kept = await run("readonly", (store) => store.getAllKeys(rangeOf(account)));
  return new Set([...names, ...(kept ?? []).map((key) => (key as string[]).join("\n"))]).size;
}

/** Forgets all drafts of an account: whoever logs out leaves nothing in a browser that others use too. */
export async function dropDrafts(account: string): Promise<void> {
  for (const name of namesOf(account)) forget(name);
  await run("readwrite", (store) => store.delete(rangeOf(account)));
}

// Before a page is left there is time to write while the next one is asked for; when it is hidden, often none.
addEventListener("beforeunload", flushDrafts);
addEventListener("pagehide", flushDrafts);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") flushDrafts();
});
