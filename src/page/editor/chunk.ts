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

/** The editor, null until it has come, and whether it failed to; where a browser allows it, it is asked for again. */
export function useChunk(): { chunk: Chunk | null; failed: boolean } {
  const [state, set] = useState({ chunk: loaded, failed: false });
  useEffect(() => {
    if (state.chunk) return;
    let gone = false;
    const ask = () => {
      loadChunk().then(
        (chunk) => !gone && set({ chunk, failed: false }),
        () => {
          if (gone) return;
          set({ chunk: null, failed: true });
          setTimeout(ask, 2000);
        },
      );
    };
    ask();
    return () => {
      gone = true;
    };
  }, []);
  return state;
}
