import { useEffect, useRef, useState } from "preact/hooks";
import { useBack } from "../../shared/load.ts";
import { wordsOf } from "../../shared/text.ts";
import { hasStatus } from "../api.ts";
import { type Present, under } from "./plan.ts";
import { look, type Target } from "./send.ts";
import type { Picked } from "./walk.ts";

/** A folder's name is looked for once it has been typed, in milliseconds after the last key. */
const PAUSE = 250;

/** What is there of the paths; null while it is asked for. It is asked again when the branch has moved on. */
export function usePresent(target: Target, files: Picked[], folder: string, turn: number) {
  const [present, set] = useState<Present | null>(null);
  const [failed, fail] = useState<unknown>(null);
  const [turns, setTurns] = useState(0);
  const seen = useRef(folder);
  const again = () => setTurns((n) => n + 1);
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    set(null);
    fail(null);
    const ask = () => {
      // As it is written here, and as it would be if it is new.
      const paths = files.flatMap(({ path }) => [under(folder, path), under(folder, path.normalize())]);
      look(target, paths, signal).then(
        (found) => !signal.aborted && set(found),
        (error) => !signal.aborted && fail(error),
      );
    };
    const timer = setTimeout(ask, seen.current === folder ? 0 : PAUSE);
    seen.current = folder;
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [folder, turn, turns]);
  useBack(failed, again);
  return {
    present,
    failed: failed === null ? "" : wordsOf(failed),
    /** Absent where another answer is not to be had. */
    again: hasStatus(failed, 400) ? undefined : again,
  };
}
