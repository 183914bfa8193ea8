// Passwords that are made up: 20 characters, 100 bits. None of them is taken for another when it is read aloud.
const LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";
const LENGTH = 20;
const GROUP = 5;

/** A password in groups of five: `k3vqm-…`. */
export function madeUp(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(LENGTH));
  // 32 letters: the last five bits of a byte are one of them, each as likely as the others.
  const letters = Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join("");
  return letters.match(new RegExp(`.{${GROUP}}`, "g"))!.join("-");
}
