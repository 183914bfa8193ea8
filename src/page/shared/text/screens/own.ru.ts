import type { Russian, Translation } from "../table.ts";
import type { own as english } from "./own.en.ts";

export const own: Translation<typeof english, Russian> = {
  passwordLead: "Все остальные ваши сеансы завершатся.",
  oldPassword: "Нынешний пароль",
  newPassword: "Новый пароль",
  again: "Новый пароль ещё раз",
  rule: "Не меньше {n} символов; лучше всего несколько слов.",
  change: "Сменить",
  differ: "Новый пароль введён по-разному.",
  wrongOld: "Нынешний пароль другой.",
  guessed: "Такой пароль скоро подберут: возьмите несколько слов.",
  badLength: "В пароле не меньше {n} символов.",
  done: "Пароль сменён; остальные ваши сеансы завершены.",

  sessionsLead: "Где вы вошли. Незнакомый сеанс завершите и смените пароль.",
  thisOne: "этот",
  unknownPlace: "адрес неизвестен",
  from: "с адреса {address}",
  since: "с {when}",
  until: "самое позднее до {when}",
  lastUsed: "использован {when}",
  end: "Завершить",
  endThat: "Завершить сеанс с адреса {address}, использован {when}",
  endOthers: {
    one: "Завершить {n} другой",
    few: "Завершить {n} других",
    many: "Завершить {n} других",
    other: "Завершить {n} других",
  },
  ended: "Сеанс завершён",
  othersEnded: "Остальные сеансы завершены",
  noOthers: "Больше вы нигде не вошли.",

  unsavedLead:
    "Что вы набрали и не сохранили. Это хранится только в этом браузере: пока не сохраните, не отмените или не выйдете.",
  allSaved: "Всё сохранено",
  allSavedHint: "Здесь ждут файлы, которые вы изменили и оставили, не сохранив.",
  file: "Файл",
  typed: "Набрано",
};
