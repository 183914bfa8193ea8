import { t } from "../../shared/text.ts";
import type { Deleted } from "../named/calls.ts";
import { say } from "../named/words.ts";
import { FormDialog } from "../parts/form-dialog.tsx";

/** What it was called. */
export const nameOf = ({ repo_id: repo, branch }: Deleted): string => branch ?? repo;

/** Another name to begin with: of a project before its type. */
function proposed({ repo_id: repo, branch }: Deleted): string {
  if (branch) return `${branch}-2`;
  const dot = repo.lastIndexOf(".");
  return `${repo.slice(0, dot)}-2${repo.slice(dot)}`;
}

interface RestoreProps {
  of: Deleted;
  onClose: () => void;
  onSend: (as: string) => Promise<void>;
}

/** Asks for another name of what is restored, where its own is taken. */
export function RestoreAs({ of, onClose, onSend }: RestoreProps) {
  return (
    <FormDialog
      title={say("restoreTitle", { name: nameOf(of) })}
      lead={say("restoreLead")}
      action={say("restore")}
      onClose={onClose}
      onSend={(fields) => onSend(String(fields.get("as")).trim())}
    >
      <label>
        {of.branch ? t("name") : say("newId")}
        <input
          name="as"
          required
          autofocus
          maxLength={255}
          spellcheck={false}
          defaultValue={proposed(of)}
          onFocus={(event) => event.currentTarget.select()}
        />
      </label>
    </FormDialog>
  );
}
