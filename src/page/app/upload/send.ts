// What an upload asks of the service.
import { branchPath, type Carry, filePath, hasStatus, query, read, type Schemas, statePath } from "../api.ts";
import { making } from "../parts/making.ts";
import { note, type Present, type Step } from "./plan.ts";
import { tar } from "./tar.ts";

/** Folders asked for one by one; for more the whole tree is asked for at once. */
const FOLDERS_MAX = 24;

/** Looks what is there of these paths. */
export async function look(
  { repo, branch, as }: Target,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Present> {
  const { commit } = await read<Schemas["AdminBranch"]>(branchPath(repo, branch), { signal, as });
  const folders = [...new Set(paths.map((path) => path.slice(0, Math.max(0, path.lastIndexOf("/")))))];
  const queries =
    folders.length > FOLDERS_MAX ? [query({ recursive: true })] : folders.map((path) => query({ path }));
  const files: Present["files"] = new Map();
  for (const one of queries) {
    try {
      const list = await read<Schemas["AdminTreeEntry"][]>(`${statePath(repo, branch)}/tree${one}`, {
        signal,
        as,
      });
      for (const entry of list) {
        const { path, type, mode, etag = null } = entry;
        if (type === "blob") note(files, { path, executable: mode === "100755", etag });
      }
    } catch (error) {
      // A folder that is not there yet, or a file in its place: then the save says so.
      if (!hasStatus(error, 404)) throw error;
    }
  }
  return { commit: commit.id, files };
}

/** Where files are laid. */
export interface Target {
  repo: string;
  branch: string;
  /** The account that lays them there; without it whoever is logged in. */
  as?: string | null;
}

/** How what is asked gets to the service. */
export interface Way {
  signal: AbortSignal;
  carry?: Carry;
}

/** What came of a save: the snapshot before it, and the state after it where that was told. */
export interface Done {
  snapshot: string;
  commit: string | null;
}

/** Saves one file, if what it replaces is what was looked at. */
export async function saveFile(
  { repo, branch, as }: Target,
  step: Step,
  message: string,
  { signal, carry }: Way,
): Promise<Done> {
  const { path, file, etag } = step;
  const condition: Record<string, string> = etag ? { "If-Match": etag } : { "If-None-Match": "*" };
  const target = filePath(repo, branch, path) + query({ message });
  const saving = read<Schemas["SavedFile"]>(target, {
    method: "PUT",
    as,
    signal,
    carry,
    body: file,
    headers: { "Content-Type": "application/octet-stream", ...condition },
  });
  const saved = await making(saving);
  return { snapshot: saved.snapshot, commit: saved.commit_id };
}

/** Saves several files at once, if the branch still has the state that was looked at. */
export async function saveBatch(
  { repo, branch, as }: Target,
  files: Step[],
  commit: string,
  message: string,
  { signal, carry }: Way,
): Promise<Done> {
  const target = `${branchPath(repo, branch)}/batch${query({ message })}`;
  const saving = read<Schemas["SavedBatch"]>(target, {
    method: "POST",
    as,
    signal,
    carry,
    body: tar(files),
    headers: { "Content-Type": "application/x-tar", "If-Match": `"${commit}"` },
  });
  const saved = await making(saving);
  return { snapshot: saved.snapshot, commit: saved.commit_id };
}
