import { useState } from "preact/hooks";
import { Dialog } from "../../shared/dialog.tsx";
import { notify } from "../../shared/notice.tsx";
import { Ago, Alert } from "../../shared/parts.tsx";
import { t, wordsOf } from "../../shared/text.ts";
import { API, read, type Schemas } from "../api.ts";
import { say } from "./words.ts";

interface RevokeProps {
  token: Schemas["Token"];
  onClose: () => void;
  onDone: () => void;
}

/** Asks before a token is revoked, which nothing brings back. */
export function RevokeToken({ token, onClose, onDone }: RevokeProps) {
  const [failed, fail] = useState("");
  const revoke = async () => {
    try {
      await read(`${API}/tokens/${token.tokenId}`, { method: "DELETE" });
      notify(say("revoked", { name: token.name }));
      onDone();
      onClose();
    } catch (error) {
      fail(wordsOf(error));
    }
  };
  return (
    <Dialog
      title={say("revokeTitle", { name: token.name })}
      lead={say("revokeLead")}
      onClose={onClose}
      onSubmit={revoke}
      foot={
        <>
          <span class="grow" />
          <button type="button" class="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="button" class="button danger" autofocus onClick={revoke}>
            {say("revoke")}
          </button>
        </>
      }
    >
      <p>
        {t("owner")}: <b translate={false}>{token.owner}</b> · <span class="mono">…{token.suffix}</span>
      </p>
      <p>
        {say("lastUsed")}: {token.last_used_at ? <Ago at={token.last_used_at} /> : say("neverUsed")}
      </p>
      {failed && <Alert>{failed}</Alert>}
    </Dialog>
  );
}
