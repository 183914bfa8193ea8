// Whether the service answers at all, and takes changes; to ask costs no session.
import { t } from "../../shared/text.ts";
import { API, Failure, reached, send } from "../api.ts";

/** A network may swallow what is sent and say nothing: after this time, in milliseconds, the service counts as away. */
const PATIENCE_MS = 8000;

async function ask(): Promise<void> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), PATIENCE_MS);
  try {
    await send(`${API}/erp-config/health`, { quiet: true, signal: abort.signal }, 0);
  } catch (error) {
    if (!abort.signal.aborted) throw error;
    reached(false);
    throw new Failure(0, t("offline"));
  } finally {
    clearTimeout(timer);
  }
}

let asking: Promise<void> | null = null;

/**
 * Asks, or waits with those who have asked already.
 * @throws Failure where the service does not answer, or takes no changes.
 */
export function health(): Promise<void> {
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
}
