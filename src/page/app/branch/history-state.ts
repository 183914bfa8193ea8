// The history as people think of it: changes, newest first. A snapshot holds the state from right before its
// change, so the state after it is that of the next snapshot, or the branch itself.
import { useEffect, useState } from "preact/hooks";
import { t } from "../../shared/text.ts";
import * as calls from "../calls.ts";

export type Change = calls.History[number];

export interface HistoryState {
  /** Null before the first answer. */
  list: Change[] | null;
  /** Why the list is not what it is now, or has no older changes. */
  error: unknown;
  /** The first change of the branch is in the list. */
  whole: boolean;
  older: () => Promise<void>;
  /** Tries again what failed. */
  again: () => void;
}

const PAGE = 100;

/** The history of a branch, read anew whenever its head is another. */
export function useHistory(repo: string, branch: string, head: string | null): HistoryState {
  const [list, setList] = useState<Change[] | null>(null);
  const [failed, fail] = useState<{ error: unknown; again: "now" | "older" } | null>(null);
  const [whole, setWhole] = useState(false);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    calls.history(repo, branch, undefined, abort.signal).then(
      (page) => {
        fail(null);
        setList((old) => joined(page, old));
        setWhole((was) => was || page.length < PAGE);
      },
      (error) => !abort.signal.aborted && fail({ error, again: "now" }),
    );
    return () => abort.abort();
  }, [repo, branch, head, turn]);
  const older = async () => {
    const last = list?.at(-1);
    if (!last) return;
    try {
      const page = await calls.history(repo, branch, last.version);
      setList((old) => [
        ...(old ?? []),
        ...page.filter((one) => !old?.some((known) => known.version === one.version)),
      ]);
      setWhole(page.length < PAGE);
      fail(null);
    } catch (error) {
      fail({ error, again: "older" });
    }
  };
  const again = () => {
    if (failed?.again === "older") void older();
    else setTurn((n) => n + 1);
  };
  return { list, error: failed?.error ?? null, whole, older, again };
}

/** A new first page, with what was read of older ones behind it where the two meet. */
function joined(page: Change[], old: Change[] | null): Change[] {
  const last = page.at(-1);
  const meets = last && old ? old.findIndex((one) => one.version === last.version) : -1;
  return meets < 0 ? page : [...page, ...(old ?? []).slice(meets + 1)];
}

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

/** The version that holds the state after a change; null: the branch as it is now. */
export function stateAfter(list: Change[], change: Change): string | null {
  const at = list.findIndex((one) => one.version === change.version);
  return at > 0 ? list[at - 1]!.version : null;
}
