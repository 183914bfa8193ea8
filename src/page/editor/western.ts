// Windows-1252, which files of Western Europe have that are no UTF-8. By the Encoding Standard each byte is a letter:
// the five that Windows leaves free are control characters.

/** The letters of the bytes from 0x80 to 0x9f. */
const LETTERS = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

/** Reads bytes as Windows-1252. */
export function western(bytes: Uint8Array): string {
  const text = new TextDecoder("windows-1252").decode(bytes);
  // Not each engine has a table of its own for it: some read ISO 8859-1.
  return text.replace(/[\x80-\x9f]/g, (letter) => LETTERS[letter.charCodeAt(0) - 128] ?? letter);
}
