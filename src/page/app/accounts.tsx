import { useState } from "preact/hooks";
import { Filter } from "../shared/filter.tsx";
import { useRowFocus } from "../shared/focus.ts";
import { Icon } from "../shared/icons.tsx";
import { useLoaded } from "../shared/load.ts";
import { complain, notify } from "../shared/notice.tsx";
import { Coming, Empty } from "../shared/parts.tsx";
import { t, wordsOf } from "../shared/text.ts";
import * as calls from "./accounts/calls.ts";
import { Disable, NewPassword, Rename } from "./accounts/change.tsx";
import { EditRoles } from "./accounts/edit-roles.tsx";
import { NewAccount } from "./accounts/new-account.tsx";
import { RemoveAccount } from "./accounts/remove.tsx";
import { type Act, Table } from "./accounts/table.tsx";
import { say } from "./accounts/words.ts";
import type { Schemas } from "./api.ts";
import { Secret } from "./parts/secret.tsx";
import { go, type Route } from "./route.ts";

interface AccountsProps {
  session: Schemas["Session"];
  route: Route;
  /** What who is logged in may do is to be asked again. */
  onRights: () => void;
}

const close = (): void => go({ screen: "accounts" }, { replace: true });

export function AccountsScreen(props: AccountsProps) {
  if (props.session.may.accounts) return <All {...props} />;
  return (
    <main id="main" class="sheet-page" tabIndex={-1}>
      <h1 class="said">{t("accounts")}</h1>
      <Empty icon="lock" title={say("onlyRoot")}>
        <p>{say("onlyRootHint")}</p>
      </Empty>
    </main>
  );
}

function All({ session, route, onRights }: AccountsProps) {
  const accounts = useLoaded([], calls.list);
  const [filter, setFilter] = useState("");
  const [doing, setDoing] = useState<{ act: Act; name: string } | null>(null);
  const [secret, setSecret] = useState<{ name: string; password: string } | null>(null);
  useRowFocus();
  const list = accounts.value;
  const own = session.username;
  const wanted = filter.trim().toLowerCase();
  const found = list?.filter((account) => account.name.toLowerCase().includes(wanted)) ?? [];
  const done = () => {
    setDoing(null);
    accounts.again();
  };
  const enable = async (name: string) => {
    try {
      await calls.change(name, { enabled: true });
      notify(say("isEnabled", { name }));
    } catch (error) {
      complain(wordsOf(error));
    }
    accounts.again();
  };
  const act = (act: Act, name: string) => (act === "enable" ? void enable(name) : setDoing({ act, name }));
  return (
    <main id="main" class="sheet-page" tabIndex={-1}>
      <header>
        <div>
          <h1>{t("accounts")}</h1>
          <p class="sub">{say("lead")}</p>
        </div>
        <span class="grow" />
        <Filter value={filter} onFilter={setFilter} />
        <button type="button" class="button primary" onClick={() => go({ screen: "accounts", new: "1" })}>
          <Icon of="plus" />
          {t("newAccount")}
        </button>
      </header>
      {!list ? (
        <Coming of={accounts} />
      ) : found.length === 0 ? (
        <p class="hint">{t("nothingMatches", { q: filter })}</p>
      ) : (
        <Table key={wanted} accounts={found} own={own} onAct={act} />
      )}
      {list?.length === 1 && <p class="hint">{say("onlyYou")}</p>}
      {route.new && !secret && (
        <NewAccount
          onClose={close}
          onDone={(name, password) => {
            setSecret({ name, password });
            accounts.again();
          }}
        />
      )}
      {doing && (
        <Doing
          {...doing}
          account={list?.find((one) => one.name === doing.name)}
          own={doing.name === own}
          onClose={() => setDoing(null)}
          onDone={done}
          onChange={(account) => {
            accounts.change((list) => list.map((one) => (one.name === account.name ? account : one)));
            if (account.name === own) onRights();
          }}
          onSecret={(password) => {
            setDoing(null);
            setSecret({ name: doing.name, password });
          }}
        />
      )}
      {secret && (
        <Secret
          lead={say("secretLead", { name: secret.name })}
          secret={secret.password}
          onClose={() => {
            setSecret(null);
            close();
          }}
        />
      )}
    </main>
  );
}

interface DoingProps {
  act: Act;
  name: string;
  account: calls.Account | undefined;
  own: boolean;
  onClose: () => void;
  onDone: () => void;
  onChange: (account: calls.Account) => void;
  onSecret: (password: string) => void;
}

/** The dialog of what is being done to an account. */
function Doing({ act, name, account, own, onClose, onDone, onChange, onSecret }: DoingProps) {
  const whole = { name, onClose, onDone };
  if (act === "disable") return <Disable {...whole} />;
  if (act === "rename") return <Rename {...whole} />;
  if (act === "remove") {
    const removed = () => {
      notify(say("removed", { name }));
      onDone();
    };
    return <RemoveAccount {...whole} onDone={removed} />;
  }
  if (act === "password") return <NewPassword name={name} onClose={onClose} onDone={onSecret} />;
  if (!account) return null;
  return <EditRoles account={account} own={own} onClose={onClose} onDone={onChange} />;
}
