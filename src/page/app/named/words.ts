import { named as en } from "../../shared/text/names/named.en.ts";
import { named as ru } from "../../shared/text/names/named.ru.ts";
import { wordsFrom } from "../../shared/text.ts";

/** The words of what is done to branches and projects as such, and of what was deleted. */
export const say = wordsFrom({ en, ru });
export type Word = keyof typeof en;
