// The way out: nobody is shown the login as long as the session goes on, and no edit is thrown away unasked.
import { useState } from "preact/hooks";
import { countDrafts, dropDrafts } from "../../shared/drafts/places.ts";
import { complain } from "../../shared/notice.tsx";
import { t, wordsOf } from "../../shared/text.ts";
import { hasStatus, type Schemas } from "../api.ts";
import * as calls from "../calls.ts";
import { FormDialog } from "../parts/form-dialog.tsx";

/** Ends the session, and forgets the drafts: others may use this browser too. */
async function logOut(account: string): Promise<void> {
  try {
    await calls.logout();
  } catch (error) {
    // A session that has ended is as it was to be.
    if (!hasStatus(error, 401)) throw error;
  }
  await dropDrafts({ account });
}

/** What logs out, and the question that it may have. */
export function useLeave(session: Schemas["Session"] | null | undefined, onOut: () => void) {
  const [drafts, ask] = useState(0);
  const account = session?.username ?? "";
  const out = async () => {
    await logOut(account);
    ask(0);
    onOut();
  };
  const leave = async () => {
    const count = await countDrafts({ account });
    if (count > 0) return ask(count);
    await out().catch((error) => complain(t("stillIn", { message: wordsOf(error) })));
  };
  const question = drafts > 0 && (
    <FormDialog
      danger
      title={t("logout")}
      lead={t("logoutDrafts", { n: drafts })}
      action={t("logoutDiscard")}
      onClose={() => ask(0)}
      onSend={out}
    />
  );
  return { leave: () => void leave(), question };
}
