import { Dialog } from "../../shared/dialog.tsx";
import { Copy } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import { say } from "./words.ts";

/** The password of an account, this once. Neither Escape nor a click outside closes it. */
export function Secret(props: { name: string; password: string; onClose: () => void }) {
  const { name, password, onClose } = props;
  return (
    <Dialog
      fixed
      title={say("secretTitle")}
      lead={say("secretLead", { name })}
      onClose={onClose}
      foot={
        <>
          <span class="grow" />
          <button type="button" class="button" onClick={onClose}>
            {say("secretKept")}
          </button>
        </>
      }
    >
      <div class="secret">
        <code>{password}</code>
        <Copy text={password} label={t("copy")} primary />
      </div>
    </Dialog>
  );
}
