// Two versions of one file: what came of them by itself.
import { COLOUR_MAX, type Decoded, type Form } from "../../../editor/bytes.ts";
import { type Lines, merge } from "../../../editor/merge.ts";
import type { LeftMerge, Version } from "../../../shared/drafts.ts";
import type { Author, Found } from "../remote.ts";

/** Mine and theirs, which came from one version. */
export interface Conflict {
  mine: Version;
  /** Who saved theirs, as far as it is known. */
  author: Author | null;
  /** The tag that the next save has to name; null: the file is not there any more. */
  etag: string | null;
  /** Null: it was deleted, or is no text. */
  theirs: Version | null;
  /** Null where the two cannot be shown side by side. */
  merged: Merged | null;
}

/** What is made of both: the text as it stands, and its lines that both had changed. */
export interface Merged {
  text: string;
  clashes: Lines[];
  form: Form;
  /** It was begun before, and left. */
  again?: boolean;
}

export function versionOf({ text, encoding, bom, end }: Decoded): Version {
  return { text, form: { encoding, bom, end } };
}

export function sameForm(a: Form, b: Form): boolean {
  return a.encoding === b.encoding && a.bom === b.bom && a.end === b.end;
}

/** Sets mine against what lies there now; `base` is what mine began from: an empty text where that is not known. */
export function conflictOf(
  found: Found,
  mine: Version,
  base: Version,
  author: Author | null,
): Conflict | null {
  if (found.kind === "same") return null;
  const etag = found.kind === "none" ? null : found.etag;
  if (found.kind !== "text") return { mine, author, etag, theirs: null, merged: null };
  const theirs = versionOf(found.read);
  return { mine, author, etag, theirs, merged: mergeOf(base, mine, theirs) };
}

/** Goes on with a merge that was left; what either side has changed since is taken into it. */
export function takeUp(conflict: Conflict, left: LeftMerge | null): Conflict {
  const { mine, theirs, merged } = conflict;
  if (!left || !theirs || !merged) return conflict;
  const own = merge(linesOf(left.mine.text), linesOf(left.text), linesOf(mine.text));
  const both = merge(linesOf(left.theirs.text), own.lines, linesOf(theirs.text));
  const text = both.lines.join("\n");
  const clashes = text === left.text ? left.clashes : placesOf(both);
  return { ...conflict, merged: { ...merged, text, clashes, again: true } };
}

/** An empty text has none: two texts that began from it have no line in common that they had from there. */
const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));
const placesOf = ({ clashes }: ReturnType<typeof merge>): Lines[] => clashes.map((clash) => clash.merged);

function mergeOf(base: Version, mine: Version, theirs: Version): Merged | null {
  if (mine.text.length > COLOUR_MAX || theirs.text.length > COLOUR_MAX) return null;
  // Where only one of the two has carriage returns in its lines, every line is another.
  if ((mine.form.end === "mixed") !== (theirs.form.end === "mixed")) return null;
  // Whoever changed the form keeps it; where only they did, theirs holds.
  const form = sameForm(mine.form, base.form) ? theirs.form : mine.form;
  const before = mine.form.end === "mixed" ? base.text : base.text.replace(/\r\n?/g, "\n");
  const both = merge(linesOf(before), linesOf(mine.text), linesOf(theirs.text));
  return { text: both.lines.join("\n"), clashes: placesOf(both), form };
}
