// What the service refuses, in the words of the page.
import { Failure } from "../api.ts";

/** What it says, and the words for that, which may need what is in the groups. */
export type Refusals = [RegExp, (groups: Record<string, string>) => string][];

/** The same error in the words of the page, where it is one of these. */
export function explained(error: unknown, refusals: Refusals): unknown {
  if (!(error instanceof Failure)) return error;
  for (const [pattern, words] of refusals) {
    const found = pattern.exec(error.detail);
    // Of a status that has no words of its own, so that these are told.
    if (found) return new Failure(400, words({ ...found.groups }));
  }
  return error;
}
