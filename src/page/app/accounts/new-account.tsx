import { t } from "../../shared/text.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import * as calls from "./calls.ts";
import { madeUp } from "./password.ts";
import { RoleFields, roleOf } from "./roles.tsx";
import { say } from "./words.ts";

interface NewAccountProps {
  onClose: () => void;
  /** With the name and the password of what was made. */
  onDone: (name: string, password: string) => void;
}

export function NewAccount({ onClose, onDone }: NewAccountProps) {
  const send = async (fields: FormData) => {
    const password = madeUp();
    const role = roleOf(fields);
    const { name } = await calls.create(String(fields.get("name")).trim(), password, role ? [role] : []);
    onDone(name, password);
  };
  return (
    <FormDialog
      title={t("newAccount")}
      lead={say("newLead")}
      action={t("create")}
      onClose={onClose}
      onSend={send}
    >
      <label>
        {t("name")}
        <input name="name" required autofocus maxLength={64} autocomplete="off" />
      </label>
      <RoleFields optional label={say("role")} />
    </FormDialog>
  );
}
