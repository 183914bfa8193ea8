// The service is asked about a path before anything is saved there.

import { t } from "../../../shared/text.ts";
import { Failure, filePath, hasStatus, query, send, statePath } from "../../api.ts";
import { parents } from "../tree/state.ts";

/** What is to have another path. */
interface Moved {
  path: string;
  folder: boolean;
}

/**
 * Throws a Failure, whose words say why, where no file can have this path; for what is moved also where a file has it
 * already: that is replaced by nothing but a save.
 */
export async function checkPath(repo: string, branch: string, path: string, moved?: Moved): Promise<void> {
  // What is asked for as a folder may end with a slash.
  if (path === "" || path.endsWith("/")) throw new Failure(400, t("pathEmptyName"));
  if (moved?.folder && path.startsWith(`${moved.path}/`)) throw new Failure(400, t("pathInItself"));
  const folder = `${statePath(repo, branch)}/tree${query({ path, limit: 1 })}`;
  if (await isThere(folder)) throw new Failure(400, t("pathIsFolder", { path }));
  const isFile = (one: string) => isThere(filePath(repo, branch, one), "HEAD");
  if (moved && (await isFile(path))) throw new Failure(400, t("pathTaken", { path }));
  // A file that is moved makes room for a folder of its name.
  const above = parents(path).filter((one) => one !== moved?.path);
  const files = await Promise.all(above.map(isFile));
  const file = above[files.indexOf(true)];
  if (file !== undefined) throw new Failure(400, t("pathBelowFile", { path: file }));
}

export async function isThere(address: string, method: "GET" | "HEAD" = "GET"): Promise<boolean> {
  try {
    await (await send(address, { method })).body?.cancel();
    return true;
  } catch (error) {
    if (hasStatus(error, 404)) return false;
    throw error;
  }
}
