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

/**
 * Cuts files into saves: batches in their order, then what is too large for one. A batch is made only on the state
 * that was looked at, a single file only on what it replaces: after one, nobody knows whether others saved meanwhile.
 * The two blocks at the end of each archive are counted.
 */
export function cut(files: readonly Step[], limits: Limits): Save[] {
  const saves: Save[] = [];
  const large: Save[] = [];
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
      large.push({ kind: "file", file });
      continue;
    }
    if (batch.length >= limits.entries || bytes + size > limits.bytes) flush();
    batch.push(file);
    bytes += size;
  }
  flush();
  return [...saves, ...large];
}

/** A file that is there. */
interface There {
  path: string;
  executable: boolean;
  etag: string | null;
}

/** What lies in a branch where the files will, and the state that was looked at. */
export interface Present {
  commit: string;
  /** By their paths, and by these as they are composed: a Mac takes letters apart, and the name looks the same. */
  files: Map<string, There>;
}

/** Notes a file that is there. */
export function note(files: Present["files"], there: There): void {
  files.set(there.path, there);
  const composed = there.path.normalize();
  if (!files.has(composed)) files.set(composed, there);
}

/**
 * What each file will do: to one whose path looks the same, if there is one; else its name is composed. Of several of all
 * that look the same each stays what it is.
 */
export function steps(picked: readonly Picked[], folder: string, present: Present, all = picked): Step[] {
  const alike = new Map<string, number>();
  for (const { path } of all) {
    const composed = path.normalize();
    alike.set(composed, (alike.get(composed) ?? 0) + 1);
  }
  return picked.map(({ path, file }) => {
    const whole = under(folder, path);
    const isAlone = alike.get(path.normalize()) === 1;
    const found = present.files.get(whole) ?? present.files.get(whole.normalize());
    const there = isAlone || found?.path === whole ? found : undefined;
    return {
      path: there?.path ?? (isAlone ? under(folder, named(path)) : whole),
      file,
      replaces: there !== undefined,
      executable: there?.executable ?? false,
      etag: there?.etag ?? null,
    };
  });
}

/** A path whose last name is composed; its folders may be there as they are. */
function named(path: string): string {
  const name = path.lastIndexOf("/") + 1;
  return path.slice(0, name) + path.slice(name).normalize();
}

/** True if what the files replace, or do not find there, is as it was when they were planned. */
export function isUntouched(plan: readonly Step[], present: Present): boolean {
  return plan.every((step) => {
    const found = present.files.get(step.path);
    return step.etag === (found?.path === step.path ? found.etag : null);
  });
}

/** True if a snapshot was taken right after another: nobody else saved between the two. */
export function follows(version: string, before: string): boolean {
  return Number(version.slice(1)) === Number(before.slice(1)) + 1;
}
