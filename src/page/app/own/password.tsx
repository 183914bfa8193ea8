import { useId } from "preact/hooks";
import { notify } from "../../shared/notice.tsx";
import { t } from "../../shared/text.ts";
import { Failure, read, type Schemas } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { say } from "./words.ts";

/** Changes the password of who is logged in; the other sessions end. */
export function OwnPassword({ session, onClose }: { session: Schemas["Session"]; onClose: () => void }) {
  const n = session.limits.password_bytes_min;
  const rule = useId();
  const refusals: [RegExp, string][] = [
    [/^the old password is wrong/, say("wrongOld")],
    [/is guessed soon/, say("guessed")],
    [/^malformed password/, say("badLength", { n })],
  ];
  const send = async (fields: FormData) => {
    const [old, fresh, again] = ["old", "new", "again"].map((name) => String(fields.get(name)));
    if (fresh !== again) throw new Failure(400, say("differ"));
    try {
      await read("/user/password", { method: "PUT", json: { old_password: old, new_password: fresh } });
    } catch (error) {
      const { detail } = error as Failure;
      const words = refusals.find(([pattern]) => pattern.test(detail))?.[1];
      throw words ? new Failure(400, words) : error;
    }
    notify(say("done"));
    onClose();
  };
  return (
    <FormDialog
      title={t("changePassword")}
      lead={say("passwordLead")}
      action={say("change")}
      onClose={onClose}
      onSend={send}
    >
      {/* For what keeps passwords: whose it is. */}
      <input type="text" name="username" autocomplete="username" value={session.username} hidden readOnly />
      <label>
        {say("oldPassword")}
        <input name="old" type="password" autocomplete="current-password" required autofocus />
      </label>
      <div class="hinted">
        <label>
          {say("newPassword")}
          <input name="new" type="password" autocomplete="new-password" required aria-describedby={rule} />
        </label>
        <p class="sub" id={rule}>
          {say("rule", { n })}
        </p>
      </div>
      <label>
        {say("again")}
        <input name="again" type="password" autocomplete="new-password" required />
      </label>
    </FormDialog>
  );
}
