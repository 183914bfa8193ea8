// A new token, or the change of one.
import { useState } from "preact/hooks";
import { t } from "../../shared/text.ts";
import { API, read, type Schemas } from "../api.ts";
import { FormDialog } from "../form-dialog.tsx";

interface NewTokenProps {
  /** The token to change; null makes one. */
  token: Schemas["Token"] | null;
  projects: Schemas["Project"][];
  onClose: () => void;
  /** With what was made, or nothing after a change. */
  onDone: (made: Schemas["CreatedToken"] | null) => void;
}

const YEAR_MS = 365 * 86_400_000;
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

export function NewToken({ token, projects, onClose, onDone }: NewTokenProps) {
  const [all, setAll] = useState(token?.repos[0] === "*");
  const [chosen, choose] = useState<ReadonlySet<string>>(
    new Set(token?.repos.filter((repo) => repo !== "*")),
  );
  const expires = token ? (token.expires_at?.slice(0, 10) ?? "") : dayOf(Date.now() + YEAR_MS);
  const offered = projects.filter((project) => project.permissions.tokens || chosen.has(project.repo_id));
  const flip = (repo: string) => {
    const next = new Set(chosen);
    if (!next.delete(repo)) next.add(repo);
    choose(next);
  };
  const send = async (fields: FormData) => {
    const until = String(fields.get("expires"));
    const json = {
      name: String(fields.get("name")),
      repos: all ? ["*"] : [...chosen],
      // An unchanged day keeps its hour.
      expires_at: token && until === expires ? token.expires_at : until || null,
      fingerprint_required: fields.get("bind") === "on",
    };
    if (token) {
      await read(`${API}/tokens/${token.tokenId}`, { method: "PATCH", json });
      onDone(null);
    } else onDone(await read<Schemas["CreatedToken"]>(`${API}/tokens`, { method: "POST", json }));
  };
  return (
    <FormDialog
      title={t(token ? "editToken" : "newToken")}
      lead={t("tokensLead")}
      action={t(token ? "saveToken" : "create")}
      ready={all || chosen.size > 0}
      onClose={onClose}
      onSend={send}
    >
      <label>
        {t("name")}
        <input name="name" required autofocus maxLength={255} defaultValue={token?.name ?? ""} />
      </label>
      <fieldset>
        <legend>{t("projects")}</legend>
        <div class="picks">
          {offered.map((project) => (
            <label class="check" key={project.id}>
              <input
                type="checkbox"
                disabled={all}
                checked={chosen.has(project.repo_id)}
                onChange={() => flip(project.repo_id)}
              />
              {project.repo_id}
            </label>
          ))}
          {offered.length === 0 && <span class="dim">{t("noTokenProjects")}</span>}
        </div>
        <label class={all ? "check all" : "check"}>
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
          {t("allProjects")}
        </label>
      </fieldset>
      <label>
        {t("expires")}
        <input type="date" name="expires" defaultValue={expires} />
      </label>
      <label class="check">
        <input type="checkbox" name="bind" defaultChecked={token?.fingerprint_required ?? true} />
        {t("bindFirst")}
      </label>
    </FormDialog>
  );
}
