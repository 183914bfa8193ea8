// Edits that are not saved yet, kept in this browser until they are saved or thrown away: a reload, a crash
// or the end of a session costs nothing. In IndexedDB, because session storage ends at 5 MB.
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

interface Waiting {
  timer: ReturnType<typeof setTimeout>;
  make: () => Draft;
  key: DraftKey;
}
const waiting = new Map<string, Waiting>();

function write(key: DraftKey, draft: Draft): Promise<boolean> {
  return run("readwrite", (store) => store.put(draft, idOf(key))).then((done) => done !== null);
}

/** Keeps a draft 300 ms after the last call; `make` gives it then. */
export function keepDraft(key: DraftKey, make: () => Draft): void {
  const id = idOf(key).join("\n");
  clearTimeout(waiting.get(id)?.timer);
  const timer = setTimeout(() => {
    waiting.delete(id);
    void write(key, make());
  }, PAUSE);
  waiting.set(id, { timer, make, key });
}

/** Keeps at once what waits to be kept: the page may be about to end. */
export function flushDrafts(): void {
  for (const [id, { timer, make, key }] of waiting) {
    clearTimeout(timer);
    waiting.delete(id);
    void write(key, make());
  }
}

export async function readDraft(key: DraftKey): Promise<Draft | null> {
  return ((await run("readonly", (store) => store.get(idOf(key)))) as Draft | undefined) ?? null;
}

export async function dropDraft(key: DraftKey): Promise<void> {
  const id = idOf(key).join("\n");
  clearTimeout(waiting.get(id)?.timer);
  waiting.delete(id);
  await run("readwrite", (store) => store.delete(idOf(key)));
}

const rangeOf = (...start: string[]) => IDBKeyRange.bound(start, [...start, []]);

/** Forgets all drafts of an account: whoever logs out leaves nothing in a browser that others use too. */
export async function dropDrafts(account: string): Promise<void> {
  for (const [id, { timer, key }] of waiting) {
    if (key.account !== account) continue;
    clearTimeout(timer);
    waiting.delete(id);
  }
  await run("readwrite", (store) => store.delete(rangeOf(account)));
}

// Before a page is left there is time to write while the next one is asked for; when it is hidden, often none.
addEventListener("beforeunload", flushDrafts);
addEventListener("pagehide", flushDrafts);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") flushDrafts();
});
