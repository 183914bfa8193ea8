// Going back: what would change is shown first, then one button does it, unless somebody saved meanwhile.
import { useRef, useState } from "preact/hooks";
import { Dialog, useDrawn } from "../../shared/dialog.tsx";
import { Icon } from "../../shared/icons.tsx";
import { useLoaded } from "../../shared/load.ts";
import { complain, notify } from "../../shared/notice.tsx";
import { Alert, Coming } from "../../shared/parts.tsx";
import { rollback as en } from "../../shared/text/parts/rollback.en.ts";
import { rollback as ru } from "../../shared/text/parts/rollback.ru.ts";
import { t, when, wordsFrom, wordsOf } from "../../shared/text.ts";
import { hasStatus } from "../api.ts";
import * as calls from "../calls.ts";
import { making } from "../parts/making.ts";
import { undo } from "../parts/undo.ts";
import { Changes } from "./difference/changes.tsx";
import { Sides } from "./difference.tsx";
import { type Change, nameOf } from "./history-state.ts";

const say = wordsFrom({ en, ru });

export interface RollbackProps {
  repo: string;
  branch: string;
  change: Change;
  /** The one file that may be restored alone. */
  file: string | undefined;
  /** Only that file is meant from the start. */
  only: boolean;
  /** The commit id of the branch that the preview is for. */
  head: string;
  /** It is done, and its sheet is still open. */
  onDone: () => void;
  /** The branch has another state: what it is now is to be read. */
  onMoved: () => void;
  onClose: () => void;
}

export function Rollback({
  repo,
  branch,
  change,
  file,
  only,
  head,
  onDone,
  onMoved,
  onClose,
}: RollbackProps) {
  const [alone, setAlone] = useState(only && file !== undefined);
  const [chosen, choose] = useState<string | undefined>(undefined);
  const isDrawn = useDrawn();
  const [failed, fail] = useState("");
  const [busy, setBusy] = useState(false);
  const path = alone && file ? [file] : undefined;
  // What comes of going back itself may be heard of before its answer: it is no other state to go back from.
  const at = useRef(head);
  if (!busy) at.current = head;
  const { value: list, ...preview } = useLoaded([at.current, alone, change.version], () =>
    calls.rehearsal(repo, branch, { to: change.version, path }),
  );
  // As going back would be: to try again changes nothing.
  const isRefused = hasStatus(preview.error, 400);
  const entry = list?.find((one) => one.path === chosen) ?? list?.[0];
  const run = async () => {
    if (busy || !list?.length) return;
    setBusy(true);
    fail("");
    try {
      const back = await making(
        calls.rollback(repo, branch, { to: change.version, path, expect: at.current }),
      );
      onMoved();
      // Whoever went elsewhere meanwhile stays there.
      if (isDrawn()) onDone();
      const { restored, snapshot, commit_id: expect } = back;
      // Where nobody can tell what state the branch has now, nothing is undone by one click.
      const takeBack = async (expect: string) => {
        await making(calls.rollback(repo, branch, { to: snapshot, path, expect }));
        onMoved();
      };
      const words = { done: say("undone"), late: say("undoLate") };
      notify(say("rolled", { version: restored }), expect ? undo(() => takeBack(expect), words) : undefined);
    } catch (error) {
      setBusy(false);
      const moved = hasStatus(error, 412);
      if (isDrawn()) fail(moved ? say("movedOn") : wordsOf(error));
      else {
        const why = moved ? say("undoLate") : wordsOf(error);
        complain(say("failed", { what: nameOf(change), why }));
      }
      if (moved) onMoved();
    }
  };
  return (
    <Dialog
      wide
      title={t("rollbackTitle", { when: when(change.created_at) })}
      lead={say("lead", {
        version: change.version,
        who: change.created_by,
        what: nameOf(change),
      })}
      fixed={busy}
      onClose={onClose}
      onSubmit={run}
      foot={
        <>
          <span class="grow">
            {file && (
              <label class="switch">
                <input
                  type="checkbox"
                  checked={alone}
                  onChange={(event) => setAlone(event.currentTarget.checked)}
                />
                {say("onlyFile", { path: file })}
              </label>
            )}
          </span>
          <button type="button" class="button" onClick={onClose} disabled={busy}>
            {t("cancel")}
          </button>
          <button
            type="button"
            class="button danger"
            // It keeps the focus, and with it the keys of the dialog.
            aria-disabled={busy || !list?.length}
            onClick={run}
          >
            {busy ? <span class="busy" /> : <Icon of="back" />}
            {list ? say("rollBack", { n: list.length }) : "…"}
          </button>
        </>
      }
    >
      {failed && <Alert>{failed}</Alert>}
      {!list ? (
        isRefused ? (
          <Alert>{wordsOf(preview.error)}</Alert>
        ) : (
          <Coming of={preview} />
        )
      ) : list.length === 0 ? (
        <p class="hint">{say("nothing")}</p>
      ) : (
        <div class="split">
          <Changes list={list} current={entry?.path} as="undone" onChoose={choose} />
          <Sides
            repo={repo}
            branch={branch}
            before={{ version: null, label: t("now") }}
            after={{ version: change.version, label: change.version }}
            entry={entry}
          />
        </div>
      )}
    </Dialog>
  );
}
