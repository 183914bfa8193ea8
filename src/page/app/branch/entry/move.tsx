import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { notify } from "../../../shared/notice.tsx";
import { isAway, t } from "../../../shared/text.ts";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { openedIn } from "../../parts/opened.ts";
import { undo } from "../../parts/undo.ts";
import { follow } from "./along.ts";
import { checkPath } from "./path-check.ts";
import { type Condition, isMoved, move } from "./send.ts";
import type { SheetProps } from "./sheet.ts";
import { say } from "./words.ts";

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

/** Asks for another path of a file or a folder. */
export function MoveEntry({ where, entry, onClose }: SheetProps) {
  const { repo, branch, head, account, onChanged } = where;
  const { path, folder } = entry;
  const place = { account, repo, branch, path };
  const [etag] = useState(() => openedIn(place)?.etag ?? entry.etag);
  const [isTyped] = useState(() => openedIn(place)?.isPrecious() ?? false);
  const [wanted, setWanted] = useState(path);
  const field = useRef<HTMLInputElement>(null);
  // The name, as most often that is to be another; without what tells the kind of a file.
  useLayoutEffect(() => {
    const begin = path.lastIndexOf("/") + 1;
    const dot = path.lastIndexOf(".");
    field.current!.setSelectionRange(begin, !folder && dot > begin ? dot : path.length);
  }, []);
  const to = wanted.trim();
  /** Where a try was to bring it that was not answered. */
  const unanswered = useRef<string | null>(null);
  const tryMove = async () => {
    // Where nobody can tell what state the branch has now, nothing is undone by one click.
    if (unanswered.current === to && (await isMoved(where, entry, to))) return null;
    await checkPath(repo, branch, to, entry);
    const late = say(folder ? "folderMoveLate" : "fileMoveLate");
    return move(where, entry, to, { etag, commit: head }, late).catch((error) => {
      if (isAway(error)) unanswered.current = to;
      // What there is now is to be seen before another try.
      onChanged();
      throw error;
    });
  };
  const send = async () => {
    const after = await tryMove();
    const moveBack = async (condition: Condition) => {
      await move(where, { ...entry, path: to }, path, condition, say("undoLate"));
      await follow({ ...place, path: to }, path);
      onChanged();
    };
    onClose();
    await follow(place, to);
    onChanged();
    const words = { done: say("movedBack", { path }) };
    notify(say("isMoved", { path: to }), after ? undo(() => moveBack(after), words) : undefined);
  };
  return (
    <FormDialog
      title={say(folder ? "moveFolderTitle" : "moveFileTitle")}
      lead={say("moveLead")}
      action={say(folderOf(to) === folderOf(path) ? "renameIt" : "moveIt")}
      ready={to !== "" && to !== path}
      onClose={onClose}
      onSend={send}
    >
      <label>
        {t("path")}
        <input
          ref={field}
          required
          autofocus
          spellcheck={false}
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
      </label>
      {isTyped && <p class="hint">{say("typedGoes")}</p>}
    </FormDialog>
  );
}
