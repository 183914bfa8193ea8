// The files of a branch: the tree, a filter, and the ways to add to it.
import { useLayoutEffect, useState } from "preact/hooks";
import { useDrafted } from "../../shared/drafts/places.ts";
import { Filter } from "../../shared/filter.tsx";
import { settleFocus } from "../../shared/focus.ts";
import { Icon } from "../../shared/icons.tsx";
import { Item, Menu } from "../../shared/menu.tsx";
import { Behind, Coming } from "../../shared/parts.tsx";
import { size, t, wordsOf } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { useStateBack } from "../parts/entries.ts";
import { address } from "../route.ts";
import { Choose } from "../upload/choose.tsx";
import { Edge } from "./edge.tsx";
import type { Acts } from "./entry/acts.tsx";
import { NewFile } from "./new-file.tsx";
import { useFilter, useTree } from "./tree/state.ts";
import { Tree } from "./tree.tsx";

interface FilesProps {
  where: { repo: string; branch: string; at: string | undefined; head: string };
  /** Whose edits that are not saved are told. */
  account: string;
  /** How much the state holds, once that is known. */
  holds: Pick<Schemas["AdminBranch"], "files" | "bytes"> | undefined;
  /** There is no such version. */
  missing: boolean;
  path: string | undefined;
  onOpen: (path: string) => void;
  /** Absent where nothing can be saved. */
  onUpload?: ((files: FileList | null) => void) | undefined;
  acts: Acts | null;
}

export function Files({ where, account, holds, missing, path, onOpen, onUpload, acts }: FilesProps) {
  const [filter, setFilter] = useStateBack("filter", "");
  const [making, make] = useState(false);
  const tree = useTree(where, path);
  const found = useFilter(where, filter);
  const { repo, branch, at } = where;
  const isNoneFound = found.rows?.length === 0;
  useLayoutEffect(() => {
    // The last of what was found may have had the keys, and be deleted.
    if (isNoneFound) settleFocus();
  }, [isNoneFound]);
  const drafted = useDrafted({ account, repo, branch }) ?? [];
  const unsaved = at ? [] : drafted.map((one) => one.path);
  return (
    <aside class="left" aria-label={t("files")}>
      <Edge pane="files" name="files" />
      <div class="bar">
        <Filter
          label={t("filterFiles")}
          value={filter}
          onFilter={setFilter}
          onKeyDown={(event) => {
            // What an earlier text found is not what is asked for.
            const isFound = found.text === filter.trim() && !event.isComposing;
            if (event.key === "Enter" && isFound && found.rows?.[0]) onOpen(found.rows[0].path);
            if (event.key === "Escape") setFilter("");
          }}
        />
        {onUpload && (
          <Menu align="right" title={t("add")} label={<Icon of="plus" />}>
            <Item icon="file" words={t("newFile")} onClick={() => make(true)} />
            <Choose onChoose={onUpload} />
          </Menu>
        )}
      </div>
      {making && (
        <NewFile repo={repo} branch={branch} near={path} onClose={() => make(false)} onOpen={onOpen} />
      )}
      {tree.error && !tree.bare && !missing && <Behind words={wordsOf(tree.error)} onAgain={tree.again} />}
      {missing ? (
        <div class="inset" />
      ) : found.error ? (
        <p class="hint inset" role="status">
          {t("notSearched", { why: wordsOf(found.error) })}
        </p>
      ) : isNoneFound ? (
        <p class="hint inset">{t("nothingMatches", { q: filter })}</p>
      ) : tree.bare ? (
        <Coming of={tree} />
      ) : (
        <Tree
          rows={found.rows ?? tree.rows}
          found={found.rows && found.text}
          current={path}
          onOpen={onOpen}
          onToggle={tree.toggle}
          acts={acts}
          unsaved={unsaved}
        />
      )}
      {!missing && (
        <div class="foot">
          {holds && `${t("fileCount", { n: holds.files })} · ${size(holds.bytes)}`}
          {unsaved.length > 0 && (
            <a class="link" href={address({ screen: "unsaved" })}>
              {t("unsavedCount", { n: unsaved.length })}
            </a>
          )}
        </div>
      )}
    </aside>
  );
}
