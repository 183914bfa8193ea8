import { file as en } from "../../shared/text/parts/file.en.ts";
import { file as ru } from "../../shared/text/parts/file.ru.ts";
import { wordsFrom } from "../../shared/text.ts";

/** The words of the open file. */
export const say = wordsFrom({ en, ru });
export type Word = keyof typeof en;
