// Any two states of a branch, chosen from its history.
import { Icon } from "../shared/icons.tsx";
import { useLoaded } from "../shared/load.ts";
import { Behind } from "../shared/parts.tsx";
import { day, t, time, wordsOf } from "../shared/text.ts";
import type { Schemas } from "./api.ts";
import { Differences, type Side } from "./branch/difference.tsx";
import { type Change, type HistoryState, nameOf, useChange, useHistory } from "./branch/history-state.ts";
import * as calls from "./calls.ts";
import { address, go, type Query, type Route } from "./route.ts";

interface CompareProps {
  route: Route;
  branch: Schemas["AdminBranch"];
}

const side = (version: string | undefined): Side => ({
  version: version ?? null,
  label: version ?? t("now"),
});

export function CompareScreen({ route, branch }: CompareProps) {
  const { repo, path, from, to } = route;
  const { name } = branch;
  const head = branch.commit.id;
  const history = useHistory(repo, name, `${head} ${branch.snapshots}`);
  const differences = useLoaded([repo, name, from, to, head], (signal) =>
    calls.difference(repo, name, from ?? name, to ?? name, signal),
  );
  const choose = (query: Query) => go({ ...route, ...query }, { replace: true });
  return (
    <main id="main" class="compare" tabIndex={-1}>
      <header class="filehead">
        <h1>{t("compare")}</h1>
        <Pick
          label={t("from")}
          value={from}
          history={history}
          onPick={(version) => choose({ from: version })}
        />
        <button
          type="button"
          class="quiet"
          aria-label={t("swap")}
          title={t("swap")}
          onClick={() => choose({ from: to ?? "", to: from ?? "" })}
        >
          <Icon of="swap" />
        </button>
        <Pick label={t("to")} value={to} history={history} onPick={(version) => choose({ to: version })} />
        <span class="grow" />
        <a class="button" href={address({ screen: "files", repo, branch: name, ...(path ? { path } : {}) })}>
          {t("close")}
        </a>
      </header>
      {history.error && <Behind words={wordsOf(history.error)} onAgain={history.again} />}
      <Differences
        repo={repo}
        branch={name}
        before={side(from)}
        after={side(to)}
        differences={differences}
        chosen={path}
        onChoose={(chosen) => choose({ path: chosen })}
        nothing={t("noDifference")}
      />
    </main>
  );
}

interface PickProps {
  label: string;
  value: string | undefined;
  history: HistoryState;
  onPick: (version: string) => void;
}

/** What is chosen to have older versions in the list. */
const OLDER = "older";

const wordsFor = (one: Change): string =>
  `${one.version} · ${day(one.created_at)} ${time(one.created_at)} · ${t("beforeThat", { what: nameOf(one) })}`;

function Pick({ label, value, history, onPick }: PickProps) {
  const list = history.list ?? [];
  const known = !value || list.some((one) => one.version === value);
  const { change } = useChange(history, value);
  return (
    <label class="pick">
      <span>{label}</span>
      <select
        value={value ?? ""}
        onChange={(event) => {
          const { value: picked } = event.currentTarget;
          if (picked !== OLDER) return onPick(picked);
          event.currentTarget.value = value ?? "";
          void history.older();
        }}
      >
        <option value="">{t("now")}</option>
        {!known && <option value={value}>{change ? wordsFor(change) : value}</option>}
        {list.map((one) => (
          <option key={one.version} value={one.version}>
            {wordsFor(one)}
          </option>
        ))}
        {!history.whole && list.length > 0 && <option value={OLDER}>{t("older")}…</option>}
      </select>
    </label>
  );
}
