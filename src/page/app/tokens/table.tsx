import { Icon } from "../../shared/icons.tsx";
import { Item, Menu } from "../../shared/menu.tsx";
import { Ago, Who } from "../../shared/parts.tsx";
import { ago, date, t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { useMore } from "../parts/more.tsx";
import { EXPIRING_DAYS } from "./expiring.ts";
import { say } from "./words.ts";

export type Token = Schemas["Token"];

/** What may be done to a token. */
export type Act = "edit" | "forget" | "revoke";

interface TableProps {
  tokens: Token[];
  /** The name of who is logged in. */
  own: string;
  /** There are those of others among them. */
  all: boolean;
  onAct: (act: Act, token: Token) => void;
}

export function Table({ tokens, own, all, onAct }: TableProps) {
  const [shown, more] = useMore(tokens);
  return (
    <>
      <table class="list tokens">
        <thead>
          <tr>
            <th>{t("name")}</th>
            {all && <th>{t("owner")}</th>}
            <th class="less">{t("projects")}</th>
            <th class="less">{say("binding")}</th>
            <th>{say("expires")}</th>
            <th class="less">{say("lastUsed")}</th>
            <th>
              <span class="said">{t("more")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((token) => (
            <Row
              key={token.tokenId}
              token={token}
              own={token.owner === own}
              all={all}
              onAct={(act) => onAct(act, token)}
            />
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

interface RowProps {
  token: Token;
  own: boolean;
  all: boolean;
  onAct: (act: Act) => void;
}

const SCOPES_SHOWN = 2;

function Row({ token, own, all, onAct }: RowProps) {
  const more = token.repos.slice(SCOPES_SHOWN);
  return (
    <tr class={token.state}>
      <td>
        <b translate={false}>{token.name}</b> <span class="suffix mono">…{token.suffix}</span>
      </td>
      {all && (
        <td class="once">
          <span class="less">
            <Who name={token.owner} />
          </span>
          <span class="by" title={token.owner} translate={false}>
            {token.owner}
          </span>
        </td>
      )}
      <td class="less">
        <span class="scopes">
          {token.repos[0] === "*" ? (
            <span class="ref all">{say(own ? "allProjects" : "allOfOwner")}</span>
          ) : (
            token.repos.slice(0, SCOPES_SHOWN).map((repo) => (
              <span key={repo} class="ref" title={repo}>
                {repo}
              </span>
            ))
          )}
          {more.length > 0 && (
            <span class="ref" title={more.join("\n")}>
              +{more.length}
            </span>
          )}
        </span>
      </td>
      <td class="less">
        {token.fingerprint_required ? (
          <span class={token.fingerprint_bound ? "lock bound" : "lock"}>
            <Icon of="lock" />
            {say(token.fingerprint_bound ? "bound" : "waitsForInstance")}
          </span>
        ) : (
          <span class="dim">{say("anyInstance")}</span>
        )}
      </td>
      <td class="once">
        <Expiry token={token} />
      </td>
      <td class="less dim once">{token.last_used_at ? <Ago at={token.last_used_at} /> : say("neverUsed")}</td>
      <td class="end">
        <Menu align="right" title={t("moreAbout", { name: token.name })} label={<Icon of="dots" />}>
          {own && <Item icon="edit" words={say("editToken")} onClick={() => onAct("edit")} />}
          {own && token.fingerprint_bound && (
            <Item icon="lock" words={say("forgetInstance")} onClick={() => onAct("forget")} />
          )}
          <Item danger icon="trash" words={say("revoke")} onClick={() => onAct("revoke")} />
        </Menu>
      </td>
    </tr>
  );
}

const EXPIRING_MS = EXPIRING_DAYS * 86_400_000;

function Expiry({ token }: { token: Token }) {
  const at = token.expires_at;
  if (!at) return <span class="dim">{say("never")}</span>;
  if (token.state === "expired") return <span class="pill del">{say("expired", { when: ago(at) })}</span>;
  if (Date.parse(at) - Date.now() <= EXPIRING_MS) return <span class="pill warn">{ago(at)}</span>;
  return <span>{date(at)}</span>;
}
