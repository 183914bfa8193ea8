// Why a text is not saved, and what can be done about it.
import { type Encoding, MissingLetter } from "../../editor/bytes.ts";
import { type Broken, brokenIn, brokenWords } from "../../shared/rules.ts";
import { Failure } from "../api.ts";

/** Each has words of its own on the screen; the text is kept in all of them. */
export type SaveTrouble =
  /** It is saved as soon as the service answers again. */
  | { kind: "offline" }
  | { kind: "forbidden" }
  /** The branch or the project. */
  | { kind: "gone" }
  | { kind: "large" }
  | { kind: "full" }
  | { kind: "busy" }
  /** Of a rule of the project, if that is why. */
  | { kind: "refused"; message: string; broken: Broken | null }
  | { kind: "letter"; letter: string; encoding: Encoding; at: number }
  | { kind: "other"; message: string };

/** The trouble that an error of a save means. */
export function troubleOf(error: unknown): SaveTrouble {
  if (error instanceof MissingLetter) {
    return { kind: "letter", letter: error.letter, encoding: error.encoding, at: error.at };
  }
  if (!(error instanceof Failure)) return { kind: "other", message: String(error) };
  switch (error.status) {
    case 0:
      return { kind: "offline" };
    case 400:
      return refusal(error.detail);
    case 403:
      return { kind: "forbidden" };
    case 404:
      return { kind: "gone" };
    case 413:
      return { kind: "large" };
    case 429:
    case 503:
      return { kind: "busy" };
    case 507:
      return { kind: "full" };
    default:
      return { kind: "other", message: error.detail };
  }
}

/** Of the text, which may break a rule of the project. */
function refusal(message: string): SaveTrouble {
  const [broken = null] = brokenIn(message);
  return { kind: "refused", message: broken ? brokenWords(broken) : message, broken };
}
