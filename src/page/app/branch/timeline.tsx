import { Icon, type IconName } from "../../shared/icons.tsx";
import { Behind, Coming, Path, Who } from "../../shared/parts.tsx";
import { ago, day, number, t, time, when, wordsOf } from "../../shared/text.ts";
import { useStateBack } from "../parts/entries.ts";
import { address, go, type Route } from "../route.ts";
import { Edge } from "./edge.tsx";
import { type Change, doneBy, type HistoryState, nameOf, useFileHistory } from "./history-state.ts";
import { NOW, useRows, useSight } from "./timeline/sight.ts";

interface TimelineProps {
  route: Route;
  history: HistoryState;
  /** The file whose changes alone these are. */
  of?: string | undefined;
  /** Absent where the caller may not go back. */
  onRollback?: ((change: Change) => void) | undefined;
}

const signs: Partial<Record<Change["operation"], IconName>> = {
  delete: "trash",
  rollback: "back",
  import: "box",
  batch: "box",
};

/** The days of a list, each with its changes. */
function byDay(list: Change[]): [string, Change[]][] {
  const days: [string, Change[]][] = [];
  for (const change of list) {
    const name = day(change.created_at);
    const last = days.at(-1);
    if (last && last[0] === name) last[1].push(change);
    else days.push([name, [change]]);
  }
  return days;
}

function Timeline({ route, history, of, onRollback }: TimelineProps) {
  const { list } = history;
  const shown = route.change ?? route.at;
  const isHere = history.list?.some((one) => one.version === shown);
  // What changed other files is nowhere among those of one.
  const { row, setRow, onKeyDown } = useRows(shown);
  const { box, stay } = useSight(history, of, of && !isHere ? undefined : shown, row);
  if (!list) return <Coming of={history} />;
  // One that is not among them is not there to come to.
  const stop = list.some((one) => one.version === row) ? row : NOW;
  const now = !route.at && !route.change;
  const { at: _at, change: _change, rollback: _rollback, ...here } = route;
  return (
    <>
      {history.error && <Behind words={wordsOf(history.error)} onAgain={history.again} />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the rows in it */}
      <div class="timeline" ref={box} onWheel={stay} onPointerDown={stay} onKeyDown={onKeyDown}>
        <ol>
          <li class={now ? "moment now current" : "moment now"}>
            <a
              href={address(here)}
              aria-current={now ? "true" : undefined}
              tabIndex={stop === NOW ? 0 : -1}
              onFocus={() => setRow(NOW)}
            >
              <span class="dot" />
              <span class="body">
                <b>{t("now")}</b>
                <span class="sub">{t("present")}</span>
              </span>
            </a>
          </li>
        </ol>
        {byDay(list).map(([name, changes]) => (
          <section key={changes[0]!.version} aria-label={name}>
            <h3 class="day">{name}</h3>
            <ol>
              {changes.map((change) => (
                <Moment
                  key={change.version}
                  change={change}
                  route={route}
                  list={list}
                  of={of}
                  tabIndex={stop === change.version ? 0 : -1}
                  onFocus={() => setRow(change.version)}
                  onRollback={onRollback}
                />
              ))}
            </ol>
          </section>
        ))}
        {history.whole && of ? null : history.whole ? (
          <p class="moment first">
            <span class="still">
              <span class="dot" />
              <span class="sub">{t("initial")}</span>
            </span>
          </p>
        ) : (
          <button type="button" class="link older" onClick={history.older}>
            {t("older")}
          </button>
        )}
      </div>
    </>
  );
}

interface MomentProps extends Omit<TimelineProps, "history"> {
  change: Change;
  list: Change[];
  tabIndex: number;
  onFocus: () => void;
}

/** With shift, two changes are compared: the states before the older and after the newer. */
function compareWith(route: Route, change: Change, list: Change[]): void {
  const position = (version: string | undefined) => list.findIndex((one) => one.version === version);
  const [newer = -1, older = -1] = [position(route.change), position(change.version)].sort((a, b) => a - b);
  if (newer < 0) return;
  const to = list[newer - 1]?.version;
  const from = list[older]!.version;
  go({ screen: "compare", repo: route.repo, branch: route.branch!, from, ...(to ? { to } : {}) });
}

function Moment({ change, route, list, of, tabIndex, onFocus, onRollback }: MomentProps) {
  const current = route.change === change.version || route.at === change.version;
  const { repo, branch } = route;
  const to = { screen: "files", repo, branch: branch!, change: change.version } as const;
  const sign = signs[change.operation];
  return (
    <li class={`moment ${change.operation}${current ? " current" : ""}`} onFocusCapture={onFocus}>
      <a
        tabIndex={tabIndex}
        href={address({ ...to, path: of ?? change.path ?? "" })}
        aria-current={current ? "true" : undefined}
        onClick={(event) => {
          if (of || !event.shiftKey || !route.change || route.change === change.version) return;
          event.preventDefault();
          compareWith(route, change, list);
        }}
      >
        <span class="dot" />
        <span class="body">
          <span class="what">
            {sign && <Icon of={sign} />}
            {change.path ? (
              <Path path={change.path} />
            ) : (
              <span class="base" title={nameOf(change)}>
                {nameOf(change)}
              </span>
            )}
          </span>
          {change.path && change.message && (
            <span class="note" title={change.message}>
              {change.message}
            </span>
          )}
          <span class="sub">
            <Who name={change.created_by} />
            <span class="person" translate={false}>
              {change.created_by}
            </span>
            <span>·</span>
            <time dateTime={change.created_at} title={when(change.created_at)}>
              {time(change.created_at)}
            </time>
            <Counts change={change} />
            <span class="version" translate={false}>
              {change.version}
            </span>
          </span>
        </span>
      </a>
      {onRollback && (
        <button
          type="button"
          class="quiet undo"
          tabIndex={tabIndex}
          title={t("goBack")}
          aria-label={`${t("goBack")}: ${nameOf(change)}, ${ago(change.created_at)}`}
          onClick={() => onRollback(change)}
        >
          <Icon of="back" />
        </button>
      )}
    </li>
  );
}

/** How many files, where the change has more than one and its name does not say so. */
function Counts({ change }: { change: Change }) {
  if (!change.changed || change.path || nameOf(change) === doneBy(change)) return null;
  const { added, modified, deleted } = change.changed;
  return (
    <>
      <span>·</span>
      <span title={t("fileCount", { n: added + modified + deleted })}>
        {number(added + modified + deleted)}
      </span>
    </>
  );
}

interface HistoryPaneProps extends TimelineProps {
  head: string;
  /** The file that is open. */
  path: string | undefined;
}

export function HistoryPane({ route, head, path, history, onRollback }: HistoryPaneProps) {
  const { repo } = route;
  const branch = route.branch!;
  const [alone, setAlone] = useStateBack("alone", false);
  const of = alone ? path : undefined;
  const ofFile = useFileHistory(repo, branch, head, of);
  // What is looked at, or the last change.
  const from = route.change ?? route.at ?? history.list?.[0]?.version;
  return (
    <aside class="right" aria-label={t("history")}>
      <Edge pane="history" name="history" />
      <div class="bar">
        <h2>{t("history")}</h2>
        <span class="grow" />
        {from && (
          <a
            class="quiet"
            title={t("compare")}
            aria-label={t("compare")}
            href={address({ screen: "compare", repo, branch, from })}
          >
            <Icon of="compare" />
          </a>
        )}
      </div>
      {path && (
        <label class="switch">
          <input type="checkbox" checked={alone} onChange={() => setAlone(!alone)} />
          {t("onlyThisFile")}
        </label>
      )}
      <Timeline route={route} history={of ? ofFile : history} of={of} onRollback={onRollback} />
    </aside>
  );
}
