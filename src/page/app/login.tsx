import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Mark } from "../shared/icons.tsx";
import { Alert, Trouble } from "../shared/parts.tsx";
import { t, wordsOf } from "../shared/text.ts";
import { Failure, type Schemas } from "./api.ts";
import * as calls from "./calls.ts";

interface LoginProps {
  /** Whose session has ended; the name is filled in, the screen below stays. */
  again?: string | undefined;
  onDone: (session: Schemas["Session"]) => void;
}

/** The seconds that are left to wait, counted down. */
function useCountdown(): [number, (seconds: number) => void] {
  const [left, set] = useState(0);
  useEffect(() => {
    if (left <= 0) return;
    const timer = setTimeout(() => set(left - 1), 1000);
    return () => clearTimeout(timer);
  }, [left]);
  return [left, set];
}

function words(failure: Failure): string {
  if (failure.status === 401) return t("loginWrong");
  // There is no role yet: what is refused is the address, and the service says which setting is about it.
  return failure.status === 403 ? failure.detail : failure.words;
}

export function Login({ again, onDone }: LoginProps) {
  const [failed, fail] = useState("");
  const [busy, setBusy] = useState(false);
  const [wait, setWait] = useCountdown();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    fail("");
    try {
      onDone(await calls.login(String(form.get("username")), String(form.get("password"))));
    } catch (error) {
      const failure = error instanceof Failure ? error : new Failure(0, String(error));
      if (failure.retryAfter > 0 && /too many/.test(failure.detail)) setWait(failure.retryAfter);
      else fail(words(failure));
    }
    setBusy(false);
  };
  return (
    <form class="form login" onSubmit={submit}>
      <Mark />
      <h1>{again ? t("loginAgain") : t("login")}</h1>
      {again && <p class="sub">{t("loginAgainHint")}</p>}
      <label>
        {t("user")}
        <input
          name="username"
          autocomplete="username"
          required
          autofocus={!again}
          defaultValue={again ?? ""}
        />
      </label>
      <label>
        {t("password")}
        <input name="password" type="password" autocomplete="current-password" required autofocus={!!again} />
      </label>
      {wait > 0 ? <Alert>{t("loginBusy", { n: wait })}</Alert> : failed && <Alert>{failed}</Alert>}
      <button type="submit" class="button primary big" disabled={busy || wait > 0}>
        {t("login")}
      </button>
    </form>
  );
}

/** The whole screen, for who has no session yet. */
export function LoginScreen(props: LoginProps) {
  return (
    <main id="main" class="login-page">
      <Login {...props} />
    </main>
  );
}

/** The whole screen, while the service does not say whether there is a session. */
export function UnknownScreen({ error, onAgain }: { error: unknown; onAgain: () => void }) {
  return (
    <main id="main" class="login-page">
      <div class="form login">
        <Mark />
        <h1>siteconf</h1>
        <Trouble words={wordsOf(error)} onAgain={onAgain} />
      </div>
    </main>
  );
}

/** Over the open screen, for whose session has ended. Nothing but a login closes it. */
export function LoginDialog(props: LoginProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    // Closed by the login, and before it is taken away: then the browser gives the focus back, into an editor's
    // shadow root too, and who was typing goes on.
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class="again"
      aria-label={t("loginAgain")}
      onCancel={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key === "Escape") event.preventDefault();
      }}
    >
      <Login {...props} />
    </dialog>
  );
}
