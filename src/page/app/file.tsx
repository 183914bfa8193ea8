// The open file: text, message, save. The editor fills this in.
import type { Schemas } from "./api.ts";

export interface FileProps {
  repo: string;
  branch: string;
  path: string;
  /** The snapshot that is shown; absent: the branch as it is now, which can be saved to. */
  at?: string;
  /** The line to begin at. */
  line?: number;
  /** What the caller may in this branch. */
  may: Schemas["Permissions"];
  /** The commit id of the branch as last heard of: another one means that somebody saved. */
  head: string | null;
  /** Whose drafts these are. */
  account: string;
  /** Something was saved, deleted or undone here: tree, history and head are to be read again. */
  onChanged: () => void;
  /** Opens the sheet that restores this one file as of `at`. */
  onRestore: () => void;
}

export function File({ path }: FileProps) {
  return (
    <section class="file">
      <header class="filehead">
        <h1 class="grow">{path}</h1>
      </header>
    </section>
  );
}
