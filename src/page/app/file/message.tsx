import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../shared/text.ts";

interface MessageProps {
  value: string;
  onInput: (words: string) => void;
  onSave: () => void;
  /** It goes with what was saved, and has the keys. */
  onGone: () => void;
}

/** What changed, in the words of who saves it. */
export function Message({ value, onInput, onSave, onGone }: MessageProps) {
  const input = useRef<HTMLInputElement>(null);
  const gone = useRef(onGone);
  gone.current = onGone;
  useLayoutEffect(() => {
    const node = input.current;
    return () => {
      if (document.activeElement === node) gone.current();
    };
  }, []);
  return (
    <input
      class="message"
      ref={input}
      placeholder={t("message")}
      aria-label={t("message")}
      maxLength={1000}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.isComposing) onSave();
      }}
    />
  );
}
