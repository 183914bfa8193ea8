// What is drawn of the open file.
import { type Form, NEW } from "../../editor/bytes.ts";
import type { Mark } from "../../editor/host.ts";
import type { Conflict } from "./conflict/conflict.ts";
import type { Author, Found } from "./remote.ts";
import type { SaveTrouble } from "./trouble.ts";

export interface Drawn {
  phase: "loading" | "text" | "other" | "failed";
  /** Why nothing could be read. */
  error: unknown;
  /** What lies there, if it is no text. */
  other: Exclude<Found, { kind: "text" } | { kind: "same" }> | null;
  /** What an editor begins with; another `edition` is another editor. */
  text: string;
  edition: number;
  form: Form;
  /** In bytes, as it was read or saved last. */
  size: number;
  /** The file is not there yet. */
  isNew: boolean;
  /** There is something to save. */
  changed: boolean;
  saving: boolean;
  /** The message for the next save. */
  message: string;
  trouble: SaveTrouble | null;
  /** Somebody else saved or deleted the file while there are edits here. */
  news: { deleted: boolean; author: Author | null } | null;
  /** Why what others did could not be looked at; null where that is not so. */
  behind: unknown;
  /** When the edits were kept that are here again, in milliseconds. */
  restored: number | null;
  /** When other edits of the file were kept, as in another tab. */
  another: number | null;
  conflict: Conflict | null;
  problems: Mark[];
}

export const START: Drawn = {
  phase: "loading",
  error: null,
  other: null,
  text: "",
  edition: 0,
  form: NEW,
  size: 0,
  isNew: false,
  changed: false,
  saving: false,
  message: "",
  trouble: null,
  news: null,
  behind: null,
  restored: null,
  another: null,
  conflict: null,
  problems: [],
};
