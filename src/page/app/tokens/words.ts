import { tokens as en } from "../../shared/text/screens/tokens.en.ts";
import { tokens as ru } from "../../shared/text/screens/tokens.ru.ts";
import { wordsFrom } from "../../shared/text.ts";

/** The words of the screen of the tokens. */
export const say = wordsFrom({ en, ru });
