// The file that is on the screen, for what deletes it, moves it or takes back a save of it from elsewhere on the page.
import type { DraftPlace } from "../../shared/drafts/places.ts";
import type { DraftKey } from "../../shared/drafts.ts";
import type { Base } from "../file/work.ts";

export interface Opened {
  readonly key: DraftKey;
  /** The tag of what is on the screen; null where the service does not have the file. */
  readonly etag: string | null;
  /** Whether something was typed that is not saved. */
  isPrecious(): boolean;
  /** Keeps nothing more, and says nothing when it is closed: what was typed has gone, or has gone along. */
  release(): void;
  /** Takes back a save of it, with the tag that this gave it and what it began from. */
  undo(etag: string, before: Base): Promise<void>;
}

let opened: Opened | null = null;

export function setOpened(file: Opened): () => void {
  opened = file;
  return () => {
    if (opened === file) opened = null;
  };
}

/** The open file, if it is of this place: this file itself, or one below this folder, in this branch or project. */
export function openedIn({ repo, branch, path }: DraftPlace): Opened | null {
  const key = opened?.key;
  if (!key || key.repo !== repo || (branch !== undefined && key.branch !== branch)) return null;
  const isIn = path === undefined || key.path === path || key.path.startsWith(`${path}/`);
  return isIn ? opened : null;
}
