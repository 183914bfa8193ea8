import type { Russian, Translation } from "../table.ts";
import type { keys as english } from "./keys.en.ts";

export const keys: Translation<typeof english, Russian> = {
  find: "Найти файл или команду",
  save: "Сохранить",
  search: "Поиск в файле",
  wrap: "Переносить строки или нет",
  leave: "Одна за другой: выйти из редактора",
  older: "Более старое и более новое изменение",
  move: "Переименовать или переместить выбранное в дереве",
  delete: "Удалить выбранное в дереве",
  submit: "Кнопка окна",
  close: "Закрыть",
  help: "Эти клавиши",
};
