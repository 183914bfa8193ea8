import { useDrawn } from "../../shared/dialog.tsx";
import type { Loaded } from "../../shared/load.ts";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { noted } from "../frame/lazy.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { go } from "../route.ts";

interface NewBranchProps {
  repo: string;
  /** The revision that it begins with; without one it begins empty. */
  from?: string;
  /** The branches of the project. */
  branches: Loaded<Schemas["AdminBranch"][]>;
  onClose: () => void;
}

export function NewBranch({ repo, from, branches, onClose }: NewBranchProps) {
  const isDrawn = useDrawn();
  const send = async (fields: FormData) => {
    const name = String(fields.get("name"));
    const { createBranch } = await noted(import("../named/calls.ts"));
    const made = await createBranch(repo, name, from);
    // Before it is gone to: it would not be there.
    branches.change((list) =>
      [...list.filter((one) => one.name !== name), made].sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
    branches.again();
    // Whoever closed it meanwhile stays where they are.
    if (!isDrawn()) return;
    onClose();
    go({ screen: "files", repo, branch: name });
  };
  return (
    <FormDialog
      title={t("newBranch")}
      lead={from ? t("newBranchHint", { from }) : undefined}
      action={t("create")}
      onClose={onClose}
      onSend={send}
    >
      <label>
        {t("name")}
        <input name="name" required autofocus maxLength={255} defaultValue={from ? "" : "main"} />
      </label>
    </FormDialog>
  );
}
