import { entry as en } from "../../../shared/text/names/entry.en.ts";
import { entry as ru } from "../../../shared/text/names/entry.ru.ts";
import { wordsFrom } from "../../../shared/text.ts";

/** The words of what is done to files and folders. */
export const say = wordsFrom({ en, ru });
