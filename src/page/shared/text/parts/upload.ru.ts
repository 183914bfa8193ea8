import type { Russian, Translation } from "../table.ts";
import type { upload as english } from "./upload.en.ts";

export const upload: Translation<typeof english, Russian> = {
  uploadTitle: {
    one: "Добавить {n} файл",
    few: "Добавить {n} файла",
    many: "Добавить {n} файлов",
    other: "Добавить {n} файла",
  },
  uploadLead: "Всё станет одним сохранением с одним снимком.",
  uploadSaves: {
    one: "Будет {n} сохранение.",
    few: "Для одного сохранения слишком много: их будет {n}, одно за другим.",
    many: "Для одного сохранения слишком много: их будет {n}, одно за другим.",
    other: "Для одного сохранения слишком много: их будет {n}, одно за другим.",
  },
  uploadFolder: "В папку",
  uploadFolderTop: "в саму ветку",
  uploadNew: "новых: {n}",
  uploadReplaced: "заменяется: {n}",
  uploadIsNew: "новый",
  uploadReplaces: "заменяет",
  uploadMore: { one: "и ещё {n}", few: "и ещё {n}", many: "и ещё {n}", other: "и ещё {n}" },
  uploadLeftOut: {
    one: "Не берётся {n}: .git, .DS_Store и подобное",
    few: "Не берутся {n}: .git, .DS_Store и подобное",
    many: "Не берутся {n}: .git, .DS_Store и подобное",
    other: "Не берутся {n}: .git, .DS_Store и подобное",
  },
  uploadDo: {
    one: "Сохранить {n} файл",
    few: "Сохранить {n} файла",
    many: "Сохранить {n} файлов",
    other: "Сохранить {n} файла",
  },
  uploadDone: {
    one: "Сохранён {n} файл",
    few: "Сохранено {n} файла",
    many: "Сохранено {n} файлов",
    other: "Сохранено {n} файла",
  },
  uploadPart: "Сохранений сделано: {n} из {of}.",
  uploadRest: {
    one: "Не сохранён {n} файл.",
    few: "Не сохранено {n} файла.",
    many: "Не сохранено {n} файлов.",
    other: "Не сохранено {n} файла.",
  },
  uploadSent: "Отправлено {sent} из {total}",
  uploadSentAll: "Все {total} отправлены, ждём ответа",
  uploadStill:
    "Уже несколько секунд ничего не уходит: сеть не пропускает. Отправка продолжится сама, как только сможет; “Отмена” её остановит.",
  uploadNoAnswer:
    "Всё отправлено, ответа пока нет. Можно подождать; “Отмена” прекращает ожидание, а сохранено ли, будет видно в истории.",
  uploadStopped: "Остановлено.",
  uploadBroken: "Соединение прервалось.",
  uploadNothing: "Ничего не сохранено.",
  uploadMaybe: "Последнее сохранение было отправлено целиком: сделано ли оно, видно в истории.",
  uploadFailed: "Не удалось добавить файлы в {branch}. {why}",
  uploadMoved: "Тем временем в эту ветку кто-то сохранил. Ничего не перезаписано: посмотрите список ещё раз.",
  uploadUndone: "Файлы снова такие, как были",
  uploadUndoLate: "После этого уже сохраняли. К чему можно вернуться, видно в истории.",
};
