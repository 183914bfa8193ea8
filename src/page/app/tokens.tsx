import { useState } from "preact/hooks";
import { Filter } from "../shared/filter.tsx";
import { useRowFocus } from "../shared/focus.ts";
import { Icon } from "../shared/icons.tsx";
import { type Loaded, useLoaded } from "../shared/load.ts";
import { complain, notify } from "../shared/notice.tsx";
import { Coming, Empty } from "../shared/parts.tsx";
import { t, wordsOf } from "../shared/text.ts";
import { API, query, read, type Schemas } from "./api.ts";
import { go, type Route } from "./route.ts";
import { NewToken } from "./tokens/new-token.tsx";
import { RevokeToken } from "./tokens/revoke.tsx";
import { TokenSecret } from "./tokens/secret.tsx";
import { type Act, Table, type Token } from "./tokens/table.tsx";
import { say } from "./tokens/words.ts";

interface TokensProps {
  session: Schemas["Session"];
  route: Route;
  projects: Loaded<Schemas["Project"][]>;
}

/** What is looked for in a token: what its row tells of it in words. */
const textOf = ({ name, owner, repos, suffix }: Token): string =>
  [name, owner, suffix, ...repos].join("\n").toLowerCase();

export function TokensScreen({ session, route, projects }: TokensProps) {
  // Who sees the accounts sees their tokens.
  const mayAll = session.may.accounts;
  const all = mayAll && route.all !== undefined;
  const tokens = useLoaded([all], (signal) => read<Token[]>(`${API}/tokens${query({ all })}`, { signal }));
  const [filter, setFilter] = useState("");
  const [secret, setSecret] = useState<Schemas["CreatedToken"] | null>(null);
  const [revoking, revoke] = useState<Token | null>(null);
  const [editing, edit] = useState<Token | null>(null);
  useRowFocus();
  const here = { screen: "tokens", ...(all ? { all: "1" } : {}) } as const;
  const close = () => go(here, { replace: true });
  const wanted = filter.trim().toLowerCase();
  const list = tokens.value ? [...tokens.value].reverse() : null;
  const found = list?.filter((token) => textOf(token).includes(wanted)) ?? [];
  const forget = async ({ tokenId, name }: Token) => {
    try {
      await read(`${API}/tokens/${tokenId}`, { method: "PATCH", json: { reset_fingerprint: true } });
      notify(say("forgotten", { name }));
    } catch (error) {
      complain(wordsOf(error));
    }
    tokens.again();
  };
  const acts: Record<Act, (token: Token) => void> = {
    edit,
    revoke,
    forget: (token) => void forget(token),
  };
  const add = (
    <button type="button" class="button primary" onClick={() => go({ ...here, new: "1" })}>
      <Icon of="plus" />
      {t("newToken")}
    </button>
  );
  const isEmpty = list?.length === 0;
  return (
    <main id="main" class="sheet-page" tabIndex={-1}>
      <header>
        <div>
          <h1>{t("tokens")}</h1>
          <p class="sub">{say("tokensLead")}</p>
        </div>
        <span class="grow" />
        {mayAll && (
          <label class="check">
            <input
              type="checkbox"
              checked={all}
              onChange={() => go({ screen: "tokens", all: all ? "" : "1" }, { replace: true })}
            />
            {say("allAccounts")}
          </label>
        )}
        {list && !isEmpty && (
          <>
            <Filter label={say("filterTokens")} value={filter} onFilter={setFilter} />
            {add}
          </>
        )}
      </header>
      {!list ? (
        <Coming of={tokens} />
      ) : isEmpty ? (
        <Empty icon="key" title={say("noTokens")}>
          <p>{say("noTokensHint")}</p>
          {add}
        </Empty>
      ) : found.length === 0 ? (
        <p class="hint">{t("nothingMatches", { q: filter })}</p>
      ) : (
        <Table
          key={`${all}\n${wanted}`}
          tokens={found}
          own={session.username}
          all={all}
          onAct={(act, token) => acts[act](token)}
        />
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
