import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { onBack } from "./reach.ts";
import { isAway } from "./text.ts";

interface State<T> {
  /** What came last; null before anything did. */
  value: T | null;
  /** Why nothing came the last time. */
  error: unknown;
}

const NOTHING = { value: null, error: null };

export interface Loaded<T> extends State<T> {
  /** Asks again, and keeps what is there until the answer comes. */
  again: () => void;
  /** Changes what is there, unless that is of other keys by now, and what comes of a request that is under way, too. */
  change: (change: (value: T) => T) => void;
}

/** Tries again as soon as the service answers, whoever asked it, what failed since it did not. */
export function useBack(error: unknown, again: () => void): void {
  useLayoutEffect(() => (isAway(error) ? onBack(again) : undefined), [error]);
}

/** What a request gives, asked for anew whenever one of `keys` is another; answers to older ones are dropped. */
export function useLoaded<T>(keys: unknown[], load: (signal: AbortSignal) => Promise<T> | null): Loaded<T> {
  const [state, setState] = useState<State<T>>(NOTHING);
  const [turn, setTurn] = useState(0);
  const seen = useRef(keys);
  /** What became of it since the request that is under way was sent; null: none is. */
  const changes = useRef<((value: T) => T)[] | null>(null);
  const isCurrent = () => seen.current.every((key, at) => key === keys[at]);
  useEffect(() => {
    if (!isCurrent()) setState(NOTHING);
    seen.current = keys;
    const abort = new AbortController();
    const promise = load(abort.signal);
    const since: ((value: T) => T)[] = [];
    changes.current = promise && since;
    const answered = (value: T | null, error: unknown) => {
      if (abort.signal.aborted) return;
      changes.current = null;
      setState((old) => ({ value: value ?? old.value, error }));
    };
    promise?.then(
      (value) =>
        answered(
          since.reduce((now, change) => change(now), value),
          null,
        ),
      (error) => answered(null, error),
    );
    return () => abort.abort();
  }, [...keys, turn]);
  const again = useCallback(() => setTurn((n) => n + 1), []);
  useBack(state.error, again);
  const change = (change: (value: T) => T) => {
    if (!isCurrent()) return;
    changes.current?.push(change);
    setState((old) => (old.value === null ? old : { value: change(old.value), error: null }));
  };
  // What belongs to other keys is not shown for a frame.
  return { ...(isCurrent() ? state : NOTHING), again, change };
}
