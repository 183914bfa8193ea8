import { own as en } from "../../shared/text/screens/own.en.ts";
import { own as ru } from "../../shared/text/screens/own.ru.ts";
import { wordsFrom } from "../../shared/text.ts";

/** The words of one's own account. */
export const say = wordsFrom({ en, ru });
