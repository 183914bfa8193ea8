// The name of a new file: the service is asked about it before the editor opens, so that nobody writes a text that
// cannot be saved there.
import { useDrawn } from "../../shared/dialog.tsx";
import { t } from "../../shared/text.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { enter } from "../route.ts";
import { checkPath } from "./entry/path-check.ts";

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
      await checkPath(repo, branch, path);
    } catch (error) {
      if (isDrawn()) throw error;
    }
    // It may have been closed meanwhile.
    if (!isDrawn()) return;
    onClose();
    onOpen(path);
    enter(true);
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
