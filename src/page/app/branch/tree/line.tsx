// What a row of the tree shows.
import { Icon } from "../../../shared/icons.tsx";
import { Menu } from "../../../shared/menu.tsx";
import { Path } from "../../../shared/parts.tsx";
import { number, t } from "../../../shared/text.ts";
import { type Acts, EntryItems } from "../entry/acts.tsx";
import type { Row } from "./state.ts";

export function Line({ row, found }: { row: Row; found: boolean }) {
  if (!row.folder) {
    const extension = row.name.slice(row.name.lastIndexOf(".") + 1).toLowerCase();
    return (
      <>
        {!found && <span class="turn" />}
        <span class={`kind ${/^[a-z]+$/.test(extension) ? extension : ""}`} />
        <span class="name" translate={false}>
          {found ? <Path path={row.path} /> : row.name}
        </span>
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
      {row.failed && <Icon of="warn" title={t("folderFailed")} />}
      {waits && <span class="busy" />}
      {row.count !== undefined && <span class="count">{number(row.count)}</span>}
    </>
  );
}

/** What may be done to what a row is of. */
export function RowMenu({ row, acts, tabIndex }: { row: Row; acts: Acts; tabIndex: number }) {
  return (
    <Menu floating tabIndex={tabIndex} title={t("moreAbout", { name: row.path })} label={<Icon of="dots" />}>
      <EntryItems acts={acts} entry={row} />
    </Menu>
  );
}
