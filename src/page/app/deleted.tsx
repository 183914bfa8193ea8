// What was deleted and can still be brought back: branches and projects.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { isNowhere } from "../shared/focus.ts";
import type { Loaded } from "../shared/load.ts";
import { complain, notify } from "../shared/notice.tsx";
import { Behind, Coming, Empty } from "../shared/parts.tsx";
import { t, wordsOf } from "../shared/text.ts";
import type { Schemas } from "./api.ts";
import { nameOf, RestoreAs } from "./deleted/restore.tsx";
import { Table } from "./deleted/table.tsx";
import * as calls from "./named/calls.ts";
import { say } from "./named/words.ts";
import { go } from "./route.ts";

interface DeletedProps {
  session: Schemas["Session"];
  projects: Loaded<Schemas["Project"][]>;
}

/** The pages that have come, one after another. */
function useDeleted() {
  const [pages, set] = useState<calls.Page | null>(null);
  const [error, fail] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    calls.deleted(null, abort.signal).then(
      (page) => {
        fail(null);
        set(page);
      },
      (error) => !abort.signal.aborted && fail(error),
    );
    return () => abort.abort();
  }, [turn]);
  const more = async () => {
    const after = pages?.next;
    if (!after) return;
    try {
      const page = await calls.deleted(after);
      fail(null);
      // Unless the list was begun anew meanwhile.
      set((was) => (was?.next === after ? { list: [...was.list, ...page.list], next: page.next } : was));
    } catch (error) {
      fail(error);
    }
  };
  const leaveOut = (id: string) =>
    set((was) => was && { ...was, list: was.list.filter((one) => one.id !== id) });
  return { pages, error, more, leaveOut, again: () => setTurn((n) => n + 1) };
}

export function DeletedScreen({ session, projects }: DeletedProps) {
  const { pages, error, more, leaveOut, again } = useDeleted();
  const [asking, ask] = useState<calls.Deleted | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [restored, count] = useState(0);
  useLayoutEffect(() => {
    // The button that was pressed has gone with its row.
    if (restored > 0 && isNowhere()) document.getElementById("main")?.focus();
  }, [restored]);
  const restore = async (one: calls.Deleted, as?: string) => {
    const there = await calls.restore(one.id, as);
    leaveOut(one.id);
    projects.again();
    const [repo, branch] = "repo_id" in there ? [there.repo_id] : [one.repo_id, there.name];
    const open = () => go({ screen: "files", repo, ...(branch ? { branch } : {}) });
    notify(say("isRestored", { name: branch ?? repo }), { label: say("open"), run: open });
  };
  const begin = async (one: calls.Deleted) => {
    if (busy === one.id) return;
    setBusy(one.id);
    try {
      await restore(one);
      count(restored + 1);
    } catch (error) {
      if (error instanceof calls.Taken) ask(one);
      else {
        complain(`${nameOf(one)}: ${wordsOf(error)}`);
        again();
      }
    }
    setBusy(null);
  };
  const list = pages?.list;
  return (
    <main id="main" class="sheet-page" tabIndex={-1}>
      <header>
        <div>
          <h1>{t("deleted")}</h1>
          <p class="sub">{say("deletedLead", { n: session.limits.keep_deleted_days })}</p>
        </div>
      </header>
      {list && error ? <Behind words={wordsOf(error)} onAgain={again} /> : null}
      {!list ? (
        <Coming of={{ error, again }} />
      ) : list.length === 0 ? (
        <Empty icon="trash" title={say("nothingDeleted")}>
          <p>{say("nothingDeletedHint")}</p>
        </Empty>
      ) : (
        <Table list={list} own={session.username} busy={busy} onRestore={(one) => void begin(one)} />
      )}
      {pages?.next && (
        <button type="button" class="button more" onClick={() => void more()}>
          {say("showMore")}
        </button>
      )}
      {asking && (
        <RestoreAs
          of={asking}
          onClose={() => ask(null)}
          onSend={async (as) => {
            await restore(asking, as);
            ask(null);
            count(restored + 1);
          }}
        />
      )}
    </main>
  );
}
