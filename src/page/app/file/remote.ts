// What the open file asks of the service.
import { type Decoded, decode, decodeAgain, type Encoding, TEXT_MAX } from "../../editor/bytes.ts";
import { branchPath, filePath, hasStatus, query, read, type Schemas, send } from "../api.ts";
import { folder } from "../calls.ts";

/** Where a file lies; `at` is a snapshot, without it the branch as it is now. */
export interface Place {
  repo: string;
  branch: string;
  path: string;
  at?: string | undefined;
}

export interface FoundText {
  kind: "text";
  read: Decoded;
  etag: string;
  size: number;
}

/** What lies there. */
export type Found =
  | FoundText
  | { kind: "binary"; etag: string; size: number; image: string | null }
  | { kind: "large"; etag: string; size: number }
  | { kind: "none" }
  /** Still what the tag that was given says. */
  | { kind: "same" };

/** The largest image that is shown, in bytes. */
const IMAGE_MAX = 1 << 20;
const IMAGES: Readonly<Record<string, string>> = {
  png: "image/png",
  gif: "image/gif",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  ico: "image/x-icon",
  bmp: "image/bmp",
};

const urlOf = (place: Place): string => filePath(place.repo, place.branch, place.path, place.at);

/** The address that a browser downloads a file from. */
export const downloadUrl = urlOf;

/**
 * The tag that the service gave. A proxy that compresses makes it a weak one, or writes how it did so behind it: a
 * condition would never hold for that. The service's own are hexadecimal digits.
 */
const tagOf = (answer: Response): string =>
  (answer.headers.get("ETag") ?? "").replace(/^W\/|-\w+(?="$)/g, "");

interface How {
  /** The tag of what is here. */
  known?: string | null;
  /** The encoding it is to be read in. */
  as?: Encoding;
  /** The encoding that it was read in before. */
  chosen?: Encoding | null;
  signal?: AbortSignal;
}

/** Reads a file; of one that is too large to show only the size. */
export async function readFile(place: Place, how: How = {}): Promise<Found> {
  let answer: Response;
  try {
    answer = await send(urlOf(place), {
      ...(how.known ? { headers: { "If-None-Match": how.known } } : {}),
      ...(how.signal ? { signal: how.signal } : {}),
    });
  } catch (error) {
    if (hasStatus(error, 404)) return { kind: "none" };
    throw error;
  }
  if (answer.status === 304) return { kind: "same" };
  const etag = tagOf(answer);
  const told = Number(answer.headers.get("Content-Length"));
  if (told > TEXT_MAX) {
    await answer.body?.cancel();
    return { kind: "large", etag, size: told };
  }
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const size = bytes.length;
  if (size > TEXT_MAX) return { kind: "large", etag, size };
  const text = how.chosen && !how.as ? decodeAgain(bytes, how.chosen) : decode(bytes, how.as);
  return text
    ? { kind: "text", read: text, etag, size }
    : { kind: "binary", etag, size, image: await imageOf(place.path, bytes) };
}

/** Whether a folder is there in place of a file. */
export async function isFolder({ repo, branch, path, at }: Place, signal: AbortSignal): Promise<boolean> {
  try {
    return (await folder(repo, branch, at, path, { signal, limit: 1 })).entries.length > 0;
  } catch {
    return false;
  }
}

async function imageOf(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<string | null> {
  const type = IMAGES[path.slice(path.lastIndexOf(".") + 1).toLowerCase()];
  if (!type || bytes.length > IMAGE_MAX) return null;
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => resolve(null);
    reader.readAsDataURL(new Blob([bytes], { type }));
  });
}

/** Null stands for a file that must not be there yet. */
const condition = (etag: string | null): Record<string, string> =>
  etag === null ? { "If-None-Match": "*" } : { "If-Match": etag };

/** Saves a file if it still is what `etag` says. */
export async function saveFile(
  place: Place,
  bytes: BodyInit,
  etag: string | null,
  message: string,
): Promise<Schemas["SavedFile"]> {
  return read<Schemas["SavedFile"]>(urlOf(place) + query({ message: message.trim() }), {
    method: "PUT",
    body: bytes,
    headers: { "Content-Type": "application/octet-stream", ...condition(etag) },
  });
}

/** Deletes a file if it still is what `etag` says. */
export async function deleteFile(place: Place, etag: string): Promise<Schemas["DeletedFile"]> {
  return read<Schemas["DeletedFile"]>(urlOf(place), { method: "DELETE", headers: condition(etag) });
}

/** Who changed something, and when. */
export interface Author {
  who: string;
  at: string;
}

/** What changed a file last; null where that is not known. */
export async function lastChange({ repo, branch, path }: Place): Promise<Schemas["Snapshot"] | null> {
  try {
    const list = await read<Schemas["Snapshot"][]>(
      `${branchPath(repo, branch)}/history${query({ path, limit: 1 })}`,
    );
    return list[0] ?? null;
  } catch {
    return null;
  }
}

/** Who changed a file last; null where that is not known. */
export async function lastAuthor(place: Place): Promise<Author | null> {
  const last = await lastChange(place);
  return last && { who: last.created_by, at: last.created_at };
}
