import { Icon } from "../../shared/icons.tsx";
import { Item, Menu } from "../../shared/menu.tsx";
import { Who } from "../../shared/parts.tsx";
import { date, t, when } from "../../shared/text.ts";
import { useMore } from "../parts/more.tsx";
import type { Account } from "./calls.ts";
import { Chip } from "./roles.tsx";
import { say } from "./words.ts";

/** What may be done to an account. */
export type Act = "roles" | "rename" | "password" | "disable" | "enable" | "remove";

interface TableProps {
  accounts: Account[];
  /** The name of who is logged in. */
  own: string;
  onAct: (act: Act, name: string) => void;
}

export function Table({ accounts, own, onAct }: TableProps) {
  const [shown, more] = useMore([...accounts].sort((a, b) => a.name.localeCompare(b.name)));
  return (
    <>
      <table class="list accounts">
        <thead>
          <tr>
            <th>{t("name")}</th>
            <th>{say("roles")}</th>
            <th class="less">{say("made")}</th>
            <th>
              <span class="said">{t("more")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((account) => (
            <Row
              key={account.name}
              account={account}
              own={account.name === own}
              onAct={(act) => onAct(act, account.name)}
            />
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

function Row({ account, own, onAct }: { account: Account; own: boolean; onAct: (act: Act) => void }) {
  const { name, roles, enabled, created_at: made } = account;
  return (
    <tr class={enabled ? "" : "expired"}>
      <td>
        <span class="person">
          <span class="named">
            <Who name={name} />
            <b translate={false}>{name}</b>
          </span>
          {own && <span class="pill">{say("you")}</span>}
          {!enabled && <span class="pill del">{say("disabled")}</span>}
        </span>
      </td>
      <td>
        <span class="scopes">
          {roles.map((role) => (
            <Chip key={role} role={role} />
          ))}
          {roles.length === 0 && <span class="dim">{say("noRole")}</span>}
        </span>
      </td>
      <td class="less dim once">
        <time dateTime={made} title={when(made)}>
          {date(made)}
        </time>
      </td>
      <td class="end">
        <Menu align="right" title={say("about", { name })} label={<Icon of="dots" />}>
          <Item icon="users" words={say("editRoles")} onClick={() => onAct("roles")} />
          {own ? <span class="label dim">{say("ownHint")}</span> : <Others enabled={enabled} onAct={onAct} />}
        </Menu>
      </td>
    </tr>
  );
}

/** What is done to the accounts of others alone. */
function Others({ enabled, onAct }: { enabled: boolean; onAct: (act: Act) => void }) {
  return (
    <>
      <Item icon="edit" words={say("rename")} onClick={() => onAct("rename")} />
      <Item icon="key" words={say("newPassword")} onClick={() => onAct("password")} />
      <Item
        icon="lock"
        words={say(enabled ? "disable" : "enable")}
        onClick={() => onAct(enabled ? "disable" : "enable")}
      />
      <Item danger icon="trash" words={say("remove")} onClick={() => onAct("remove")} />
    </>
  );
}
