import { notify } from "../../shared/notice.tsx";
import { Ago } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import { API, read, type Schemas } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { say } from "./words.ts";

interface RevokeProps {
  token: Schemas["Token"];
  onClose: () => void;
  onDone: () => void;
}

/** Asks before a token is revoked, which nothing brings back. */
export function RevokeToken({ token, onClose, onDone }: RevokeProps) {
  const { name, owner, suffix, last_used_at: used } = token;
  return (
    <FormDialog
      danger
      title={say("revokeTitle", { name })}
      lead={say("revokeLead")}
      action={say("revoke")}
      onClose={onClose}
      onSend={async () => {
        await read(`${API}/tokens/${token.tokenId}`, { method: "DELETE" });
        notify(say("revoked", { name }));
        onDone();
        onClose();
      }}
    >
      <p>
        {t("owner")}: <b translate={false}>{owner}</b> · <span class="mono">…{suffix}</span>
      </p>
      <p>
        {say("lastUsed")}: {used ? <Ago at={used} /> : say("neverUsed")}
      </p>
    </FormDialog>
  );
}
