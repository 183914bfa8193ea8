// Whether the service answers: who asks it tells, and who waits for it hears.
const listeners = new Set<(reachable: boolean) => void>();

/** Tells whenever a request was answered, or was not. */
export function onReach(listener: (reachable: boolean) => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** Says that the service answered, or did not. */
export const reached = (reachable: boolean): void => {
  for (const listener of listeners) listener(reachable);
};

/** Says once that the service answers again; gives what ends that. */
export function onBack(listener: () => void): () => void {
  const stop = onReach((reachable) => {
    if (!reachable) return;
    stop();
    listener();
  });
  return stop;
}
