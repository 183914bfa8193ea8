import { useState } from "preact/hooks";
import { Dialog, useDrawn } from "../../shared/dialog.tsx";
import { useLoaded } from "../../shared/load.ts";
import { complain, notify } from "../../shared/notice.tsx";
import { Alert, Coming } from "../../shared/parts.tsx";
import { ago, t, when, wordsOf } from "../../shared/text.ts";
import { hasStatus, read, type Schemas } from "../api.ts";
import { say } from "./words.ts";

type Listed = Schemas["ListedSession"];

interface SessionsProps {
  onClose: () => void;
  /** The one that is used here is to end. */
  onLeave: () => void;
}

const placeOf = ({ from }: Listed): string => (from ? say("from", { address: from }) : say("unknownPlace"));

/** What has ended meanwhile is as it was to be. */
async function endOne(id: Listed["id"]): Promise<void> {
  try {
    await read(`/user/sessions/${id}`, { method: "DELETE" });
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
  }
}

/** Where somebody is logged in, and the end of it. */
export function OwnSessions({ onClose, onLeave }: SessionsProps) {
  const sessions = useLoaded([], (signal) => read<Listed[]>("/user/sessions", { signal }));
  const isDrawn = useDrawn();
  const [failed, fail] = useState("");
  const [busy, setBusy] = useState(false);
  const list = sessions.value;
  const others = list?.filter((one) => !one.current) ?? [];
  const end = async (which: Listed[], done: string) => {
    if (busy) return;
    setBusy(true);
    fail("");
    try {
      for (const { id } of which) await endOne(id);
      notify(done);
    } catch (error) {
      // What somebody began and closed is not done, and they are to know.
      if (isDrawn()) fail(wordsOf(error));
      else complain(wordsOf(error));
    }
    setBusy(false);
    sessions.again();
  };
  return (
    <Dialog
      title={t("sessions")}
      lead={say("sessionsLead")}
      onClose={onClose}
      foot={
        <>
          <span class="grow" />
          {others.length > 0 && (
            <button
              type="button"
              class="button danger"
              aria-disabled={busy}
              onClick={() => end(others, say("othersEnded"))}
            >
              {say("endOthers", { n: others.length })}
            </button>
          )}
          <button type="button" class="button" onClick={onLeave}>
            {t("logout")}
          </button>
        </>
      }
    >
      {list ? (
        <ul class="given">
          {list.map((one) => (
            <One key={one.id} session={one} busy={busy} onEnd={() => end([one], say("ended"))} />
          ))}
        </ul>
      ) : (
        <Coming of={sessions} />
      )}
      {list && others.length === 0 && <p class="hint">{say("noOthers")}</p>}
      {failed && <Alert>{failed}</Alert>}
    </Dialog>
  );
}

function One({ session, busy, onEnd }: { session: Listed; busy: boolean; onEnd: () => void }) {
  const { created_at: since, last_used_at: used, expires_at: until, current } = session;
  const that = { address: session.from ?? "?", when: ago(used) };
  return (
    <li>
      <div>
        <b>{placeOf(session)}</b> {current && <span class="pill add">{say("thisOne")}</span>}
        <p class="sub">
          {say("lastUsed", { when: ago(used) })} · {say("since", { when: when(since) })} ·{" "}
          {say("until", { when: when(until) })}
        </p>
      </div>
      {!current && (
        <button
          type="button"
          class="button"
          aria-label={say("endThat", that)}
          aria-disabled={busy}
          onClick={onEnd}
        >
          {say("end")}
        </button>
      )}
    </li>
  );
}
