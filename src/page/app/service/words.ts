import { service as en } from "../../shared/text/screens/service.en.ts";
import { service as ru } from "../../shared/text/screens/service.ru.ts";
import { wordsFrom } from "../../shared/text.ts";

/** The words of the screen of the service. */
export const say = wordsFrom({ en, ru });
export type Word = keyof typeof en;
