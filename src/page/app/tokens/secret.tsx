import { Snippet } from "../../shared/parts.tsx";
import type { Schemas } from "../api.ts";
import { Secret } from "../parts/secret.tsx";
import { say } from "./words.ts";

/** What shows that a token works. The secret stays out of it: shells keep what was typed. */
function command(token: Schemas["CreatedToken"]): string {
  const api = `${location.origin}/site-builder/api/erp-config`;
  const repo = token.repos[0] === "*" ? "REPO_ID" : encodeURIComponent(token.repos[0] ?? "REPO_ID");
  const instance = token.fingerprint_required ? ' \\\n  --header "X-Instance-Id: $INSTANCE"' : "";
  return `curl --header "PRIVATE-TOKEN: $TOKEN"${instance} \\\n  "${api}/projects/${repo}/repository/branches"`;
}

/** A token that was made, and what shows that it works. */
export function TokenSecret({ token, onClose }: { token: Schemas["CreatedToken"]; onClose: () => void }) {
  return (
    <Secret lead={say("secretLead")} secret={token.tokenString} onClose={onClose}>
      <h3>{say("secretTry")}</h3>
      <Snippet text={command(token)} />
    </Secret>
  );
}
