// What is done to a file or a folder beside saving: it gets another path, or is deleted. Its dialogs are fetched when
// one is first opened.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Item } from "../../../shared/menu.tsx";
import { t } from "../../../shared/text.ts";
import { lazyDialog } from "../../frame/lazy.tsx";
import type { Entry, SheetProps, Where } from "./sheet.ts";

export type Act = "move" | "remove";

export interface Acts {
  /** Whether something may be done to an entry. */
  can: (act: Act, folder: boolean) => boolean;
  begin: (act: Act, entry: Entry) => void;
}

const Move = lazyDialog<SheetProps>(
  () => import("./move.tsx").then((part) => part.MoveEntry),
  () => t("moveEntry"),
);
const Remove = lazyDialog<SheetProps>(
  () => import("./remove.tsx").then((part) => part.RemoveEntry),
  () => t("deleteEntry"),
);

/** What may be done where `where` is; null: nothing. With the dialog of what is being done. */
export function useActs(where: Where | null): { acts: Acts | null; sheet: ComponentChildren } {
  const [doing, set] = useState<{ act: Act; entry: Entry } | null>(null);
  const onClose = () => set(null);
  if (!where) return { acts: null, sheet: null };
  const { may } = where;
  const both = may.write && may.delete;
  // A folder goes by a batch, which needs the right to save as well.
  const can = (act: Act, folder: boolean) => both || (may.delete && act === "remove" && !folder);
  const acts = may.delete ? { can, begin: (act: Act, entry: Entry) => set({ act, entry }) } : null;
  const Sheet = doing?.act === "move" ? Move : Remove;
  const sheet = doing && <Sheet where={where} entry={doing.entry} onClose={onClose} />;
  return { acts, sheet };
}

/** The items of a menu of an entry. */
export function EntryItems({ acts, entry }: { acts: Acts; entry: Entry }) {
  return (
    <>
      {acts.can("move", entry.folder) && (
        <Item icon="edit" words={t("moveEntry")} onClick={() => acts.begin("move", entry)} />
      )}
      {acts.can("remove", entry.folder) && (
        <Item danger icon="trash" words={t("deleteEntry")} onClick={() => acts.begin("remove", entry)} />
      )}
    </>
  );
}
