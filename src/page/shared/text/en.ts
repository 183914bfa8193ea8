// The English words: the list of all keys.
import { frame } from "./frame.en.ts";
import { history } from "./history.en.ts";
import { tokens } from "./tokens.en.ts";

export const en = { ...frame, ...history, ...tokens };
