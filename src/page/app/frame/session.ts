// Who is logged in. All windows of a browser share one session, so each of them says when it has logged somebody in
// or out, and the others look again.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { keepAgain } from "../../shared/drafts.ts";
import { notify } from "../../shared/notice.tsx";
import { t } from "../../shared/text.ts";
import { hasStatus, onSessionEnd, type Schemas, setAccount } from "../api.ts";
import * as calls from "../calls.ts";
import { forgetLooks } from "../parts/entries.ts";

type Session = Schemas["Session"];

/** Between the windows of this browser; what is said is always the same: look again. */
const windows = new BroadcastChannel("session");
const tellWindows = (): void => windows.postMessage(null);

/** After how many milliseconds it is asked again whether there is a session, where that was not said. */
const AGAIN_MS = 3000;

export function useSession() {
  /** Undefined until the service has said whether there is one. */
  const [session, set] = useState<Session | null | undefined>(undefined);
  const [asks, setAsks] = useState(false);
  /** Why the service has not said it. */
  const [error, fail] = useState<unknown>(null);
  /** What waits for a login. */
  const waiting = useRef<(() => void) | null>(null);
  const account = useRef<string | null>(null);
  /** Looks again, where that was not answered. */
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);

  const know = useCallback((fresh: Session | null) => {
    const [before, now] = [account.current, fresh?.username ?? null];
    account.current = now;
    setAccount(now);
    set(fresh);
    fail(null);
    const isAnother = before !== null && before !== now;
    if (isAnother) forgetLooks();
    if (now === null) return;
    if (isAnother) notify(t("anotherAccount", { name: now, before }));
    setAsks(false);
    if (waiting.current && before === now) keepAgain();
    waiting.current?.();
    waiting.current = null;
  }, []);

  /** Looks again; where the session of an open screen has ended, the login is asked for. */
  const look = useCallback(() => {
    clearTimeout(timer.current);
    const asked = account.current;
    const found = asked === null ? calls.session() : calls.sessionAgain();
    found.then(
      (fresh) => {
        // Who logged in or out here meanwhile knows better.
        if (account.current === asked) know(fresh);
      },
      (error) => {
        // Without a session the login is there already.
        if (hasStatus(error, 401)) return;
        // That nothing answers is told elsewhere, and a hidden window looks when it is seen.
        clearTimeout(timer.current);
        if (!document.hidden) timer.current = setTimeout(look, AGAIN_MS);
      },
    );
  }, []);

  /** Finds out whether there is a session. */
  const find = useCallback(() => {
    calls.session().then(know, (error) => {
      if (hasStatus(error, 401)) know(null);
      else fail(error);
    });
  }, []);
  // Whoever opens the page while the service is away comes in once it is back.
  useEffect(() => {
    if (!error) return;
    const timer = setTimeout(find, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [error]);

  useEffect(() => {
    find();
    const seen = () => {
      if (!document.hidden) look();
    };
    windows.addEventListener("message", look);
    document.addEventListener("visibilitychange", seen);
    return () => {
      clearTimeout(timer.current);
      windows.removeEventListener("message", look);
      document.removeEventListener("visibilitychange", seen);
    };
  }, []);

  useLayoutEffect(() => {
    onSessionEnd(
      () =>
        new Promise<void>((done) => {
          waiting.current = done;
          setAsks(true);
        }),
    );
  }, []);

  const enter = (fresh: Session) => {
    know(fresh);
    tellWindows();
  };
  const leave = () => {
    know(null);
    tellWindows();
  };
  return { session, error, asks, enter, leave, find, look };
}
