// What one change did: who, when, and the files before and after it.
import { Icon } from "../../shared/icons.tsx";
import { useLoaded } from "../../shared/load.ts";
import { Ago, Coming, Empty, Who } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import * as calls from "../calls.ts";
import { address, go, type Route } from "../route.ts";
import { Differences, shownOf } from "./difference.tsx";
import { nameOf, type Sought } from "./history-state.ts";

interface ChangeProps {
  route: Route;
  sought: Sought;
  /** What the branch is now, which the newest change led to. */
  head: string | null;
  /** Goes back to before it; the path is the one that is shown. */
  onRollback?: ((path: string | undefined) => void) | undefined;
}

/** A message that a line of the head cannot hold. */
const isLong = (message: string): boolean => message.length > 60 || message.includes("\n");

export function ChangeView({ route, sought, head, onRollback }: ChangeProps) {
  const { repo, path } = route;
  const branch = route.branch!;
  const { change, after: to } = sought;
  const from = change?.version;
  const differences = useLoaded([repo, branch, from, to, to ? "" : head], (signal) =>
    from ? calls.difference(repo, branch, from, to ?? branch, signal) : null,
  );
  if (!change) {
    if (sought.gone) return <Gone route={route} version={route.change!} />;
    return <Coming of={sought} />;
  }
  const entry = shownOf(differences.value, path);
  const then = { screen: "files", repo, branch, at: change.version } as const;
  return (
    <section class="change">
      <header class="filehead">
        <div class="grow">
          <h1 translate={!change.path}>{nameOf(change)}</h1>
          <p class="sub">
            <Who name={change.created_by} />
            <span translate={false}>{change.created_by}</span> · <Ago at={change.created_at} /> ·{" "}
            <span class="mono">
              {change.version} → {to ?? t("now")}
            </span>
            {change.path && change.message && !isLong(change.message) && (
              <span class="note">{change.message}</span>
            )}
          </p>
        </div>
        <a class="button" href={address(entry?.old ? { ...then, path: entry.path } : then)}>
          <Icon of="eye" />
          {t("filesThen")}
        </a>
        {onRollback && (
          <button type="button" class="button primary" onClick={() => onRollback(entry?.path)}>
            <Icon of="back" />
            {t("goBack")}
          </button>
        )}
      </header>
      {change.message && isLong(change.message) && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls is scrolled by keys
        <p class="said-of-it" tabIndex={0}>
          {change.message}
        </p>
      )}
      <Differences
        repo={repo}
        branch={branch}
        before={{ version: change.version, label: `${t("before")} · ${change.version}` }}
        after={{ version: to, label: `${t("after")} · ${to ?? t("now")}` }}
        differences={differences}
        chosen={path}
        onChoose={(chosen) => go({ ...route, path: chosen }, { replace: true })}
        nothing={t("changedNothing")}
        named
      />
    </section>
  );
}

/** In place of what a version would show that the branch does not have. */
export function Gone({ route, version }: { route: Route; version: string }) {
  const { repo } = route;
  return (
    <Empty icon="clock" title={t("changeGone", { version })}>
      <p>{t("changeGoneHint")}</p>
      <a class="button" href={address({ screen: "files", repo, branch: route.branch! })}>
        {t("toNow")}
      </a>
    </Empty>
  );
}
