// What a screen looked like in an entry of the browser's history when it was left: on the way back it looks so again. A
// browser brings back how far a document was scrolled; here the lists in it are. Kept in memory, as long as the page is.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Of so many entries, those that were left last. */
const KEPT_MAX = 50;

type Look = Map<string, unknown>;

const looks = new Map<number, Look>();
const readers = new Map<string, () => unknown>();

let entry = 0;
// The numbers of a page that was loaded before in this tab are not given again.
let last = Date.now();

/** The number of the entry that is shown. */
export const entryNow = (): number => entry;

/** Notes the look of what is left. */
export function leaveEntry(): void {
  const look: Look = new Map(looks.get(entry));
  for (const [name, read] of readers) look.set(name, read());
  looks.delete(entry);
  looks.set(entry, look);
  const [oldest] = looks.keys();
  if (looks.size > KEPT_MAX) looks.delete(oldest!);
}

/** The number of an entry that is made. */
export function nextEntry(): number {
  last += 1;
  return last;
}

/** Says which entry is shown from now on, by its state: its number. One that has none is given one. */
export function enterEntry(state: unknown): void {
  if (typeof state === "number") entry = state;
  else {
    entry = nextEntry();
    history.replaceState(entry, "");
  }
}

/** Forgets the look of the entry that is shown: something else has taken its place. */
export function forgetEntry(): void {
  looks.delete(entry);
}

/** Forgets the looks of all entries: somebody else is logged in, who is not to see what was filtered or open. */
export const forgetLooks = (): void => looks.clear();

/** What was noted under a name when the entry that is shown was left; undefined where nobody comes back to it. */
export const lookOf = <T>(name: string): T | undefined => looks.get(entry)?.get(name) as T | undefined;

/** Has something noted under a name whenever an entry is left. */
export function useLook<T>(name: string, read: () => T): void {
  const now = useRef(read);
  now.current = read;
  useLayoutEffect(() => {
    const reader = () => now.current();
    readers.set(name, reader);
    return () => {
      if (readers.get(name) === reader) readers.delete(name);
    };
  }, []);
}

/** A state that is on the way back as it was when the entry that is shown was left. */
export function useStateBack<T>(name: string, first: T): [T, (value: T) => void] {
  const [value, set] = useState(first);
  useLook(name, () => value);
  useLayoutEffect(() => {
    const was = lookOf<T>(name);
    if (was !== undefined) set(was);
  }, [entry]);
  return [value, set];
}

/**
 * Has something noted likewise that takes time to look so again. Gives what was noted when the entry that is shown was
 * left, and what says that it looks so, or is not to any more: until then it is not noted anew.
 */
export function useWayBack<T>(name: string, read: () => T): [T | undefined, () => void] {
  useLook(name, () => lookOf<T>(name) ?? read());
  return [lookOf<T>(name), () => looks.get(entry)?.delete(name)];
}
