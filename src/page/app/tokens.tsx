import { useState } from "preact/hooks";
import { useRowFocus } from "../shared/focus.ts";
import { Icon } from "../shared/icons.tsx";
import { type Loaded, useLoaded } from "../shared/load.ts";
import { Item, Menu } from "../shared/menu.tsx";
import { complain, notify } from "../shared/notice.tsx";
import { Ago, Coming, Empty } from "../shared/parts.tsx";
import { ago, date, t, wordsOf } from "../shared/text.ts";
import { API, read, type Schemas } from "./api.ts";
import { go, type Route } from "./route.ts";
import { NewToken } from "./tokens/new-token.tsx";
import { RevokeToken } from "./tokens/revoke.tsx";
import { TokenSecret } from "./tokens/secret.tsx";

export type Token = Schemas["Token"];

interface TokensProps {
  route: Route;
  projects: Loaded<Schemas["Project"][]>;
}

const close = (): void => go({ screen: "tokens" }, { replace: true });

export function TokensScreen({ route, projects }: TokensProps) {
  const tokens = useLoaded([], (signal) => read<Token[]>(`${API}/tokens`, { signal }));
  const [secret, setSecret] = useState<Schemas["CreatedToken"] | null>(null);
  const [revoking, revoke] = useState<Token | null>(null);
  const [editing, edit] = useState<Token | null>(null);
  useRowFocus();
  const list = tokens.value ? [...tokens.value].reverse() : null;
  const change = async (token: Token, json: object, done: string) => {
    try {
      await read(`${API}/tokens/${token.tokenId}`, { method: "PATCH", json });
      notify(done);
    } catch (error) {
      complain(wordsOf(error));
    }
    tokens.again();
  };
  const add = (
    <button type="button" class="button primary" onClick={() => go({ screen: "tokens", new: "1" })}>
      <Icon of="plus" />
      {t("newToken")}
    </button>
  );
  return (
    <main id="main" class="sheet-page" tabIndex={-1}>
      <header>
        <div>
          <h1>{t("tokens")}</h1>
          <p class="sub">{t("tokensLead")}</p>
        </div>
        <span class="grow" />
        {list && list.length > 0 && add}
      </header>
      {!list ? (
        <Coming of={tokens} />
      ) : list.length === 0 ? (
        <Empty icon="key" title={t("noTokens")}>
          <p>{t("noTokensHint")}</p>
          {add}
        </Empty>
      ) : (
        <table class="list tokens">
          <thead>
            <tr>
              <th>{t("name")}</th>
              <th class="less">{t("projects")}</th>
              <th class="less">{t("binding")}</th>
              <th>{t("expires")}</th>
              <th class="less">{t("lastUsed")}</th>
              <th>
                <span class="said">{t("more")}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((token) => (
              <Row
                key={token.tokenId}
                token={token}
                onEdit={() => edit(token)}
                onForget={() =>
                  change(token, { reset_fingerprint: true }, t("forgotten", { name: token.name }))
                }
                onRevoke={() => revoke(token)}
              />
            ))}
          </tbody>
        </table>
      )}
      {((route.new && !secret) || editing) && (
        <NewToken
          key={editing?.tokenId ?? "new"}
          token={editing}
          projects={projects.value ?? []}
          onClose={() => (editing ? edit(null) : close())}
          onDone={(made) => {
            if (made) setSecret(made);
            edit(null);
            tokens.again();
          }}
        />
      )}
      {secret && (
        <TokenSecret
          token={secret}
          onClose={() => {
            setSecret(null);
            close();
          }}
        />
      )}
      {revoking && <RevokeToken token={revoking} onClose={() => revoke(null)} onDone={tokens.again} />}
    </main>
  );
}

interface RowProps {
  token: Token;
  onEdit: () => void;
  onForget: () => void;
  onRevoke: () => void;
}

const SCOPES_SHOWN = 2;

function Row({ token, onEdit, onForget, onRevoke }: RowProps) {
  const more = token.repos.slice(SCOPES_SHOWN);
  return (
    <tr class={token.state}>
      <td>
        <b translate={false}>{token.name}</b> <span class="suffix mono">…{token.suffix}</span>
      </td>
      <td class="less">
        <span class="scopes">
          {token.repos[0] === "*" ? (
            <span class="ref all">{t("allProjects")}</span>
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
            {t(token.fingerprint_bound ? "bound" : "waitsForInstance")}
          </span>
        ) : (
          <span class="dim">{t("anyInstance")}</span>
        )}
      </td>
      <td class="once">
        <Expiry token={token} />
      </td>
      <td class="less dim once">{token.last_used_at ? <Ago at={token.last_used_at} /> : t("neverUsed")}</td>
      <td class="end">
        <Menu align="right" title={t("moreAbout", { name: token.name })} label={<Icon of="dots" />}>
          <Item icon="edit" words={t("editToken")} onClick={onEdit} />
          {token.fingerprint_bound && <Item icon="lock" words={t("forgetInstance")} onClick={onForget} />}
          <Item danger icon="trash" words={t("revoke")} onClick={onRevoke} />
        </Menu>
      </td>
    </tr>
  );
}

const SOON_MS = 14 * 86_400_000;

function Expiry({ token }: { token: Token }) {
  const at = token.expires_at;
  if (!at) return <span class="dim">{t("never")}</span>;
  if (token.state === "expired") return <span class="pill del">{t("expired", { when: ago(at) })}</span>;
  if (Date.parse(at) - Date.now() < SOON_MS) return <span class="pill warn">{ago(at)}</span>;
  return <span>{date(at)}</span>;
}
