import { useEffect, useState } from "preact/hooks";
import { API, read, type Schemas } from "../api.ts";

const AGAIN_MS = 10_000;

export interface Watched {
  /** What came last, and when, and after how many milliseconds; null before anything did. */
  last: { service: Schemas["Service"]; at: string; took: number } | null;
  /** Why nothing came the last time. */
  error: unknown;
  again: () => void;
}

/** How the service is: asked every ten seconds while somebody sees it. */
export function useService(): Watched {
  const [last, setLast] = useState<Watched["last"]>(null);
  const [error, fail] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    const look = async () => {
      clearTimeout(timer);
      if (document.hidden || asking) return;
      asking = true;
      const began = performance.now();
      try {
        const service = await read<Schemas["Service"]>(`${API}/service`, { signal });
        const took = Math.max(1, Math.round(performance.now() - began));
        setLast({ service, at: new Date().toISOString(), took });
        fail(null);
      } catch (error) {
        if (!signal.aborted) fail(error);
      }
      asking = false;
      if (!signal.aborted) timer = setTimeout(look, AGAIN_MS);
    };
    void look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      clearTimeout(timer);
      abort.abort();
    };
  }, [turn]);
  return { last, error, again: () => setTurn(turn + 1) };
}
