import type { Russian, Translation } from "../table.ts";
import type { changes as english } from "./changes.en.ts";

export const changes: Translation<typeof english, Russian> = {
  sumAdded: "добавлено: {n}",
  sumChanged: "изменено: {n}",
  sumRemoved: "удалено: {n}",
  sumBack: "вернётся: {n}",
  sumChangedBack: "изменится: {n}",
  sumAway: "исчезнет: {n}",
  filter: "Отбор изменённых файлов",
};
