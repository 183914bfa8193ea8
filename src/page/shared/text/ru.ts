// The Russian words.
import { frame } from "./frame.ru.ts";
import { history } from "./history.ru.ts";

export const ru = { ...frame, ...history };
