import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { settleFocus } from "./focus.ts";
import { Icon } from "./icons.tsx";
import { t } from "./text.ts";

export interface Action {
  label: string;
  run: () => void;
}

interface Notice {
  id: number;
  message: string;
  bad: boolean;
  action: Action | undefined;
  about: string | undefined;
}

let show: ((notice: Notice) => void) | null = null;
let end: ((about: string) => void) | null = null;
let count = 0;

/**
 * Says for a moment that something happened, with a button for what can be done about it. It takes the place of what
 * was said last about the same.
 */
export function notify(message: string, action?: Action, about?: string): void {
  count += 1;
  show?.({ id: count, message, bad: false, action, about });
}

/** Says that something went wrong; it stays until it is closed. */
export function complain(message: string, action?: Action, about?: string): void {
  count += 1;
  show?.({ id: count, message, bad: true, action, about });
}

/** Takes back what was said about something: it is so no more. */
export function unsay(about: string): void {
  end?.(about);
}

const STAYS_MS = 6000;
const STAYS_WITH_ACTION_MS = 15_000;

function One({ notice, onEnd }: { notice: Notice; onEnd: () => void }) {
  const [held, hold] = useState(false);
  useEffect(() => {
    if (notice.bad || held) return;
    const timer = setTimeout(onEnd, notice.action ? STAYS_WITH_ACTION_MS : STAYS_MS);
    return () => clearTimeout(timer);
  }, [held]);
  const { action } = notice;
  const before = useRef<EventTarget | null>(null);
  const end = () => {
    onEnd();
    settleFocus(before.current);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it stays while somebody points at it
    <div
      class={`toast${notice.bad ? " bad" : ""}`}
      onMouseEnter={() => hold(true)}
      onMouseLeave={() => hold(false)}
      onFocusCapture={(event) => {
        if (!held) before.current = event.relatedTarget;
        hold(true);
      }}
      onBlurCapture={() => hold(false)}
    >
      {notice.bad && <Icon of="warn" />}
      <span>{notice.message}</span>
      {action && (
        <button
          type="button"
          class="link"
          onClick={() => {
            end();
            action.run();
          }}
        >
          {action.label}
        </button>
      )}
      {notice.bad && (
        <button type="button" class="quiet" aria-label={t("close")} onClick={end}>
          <Icon of="close" />
        </button>
      )}
    </div>
  );
}

/** Where notices appear: once in the frame. */
export function Notices() {
  const [list, set] = useState<Notice[]>([]);
  useLayoutEffect(() => {
    const without = (all: Notice[], about: string | undefined) =>
      all.filter((one) => about === undefined || one.about !== about);
    show = (notice) => set((all) => [...without(all, notice.about).slice(-3), notice]);
    end = (about) => set((all) => without(all, about));
    return () => {
      show = null;
      end = null;
    };
  }, []);
  return (
    <div class="toasts" role="status">
      {list.map((notice) => (
        <One
          key={notice.id}
          notice={notice}
          onEnd={() => set((all) => all.filter((one) => one !== notice))}
        />
      ))}
    </div>
  );
}
