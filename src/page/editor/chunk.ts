import { useEffect, useState } from "preact/hooks";

export type Chunk = typeof import("./host.ts");
let loading: Promise<Chunk> | null = null;
let loaded: Chunk | null = null;

/** Fetches the editor, once. */
export function loadChunk(): Promise<Chunk> {
  loading ??= import("./host.ts").then((chunk) => {
    loaded = chunk;
    return chunk;
  });
  loading.catch(() => {
    // Offline, or the service was updated: the next one who asks tries again.
    loading = null;
  });
  return loading;
}

/** The editor; null until it has come. It is fetched again each time something needs it and it is not there. */
export function useChunk(): Chunk | null {
  const [chunk, set] = useState(loaded);
  useEffect(() => {
    if (chunk) return;
    let gone = false;
    const ask = () => {
      loadChunk().then(
        (come) => !gone && set(() => come as never),
        () => !gone && setTimeout(ask, 2000),
      );
    };
    ask();
    return () => {
      gone = true;
    };
  }, []);
  return chunk;
}
