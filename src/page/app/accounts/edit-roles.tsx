import { useState } from "preact/hooks";
import { Dialog, useDrawn } from "../../shared/dialog.tsx";
import { Icon } from "../../shared/icons.tsx";
import { complain } from "../../shared/notice.tsx";
import { Alert } from "../../shared/parts.tsx";
import { wordsOf } from "../../shared/text.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import * as calls from "./calls.ts";
import { Chip, opens, ROOT, RoleFields, roleOf, shortOf } from "./roles.tsx";
import { say } from "./words.ts";

interface EditProps {
  account: calls.Account;
  /** It is that of who is logged in. */
  own: boolean;
  onClose: () => void;
  /** With the account as it is now. */
  onDone: (account: calls.Account) => void;
}

/** The roles of an account: each given and each taken is one change, which counts at once. */
export function EditRoles({ account, own, onClose, onDone }: EditProps) {
  const { name, roles } = account;
  const isDrawn = useDrawn();
  const [failed, fail] = useState("");
  const [busy, setBusy] = useState(false);
  const [leaving, leave] = useState(false);
  // Another form once a role was given.
  const [given, setGiven] = useState(0);
  const run = async (act: () => Promise<calls.Account>) => {
    if (busy) return false;
    setBusy(true);
    fail("");
    try {
      onDone(await act());
      return true;
    } catch (error) {
      // What somebody began and closed is not done, and they are to know.
      if (isDrawn()) fail(wordsOf(error));
      else complain(wordsOf(error));
      return false;
    } finally {
      setBusy(false);
    }
  };
  const give = async (event: SubmitEvent) => {
    event.preventDefault();
    const role = roleOf(new FormData(event.currentTarget as HTMLFormElement));
    if (await run(() => calls.giveRole(name, role))) setGiven(given + 1);
  };
  const take = (role: string) => {
    if (own && role === ROOT) leave(true);
    else void run(() => calls.takeRole(name, role));
  };
  return (
    <Dialog title={say("rolesTitle", { name })} lead={say("rolesLead", { name })} onClose={onClose}>
      {roles.length === 0 ? (
        <p class="hint">{say("rolesNone", { name })}</p>
      ) : (
        <ul class="given">
          {roles.map((role) => (
            <li key={role}>
              <div>
                <Chip role={role} />
                <p class="sub">{opens(role)}</p>
              </div>
              <button
                type="button"
                class="quiet"
                aria-label={say("take", { role: shortOf(role) })}
                title={say("take", { role: shortOf(role) })}
                aria-disabled={busy}
                onClick={() => take(role)}
              >
                <Icon of="trash" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <form class="form" onSubmit={give}>
        <RoleFields key={given} label={say("give")} />
        {failed && <Alert>{failed}</Alert>}
        <div class="actions">
          <button type="submit" class="button primary" aria-disabled={busy}>
            {say("giveIt")}
          </button>
        </div>
      </form>
      {leaving && (
        <FormDialog
          danger
          title={say("takeOwnTitle")}
          lead={say("takeOwnLead")}
          action={say("takeOwnDo")}
          onClose={() => leave(false)}
          onSend={async () => {
            onDone(await calls.takeRole(name, ROOT));
            onClose();
          }}
        />
      )}
    </Dialog>
  );
}
