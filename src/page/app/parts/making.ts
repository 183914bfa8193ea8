// What this page changes of files and is not answered yet: it may be heard of before its answer.

/** Kept once all that was begun so far was answered: until then its commits are not known to be this page's. */
export let allMade: Promise<unknown> = Promise.resolve();

/** Notes a change that this page makes. */
export function making<T>(change: Promise<T>): Promise<T> {
  allMade = Promise.allSettled([allMade, change]).then(() => undefined);
  return change;
}
