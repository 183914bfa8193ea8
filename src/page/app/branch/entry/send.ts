// What is asked of the service to delete files and folders, and to give them other paths.
import {
  branchPath,
  Failure,
  filePath,
  hasStatus,
  query,
  read,
  type Schemas,
  send,
  statePath,
} from "../../api.ts";
import { deleteFile } from "../../file/remote.ts";
import { making } from "../../parts/making.ts";
import { explained, type Refusals } from "../../parts/refusals.ts";
import { isThere } from "./path-check.ts";
import type { Entry, Where } from "./sheet.ts";
import { say } from "./words.ts";

type InBranch = Pick<Where, "repo" | "branch">;
type Action = Schemas["BatchAction"];

/** Most entries of a folder that are counted. */
const COUNTED_MAX = 1000;

export interface Count {
  files: number;
  /** There are more. */
  more: boolean;
}

/** How many files lie in a folder and in those below it. */
export async function countFiles(
  { repo, branch }: InBranch,
  path: string,
  signal: AbortSignal,
): Promise<Count> {
  const asked = query({ path, recursive: true, limit: COUNTED_MAX });
  const answer = await send(`${statePath(repo, branch)}/tree${asked}`, { signal });
  const entries: Schemas["AdminTreeEntry"][] = await answer.json();
  return {
    files: entries.filter((entry) => entry.type === "blob").length,
    more: answer.headers.has("Link"),
  };
}

/** Makes one change that is made only while the branch is at this commit, or without a word about that. */
function batch({ repo, branch }: InBranch, action: Action, commit: string | null, message?: string) {
  const saving = read<Schemas["SavedBatch"]>(`${branchPath(repo, branch)}/batch`, {
    method: "POST",
    json: { actions: [action], ...(message ? { message } : {}) },
    headers: commit ? { "If-Match": `"${commit}"` } : {},
  });
  return making(saving);
}

/** Why a change is refused whose condition does not hold. */
const allAs = (words: string): Refusals => [[/./, () => words]];

async function explainedBy<T>(change: Promise<T>, refusals: Refusals, ifLate: string): Promise<T> {
  try {
    return await change;
  } catch (error) {
    const isLate = hasStatus(error, 412);
    throw explained(error, isLate ? allAs(ifLate) : refusals);
  }
}

/** What came of a deletion: the snapshot before it, and the state after it where that was told. */
export type Deleted = Pick<Schemas["DeletedFile"], "snapshot" | "commit_id">;

const goneRefusals: Refusals = [[/: the file does not exist/, () => say("goneMeanwhile")]];

/**
 * Deletes a file that has this tag, or a folder while the branch is at this commit. Null: the file is gone already, where
 * a try before this one was not answered (`again`), and nobody knows what that made.
 */
export async function remove(
  place: InBranch,
  { path, folder, etag }: Entry,
  commit: string,
  again: boolean,
): Promise<Deleted | null> {
  if (folder) {
    const change = batch(place, { action: "delete", file_path: path }, commit);
    return explainedBy<Deleted>(change, goneRefusals, say("folderLate"));
  }
  const change = making(deleteFile({ ...place, path }, etag ?? "*")).catch((error) => {
    // No tag is told of what is not there.
    const isGone = hasStatus(error, 412) && error.etag === null;
    if (isGone && again) return null;
    throw isGone ? new Failure(400, say("goneMeanwhile")) : error;
  });
  return explainedBy<Deleted | null>(change, [], say("fileLate"));
}

const moveRefusals: Refusals = [
  ...goneRefusals,
  [/: a (?:file|folder) exists at the new path already/, () => say("takenMeanwhile")],
  [/"(?<path>[^"]+)" is a file, not a folder/, ({ path = "" }) => say("belowFile", { path })],
  [/"(?<path>[^"]+)" is a folder, not a file/, () => say("takenMeanwhile")],
  [/ moves too much in folders/, () => say("tooMuch")],
  [/: it is longer than|: it has more than/, () => say("tooLong")],
];

/** What a move must find: the tag of a file, or the commit of a folder's branch. */
export interface Condition {
  etag?: string | undefined;
  commit?: string | undefined;
}

/**
 * Gives a file or a folder another path, and tells what the way back must find. `late` is what is said where this did
 * not find it.
 */
export async function move(
  place: InBranch,
  { path, folder }: Entry,
  to: string,
  { etag, commit }: Condition,
  late: string,
): Promise<Condition | null> {
  const tag = !folder && etag ? { if_match: etag } : {};
  const action: Action = { action: "move", file_path: to, previous_path: path, ...tag };
  const change = batch(place, action, folder ? (commit ?? null) : null, `${path} → ${to}`);
  const done = await explainedBy(change, moveRefusals, late);
  const after = folder ? done.commit_id : done.etags[to];
  if (!after) return null;
  return folder ? { commit: after } : { etag: after };
}

/** Whether an entry is at another path, and no more at its own: a try to move it that was not answered did it. */
export async function isMoved(
  { repo, branch }: InBranch,
  { path, folder }: Entry,
  to: string,
): Promise<boolean> {
  const isAt = (one: string) =>
    folder
      ? isThere(`${statePath(repo, branch)}/tree${query({ path: one, limit: 1 })}`)
      : isThere(filePath(repo, branch, one), "HEAD");
  return (await isAt(to)) && !(await isAt(path));
}
