// Whether a text is JSON (RFC 8259), and where not. Own, because the words of `JSON.parse` differ from
// browser to browser and none of them tells of keys that come twice.
import { FoundProblem, type Problem, type ProblemKind } from "./problem.ts";

const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const PLAIN = /[^"\\\x00-\x1f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LITERALS = new Set(["true", "false", "null"]);

interface Level {
  at: number;
  /** The keys so far; null in an array. */
  keys: Set<string> | null;
}

class JsonScanner {
  private at = 0;
  private readonly levels: Level[] = [];
  readonly warnings: Problem[] = [];

  constructor(private readonly text: string) {}

  /** Values, one after the other, without calls within calls: depth has no limit. */
  scan(): void {
    this.space();
    if (this.at === this.text.length) this.fail("json.empty", 0, 0);
    for (let more = true; more; ) {
      if (this.value()) continue;
      more = false;
      while (this.levels.length > 0 && !more) {
        if (this.after()) this.levels.pop();
        else more = true;
      }
    }
    this.space();
    if (this.at < this.text.length) this.fail("json.rest", this.at, this.text.length);
  }

  private fail(kind: ProblemKind, from: number, to: number, values?: Record<string, string>): never {
    throw new FoundProblem({ kind, from, to: Math.min(to, this.text.length), values });
  }

  /** Reads a value, or the start of an object or an array: then it is true, and the first value inside follows. */
  private value(): boolean {
    this.space();
    const { at } = this;
    const letter = this.text[at];
    if (letter === "{" || letter === "[") {
      this.at++;
      this.levels.push({ at, keys: letter === "{" ? new Set() : null });
      this.space();
      if (this.text[this.at] === (letter === "{" ? "}" : "]")) {
        this.at++;
        this.levels.pop();
        return false;
      }
      if (letter === "{") this.key();
      return true;
    }
    if (letter === '"') this.string();
    else if (letter === "'") this.fail("json.quotes", at, at + 1);
    else if (letter === "-" || (letter !== undefined && letter >= "0" && letter <= "9")) this.number();
    else this.word(letter);
    return false;
  }

  private word(letter: string | undefined): void {
    const { at } = this;
    const word = this.match(WORD);
    if (LITERALS.has(word)) return;
    const level = this.levels.at(-1);
    if (letter === undefined && level) this.unclosed(level);
    if (word) this.fail("json.value", at, at + word.length, { word });
    if (letter === "}" || letter === "]") this.fail("json.trailing", at, at + 1, { letter });
    this.fail("json.character", at, at + 1, { letter: letter ?? "" });
  }

  private number(): void {
    const { at } = this;
    const number = this.match(NUMBER);
    const next = this.text[this.at] ?? "";
    if (!number || /[\w.+-]/.test(next)) this.fail("json.number", at, this.at + 1);
  }

  private string(): string {
    const start = this.at++;
    for (;;) {
      this.match(PLAIN);
      const letter = this.text[this.at];
      if (letter === '"') {
        this.at++;
        return this.text.slice(start, this.at);
      }
      if (letter === undefined || letter === "\n") this.fail("json.string", start, this.at);
      if (letter !== "\\") this.fail("json.control", this.at, this.at + 1);
      if (!this.match(ESCAPE)) this.fail("json.escape", this.at, this.at + 2);
    }
  }

  private key(): void {
    this.space();
    const { at } = this;
    const letter = this.text[at];
    const level = this.levels.at(-1);
    if (letter === undefined && level) this.unclosed(level);
    if (letter === "'") this.fail("json.quotes", at, at + 1);
    if (letter === "}") this.fail("json.trailing", at, at + 1, { letter });
    if (letter !== '"') this.fail("json.key", at, at + Math.max(1, this.match(WORD).length));
    const key = this.string();
    if (level?.keys?.has(key)) {
      this.warnings.push({ kind: "json.duplicate", from: at, to: this.at, values: { key }, warning: true });
    }
    level?.keys?.add(key);
    this.space();
    if (this.text[this.at] !== ":") this.fail("json.colon", at, this.at, { key });
    this.at++;
  }

  /** What follows a value: true if that ends the object or the array, false if another value comes. */
  private after(): boolean {
    this.space();
    const level = this.levels.at(-1);
    if (!level) return true;
    const letter = this.text[this.at];
    const end = level.keys ? "}" : "]";
    if (letter === end) {
      this.at++;
      return true;
    }
    if (letter === undefined) this.unclosed(level);
    if (letter === "}" || letter === "]") this.fail("json.closing", this.at, this.at + 1, { end, letter });
    if (letter !== ",") this.fail("json.comma", this.at, this.at + 1, { end });
    this.at++;
    if (level.keys) this.key();
    return false;
  }

  private unclosed(level: Level): never {
    this.fail("json.unclosed", level.at, level.at + 1, { end: level.keys ? "}" : "]" });
  }

  private space(): void {
    this.match(SPACE);
    if (this.text[this.at] === "/" && /^\/[/*]/.test(this.text.slice(this.at, this.at + 2))) {
      this.fail("json.comment", this.at, this.at + 2);
    }
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }
}

/** The first breach of the rules, and the keys before it that come twice in one object. */
export function checkJson(text: string): Problem[] {
  const scanner = new JsonScanner(text);
  try {
    scanner.scan();
    return scanner.warnings;
  } catch (error) {
    if (error instanceof FoundProblem) return [...scanner.warnings, error.problem];
    throw error;
  }
}
