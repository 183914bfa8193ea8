import { useEffect, useRef, useState } from "preact/hooks";
import type { Form } from "../../../editor/bytes.ts";
import { useChunk } from "../../../editor/chunk.ts";
import { language } from "../../../editor/language.ts";
import type { Merger } from "../../../editor/pair.ts";
import { Dialog } from "../../../shared/dialog.tsx";
import type { LeftMerge } from "../../../shared/drafts.ts";
import { Waiting } from "../../../shared/parts.tsx";
import { when } from "../../../shared/text.ts";
import { Missing } from "../../frame/lazy.tsx";
import { say } from "../words.ts";
import type { Conflict, Merged } from "./conflict.ts";

interface ConflictProps {
  path: string;
  conflict: Conflict;
  /** Something was written into what is made of both. */
  onMerging: (left: () => LeftMerge) => void;
  /** With what was made of both, if anything. */
  onClose: (left: LeftMerge | null) => void;
  onTakeTheirs: () => void;
  onSave: (text: string, form: Form) => void;
}

/** The sheet that asks which of two versions is to be: theirs, mine, or what was made of both. */
export function ConflictSheet(props: ConflictProps) {
  const { path, conflict, onMerging, onClose, onTakeTheirs, onSave } = props;
  const { mine, theirs, merged, author } = conflict;
  const merger = useRef<Merger | null>(null);
  if (conflict.etag === null) return <DeletedSheet {...props} />;
  const lead = author
    ? say("conflictLead", { who: author.who, path, when: when(author.at) })
    : say("conflictLeadUnknown", { path });
  const save = () => merged && onSave(merger.current?.state().text ?? merged.text, merged.form);
  const back = () => {
    if (!merged || !theirs) return onClose(null);
    const { text, clashes } = merger.current?.state() ?? merged;
    onClose({ mine, theirs, text, clashes });
  };
  return (
    <Dialog
      wide={merged !== null}
      // What was written by hand goes by a button, not by a key or a click beside it.
      fixed={merged !== null}
      title={say("conflict")}
      lead={lead}
      onClose={back}
      onSubmit={merged ? save : undefined}
      foot={
        <>
          <button type="button" class="button" onClick={onTakeTheirs}>
            {say("takeTheirs")}
          </button>
          {merged && (
            <button type="button" class="button" onClick={back}>
              {say("backToMine")}
            </button>
          )}
          <span class="grow" />
          <button type="button" class="button" onClick={() => onSave(mine.text, mine.form)}>
            {say("keepMine")}
          </button>
          {merged && (
            <button type="button" class="button primary" onClick={save}>
              {say("saveMerged")}
            </button>
          )}
        </>
      }
    >
      {merged && theirs ? (
        <MergerView
          path={path}
          theirs={theirs.text}
          merged={merged}
          handle={merger}
          onChange={(made) => onMerging(() => ({ mine, theirs, ...made.state() }))}
        />
      ) : (
        <p>{say("conflictNoMerge")}</p>
      )}
    </Dialog>
  );
}

interface ViewProps {
  path: string;
  theirs: string;
  merged: Merged;
  handle: { current: Merger | null };
  onChange: (merger: Merger) => void;
}

function MergerView({ path, theirs, merged, handle, onChange }: ViewProps) {
  const place = useRef<HTMLDivElement>(null);
  const [next, setNext] = useState(0);
  const { chunk, failed } = useChunk();
  // No room for two texts side by side.
  const [unified] = useState(() => matchMedia("(max-width: 62.5em)").matches);
  const { clashes } = merged;
  useEffect(() => {
    if (!chunk || !place.current) return;
    const merger = chunk.openMerger(place.current, {
      theirs,
      merged: merged.text,
      clashes,
      language: language(path),
      labels: [say("theirs"), say("mine")],
      description: say("leaveEditor"),
      takeOver: say("takePiece"),
      unified,
      onChange: () => onChange(merger),
    });
    handle.current = merger;
    return () => {
      handle.current = null;
      merger.destroy();
    };
  }, [chunk]);
  const goOn = () => {
    const clash = clashes[next % clashes.length];
    if (clash) handle.current?.goTo(clash.from);
    setNext(next + 1);
  };
  return (
    <div class="merger">
      <div class={clashes.length > 0 ? "hintline strong" : "hintline"}>
        <span>
          {clashes.length > 0
            ? say("conflictClashes", { n: clashes.length })
            : say(merged.again ? "conflictAgain" : "conflictMerged")}
        </span>
        {clashes.length > 0 && (
          <button type="button" class="link" onClick={goOn}>
            {say("nextClash")}
          </button>
        )}
      </div>
      <div class={unified ? "merger-labels unified" : "merger-labels"}>
        <span>{say("theirs")}</span>
        <span>{say("mine")}</span>
      </div>
      {failed ? <Missing /> : !chunk && <Waiting />}
      <div class="code" ref={place} />
    </div>
  );
}

function DeletedSheet({ path, conflict, onClose, onTakeTheirs, onSave }: ConflictProps) {
  const { author, mine } = conflict;
  const values: Record<string, string> = author ? { who: author.who, when: when(author.at) } : {};
  return (
    <Dialog
      title={path}
      lead={say(author ? "deletedMeanwhile" : "deletedMeanwhileUnknown", values)}
      onClose={() => onClose(null)}
      foot={
        <>
          <span class="grow" />
          <button type="button" class="button" onClick={onTakeTheirs}>
            {say("letGo")}
          </button>
          <button type="button" class="button primary" onClick={() => onSave(mine.text, mine.form)}>
            {say("restoreWithMine")}
          </button>
        </>
      }
    />
  );
}
