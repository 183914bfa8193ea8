import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { onBack } from "./reach.ts";
import { isAway } from "./text.ts";

export interface Loaded<T> {
  /** What came last; null before anything did. */
  value: T | null;
  /** Why nothing came the last time. */
  error: unknown;
  /** Asks again, and keeps what is there until the answer comes. */
  again: () => void;
  /** Replaces what is there, unless that is of other keys by now. */
  set: (value: T) => void;
}

/** Tries again as soon as the service answers, whoever asked it, what failed since it did not. */
export function useBack(error: unknown, again: () => void): void {
  useLayoutEffect(() => (isAway(error) ? onBack(again) : undefined), [error]);
}

/** What a request gives, asked for anew whenever one of `keys` is another; answers to older ones are dropped. */
export function useLoaded<T>(keys: unknown[], load: (signal: AbortSignal) => Promise<T> | null): Loaded<T> {
  const [state, setState] = useState<{ value: T | null; error: unknown }>({ value: null, error: null });
  const [turn, setTurn] = useState(0);
  const seen = useRef(keys);
  const isCurrent = () =>
    seen.current.length === keys.length && seen.current.every((key, at) => key === keys[at]);
  useEffect(() => {
    const same = isCurrent();
    seen.current = keys;
    if (!same) setState({ value: null, error: null });
    const abort = new AbortController();
    const promise = load(abort.signal);
    promise?.then(
      (value) => !abort.signal.aborted && setState({ value, error: null }),
      (error) => !abort.signal.aborted && setState((old) => ({ value: old.value, error })),
    );
    return () => abort.abort();
  }, [...keys, turn]);
  const again = useCallback(() => setTurn((n) => n + 1), []);
  useBack(state.error, again);
  const set = (value: T) => {
    if (isCurrent()) setState({ value, error: null });
  };
  // What belongs to other keys is not shown for a frame.
  return isCurrent() ? { ...state, again, set } : { value: null, error: null, again, set };
}
