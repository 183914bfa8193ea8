// The Russian words.
import { frame } from "./frame.ru.ts";
import { history } from "./history.ru.ts";
import { tokens } from "./tokens.ru.ts";

export const ru = { ...frame, ...history, ...tokens };
