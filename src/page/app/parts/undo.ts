// The way back that a notice offers.
import { type Action, complain, notify } from "../../shared/notice.tsx";
import { t, wordsOf } from "../../shared/text.ts";
import { hasStatus } from "../api.ts";

interface Words {
  /** What is said when it is done. */
  done: string;
  /** What is said where others have changed since what it would take back. */
  late?: string;
  /** What can be done where it is refused. */
  otherwise?: Action;
}

/** Takes something back, and tells how that ends. */
export function undo(take: () => Promise<unknown>, words: Words): Action {
  const run = async () => {
    try {
      await take();
      notify(words.done);
    } catch (error) {
      const isLate = hasStatus(error, 412);
      complain((isLate && words.late) || wordsOf(error), words.otherwise);
    }
  };
  return { label: t("undo"), run: () => void run() };
}
