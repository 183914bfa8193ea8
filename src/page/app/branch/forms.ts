// How two states of a file differ beside their letters: such a change would look like none.
import type { Decoded, Form } from "../../editor/bytes.ts";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";

/** What forms are called. */
interface Names {
  encodingName: (encoding: Form["encoding"]) => string;
  lineEndName: (end: Form["end"]) => string;
}

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);

/** What is to be said of how two texts lie in their files. */
export function formsOf(before: Decoded, after: Decoded, names: Names): string[] {
  const told: string[] = [];
  // Without a single one of them there is nothing to be told apart.
  const ends = [before, after].every(({ text }) => /[\r\n]/.test(text));
  if (ends && before.end !== after.end) {
    told.push(t("endsOf", { before: names.lineEndName(before.end), after: names.lineEndName(after.end) }));
  }
  const wide = [before, after].some(({ encoding }) => encoding.startsWith("utf-16"));
  if (before.encoding !== after.encoding && (wide || !(isAscii(before.text) || isAscii(after.text)))) {
    const [old, young] = [before, after].map(({ encoding }) => names.encodingName(encoding));
    told.push(t("encodingOf", { before: old!, after: young! }));
  }
  if (before.bom !== after.bom) told.push(t(after.bom ? "markAdded" : "markRemoved"));
  return told;
}

/** What is to be said of who may run a file. */
export function modesOf(entry: Schemas["Difference"] | undefined): string[] {
  if (!entry?.old || !entry.new || entry.old.mode === entry.new.mode) return [];
  return [t(entry.new.mode === "100755" ? "runsNow" : "runsNoMore")];
}
