import type { Russian, Translation } from "../table.ts";
import type { rollback as english } from "./rollback.en.ts";

export const rollback: Translation<typeof english, Russian> = {
  lead: "Ветка вернётся к {version}, к состоянию перед изменением ({who}: {what}). Текущее состояние останется снимком, поэтому откат можно отменить.",
  rollBack: {
    one: "Откатить {n} файл",
    few: "Откатить {n} файла",
    many: "Откатить {n} файлов",
    other: "Откатить {n} файла",
  },
  nothing: "Ничего не изменится: ветка уже в этом состоянии.",
  onlyFile: "Только {path}",
  rolled: "Ветка снова в состоянии {version}",
  undone: "Отменено",
  undoLate: "После этого кто-то сохранил файлы. К чему можно вернуться, видно в истории.",
  failed: "Не получилось вернуть состояние перед: {what}. {why}",
  movedOn: "Тем временем кто-то сохранил файлы, и ничего не сделано. Вот что изменилось бы теперь.",
};
