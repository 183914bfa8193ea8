// A tar archive of files that a browser holds: one request, one snapshot, nothing read into memory before it
// is sent.

/** A file and the path that it gets. */
export interface Dropped {
  path: string;
  file: Blob;
  /** The file's bit, which an archive always tells; of a file that is replaced it is to stay as it was. */
  executable?: boolean;
}

const BLOCK = 512;

/** One archive of all files. Every name goes into a pax record: any length, any letter. */
export function tar(files: readonly Dropped[]): Blob {
  const parts: BlobPart[] = [];
  files.forEach(({ path, file, executable }, index) => {
    const record = paxRecord("path", path);
    parts.push(header("pax", record.length, "x", false), record, padding(record.length));
    parts.push(header(`file${index}`, file.size, "0", executable ?? false), file, padding(file.size));
  });
  parts.push(new Uint8Array(2 * BLOCK));
  return new Blob(parts, { type: "application/x-tar" });
}

/** Bytes that a file takes in an archive: its own in whole blocks, and those of its name. */
export function tarSize({ path, file }: Dropped): number {
  const whole = (size: number) => Math.ceil(size / BLOCK) * BLOCK;
  return 2 * BLOCK + whole(paxRecord("path", path).length) + whole(file.size);
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): Uint8Array<ArrayBuffer> {
  const rest = new TextEncoder().encode(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return new TextEncoder().encode(`${length} ${key}=${value}\n`);
}

function header(name: string, size: number, type: string, executable: boolean): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const put = (text: string, at: number) => block.set(new TextEncoder().encode(text), at);
  put(name, 0);
  put(executable ? "0000755\0" : "0000644\0", 100);
  put("0000000\0", 108);
  put("0000000\0", 116);
  put(`${size.toString(8).padStart(11, "0")}\0`, 124);
  put("00000000000\0", 136);
  put("        ", 148); // the sum is taken with blanks in its own place
  put(type, 156);
  put("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

function padding(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
