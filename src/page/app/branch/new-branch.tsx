import { useState } from "preact/hooks";
import { Dialog } from "../../shared/dialog.tsx";
import { Alert } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import { wordsOf } from "../api.ts";
import * as calls from "../calls.ts";
import { go } from "../route.ts";

interface NewBranchProps {
  repo: string;
  /** The revision that it begins with; without one it begins empty. */
  from?: string;
  onClose: () => void;
  onDone: () => void;
}

export function NewBranch({ repo, from, onClose, onDone }: NewBranchProps) {
  const [failed, fail] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget as HTMLFormElement).get("name"));
    setBusy(true);
    try {
      await calls.createBranch(repo, name, from);
      onDone();
      onClose();
      go({ screen: "files", repo, branch: name });
    } catch (error) {
      fail(wordsOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("newBranch")} lead={from ? t("newBranchHint", { from }) : undefined} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <label>
          {t("name")}
          <input name="name" required autofocus maxLength={255} defaultValue={from ? "" : "main"} />
        </label>
        {failed && <Alert>{failed}</Alert>}
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" class="button primary" disabled={busy}>
            {t("create")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
