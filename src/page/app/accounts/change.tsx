// What is asked before an account is changed.
import { notify } from "../../shared/notice.tsx";
import { t } from "../../shared/text.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import * as calls from "./calls.ts";
import { madeUp } from "./password.ts";
import { say } from "./words.ts";

interface ChangeProps {
  name: string;
  onClose: () => void;
  onDone: () => void;
}

export function Disable({ name, onClose, onDone }: ChangeProps) {
  return (
    <FormDialog
      danger
      title={say("disableTitle", { name })}
      lead={say("disableLead", { name })}
      action={say("disableDo")}
      onClose={onClose}
      onSend={async () => {
        await calls.change(name, { enabled: false });
        notify(say("isDisabled", { name }));
        onDone();
      }}
    />
  );
}

export function Rename({ name, onClose, onDone }: ChangeProps) {
  return (
    <FormDialog
      title={say("renameTitle", { name })}
      lead={say("renameLead")}
      action={say("renameDo")}
      onClose={onClose}
      onSend={async (fields) => {
        const to = String(fields.get("name")).trim();
        await calls.change(name, { name: to });
        notify(say("renamed", { name, to }));
        onDone();
      }}
    >
      <label>
        {t("name")}
        <input name="name" required autofocus maxLength={64} autocomplete="off" defaultValue={name} />
      </label>
    </FormDialog>
  );
}

/** Gives the password that was made up. */
export function NewPassword(props: Omit<ChangeProps, "onDone"> & { onDone: (password: string) => void }) {
  const { name, onClose, onDone } = props;
  return (
    <FormDialog
      danger
      title={say("passwordTitle", { name })}
      lead={say("passwordLead", { name })}
      action={say("passwordDo")}
      onClose={onClose}
      onSend={async () => {
        const password = madeUp();
        await calls.setPassword(name, password);
        onDone(password);
      }}
    />
  );
}
