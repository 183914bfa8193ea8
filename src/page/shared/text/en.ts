// The English words: the list of all keys.
import { frame } from "./frame.en.ts";
import { history } from "./history.en.ts";

export const en = { ...frame, ...history };
