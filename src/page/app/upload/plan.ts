// What an upload will do: which files are new, which replace one, and how many saves it takes.
import { type Dropped, tarSize } from "./tar.ts";
import type { Picked } from "./walk.ts";

/** What one save takes. */
export interface Limits {
  /** Files in a batch. */
  entries: number;
  /** Bytes of the body of a batch. */
  bytes: number;
}

export interface Step extends Dropped {
  /** There is a file of this path already. */
  replaces: boolean;
  /** The tag of what it replaces. */
  etag: string | null;
}

/** A batch, or one file that is too large for any. */
export type Save = { kind: "batch"; files: Step[] } | { kind: "file"; file: Step };

/** A path below a folder; `folder` may have slashes at either end, or be empty. */
export function under(folder: string, path: string): string {
  const trimmed = folder.replace(/^\/+|\/+$/g, "");
  return trimmed ? `${trimmed}/${path}` : path;
}

/** Cuts files into saves, in their order. The two blocks at the end of each archive are counted. */
export function cut(files: readonly Step[], limits: Limits): Save[] {
  const saves: Save[] = [];
  let batch: Step[] = [];
  let bytes = 1024;
  const flush = () => {
    if (batch.length > 0) saves.push({ kind: "batch", files: batch });
    batch = [];
    bytes = 1024;
  };
  for (const file of files) {
    const size = tarSize(file);
    if (size + 1024 > limits.bytes) {
      saves.push({ kind: "file", file });
      continue;
    }
    if (batch.length >= limits.entries || bytes + size > limits.bytes) flush();
    batch.push(file);
    bytes += size;
  }
  flush();
  return saves;
}

/** What lies in a branch where the files will: modes and tags by path, and the state that was looked at. */
export interface Present {
  commit: string;
  files: Map<string, { executable: boolean; etag: string | null }>;
}

/** What each file will do. */
export function steps(picked: readonly Picked[], folder: string, present: Present): Step[] {
  return picked.map(({ path, file }) => {
    const whole = under(folder, path);
    const there = present.files.get(whole);
    return {
      path: whole,
      file,
      replaces: there !== undefined,
      executable: there?.executable ?? false,
      etag: there?.etag ?? null,
    };
  });
}
