// A branch: its files, the open one, and the history beside it.
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../shared/icons.tsx";
import type { Loaded } from "../shared/load.ts";
import { Coming } from "../shared/parts.tsx";
import { t, when } from "../shared/text.ts";
import { hasStatus, type Schemas } from "./api.ts";
import { ChangeView, Gone } from "./branch/change.tsx";
import { useActs } from "./branch/entry/acts.tsx";
import { Files } from "./branch/files.tsx";
import { type Change, useChange, useHistory } from "./branch/history-state.ts";
import { Kept } from "./branch/kept.tsx";
import { useChangeKeys } from "./branch/keys.ts";
import { File, fetchFile } from "./branch/lazy-file.tsx";
import { NoBranch, NoSuch } from "./branch/no-branch.tsx";
import { Overview, OverviewThen } from "./branch/overview.tsx";
import type { RollbackProps } from "./branch/rollback.tsx";
import { HistoryPane } from "./branch/timeline.tsx";
import { lazyDialog } from "./frame/lazy.tsx";
import { lookOf, useLook } from "./parts/entries.ts";
import { address, go, type Route } from "./route.ts";
import { type Uploads, useDrop } from "./upload.tsx";

const Rollback = lazyDialog<RollbackProps>(
  () => import("./branch/rollback.tsx").then((part) => part.Rollback),
  ({ change }) => t("rollbackTitle", { when: when(change.created_at) }),
);

interface ScreenProps {
  session: Schemas["Session"];
  route: Route;
  project: Schemas["Project"] | null;
  branches: Loaded<Schemas["AdminBranch"][]>;
  uploads: Uploads;
}

export function BranchScreen(props: ScreenProps) {
  const { route, branches } = props;
  const opens = Boolean(route.path && !route.change);
  useEffect(() => {
    // While the branch is asked for, too.
    if (opens) fetchFile().catch(() => null);
  }, [opens]);
  const known = branches.value?.find((one) => one.name === route.branch);
  const last = useRef(known);
  if (known) last.current = known;
  // The file with nothing to keep, of a branch or a project that is not there any more.
  const [left, leave] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (known) leave(undefined);
  }, [known]);
  const onGone = () => leave(route.path);
  if (known) return <Branch {...props} known={known} gone={false} onGone={onGone} />;
  const isFile = route.screen === "files" && route.branch !== undefined && opens && !route.at;
  const isGone = branches.value !== null || hasStatus(branches.error, 404);
  if (isGone && isFile && route.path !== left) {
    return last.current ? (
      <Branch {...props} known={last.current} gone onGone={onGone} />
    ) : (
      <Kept {...props} onGone={onGone} />
    );
  }
  return (
    <main id="main" class="sheet-page" tabIndex={-1}>
      <h1 class="said">{route.repo}</h1>
      {hasStatus(branches.error, 404) ? (
        <NoSuch repo={route.repo} />
      ) : branches.error || !branches.value ? (
        <Coming of={branches} />
      ) : branches.value.length === 0 ? (
        <NoBranch repo={route.repo} may={props.project?.permissions.write ?? false} branches={branches} />
      ) : route.branch ? (
        <NoSuch
          repo={route.repo}
          branch={route.branch}
          first={(branches.value.find((one) => one.default) ?? branches.value[0]!).name}
        />
      ) : null}
    </main>
  );
}

const folderOf = (path: string | undefined): string =>
  path?.slice(0, Math.max(0, path.lastIndexOf("/"))) ?? "";

type Pane = "files" | "open" | "history";

interface BranchProps extends ScreenProps {
  /** The branch as it was heard of last. */
  known: Schemas["AdminBranch"];
  /** It is not there any more: it stays on the screen for what was typed into the open file. */
  gone: boolean;
  /** Nothing was typed there that is not saved. */
  onGone: () => void;
}

function Branch({ session, route, branches, uploads, known, gone, onGone }: BranchProps) {
  const { repo, at, change } = route;
  // An address may name a folder, too: it is open in the tree.
  const [folder, setFolder] = useState<string | undefined>(undefined);
  const isFolder = folder !== undefined && folder === route.path;
  const path = isFolder ? undefined : route.path;
  const branch = known.name;
  const head = known.commit.id;
  const may = known.permissions;
  const [chosen, choose] = useState<{ pane: Pane; route: Route } | null>(null);
  // Whoever goes somewhere wants to see it, be it what is open already; whoever goes back, what they saw there.
  const pane = chosen?.route === route ? chosen.pane : (lookOf<Pane>("pane") ?? "open");
  useLook("pane", () => pane);
  const able = may.write && !at && !change && !gone;
  const drop = useDrop(
    able
      ? {
          repo,
          branch,
          folder: isFolder ? folder : folderOf(path),
          may,
          limits: session.limits,
          onChanged: branches.again,
        }
      : null,
    uploads,
    t(!may.write ? "dropForbidden" : gone ? "notThere" : "dropPast"),
  );
  const history = useHistory(repo, branch, `${head} ${known.snapshots}`);
  useChangeKeys(route, history.list);
  const sought = useChange(history, change ?? at);
  const back = sought.change;
  const missing = at !== undefined && !change && sought.gone;
  const goBack = may.rollback
    ? (to: Change, file = path) =>
        go({
          ...route,
          path: file,
          change: change ?? (at ? undefined : to.version),
          rollback: to.version,
        } as Route)
    : undefined;
  const target = useChange(history, route.rollback).change;
  const { username: account } = session;
  const where = { repo, branch, head, may, account, onChanged: branches.again };
  const { acts, sheet } = useActs(at || gone ? null : where);
  const close = () => go({ ...route, rollback: "" }, { replace: true });
  return (
    <div class={`branch pane-${pane}`}>
      <Files
        where={{ repo, branch, at, head }}
        account={account}
        holds={at ? (change ? undefined : back) : known}
        missing={missing}
        path={isFolder ? `${folder}/` : path}
        onUpload={able ? drop.choose : undefined}
        acts={acts}
        onOpen={(file) => {
          go({ screen: "files", repo, branch, path: file, ...(at ? { at } : {}) });
        }}
      />
      <main id="main" tabIndex={-1}>
        {at && !missing && (
          <Then route={route} snapshot={back} onRollback={back && goBack && (() => goBack(back))} />
        )}
        {change ? (
          <ChangeView
            route={route}
            sought={sought}
            head={head}
            onRollback={back && goBack && ((file) => goBack(back, file))}
          />
        ) : missing ? (
          <Gone route={route} version={at!} />
        ) : path ? (
          <File
            key={`${at}\n${path}`}
            repo={repo}
            branch={branch}
            path={path}
            {...(at ? { at } : {})}
            {...(route.line ? { line: Number(route.line) } : {})}
            may={may}
            head={head}
            gone={gone}
            onGone={onGone}
            onFolder={() => setFolder(path)}
            account={account}
            acts={acts}
            onChanged={branches.again}
            onRestore={back && goBack && (() => goBack(back))}
          />
        ) : at ? (
          <OverviewThen repo={repo} branch={branch} sought={sought} />
        ) : (
          <Overview repo={repo} branch={known} onUpload={able ? drop.choose : undefined} />
        )}
      </main>
      <HistoryPane route={route} head={head} path={path} history={history} onRollback={goBack} />
      <Tabs
        pane={pane}
        setPane={(pane) => choose({ pane, route })}
        open={change ?? path?.split("/").at(-1) ?? t("overview")}
      />
      {drop.over}
      {sheet}
      {target && may.rollback && (
        <Rollback
          key={target.version}
          repo={repo}
          branch={branch}
          change={target}
          file={path ?? target.path ?? undefined}
          only={at !== undefined && path !== undefined}
          head={head}
          onClose={close}
          onMoved={branches.again}
          onDone={() => go({ screen: "files", repo, branch, ...(path ? { path } : {}) })}
        />
      )}
    </div>
  );
}

interface ThenProps {
  route: Route;
  snapshot: Change | undefined;
  onRollback: (() => void) | undefined;
}

/** Above the files as they were. */
function Then({ route, snapshot, onRollback }: ThenProps) {
  const { repo, path, at } = route;
  const here = { repo, branch: route.branch!, ...(path ? { path } : {}) };
  return (
    <div class="strip">
      <Icon of="clock" />
      <span>{t("viewing", { version: at!, when: snapshot ? when(snapshot.created_at) : "…" })}</span>
      <span class="grow" />
      <a class="button" href={address({ screen: "compare", ...here, from: at! })}>
        <Icon of="compare" />
        {t("compareNow")}
      </a>
      {onRollback && (
        <button type="button" class="button" onClick={onRollback}>
          <Icon of="back" />
          {t("goBackHere")}
        </button>
      )}
      <a class="button" href={address({ screen: "files", ...here })}>
        {t("toNow")}
      </a>
    </div>
  );
}

function Tabs({
  pane,
  setPane,
  open,
}: {
  pane: Pane;
  setPane: (pane: Pane) => void;
  /** What is open. */
  open: string;
}) {
  const tabs = [
    ["files", "folder", t("files")],
    ["open", "file", open],
    ["history", "clock", t("history")],
  ] as const;
  return (
    <nav class="tabs" aria-label={t("menu")}>
      {tabs.map(([name, sign, label]) => (
        <button key={name} type="button" aria-pressed={pane === name} onClick={() => setPane(name)}>
          <Icon of={sign} />
          <span translate={name !== "open"}>{label}</span>
        </button>
      ))}
    </nav>
  );
}
