import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog } from "../../shared/dialog.tsx";
import { useDrawn } from "../../shared/drawn.ts";
import { complain, notify } from "../../shared/notice.tsx";
import { Alert, Path, Waiting } from "../../shared/parts.tsx";
import { size, t } from "../../shared/text.ts";
import { Failure, type Schemas, wordsOf } from "../api.ts";
import * as calls from "../calls.ts";
import { undo } from "../parts/undo.ts";
import { cut, type Present, type Step, steps, under } from "./plan.ts";
import { look, type Target } from "./send.ts";
import { type Made, nothingMade, sendAll } from "./series.ts";
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

/** A folder's name is looked for once it has been typed, in milliseconds after the last key. */
const PAUSE = 250;

/** What is there of the paths; null while it is asked for. It is asked again when the branch has moved on. */
function usePresent(props: SheetProps, files: Picked[], folder: string, turn: number) {
  const [present, set] = useState<Present | null>(null);
  const [failed, fail] = useState("");
  const seen = useRef(folder);
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    set(null);
    fail("");
    const ask = () => {
      const paths = files.map((one) => under(folder, one.path));
      look(props, paths, signal).then(
        (found) => !signal.aborted && set(found),
        (error) => !signal.aborted && fail(wordsOf(error)),
      );
    };
    const timer = setTimeout(ask, seen.current === folder ? 0 : PAUSE);
    seen.current = folder;
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [folder, turn]);
  return { present, failed };
}

/** What will be new and what will be replaced, under which folder, and why: one look before anything is saved. */
export function UploadSheet(props: SheetProps) {
  const { picked, limits, isHere, onClose } = props;
  const isDrawn = useDrawn();
  const files = picked.filter((one) => !isLeftOut(one.path));
  const leftOut = picked.length - files.length;
  const [folder, setFolder] = useState(() =>
    // A folder brings its own.
    picked.some((one) => one.path.includes("/")) ? "" : props.folder,
  );
  const [message, setMessage] = useState("");
  const [turn, setTurn] = useState(0);
  const [at, setAt] = useState<number | null>(null);
  const [failed, fail] = useState("");
  const { present, failed: unseen } = usePresent(props, files, folder, turn);
  // After a try that ended half-way only the rest is to be saved.
  const made = useRef(nothingMade()).current;
  const rest = files.filter((one) => !made.paths.has(under(folder, one.path)));
  const plan = present ? steps(rest, folder, present) : null;
  const saves = plan ? cut(plan, { entries: limits.batch_actions_max, bytes: limits.batch_bytes_max }) : [];
  const total = made.saves + saves.length;
  const busy = at !== null;
  // Whoever goes elsewhere before it has begun wants none.
  useEffect(() => {
    if (!isHere && !busy) onClose();
  }, [isHere]);
  const start = async () => {
    if (!present || busy || saves.length === 0) return;
    fail("");
    try {
      await sendAll(props, saves, present, message.trim(), made, () => setAt(made.saves));
      finish(props, files.length, made);
    } catch (error) {
      setAt(null);
      const moved = error instanceof Failure && error.status === 412;
      const words = moved ? say("uploadMoved") : wordsOf(error);
      const why = made.saves > 0 ? `${say("uploadPart", { n: made.saves, of: total })} ${words}` : words;
      if (isDrawn()) fail(why);
      else complain(say("uploadFailed", { branch: props.branch, why }));
      if (made.saves > 0) props.onChanged();
      setTurn(turn + 1);
    }
  };
  return (
    <Dialog
      title={say("uploadTitle", { n: files.length })}
      lead={total > 1 ? say("uploadSaves", { n: total }) : say("uploadLead")}
      fixed={busy}
      onClose={onClose}
      onSubmit={() => void start()}
      foot={
        <>
          {busy && (
            <progress class="grow" max={total} value={at} aria-label={t("saving")}>
              {at}
            </progress>
          )}
          {!busy && <span class="grow sub">{leftOut > 0 && say("uploadLeftOut", { n: leftOut })}</span>}
          <button type="button" class="button" onClick={onClose} disabled={busy}>
            {t("cancel")}
          </button>
          <button
            type="button"
            class="button primary"
            disabled={!plan || busy || files.length === 0}
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
            value={folder}
            placeholder={say("uploadFolderTop")}
            disabled={busy || made.saves > 0}
            onInput={(event) => setFolder(event.currentTarget.value)}
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
        {failed && <Alert>{failed}</Alert>}
        {unseen && (
          <Alert>
            {unseen}{" "}
            <button type="button" class="link" onClick={() => setTurn(turn + 1)}>
              {t("tryAgain")}
            </button>
          </Alert>
        )}
        {plan ? <Plan plan={plan} /> : !unseen && <Waiting />}
      </div>
    </Dialog>
  );
}

function finish(props: SheetProps, count: number, { first, commit }: Made): void {
  const { repo, branch } = props;
  const takeBack = async (to: string, expect: string) => {
    await calls.rollback(repo, branch, { to, expect });
    props.onChanged();
  };
  const words = { done: say("uploadUndone"), late: say("uploadUndoLate") };
  // Where nobody can tell what state the branch has now, nothing is undone by one click.
  const can = props.may.rollback && first && commit ? undo(() => takeBack(first, commit), words) : undefined;
  notify(say("uploadDone", { n: count }), can);
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
