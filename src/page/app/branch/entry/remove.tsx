import { useEffect, useRef, useState } from "preact/hooks";
import { countDrafts } from "../../../shared/drafts/places.ts";
import { Icon } from "../../../shared/icons.tsx";
import { useLoaded } from "../../../shared/load.ts";
import { notify } from "../../../shared/notice.tsx";
import { Coming, Path } from "../../../shared/parts.tsx";
import { isAway, t } from "../../../shared/text.ts";
import { hasStatus } from "../../api.ts";
import * as calls from "../../calls.ts";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { making } from "../../parts/making.ts";
import { openedIn } from "../../parts/opened.ts";
import { undo } from "../../parts/undo.ts";
import { leave } from "./along.ts";
import { countFiles, type Deleted, remove } from "./send.ts";
import type { SheetProps } from "./sheet.ts";
import { say } from "./words.ts";

/** Asks before a file or a folder is deleted: tells what goes, and what stays. */
export function RemoveEntry({ where, entry, onClose }: SheetProps) {
  const { repo, branch, head, may, account, onChanged } = where;
  const { path, folder } = entry;
  const place = { account, repo, branch, path };
  // That of what they have seen, and not of what others save while the question is asked.
  const [etag] = useState(() => openedIn(place)?.etag ?? entry.etag);
  const [isTyped] = useState(() => openedIn(place)?.isPrecious() ?? false);
  // With the commit that it is deleted at: whoever saved before is seen, whoever saves after is in the way. What comes of
  // the deletion itself may be heard of before its answer: by then there is nothing left to count.
  const at = useRef(head);
  const isSent = useRef(false);
  const isUnanswered = useRef(false);
  if (!isSent.current) at.current = head;
  const told = useLoaded([at.current], async (signal) => {
    const commit = at.current;
    const files = folder ? await countFiles(where, path, signal) : { files: 1, more: false };
    return { ...files, commit, drafts: Math.max(isTyped ? 1 : 0, await countDrafts(place)) };
  });
  const known = told.value;
  const isOver = isUnanswered.current && hasStatus(told.error, 404);
  useEffect(() => {
    // A folder that is not there any more: the try was not answered, and did it.
    if (isOver) void finish(null);
  }, [isOver]);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const finish = async (done: Deleted | null) => {
    const takeBack = async (to: string, expect: string) => {
      await making(calls.rollback(repo, branch, { to, path: [path], expect }));
      onChanged();
    };
    onClose();
    await leave(place);
    onChanged();
    const words = { done: say("isBack", { path }), late: say("undoLate") };
    // Where nobody can tell what state the branch has now, nothing is undone by one click.
    const { snapshot, commit_id: expect } = done ?? {};
    const back =
      may.rollback && snapshot && expect ? undo(() => takeBack(snapshot, expect), words) : undefined;
    notify(say("isDeleted", { path }), back);
  };
  const send = async () => {
    isSent.current = true;
    const commit = known?.commit ?? head;
    const again = isUnanswered.current;
    const done = await remove(where, { ...entry, etag }, commit, again).catch((error) => {
      // What there is now is to be seen before another try.
      isSent.current = false;
      isUnanswered.current ||= isAway(error);
      onChanged();
      throw error;
    });
    await finish(done);
  };
  return (
    <FormDialog
      danger
      title={say(folder ? "deleteFolderTitle" : "deleteFileTitle", { name })}
      lead={say("deleteLead")}
      action={folder && known && !known.more ? say("deleteFiles", { n: known.files }) : say("deleteIt")}
      ready={!folder || known !== null}
      onClose={onClose}
      onSend={send}
    >
      <p class="subject">
        <Icon of={folder ? "folder" : "file"} />
        <Path path={path} />
        {folder && known && (
          <span class="sub">
            {known.more ? say("moreFiles", { n: known.files }) : t("fileCount", { n: known.files })}
          </span>
        )}
      </p>
      {folder && !known && <Coming of={told} />}
      {known !== null && known.drafts > 0 && (
        <p class="in-the-way">{folder ? say("typedIn", { n: known.drafts }) : say("typed")}</p>
      )}
    </FormDialog>
  );
}
