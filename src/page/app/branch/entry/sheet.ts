// What the dialogs of a file or a folder are told.
import type { Schemas } from "../../api.ts";

/** A file or a folder. */
export interface Entry {
  path: string;
  folder: boolean;
  /** The tag of a file, as it was read last; that of the open file is told by itself. */
  etag?: string | undefined;
}

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
