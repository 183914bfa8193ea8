// Which 8-bit encoding a text has, Russian or of Western Europe. Nothing in the bytes says so for certain: each of
// them gives every byte a letter. A wrong guess is shown wrong and saved unchanged; the status line lets one choose.

import { western } from "./western.ts";

/** By the names of the Encoding Standard. */
export type EightBit = "windows-1251" | "ibm866" | "koi8-r" | "windows-1252";

/** How often each letter comes in 1,000 letters of Russian, а to я. */
const OFTEN = [
  80, 16, 45, 17, 30, 85, 9, 16, 73, 12, 35, 44, 32, 67, 110, 28, 47, 55, 63, 26, 3, 10, 5, 14, 7, 4, 1, 19,
  17, 3, 6, 20,
];
const OTHERS: readonly EightBit[] = ["ibm866", "koi8-r"];

/** The encoding that an XML declaration or these words speak for; Windows-1251 where nothing does. */
export function guess(sample: Uint8Array): EightBit {
  return declaredIn(western(sample.subarray(0, HEAD))) ?? byWords(sample);
}

/** Where a declaration is, in letters. */
const HEAD = 200;

/** The encoding that the first line of an XML file names, if it is one of these. */
export function declaredIn(text: string): EightBit | null {
  const found = /^<\?xml[^>]*\sencoding\s*=\s*["']([\w-]+)["']/.exec(text.slice(0, HEAD));
  const name = found?.[1]?.toLowerCase();
  if (name === "windows-1251" || name === "cp1251") return "windows-1251";
  if (name === "windows-1252" || name === "cp1252" || name === "iso-8859-1") return "windows-1252";
  if (name === "ibm866" || name === "cp866" || name === "866") return "ibm866";
  return name === "koi8-r" ? name : null;
}

/**
 * A word of Western Europe has one or two letters beyond ASCII in a row, beside such that are of it; one of Russian has
 * nothing else.
 */
function byWords(sample: Uint8Array): EightBit {
  const russian = byLetters(sample);
  const text = western(sample);
  let votes = 0;
  for (const [word] of text.matchAll(/\p{L}+/gu)) {
    const beyond = word.replace(/[a-z]/gi, "").length;
    if (beyond > 0 && beyond < word.length && !/[^a-z]{3}/i.test(word)) votes += beyond;
  }
  // What stands alone is a sign that Russian has at another place, or a French word that Russian texts have not alone.
  if (votes === 0 && /(?<!\P{ASCII})[€à](?!\P{ASCII})/u.test(text)) votes = 1;
  const read = new TextDecoder(russian).decode(sample);
  for (const [word] of read.matchAll(/\p{L}{2,}/gu)) if (/^[А-яЁё]+$/.test(word)) votes -= word.length;
  return votes > 0 ? "windows-1252" : russian;
}

function byLetters(sample: Uint8Array): EightBit {
  let best: EightBit = "windows-1251";
  // By chance one of the others may look a little better in a short text.
  let score = likeness(sample, best) * 1.25;
  for (const other of OTHERS) {
    const its = likeness(sample, other);
    if (its > score) [best, score] = [other, its];
  }
  return best;
}

/** The mean frequency of the letters beyond ASCII; an upper-case letter after a lower-case one counts against. */
function likeness(sample: Uint8Array, encoding: EightBit): number {
  const text = new TextDecoder(encoding).decode(sample);
  let sum = 0;
  let count = 0;
  let lower = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 128) {
      lower = false;
      continue;
    }
    count++;
    const isUpper = code >= 0x410 && code <= 0x42f;
    const isLower = code >= 0x430 && code <= 0x44f;
    if (isUpper) sum += lower ? -60 : (OFTEN[code - 0x410] ?? 0);
    else if (isLower) sum += OFTEN[code - 0x430] ?? 0;
    lower = isLower;
  }
  return count === 0 ? 0 : Math.max(0, sum / count);
}
