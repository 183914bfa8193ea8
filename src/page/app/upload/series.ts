// The saves of an upload, one after another.
import { accountNow, Failure } from "../api.ts";
import { follows, isUntouched, type Present, type Save, type Step } from "./plan.ts";
import { type Done, look, saveBatch, saveFile, type Target } from "./send.ts";

/** What is saved already, of an upload of several saves. */
export interface Made {
  saves: number;
  paths: Set<string>;
  /** The snapshot from before the first; null where to go back to it would take away what others saved, too. */
  first: string | null;
  /** The snapshot from before the last. */
  last: string | null;
  /** The state after the last, where it was told. */
  commit: string | null;
}

export const nothingMade = (): Made => ({
  saves: 0,
  paths: new Set(),
  first: null,
  last: null,
  commit: null,
});

const stepsOf = (save: Save): Step[] => (save.kind === "file" ? [save.file] : save.files);

/** The state of the branch now, if what the files meet there is still what was looked at. */
async function lookAgain(target: Target, plan: Step[]): Promise<string> {
  const paths = plan.map((step) => step.path);
  const present = await look(target, paths, new AbortController().signal);
  if (!isUntouched(plan, present)) throw new Failure(412, "");
  return present.commit;
}

/**
 * Makes the saves, all for who is logged in now, and notes each in `made` as soon as it is made.
 * @throws Failure of status 412 where somebody saved meanwhile: what that save would overwrite is as it was.
 */
export async function sendAll(
  place: Target,
  saves: readonly Save[],
  looked: Present,
  message: string,
  made: Made,
  onNext: () => void,
): Promise<void> {
  const target = { ...place, as: accountNow() };
  let commit: string | null = looked.commit;
  for (const [at, save] of saves.entries()) {
    onNext();
    let done: Done;
    if (save.kind === "file") done = await saveFile(target, save.file, message);
    else {
      // Where a save did not tell the state it made, the next batch has none yet to be made on.
      commit ??= await lookAgain(target, saves.slice(at).flatMap(stepsOf));
      done = await saveBatch(target, save.files, commit, message);
    }
    if (made.last === null) made.first = done.snapshot;
    else if (!follows(done.snapshot, made.last)) made.first = null;
    made.saves += 1;
    made.last = done.snapshot;
    made.commit = done.commit;
    commit = done.commit;
    for (const step of stepsOf(save)) made.paths.add(step.path);
  }
}
