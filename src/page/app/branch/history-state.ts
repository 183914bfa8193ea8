// The history as people think of it: changes, newest first. A snapshot holds the state from right before its
// change, so the state after it is that of the next snapshot, or the branch itself.
import { useEffect, useRef, useState } from "preact/hooks";
import { useBack, useLoaded } from "../../shared/load.ts";
import { t } from "../../shared/text.ts";
import * as calls from "../calls.ts";

export type Change = calls.History[number];

/** What was read of a history. */
interface Read {
  /** Null before the first answer. */
  list: Change[] | null;
  /** The first change of the branch is in the list. */
  whole: boolean;
}

export interface HistoryState extends Read {
  of: { repo: string; branch: string };
  /** Why the list is not what it is now, or has no older changes. */
  error: unknown;
  older: () => Promise<void>;
  /** Tries again what failed. */
  again: () => void;
}

const PAGE = 100;

/** The history of a branch, read anew whenever its head is another. */
export function useHistory(repo: string, branch: string, head: string | null): HistoryState {
  const [read, setRead] = useState<Read>({ list: null, whole: false });
  const [failed, fail] = useState<{ error: unknown; again: "now" | "older" } | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    calls.history(repo, branch, undefined, abort.signal).then(
      (page) => {
        fail(null);
        setRead((was) => joined(page, was));
      },
      (error) => !abort.signal.aborted && fail({ error, again: "now" }),
    );
    return () => abort.abort();
  }, [repo, branch, head, turn]);
  const older = async () => {
    const last = read.list?.at(-1);
    if (!last) return;
    try {
      const page = await calls.history(repo, branch, last.version);
      setRead((was) =>
        // Unless the list has become another meanwhile.
        was.list?.at(-1)?.version === last.version
          ? { list: [...was.list, ...page], whole: page.length < PAGE }
          : was,
      );
      fail(null);
    } catch (error) {
      fail({ error, again: "older" });
    }
  };
  const again = () => {
    if (failed?.again === "older") void older();
    else setTurn((n) => n + 1);
  };
  useBack(failed?.error, again);
  return { of: { repo, branch }, ...read, error: failed?.error ?? null, older, again };
}

/** The changes of one file; without a path nothing is asked for. */
export function useFileHistory(
  repo: string,
  branch: string,
  head: string,
  path: string | undefined,
): HistoryState {
  const asked = useLoaded([repo, branch, path], (signal) =>
    path ? calls.fileHistory(repo, branch, path, undefined, signal) : null,
  );
  const first = asked.value;
  /** The first page, and all that was read from it on. */
  const [more, setMore] = useState<{ first: calls.FileHistory; all: calls.FileHistory } | null>(null);
  const read = more?.first === first ? more.all : first;
  const [failed, fail] = useState<unknown>(null);
  // What is there stays until the list of another head has come.
  const known = useRef(head);
  useEffect(() => {
    if (known.current !== head) asked.again();
    known.current = head;
  }, [head]);
  useEffect(() => fail(null), [first]);
  const older = async () => {
    if (!path || !first || !read?.next) return;
    try {
      const page = await calls.fileHistory(repo, branch, path, read.next, new AbortController().signal);
      // Unless the list has become another meanwhile.
      const all = { list: [...read.list, ...page.list], next: page.next };
      setMore((was) => (was === more ? { first, all } : was));
      fail(null);
    } catch (error) {
      fail(error);
    }
  };
  const of = { repo, branch };
  const again = failed ? () => void older() : asked.again;
  return {
    of,
    list: read?.list ?? null,
    whole: read?.next === null,
    error: failed ?? asked.error,
    older,
    again,
  };
}

/** A new first page, with what was read of older ones behind it where the two meet. */
function joined(page: Change[], was: Read): Read {
  const last = page.at(-1);
  const meets = last && was.list ? was.list.findIndex((one) => one.version === last.version) : -1;
  return {
    list: meets < 0 ? page : [...page, ...(was.list ?? []).slice(meets + 1)],
    whole: page.length < PAGE || (was.whole && meets >= 0),
  };
}

export interface Sought {
  /** Absent before it came, and where the branch has none of that version. */
  change: Change | undefined;
  /** The version that holds the state after it; null: the branch as it is now. */
  after: string | null;
  /** The branch has none of that version. */
  gone: boolean;
  /** Why it could not be asked for. */
  error: unknown;
  again: () => void;
}

/** The change of a version, which is asked for where it is further back than what was read of the history. */
export function useChange(history: HistoryState, version: string | undefined): Sought {
  const { of, list, whole } = history;
  const near = list?.some((one) => one.version === version);
  const number = Number(/^v(\d+)$/.exec(version ?? "")?.[1]);
  const far = list && !near && !whole && number ? version : undefined;
  const asked = useLoaded([of.repo, of.branch, far], (signal) =>
    // With the one after it, which holds the state that it led to.
    far ? calls.history(of.repo, of.branch, versionNamed(number + 2), signal, 2) : null,
  );
  const { value, error, again } = far ? asked : { ...history, value: list };
  const known = value ?? [];
  const at = known.findIndex((one) => one.version === version);
  return {
    change: known[at],
    after: known[at - 1]?.version ?? null,
    gone: at < 0 && value !== null,
    error,
    again,
  };
}

const versionNamed = (number: number): string => `v${String(number).padStart(4, "0")}`;

/** What a change is called: its file, its message, or what was done. */
export function nameOf(change: Change): string {
  return change.path ?? (change.message || doneBy(change));
}

/** What was done, as of a change without a path and a message. */
export function doneBy(change: Change): string {
  if (change.operation === "import") return t("imported");
  if (change.operation === "rollback") return t("rolledBack");
  const counts = change.changed;
  return counts ? t("fileCount", { n: counts.added + counts.modified + counts.deleted }) : t("severalFiles");
}
