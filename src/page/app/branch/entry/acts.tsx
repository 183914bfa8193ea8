// What is done to a file or a folder beside saving: it gets another path, or is deleted. Its dialogs are fetched when
// one is first opened.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Item } from "../../../shared/menu.tsx";
import { t } from "../../../shared/text.ts";
import type { Schemas } from "../../api.ts";
import { lazyDialog } from "../../frame/lazy.tsx";

/** A file or a folder. */
export interface Entry {
  path: string;
  folder: boolean;
  /** The tag of a file, as it was read last; that of the open file is told by itself. */
  etag?: string | undefined;
}

export type Act = "move" | "remove";

/** Where entries lie, and what is told of what becomes of them. */
export interface Where {
  repo: string;
  branch: string;
  /** The commit id of the branch as it is shown. */
  head: string;
  may: Schemas["Permissions"];
  /** Whose drafts there are. */
  account: string;
  /** The branch has another state. */
  onChanged: () => void;
}

export interface SheetProps {
  where: Where;
  entry: Entry;
  onClose: () => void;
}

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
