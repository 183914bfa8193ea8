import { accounts as en } from "../../shared/text/screens/accounts.en.ts";
import { accounts as ru } from "../../shared/text/screens/accounts.ru.ts";
import { wordsFrom } from "../../shared/text.ts";

/** The words of the accounts. */
export const say = wordsFrom({ en, ru });
export type Word = keyof typeof en;
