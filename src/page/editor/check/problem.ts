// What the checks of all formats tell.

/** The kinds of problems; the table of words has a sentence for each, under `check.<kind>`. */
export type ProblemKind =
  | "json.character"
  | "json.closing"
  | "json.comma"
  | "json.colon"
  | "json.comment"
  | "json.control"
  | "json.duplicate"
  | "json.empty"
  | "json.escape"
  | "json.key"
  | "json.number"
  | "json.quotes"
  | "json.rest"
  | "json.string"
  | "json.trailing"
  | "json.unclosed"
  | "json.value"
  | "xml.ampersand"
  | "xml.attribute"
  | "xml.closing"
  | "xml.comment"
  | "xml.control"
  | "xml.declaration"
  | "xml.doctype"
  | "xml.duplicate"
  | "xml.encoding"
  | "xml.empty"
  | "xml.entity"
  | "xml.less"
  | "xml.mismatch"
  | "xml.outside"
  | "xml.quote"
  | "xml.section"
  | "xml.second"
  | "xml.space"
  | "xml.tag"
  | "xml.unclosed"
  | "ini.duplicate"
  | "ini.line"
  | "ini.section"
  | "yaml.duplicate"
  | "yaml.indent"
  | "yaml.tab"
  | "yaml.unclosed"
  | "yaml.other"
  | "service";

/** A place in the text, in UTF-16 units, and what is wrong there. */
export interface Problem {
  from: number;
  to: number;
  kind: ProblemKind;
  /** Words for the sentence. */
  values?: Record<string, string>;
  /** A warning is no breach of the format. */
  warning?: boolean;
}

/** Ends a check at its first breach of the format. */
export class FoundProblem extends Error {
  constructor(readonly problem: Problem) {
    super(problem.kind);
  }
}
