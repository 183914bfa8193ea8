// What a row of the tree shows.
import { Icon } from "../../../shared/icons.tsx";
import { Menu } from "../../../shared/menu.tsx";
import { Path } from "../../../shared/parts.tsx";
import { number, t } from "../../../shared/text.ts";
import { type Acts, EntryItems } from "../entry/acts.tsx";
import type { Row } from "./state.ts";

interface LineProps {
  row: Row;
  found: boolean;
  /** How many files it stands for that have edits which are not saved. */
  unsaved: number;
}

export function Line({ row, found, unsaved }: LineProps) {
  const words = t("unsavedCount", { n: unsaved });
  // The row is called by both, with a space between them.
  const mark = unsaved > 0 && (
    <>
      {" "}
      <span class="unsaved" role="img" aria-label={words} title={words} />
    </>
  );
  if (!row.folder) {
    const extension = row.name.slice(row.name.lastIndexOf(".") + 1).toLowerCase();
    return (
      <>
        {!found && <span class="turn" />}
        <span class={`kind ${/^[a-z]+$/.test(extension) ? extension : ""}`} />
        <span class="name" translate={false}>
          {found ? <Path path={row.path} /> : row.name}
        </span>
        {mark}
      </>
    );
  }
  const waits = row.open && row.count === undefined && !row.failed;
  return (
    <>
      <span class={row.open ? "turn open" : "turn"}>
        <Icon of="chevron" />
      </span>
      <Icon of="folder" />
      <span class="name" translate={false}>
        {row.name}
      </span>
      {mark}
      {row.failed && <Icon of="warn" title={t("folderFailed")} />}
      {waits && <span class="busy" />}
      {row.count !== undefined && <span class="count">{number(row.count)}</span>}
    </>
  );
}

/** How many of these files a row stands for: a folder that is open leaves them to the rows in it. */
export function unsavedIn({ path, folder, open }: Row, files: string[]): number {
  if (open) return 0;
  return files.filter((file) => (folder ? file.startsWith(`${path}/`) : file === path)).length;
}

/** What may be done to what a row is of. */
export function RowMenu({ row, acts, tabIndex }: { row: Row; acts: Acts; tabIndex: number }) {
  return (
    <Menu floating tabIndex={tabIndex} title={t("moreAbout", { name: row.path })} label={<Icon of="dots" />}>
      <EntryItems acts={acts} entry={row} />
    </Menu>
  );
}
