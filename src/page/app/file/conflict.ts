// Two versions of one file: what came of them by itself.
import { COLOUR_MAX, type Decoded, type Form } from "../../editor/bytes.ts";
import { type Clash, merge } from "../../editor/merge.ts";
import type { Author, Found } from "./remote.ts";

/** A text and how it lies in its file. */
export interface Version {
  text: string;
  form: Form;
}

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
  merged: { text: string; clashes: Clash[]; form: Form } | null;
}

export function versionOf({ text, encoding, bom, end }: Decoded): Version {
  return { text, form: { encoding, bom, end } };
}

export function sameForm(a: Form, b: Form): boolean {
  return a.encoding === b.encoding && a.bom === b.bom && a.end === b.end;
}

/** Sets mine against what lies there now; `base` is what mine began from, as far as it is known. */
export function conflictOf(
  found: Found,
  mine: Version,
  base: Version | null,
  author: Author | null,
): Conflict | null {
  if (found.kind === "same") return null;
  const etag = found.kind === "none" ? null : found.etag;
  if (found.kind !== "text") return { mine, author, etag, theirs: null, merged: null };
  const theirs = versionOf(found.read);
  return { mine, author, etag, theirs, merged: mergeOf(base, mine, theirs) };
}

function mergeOf(base: Version | null, mine: Version, theirs: Version): Conflict["merged"] {
  if (mine.text.length > COLOUR_MAX || theirs.text.length > COLOUR_MAX) return null;
  // Where only one of the two has carriage returns in its lines, every line is another.
  if ((mine.form.end === "mixed") !== (theirs.form.end === "mixed")) return null;
  // Whoever changed the form keeps it; where only they did, theirs holds.
  const form = base && sameForm(mine.form, base.form) ? theirs.form : mine.form;
  if (!base) return { text: mine.text, clashes: [], form };
  const before = mine.form.end === "mixed" ? base.text : base.text.replace(/\r\n?/g, "\n");
  const { lines, clashes } = merge(before.split("\n"), mine.text.split("\n"), theirs.text.split("\n"));
  return { text: lines.join("\n"), clashes, form };
}
