import type { file as english } from "./file.en.ts";
import type { Russian, Translation } from "./table.ts";

export const file: Translation<typeof english, Russian> = {
  save: "Сохранить",
  saved: "Сохранён {path}",
};
