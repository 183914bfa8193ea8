import { Icon } from "../../shared/icons.tsx";
import { Ago, Path, Who } from "../../shared/parts.tsx";
import { ago, date, t, when } from "../../shared/text.ts";
import type { Deleted } from "../named/calls.ts";
import { say } from "../named/words.ts";
import { nameOf } from "./restore.tsx";

interface TableProps {
  list: Deleted[];
  /** The name of who is logged in. */
  own: string;
  /** The id of what is being restored. */
  busy: string | null;
  onRestore: (one: Deleted) => void;
}

export function Table({ list, own, busy, onRestore }: TableProps) {
  const isOfOthers = list.some((one) => one.owner !== own);
  return (
    <table class="list deleted">
      <thead>
        <tr>
          <th>{t("name")}</th>
          {isOfOthers && <th class="less">{t("owner")}</th>}
          <th>{say("when")}</th>
          <th class="less">{say("until")}</th>
          <th>
            <span class="said">{say("restore")}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {list.map((one) => (
          <tr key={one.id}>
            <td>
              <What one={one} />
            </td>
            {isOfOthers && (
              <td class="less">
                <Who name={one.owner} />
                {one.owner}
              </td>
            )}
            <td class="dim">
              <Ago at={one.deleted_at} />
              <span class="by">
                <Who name={one.deleted_by} />
                {one.deleted_by}
              </span>
            </td>
            <td class="less dim once">
              <time dateTime={one.kept_until} title={when(one.kept_until)}>
                {date(one.kept_until)}, {ago(one.kept_until)}
              </time>
            </td>
            <td class="end">
              <button
                type="button"
                class="button"
                aria-label={say("restoreNamed", { name: nameOf(one) })}
                aria-disabled={busy === one.id}
                onClick={() => onRestore(one)}
              >
                <Icon of="back" />
                <span class="less">{say("restore")}</span>
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The sign and the name; of a branch its project below. */
function What({ one }: { one: Deleted }) {
  return (
    <span class="what">
      <Icon of={one.branch ? "branch" : "box"} title={say(one.branch ? "isBranch" : "isProject")} />
      <span>
        {one.branch ? <b>{one.branch}</b> : <Path path={one.repo_id} />}
        {one.branch && <span class="sub">{one.repo_id}</span>}
      </span>
    </span>
  );
}
