// The name of a new file: the service is asked about it before the editor opens, so that nobody writes a text that
// cannot be saved there.
import { useDrawn } from "../../shared/drawn.ts";
import { t } from "../../shared/text.ts";
import { Failure, filePath, query, send, statePath } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { enter } from "../route.ts";
import { parents } from "./tree-state.ts";

interface NewFileProps {
  repo: string;
  branch: string;
  /** The open file, in whose folder a new one is proposed. */
  near: string | undefined;
  onOpen: (path: string) => void;
  onClose: () => void;
}

export function NewFile({ repo, branch, near, onOpen, onClose }: NewFileProps) {
  const isDrawn = useDrawn();
  const folder = near?.includes("/") ? near.slice(0, near.lastIndexOf("/") + 1) : "";
  const look = async (fields: FormData) => {
    const path = String(fields.get("path")).trim();
    try {
      await check(repo, branch, path);
    } catch (error) {
      if (isDrawn()) throw error;
    }
    // It may have been closed meanwhile.
    if (!isDrawn()) return;
    onClose();
    onOpen(path);
    enter();
  };
  return (
    <FormDialog
      title={t("newFile")}
      lead={t("newFileHint")}
      action={t("create")}
      onClose={onClose}
      onSend={look}
    >
      <label>
        {t("path")}
        <input name="path" required autofocus defaultValue={folder} placeholder="config/prices.xml" />
      </label>
    </FormDialog>
  );
}

/** Throws a Failure, whose words say why, where no file can have this path. */
async function check(repo: string, branch: string, path: string): Promise<void> {
  // What is asked for as a folder may end with a slash.
  if (path === "" || path.endsWith("/")) throw new Failure(400, t("pathEmptyName"));
  const folder = `${statePath(repo, branch)}/tree${query({ path, limit: 1 })}`;
  if (await isThere(folder)) throw new Failure(400, t("pathIsFolder", { path }));
  const above = parents(path);
  const files = await Promise.all(above.map((one) => isThere(filePath(repo, branch, one), "HEAD")));
  const file = above[files.indexOf(true)];
  if (file !== undefined) throw new Failure(400, t("pathBelowFile", { path: file }));
}

async function isThere(address: string, method: "GET" | "HEAD" = "GET"): Promise<boolean> {
  try {
    await (await send(address, { method })).body?.cancel();
    return true;
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return false;
    throw error;
  }
}
