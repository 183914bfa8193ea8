// Small parts that every screen uses.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";
import type { Loaded } from "./load.ts";
import { complain } from "./notice.tsx";
import { ago, t, when, wordsOf } from "./text.ts";

/** A moment as how long ago it was; pointing at it tells the date. */
export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={when(at)}>
      {ago(at)}
    </time>
  );
}

const hue = (name: string): number =>
  [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)!) % 12, 0);

/** A person's first letter in a colour of their own. */
export function Who({ name }: { name: string }) {
  return (
    <span class={`who hue${hue(name)}`} aria-hidden="true">
      {[...name][0]?.toUpperCase()}
    </span>
  );
}

/** A path whose last name stands out. Whoever has the page translated gets no other path than there is. */
export function Path({ path }: { path: string }) {
  const cut = path.lastIndexOf("/") + 1;
  return (
    <span class="path" title={path} translate={false}>
      <span class="dir">{path.slice(0, cut)}</span>
      <span class="base">{path.slice(cut)}</span>
    </span>
  );
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain http a browser has no clipboard; the old way still works.
    const area = document.createElement("textarea");
    area.value = text;
    const before = document.activeElement;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    // To select it took the focus.
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}

/** A button that copies a text. */
export function Copy({ text, label, primary }: { text: string; label?: string; primary?: boolean }) {
  const [done, set] = useState(false);
  const copy = async () => {
    if (!(await copyText(text))) return complain(t("failed"));
    set(true);
    setTimeout(() => set(false), 1600);
  };
  const words = done ? t("copied") : (label ?? t("copy"));
  return (
    <button
      type="button"
      class={label ? (primary ? "button primary" : "button") : "quiet"}
      onClick={copy}
      title={label ? undefined : words}
      aria-label={label ? undefined : words}
    >
      <Icon of={done ? "check" : "copy"} />
      {label && <span aria-live="polite">{words}</span>}
    </button>
  );
}

/** A command that can be copied. */
export function Snippet({ text }: { text: string }) {
  return (
    <div class="snippet">
      <pre translate={false}>{text}</pre>
      <Copy text={text} />
    </div>
  );
}

/** What is shown where there is nothing to show. */
export function Empty(props: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon of={props.icon} />
      <h2>{props.title}</h2>
      <div>{props.children}</div>
    </div>
  );
}

/** What is shown while something comes that takes a moment. */
export function Waiting() {
  return <div class="skeleton" aria-hidden="true" />;
}

/** What went wrong, with a button to try again where that may help. */
export function Trouble({ words, onAgain }: { words: string; onAgain?: () => void }) {
  return (
    <Empty icon="warn" title={t("failed")}>
      <p>{words}</p>
      {onAgain && (
        <button type="button" class="button" onClick={onAgain}>
          {t("tryAgain")}
        </button>
      )}
    </Empty>
  );
}

/** What is shown in place of what has not come: that it will, or why it did not. */
export function Coming({ of: { error, again } }: { of: Pick<Loaded<unknown>, "error" | "again"> }) {
  return error ? <Trouble words={wordsOf(error)} onAgain={again} /> : <Waiting />;
}

/** A line beside what is shown: it is what came before, and why no more did. */
export function Behind({ words, onAgain }: { words: string; onAgain: () => void }) {
  return (
    <div class="strip" role="status">
      <span>{words}</span>
      <button type="button" class="button" onClick={onAgain}>
        {t("tryAgain")}
      </button>
    </div>
  );
}

/** Why a form was refused. */
export function Alert({ children }: { children: ComponentChildren }) {
  return (
    <p class="alert" role="alert">
      <Icon of="warn" />
      <span>{children}</span>
    </p>
  );
}
