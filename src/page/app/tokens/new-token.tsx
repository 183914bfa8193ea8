// A new token, or the change of one.
import { useState } from "preact/hooks";
import { Dialog } from "../../shared/dialog.tsx";
import { Alert } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import { API, read, type Schemas, wordsOf } from "../api.ts";

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
  const [failed, fail] = useState("");
  const [busy, setBusy] = useState(false);
  const expires = token ? (token.expires_at?.slice(0, 10) ?? "") : dayOf(Date.now() + YEAR_MS);
  const offered = projects.filter((project) => project.permissions.tokens || chosen.has(project.repo_id));
  const flip = (repo: string) => {
    const next = new Set(chosen);
    if (!next.delete(repo)) next.add(repo);
    choose(next);
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const until = String(form.get("expires"));
    setBusy(true);
    const json = {
      name: String(form.get("name")),
      repos: all ? ["*"] : [...chosen],
      // An unchanged day keeps its hour.
      expires_at: token && until === expires ? token.expires_at : until || null,
      fingerprint_required: form.get("bind") === "on",
    };
    try {
      if (token) {
        await read(`${API}/tokens/${token.tokenId}`, { method: "PATCH", json });
        onDone(null);
      } else onDone(await read<Schemas["CreatedToken"]>(`${API}/tokens`, { method: "POST", json }));
    } catch (error) {
      fail(wordsOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={t(token ? "editToken" : "newToken")} lead={t("tokensLead")} onClose={onClose}>
      <form class="form" onSubmit={submit}>
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
        {failed && <Alert>{failed}</Alert>}
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" class="button primary" disabled={busy || (!all && chosen.size === 0)}>
            {t(token ? "saveToken" : "create")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
