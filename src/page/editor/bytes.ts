// A file is bytes; what is shown of it is text.

/** Most bytes of a file that is compared on the screen. */
export const COMPARED_MAX = 2 << 20;

export interface Decoded {
  text: string;
  encoding: string;
}

/** The text of a file, or null where it is none. */
export function decode(bytes: Uint8Array): Decoded | null {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), encoding: "utf-8" };
  } catch {
    return null;
  }
}

/** The language of a file by its name. */
export function language(_path: string): string {
  return "text";
}
