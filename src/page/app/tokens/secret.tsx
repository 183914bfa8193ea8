import { Dialog } from "../../shared/dialog.tsx";
import { Copy, Snippet } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";

/** What shows that a token works. The secret stays out of it: shells keep what was typed. */
function command(token: Schemas["CreatedToken"]): string {
  const api = `${location.origin}/site-builder/api/erp-config`;
  const repo = token.repos[0] === "*" ? "REPO_ID" : encodeURIComponent(token.repos[0] ?? "REPO_ID");
  const instance = token.fingerprint_required ? ' \\\n  --header "X-Instance-Id: $INSTANCE"' : "";
  return `curl --header "PRIVATE-TOKEN: $TOKEN"${instance} \\\n  "${api}/projects/${repo}/repository/branches"`;
}

/** The token, this once. Neither Escape nor a click outside closes it. */
export function Secret({ token, onClose }: { token: Schemas["CreatedToken"]; onClose: () => void }) {
  return (
    <Dialog
      fixed
      title={t("secretTitle")}
      lead={t("secretLead")}
      onClose={onClose}
      foot={
        <>
          <span class="grow" />
          <button type="button" class="button" onClick={onClose}>
            {t("secretKept")}
          </button>
        </>
      }
    >
      <div class="secret">
        <code>{token.tokenString}</code>
        <Copy text={token.tokenString} label={t("copy")} primary />
      </div>
      <h3>{t("secretTry")}</h3>
      <Snippet text={command(token)} />
    </Dialog>
  );
}
