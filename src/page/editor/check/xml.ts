// Whether a text is well-formed XML (XML 1.0, without what a DTD says). The browser's own parser is out of
// reach: the page's policy lets no text become a document.
import { FoundProblem, type Problem, type ProblemKind } from "./problem.ts";

const NAME = /[\p{L}_:][\p{L}\p{M}\p{N}_:.\-\u00b7]*/uy;
const SPACE = /[ \t\r\n]+/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;
const REFERENCE = /&(?:#[0-9]+|#x[0-9a-fA-F]+|[\p{L}_:][\p{L}\p{M}\p{N}_:.\-\u00b7]*);/uy;
const KNOWN = new Set(["&lt;", "&gt;", "&amp;", "&apos;", "&quot;"]);

interface Open {
  name: string;
  at: number;
}

class XmlScanner {
  private at = 0;
  private readonly open: Open[] = [];
  private hasRoot = false;
  private hasDoctype = false;
  /** The next "&", -1 behind the last one; -2: not looked for yet. */
  private amp = -2;

  constructor(private readonly text: string) {}

  scan(): void {
    const control = CONTROL.exec(this.text);
    if (this.text.startsWith("\ufeff")) this.at = 1;
    while (this.at < this.text.length) {
      const next = this.text.indexOf("<", this.at);
      this.content(next < 0 ? this.text.length : next);
      if (next >= 0) this.markup();
    }
    const last = this.open.at(-1);
    if (last) this.fail("xml.unclosed", last.at, last.at + last.name.length + 1, { name: last.name });
    if (!this.hasRoot) this.fail("xml.empty", 0, 0);
    if (control) this.fail("xml.control", control.index, control.index + 1);
  }

  private fail(kind: ProblemKind, from: number, to: number, values?: Record<string, string>): never {
    throw new FoundProblem({ kind, from, to: Math.max(from, Math.min(to, this.text.length)), values });
  }

  /** Text up to the next tag. */
  private content(end: number): void {
    if (this.open.length === 0) {
      const letter = /[^ \t\r\n]/.exec(this.text.slice(this.at, end));
      if (letter) this.fail("xml.outside", this.at + letter.index, end);
    }
    this.references(this.at, end);
    this.at = end;
  }

  private references(from: number, to: number): void {
    // Not for each attribute anew: where there are few, that is a walk through all the rest of the text.
    if (this.amp !== -1 && this.amp < from) this.amp = this.text.indexOf("&", from);
    for (let i = this.amp; i >= 0 && i < to; i = this.amp) {
      const found = this.match(REFERENCE, i);
      if (!found || i + found.length > to) this.fail("xml.ampersand", i, i + 1);
      // What a document type defines is not known here.
      if (!found.startsWith("&#") && !KNOWN.has(found) && !this.hasDoctype) {
        this.fail("xml.entity", i, i + found.length, { name: found });
      }
      this.amp = this.text.indexOf("&", i + 1);
    }
  }

  private markup(): void {
    const { text, at } = this;
    if (text.startsWith("<!--", at)) this.comment();
    else if (text.startsWith("<![CDATA[", at)) this.section();
    else if (text.startsWith("<?", at)) this.instruction();
    else if (text.startsWith("<!DOCTYPE", at)) this.doctype();
    else if (text.startsWith("</", at)) this.closing();
    else this.opening();
  }

  private comment(): void {
    const dashes = this.text.indexOf("--", this.at + 4);
    if (dashes < 0 || this.text[dashes + 2] !== ">") this.fail("xml.comment", this.at, this.at + 4);
    this.at = dashes + 3;
  }

  private section(): void {
    const end = this.text.indexOf("]]>", this.at);
    if (end < 0) this.fail("xml.section", this.at, this.at + 9);
    if (this.open.length === 0) this.fail("xml.outside", this.at, end);
    this.at = end + 3;
  }

  private instruction(): void {
    const end = this.text.indexOf("?>", this.at);
    if (end < 0) this.fail("xml.tag", this.at, this.at + 2);
    const misplaced = this.at > 0 && this.text[this.at - 1] !== "\ufeff";
    if (misplaced && /^<\?xml[ \t\r\n]/i.test(this.text.slice(this.at, this.at + 6))) {
      this.fail("xml.declaration", this.at, end + 2);
    }
    this.at = end + 2;
  }

  /** To the bracket that ends it: quotes and an inner subset may hold others. */
  private doctype(): void {
    const start = this.at;
    let depth = 0;
    for (let i = start + 9; i < this.text.length; i++) {
      const letter = this.text[i];
      if (letter === '"' || letter === "'") {
        i = this.text.indexOf(letter, i + 1);
        if (i < 0) break;
      } else if (letter === "[") depth++;
      else if (letter === "]") depth--;
      else if (letter === ">" && depth === 0) {
        this.hasDoctype = true;
        this.at = i + 1;
        return;
      }
    }
    this.fail("xml.doctype", start, start + 9);
  }

  private closing(): void {
    const start = this.at;
    const name = this.match(NAME, start + 2);
    const end = start + 2 + name.length;
    const close = end + this.match(SPACE, end).length;
    if (!name || this.text[close] !== ">") this.fail("xml.tag", start, end);
    const last = this.open.pop();
    if (!last) this.fail("xml.closing", start, close + 1, { name });
    if (last.name !== name) {
      this.fail("xml.mismatch", start, close + 1, {
        name,
        open: last.name,
        line: String(this.line(last.at)),
      });
    }
    this.at = close + 1;
  }

  private opening(): void {
    const start = this.at;
    const name = this.match(NAME, start + 1);
    if (!name) this.fail("xml.less", start, start + 1);
    if (this.hasRoot && this.open.length === 0)
      this.fail("xml.second", start, start + 1 + name.length, { name });
    this.hasRoot = true;
    this.at = start + 1 + name.length;
    const known = new Set<string>();
    for (;;) {
      const space = this.match(SPACE, this.at);
      this.at += space.length;
      if (this.text.startsWith("/>", this.at)) {
        this.at += 2;
        return;
      }
      if (this.text[this.at] === ">") {
        this.at += 1;
        this.open.push({ name, at: start });
        return;
      }
      this.attribute(start, name, known, space !== "");
    }
  }

  private attribute(start: number, tag: string, known: Set<string>, spaced: boolean): void {
    const from = this.at;
    const name = this.match(NAME, from);
    if (!name) this.fail("xml.tag", start, start + tag.length + 1);
    if (!spaced) this.fail("xml.space", from, from + name.length, { name });
    if (known.has(name)) this.fail("xml.duplicate", from, from + name.length, { name });
    known.add(name);
    this.at += name.length;
    this.at += this.match(SPACE, this.at).length;
    if (this.text[this.at] !== "=") this.fail("xml.attribute", from, from + name.length, { name });
    this.at += 1;
    this.at += this.match(SPACE, this.at).length;
    const quote = this.text[this.at];
    if (quote !== '"' && quote !== "'") this.fail("xml.attribute", from, this.at, { name });
    const end = this.text.indexOf(quote, this.at + 1);
    const isOpen = end < 0 || this.text.slice(this.at + 1, end).includes("<");
    if (isOpen) this.fail("xml.quote", from, this.at + 1, { name });
    this.references(this.at + 1, end);
    this.at = end + 1;
  }

  private match(pattern: RegExp, at: number): string {
    pattern.lastIndex = at;
    return pattern.exec(this.text)?.[0] ?? "";
  }

  private line(at: number): number {
    let line = 1;
    for (let i = this.text.indexOf("\n"); i >= 0 && i < at; i = this.text.indexOf("\n", i + 1)) line++;
    return line;
  }
}

/** The first breach of the rules, or nothing: behind it everything else would only follow from it. */
export function checkXml(text: string): Problem[] {
  try {
    new XmlScanner(text).scan();
    return [];
  } catch (error) {
    if (error instanceof FoundProblem) return [error.problem];
    throw error;
  }
}

const DECLARED = /^\ufeff?<\?xml[^>]*?\sencoding\s*=\s*["']([^"']+)["']/;
const ALIASES: Readonly<Record<string, string>> = {
  "utf-16": "utf-16le",
  utf8: "utf-8",
  cp1251: "windows-1251",
  cp1252: "windows-1252",
  "iso-8859-1": "windows-1252",
  cp866: "ibm866",
  "us-ascii": "utf-8",
};

/** A warning where the XML declaration names another encoding than the one that the file is saved in. */
export function checkDeclaration(head: string, encoding: string): Problem[] {
  const found = DECLARED.exec(head);
  const name = found?.[1];
  if (!found || !name) return [];
  const declared = ALIASES[name.toLowerCase()] ?? name.toLowerCase();
  if (declared === encoding || (declared === "utf-16le" && encoding === "utf-16be")) return [];
  const from = found[0].lastIndexOf(name);
  return [{ kind: "xml.encoding", from, to: from + name.length, values: { name, encoding }, warning: true }];
}
