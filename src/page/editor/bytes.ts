// A file is bytes; the editor shows text. What is saved has the encoding, the byte order mark and the
// line ends that were read, so that a difference shows what somebody changed and nothing else.

import { declaredIn, type EightBit, guess } from "./guess.ts";
import { western } from "./western.ts";

export { type Language, language } from "./language.ts";

/** The largest file that is shown as text, in bytes. */
export const TEXT_MAX = 32 << 20;
/** The largest text that is coloured and checked, in bytes. */
export const COLOUR_MAX = 2 << 20;
/** Most bytes of a file that is compared on the screen. */
export const COMPARED_MAX = 2 << 20;

/** By the names of the Encoding Standard. */
export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | EightBit;
/** `mixed` keeps every carriage return in the text itself. */
export type LineEnd = "\n" | "\r\n" | "\r" | "mixed";

/** How a text lies in its file. */
export interface Form {
  encoding: Encoding;
  bom: boolean;
  end: LineEnd;
}

/** A text whose lines end with `\n`, except that of a mixed file, which is as it was read. */
export interface Decoded extends Form {
  text: string;
}

/** All encodings that a file can be read and saved in, in the order to offer them. */
export const ENCODINGS: readonly Encoding[] = [
  "utf-8",
  "windows-1251",
  "ibm866",
  "koi8-r",
  "windows-1252",
  "utf-16le",
  "utf-16be",
];

/** What a new file gets. */
export const NEW: Form = { encoding: "utf-8", bom: false, end: "\n" };

/** Thrown by `encode` for the first letter that the encoding does not have. */
export class MissingLetter extends Error {
  /** `at` counts UTF-16 units from the start of the text. */
  constructor(
    readonly letter: string,
    readonly encoding: Encoding,
    readonly at: number,
  ) {
    super(`${encoding} has no letter ${letter}`);
  }
}

/** Bytes at the start that are searched for what no text has. */
const SAMPLE = 65_536;

/**
 * Reads a file as text. Without `encoding` it is found: by the byte order mark, as UTF-8, by zero bytes in
 * turn as UTF-16, by the declaration of an XML file, and last by its words.
 * Null if it is binary, or not of the encoding that is asked for.
 */
export function decode(bytes: Uint8Array, encoding?: Encoding): Decoded | null {
  const mark = markOf(bytes);
  const chosen = encoding ?? mark?.encoding ?? find(bytes);
  if (chosen === null) return null;
  const bom = mark?.encoding === chosen;
  const text = strict(chosen, bom && mark ? bytes.subarray(mark.length) : bytes);
  return text === null ? null : withEnds(text, chosen, bom);
}

/**
 * Reads a file in the encoding that somebody chose for it as it was before. Any bytes can be read in an 8-bit one:
 * those that have become something else for certain, a binary file or one of UTF, are found to be that. And almost any
 * even number of bytes can be read as UTF-16: those that are found to be another text are that.
 */
export function decodeAgain(bytes: Uint8Array, chosen: Encoding): Decoded | null {
  const found = decode(bytes);
  const isCertain = !found || (found.encoding.startsWith("utf") && /[\u0080-\uffff]/.test(found.text));
  if (isCertain && !chosen.startsWith("utf")) return found;
  if (chosen.startsWith("utf-16") && found && found.encoding !== chosen) return found;
  return decode(bytes, chosen) ?? found;
}

/**
 * Reads two states of a file. Where an encoding of each was guessed, that of the larger holds for both; where one is
 * certain, the other was guessed right if the texts are then the same.
 */
export function decodeBoth(
  a: Uint8Array | null,
  b: Uint8Array | null,
): readonly [Decoded | null, Decoded | null] {
  const [one, other] = [a && decode(a), b && decode(b)];
  if (!a || !b || !one || !other || one.encoding === other.encoding) return [one, other];
  const [first, second] = [isGuessed(one.text, one), isGuessed(other.text, other)];
  if (first && second) {
    return a.length > b.length ? [one, decode(b, one.encoding)] : [decode(a, other.encoding), other];
  }
  if (first) return [sameAs(a, other.text) ?? one, other];
  return [one, (second && sameAs(b, one.text)) || other];
}

/** Reads a file in the 8-bit encoding in which it is this text. */
function sameAs(bytes: Uint8Array, text: string): Decoded | null {
  const all = ENCODINGS.filter((encoding) => !encoding.startsWith("utf"));
  return all.map((one) => decode(bytes, one)).find((read) => read?.text === text) ?? null;
}

/** The bytes of a text in a form. Throws `MissingLetter`. */
export function encode(text: string, form: Form): Uint8Array<ArrayBuffer> {
  const whole = form.end === "mixed" ? text : withEnd(text, form.end);
  const lone = /\p{Surrogate}/u.exec(whole);
  if (lone) throw new MissingLetter(lone[0], form.encoding, lone.index);
  switch (form.encoding) {
    case "utf-8":
      return new TextEncoder().encode(form.bom ? `\ufeff${whole}` : whole);
    case "utf-16le":
    case "utf-16be":
      return sixteenBits(form.bom ? `\ufeff${whole}` : whole, form.encoding === "utf-16le");
    default:
      return eightBits(whole, form.encoding);
  }
}

function withEnd(text: string, end: string): string {
  return end === "\n" && !text.includes("\r") ? text : text.replace(/\r\n?|\n/g, end);
}

/** The kind of line end of a text that may have any. */
export function lineEnd(text: string): LineEnd {
  let crlf = 0;
  let cr = 0;
  for (let i = text.indexOf("\r"); i >= 0; i = text.indexOf("\r", i + 1)) {
    if (text.charCodeAt(i + 1) === 10) crlf++;
    else cr++;
  }
  // Without any carriage return nothing else need be counted.
  if (crlf === 0 && cr === 0) return "\n";
  let lf = -crlf;
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) lf++;
  if (lf > 0 || (crlf > 0 && cr > 0)) return "mixed";
  return crlf > 0 ? "\r\n" : "\r";
}

/** Whether bytes are so, without a word of it in them: then it is a guess by their letters. */
export function isGuessed(text: string, { encoding }: Form): boolean {
  return !encoding.startsWith("utf") && declaredIn(text) !== encoding;
}

function withEnds(text: string, encoding: Encoding, bom: boolean): Decoded {
  const end = lineEnd(text);
  const plain =
    end === "\r\n" ? text.replaceAll("\r\n", "\n") : end === "\r" ? text.replaceAll("\r", "\n") : text;
  return { text: plain, encoding, bom, end };
}

function markOf(bytes: Uint8Array): { encoding: Encoding; length: number } | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { encoding: "utf-8", length: 3 };
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf-16le", length: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16be", length: 2 };
  return null;
}

function find(bytes: Uint8Array): Encoding | null {
  const sample = bytes.subarray(0, SAMPLE);
  if (sample.includes(0)) return zeroBytes(sample);
  if (strict("utf-8", bytes) !== null) return "utf-8";
  return sample.some(isControl) ? null : guess(sample);
}

/** Whether this is a control character that no text has. */
const isControl = (code: number): boolean =>
  code < 9 || (code > 13 && code < 32 && code !== 0x1a && code !== 0x1b);

/** UTF-16 without a mark: at least half of the units are of the first 256 letters, and none is a control character. */
function zeroBytes(sample: Uint8Array): Encoding | null {
  const zeros = [0, 0];
  for (let i = 0; i < sample.length; i++) if (sample[i] === 0) zeros[i % 2] = (zeros[i % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (even > 0 && odd > 0) return null;
  if ((even + odd) * 4 < sample.length) return null;
  const encoding = odd > 0 ? "utf-16le" : "utf-16be";
  for (const letter of new TextDecoder(encoding).decode(sample))
    if (isControl(letter.charCodeAt(0))) return null;
  return encoding;
}

/** Null where the bytes are not of the encoding, or would not come back the same. */
function strict(encoding: Encoding, bytes: Uint8Array): string | null {
  if (encoding.startsWith("utf-16") && bytes.length % 2 === 1) return null;
  if (encoding === "windows-1252") return western(bytes);
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function sixteenBits(text: string, little: boolean): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(text.length * 2));
  for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), little);
  return new Uint8Array(view.buffer);
}

const tables = new Map<EightBit, Map<string, number>>();

/** The byte of each letter. Each of these encodings gives every byte a letter of its own. */
function table(encoding: EightBit): Map<string, number> {
  let letters = tables.get(encoding);
  if (!letters) {
    const all =
      strict(
        encoding,
        Uint8Array.from({ length: 256 }, (_, byte) => byte),
      ) ?? "";
    letters = new Map([...all].map((letter, byte) => [letter, byte]));
    tables.set(encoding, letters);
  }
  return letters;
}

function eightBits(text: string, encoding: EightBit): Uint8Array<ArrayBuffer> {
  const letters = table(encoding);
  const bytes = new Uint8Array(text.length);
  let length = 0;
  let at = 0;
  for (const letter of text) {
    const code = letter.charCodeAt(0);
    const byte = code < 128 ? code : letters.get(letter);
    if (byte === undefined) throw new MissingLetter(letter, encoding, at);
    bytes[length++] = byte;
    at += letter.length;
  }
  return bytes.subarray(0, length);
}
