import { upload as en } from "../../shared/text/parts/upload.en.ts";
import { upload as ru } from "../../shared/text/parts/upload.ru.ts";
import { wordsFrom } from "../../shared/text.ts";

/** The words of the sheet that adds files. */
export const say = wordsFrom({ en, ru });
