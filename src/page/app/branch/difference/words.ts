import { changes as en } from "../../../shared/text/parts/changes.en.ts";
import { changes as ru } from "../../../shared/text/parts/changes.ru.ts";
import { wordsFrom } from "../../../shared/text.ts";

/** The words of the list of what differs. */
export const say = wordsFrom({ en, ru });
export type Word = keyof typeof en;
