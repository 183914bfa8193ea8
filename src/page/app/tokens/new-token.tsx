// A new token, or the change of one.
import { useState } from "preact/hooks";
import { t } from "../../shared/text.ts";
import { API, read, type Schemas } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { say } from "./words.ts";

interface NewTokenProps {
  /** The token to change; null makes one. */
  token: Schemas["Token"] | null;
  projects: Schemas["Project"][];
  onClose: () => void;
  /** With what was made, or nothing after a change. */
  onDone: (made: Schemas["CreatedToken"] | null) => void;
}

const YEAR_MS = 365 * 86_400_000;
const two = (part: number): string => String(part).padStart(2, "0");

/** The day of a moment here, as a field for days has it: the lists show it so, too. */
function dayOf(at: number): string {
  const here = new Date(at);
  return `${String(here.getFullYear()).padStart(4, "0")}-${two(here.getMonth() + 1)}-${two(here.getDate())}`;
}

/** The last second of a day here: a token that expires today still counts today. */
const endOf = (day: string): string => new Date(`${day}T23:59:59`).toISOString();

/** Whether a field is as it was; the order of projects means nothing. */
function isSame(value: unknown, was: unknown): boolean {
  const text = (one: unknown) => JSON.stringify(Array.isArray(one) ? [...one].sort() : one);
  return text(value) === text(was);
}

export function NewToken({ token, projects, onClose, onDone }: NewTokenProps) {
  const [all, setAll] = useState(token?.repos[0] === "*");
  const listed = token?.repos.filter((repo) => repo !== "*") ?? [];
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set(listed));
  const proposed = token ? token.expires_at : Date.now() + YEAR_MS;
  const expires = proposed === null ? "" : dayOf(new Date(proposed).getTime());
  const offered = projects
    .filter((project) => project.permissions.tokens || listed.includes(project.repo_id))
    .map((project) => project.repo_id);
  // They come back with their projects, or are unticked.
  const gone = listed.filter((repo) => !offered.includes(repo));
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
      expires_at: token && until === expires ? token.expires_at : until ? endOf(until) : null,
      fingerprint_required: fields.get("bind") === "on",
    };
    if (token) {
      const changed = Object.entries(json).filter(
        ([name, value]) => !isSame(value, token[name as keyof typeof json]),
      );
      await read(`${API}/tokens/${token.tokenId}`, { method: "PATCH", json: Object.fromEntries(changed) });
      onDone(null);
    } else onDone(await read<Schemas["CreatedToken"]>(`${API}/tokens`, { method: "POST", json }));
  };
  return (
    <FormDialog
      title={token ? say("editToken") : t("newToken")}
      lead={say("tokensLead")}
      action={token ? say("saveToken") : t("create")}
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
          {[...offered, ...gone].map((repo) => (
            <label class="check" key={repo}>
              <input type="checkbox" disabled={all} checked={chosen.has(repo)} onChange={() => flip(repo)} />
              {repo}
              {gone.includes(repo) && <span class="dim">{` ${say("tokenGone")}`}</span>}
            </label>
          ))}
          {offered.length + gone.length === 0 && <span class="dim">{say("noTokenProjects")}</span>}
        </div>
        <label class={all ? "check all" : "check"}>
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
          {say("allProjects")}
        </label>
      </fieldset>
      <label>
        {say("expires")}
        <input
          type="date"
          name="expires"
          defaultValue={expires}
          {...(token ? {} : { min: dayOf(Date.now()) })}
        />
      </label>
      <label class="check">
        <input type="checkbox" name="bind" defaultChecked={token?.fingerprint_required ?? true} />
        {say("bindFirst")}
      </label>
    </FormDialog>
  );
}
