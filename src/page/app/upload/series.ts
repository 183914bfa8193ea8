// The saves of an upload, one after another.
import { accountNow, Failure } from "../api.ts";
import { follows, isUntouched, type Present, type Save, type Step } from "./plan.ts";
import { type Done, look, saveBatch, saveFile, type Target, type Way } from "./send.ts";

/** What is saved already, of an upload of several saves. */
export interface Made {
  saves: number;
  files: Set<Blob>;
  /** The snapshot from before the first; null where to go back to it would take away what others saved, too. */
  first: string | null;
  /** The snapshot from before the last. */
  last: string | null;
  /** The state after the last, where it was told. */
  commit: string | null;
}

export const nothingMade = (): Made => ({
  saves: 0,
  files: new Set(),
  first: null,
  last: null,
  commit: null,
});

/** The files of a save. */
export const stepsOf = (save: Save): Step[] => (save.kind === "file" ? [save.file] : save.files);

/** The state of the branch now, if what the files meet there is still what was looked at. */
async function lookAgain(target: Target, plan: Step[], signal: AbortSignal): Promise<string> {
  const paths = plan.map((step) => step.path);
  const present = await look(target, paths, signal);
  if (!isUntouched(plan, present)) throw new Failure(412, "");
  return present.commit;
}

export interface SeriesWay extends Way {
  /** Hears of each save before it is sent. */
  onNext: (save: Save) => void;
}

/**
 * Makes the saves, all for who is logged in now, and notes each in `made` as soon as it is made.
 * @throws Failure of status 412 where somebody saved meanwhile: what that save would overwrite is as it was.
 * @throws what `way.signal` was aborted with; the save under way is not made unless all of it had been sent.
 */
export async function sendAll(
  place: Target,
  saves: readonly Save[],
  looked: Present,
  message: string,
  made: Made,
  way: SeriesWay,
): Promise<void> {
  const target = { ...place, as: accountNow() };
  let commit: string | null = looked.commit;
  for (const [at, save] of saves.entries()) {
    way.onNext(save);
    let done: Done;
    if (save.kind === "file") done = await saveFile(target, save.file, message, way);
    else {
      // Where a save did not tell the state it made, the next batch has none yet to be made on.
      commit ??= await lookAgain(target, saves.slice(at).flatMap(stepsOf), way.signal);
      done = await saveBatch(target, save.files, commit, message, way);
    }
    if (made.last === null) made.first = done.snapshot;
    else if (!follows(done.snapshot, made.last)) made.first = null;
    made.saves += 1;
    made.last = done.snapshot;
    made.commit = done.commit;
    commit = done.commit;
    for (const step of stepsOf(save)) made.files.add(step.file);
  }
}
