import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog, useDrawn } from "../../shared/dialog.tsx";
import { type Action, complain, notify } from "../../shared/notice.tsx";
import { Alert, Path, Waiting } from "../../shared/parts.tsx";
import { size, t, wordsOf } from "../../shared/text.ts";
import { Failure, hasStatus, type Schemas } from "../api.ts";
import * as calls from "../calls.ts";
import { making } from "../parts/making.ts";
import { undo } from "../parts/undo.ts";
import { carrying, Flow, unreadOf } from "./carry.ts";
import { cut, type Save, type Step, steps } from "./plan.ts";
import { usePresent } from "./present.ts";
import { Progress, Still } from "./progress.tsx";
import type { Target } from "./send.ts";
import { type Made, nothingMade, sendAll, stepsOf } from "./series.ts";
import { isLeftOut, type Picked } from "./walk.ts";
import { say } from "./words.ts";

export interface UploadTarget extends Target {
  /** The folder that is proposed, empty for the branch itself. */
  folder: string;
  may: Schemas["Permissions"];
  limits: Schemas["Limits"];
  /** Something was saved. */
  onChanged: () => void;
}

export interface SheetProps extends UploadTarget {
  picked: Picked[];
  /** The branch is on the screen, as it is now. */
  isHere: boolean;
  onClose: () => void;
}

/** Rows that are drawn; of more only the number is told. */
const ROWS_MAX = 300;

/** What will be new and what will be replaced, under which folder, and why: one look before anything is saved. */
export function UploadSheet(props: SheetProps) {
  const { picked, limits, isHere, onClose } = props;
  const isDrawn = useDrawn();
  const files = picked.filter((one) => !isLeftOut(one.path));
  const leftOut = picked.length - files.length;
  const [typed, setFolder] = useState(() =>
    // A folder brings its own.
    picked.some((one) => one.path.includes("/")) ? "" : props.folder,
  );
  const folder = typed.trim();
  const [message, setMessage] = useState("");
  const [turn, setTurn] = useState(0);
  const [running, run] = useState<Running | null>(null);
  const [failed, fail] = useState("");
  const { present, failed: unseen, again } = usePresent(props, files, folder, turn);
  // After a try that ended half-way only the rest is to be saved.
  const made = useRef(nothingMade()).current;
  const restNow = () => files.filter((one) => !made.files.has(one.file));
  const rest = restNow();
  const plan = present ? steps(rest, folder, present, files) : null;
  const saves = plan ? cut(plan, { entries: limits.batch_actions_max, bytes: limits.batch_bytes_max }) : [];
  const total = made.saves + saves.length;
  const busy = running !== null;
  useAsking(busy);
  // Whoever goes elsewhere before it has begun wants none.
  useEffect(() => {
    if (!isHere && !busy) onClose();
  }, [isHere]);
  const start = async () => {
    if (!present || busy || saves.length === 0) return;
    fail("");
    const flow = new Flow(saves);
    const abort = new AbortController();
    const { signal } = abort;
    let sending: readonly Step[] = [];
    run({ flow, stop: () => abort.abort() });
    const way = {
      signal,
      carry: carrying((bytes) => flow.sent(bytes)),
      onNext: (save: Save) => {
        sending = stepsOf(save);
        flow.begin(save);
      },
    };
    try {
      await sendAll(props, saves, present, message.trim(), made, way);
      finish(props, files.length, made);
    } catch (error) {
      const left = restNow();
      // A browser does not say why it stopped sending.
      const unread = hasStatus(error, 0) ? await unreadOf(sending, signal) : undefined;
      run(null);
      const why = whyOf(error, {
        stopped: signal.aborted,
        unread,
        whole: flow.whole,
        made: made.saves,
        total,
        left: left.length,
      });
      if (isDrawn()) fail(why);
      else complain(say("uploadFailed", { branch: props.branch, why }));
      if (made.saves > 0) props.onChanged();
      setTurn(turn + 1);
    }
  };
  const back = undoOf(props, made);
  const takeAllBack = () => {
    onClose();
    back?.run();
  };
  return (
    <Dialog
      title={say("uploadTitle", { n: files.length })}
      lead={total > 1 ? say("uploadSaves", { n: total }) : say("uploadLead")}
      fixed={busy}
      onEscape={running?.stop}
      onClose={onClose}
      onSubmit={() => void start()}
      foot={
        <>
          {running ? (
            <Progress flow={running.flow} />
          ) : (
            <span class="grow sub">{leftOut > 0 && say("uploadLeftOut", { n: leftOut })}</span>
          )}
          <button type="button" class="button" onClick={running?.stop ?? onClose}>
            {t(!running && made.saves > 0 ? "close" : "cancel")}
          </button>
          <button
            type="button"
            class="button primary"
            disabled={!plan || files.length === 0}
            // It keeps the focus, so that Escape is heard.
            aria-disabled={busy}
            onClick={() => void start()}
          >
            {busy ? t("saving") : say("uploadDo", { n: rest.length })}
          </button>
        </>
      }
    >
      <div class="form upload">
        <label>
          {say("uploadFolder")}
          <input
            value={typed}
            placeholder={say("uploadFolderTop")}
            disabled={busy || made.saves > 0}
            onInput={(event) => {
              setFolder(event.currentTarget.value);
              fail("");
            }}
          />
        </label>
        <label>
          {t("message")}
          <input
            value={message}
            maxLength={1000}
            disabled={busy}
            onInput={(event) => setMessage(event.currentTarget.value)}
          />
        </label>
        {running && <Still flow={running.flow} />}
        {(failed || unseen) && (
          <Alert>
            {failed}{" "}
            {failed && back && (
              <button type="button" class="link" onClick={takeAllBack}>
                {back.label}
              </button>
            )}{" "}
            {unseen}{" "}
            {unseen && again && (
              <button type="button" class="link" onClick={again}>
                {t("tryAgain")}
              </button>
            )}
          </Alert>
        )}
        {plan ? <Plan plan={plan} /> : !unseen && <Waiting />}
      </div>
    </Dialog>
  );
}

/** An upload that is under way. */
interface Running {
  flow: Flow;
  stop: () => void;
}

/** Asks whoever reloads or closes the page while something is under way. */
function useAsking(busy: boolean): void {
  useEffect(() => {
    if (!busy) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [busy]);
}

interface End {
  stopped: boolean;
  /** A file of this computer that cannot be read any more. */
  unread: string | undefined;
  /** All of the save that was under way had been sent. */
  whole: boolean;
  /** Saves that are made, of how many. */
  made: number;
  total: number;
  /** Files that are not saved. */
  left: number;
}

/** Why an upload ended, and what is saved of it. */
function whyOf(error: unknown, { stopped, unread, whole, made, total, left }: End): string {
  const status = error instanceof Failure ? error.status : null;
  const broken = status === 0;
  const cause = () => {
    if (stopped) return say("uploadStopped");
    if (unread !== undefined) return t("uploadUnread", { message: `“${unread}”.` });
    if (broken) return say("uploadBroken");
    return status === 412 ? say("uploadMoved") : wordsOf(error);
  };
  const words = [cause()];
  if (made > 0) words.push(say("uploadPart", { n: made, of: total }), say("uploadRest", { n: left }));
  if ((stopped || broken) && whole) words.push(say("uploadMaybe"));
  else if ((stopped || broken) && made === 0) words.push(say("uploadNothing"));
  return words.join(" ");
}

/** What takes back all that was saved; undefined where nobody can tell what state the branch has now. */
function undoOf(props: SheetProps, { first, commit }: Made): Action | undefined {
  const { repo, branch } = props;
  if (!props.may.rollback || !first || !commit) return undefined;
  const takeBack = async () => {
    await making(calls.rollback(repo, branch, { to: first, expect: commit }));
    props.onChanged();
  };
  return undo(takeBack, { done: say("uploadUndone"), late: say("uploadUndoLate") });
}

function finish(props: SheetProps, count: number, made: Made): void {
  notify(say("uploadDone", { n: count }), undoOf(props, made));
  props.onClose();
  props.onChanged();
}

function Plan({ plan }: { plan: Step[] }) {
  const replaced = plan.filter((step) => step.replaces).length;
  const bytes = plan.reduce((sum, step) => sum + step.file.size, 0);
  // What is replaced is to be seen first.
  const rows = [...plan].sort((a, b) => Number(b.replaces) - Number(a.replaces)).slice(0, ROWS_MAX);
  return (
    <section class="plan" aria-label={t("files")}>
      <p class="sub">
        {say("uploadNew", { n: plan.length - replaced })} · {say("uploadReplaced", { n: replaced })} ·{" "}
        {size(bytes)}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls is scrolled by keys */}
      <ul tabIndex={0}>
        {rows.map((step) => (
          <li key={step.path}>
            <span class={step.replaces ? "mark" : "mark added"} />
            <Path path={step.path} />
            <span class="grow" />
            <span class="sub">
              {say(step.replaces ? "uploadReplaces" : "uploadIsNew")} · {size(step.file.size)}
            </span>
          </li>
        ))}
        {plan.length > rows.length && (
          <li class="sub">{say("uploadMore", { n: plan.length - rows.length })}</li>
        )}
      </ul>
    </section>
  );
}
