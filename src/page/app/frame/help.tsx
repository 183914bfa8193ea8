// The keys of the frame, and the list of all.
import { useLayoutEffect } from "preact/hooks";
import { Dialog } from "../../shared/dialog.tsx";
import { type Key, t } from "../../shared/text.ts";
import { isTyping } from "../branch/keys.ts";

const keys: [string[], Key][] = [
  [["Ctrl K", "Ctrl P"], "keyFind"],
  [["Ctrl S"], "keySave"],
  [["Ctrl F"], "keySearch"],
  [["Alt Z"], "keyWrap"],
  [["Esc Tab"], "keyLeave"],
  [["[", "]"], "keyOlder"],
  [["F2"], "keyMove"],
  [["Delete"], "keyDelete"],
  [["Ctrl Enter"], "keySubmit"],
  [["Esc"], "keyClose"],
  [["?"], "keyHelp"],
];

/** `Ctrl K` and `Ctrl P` find, `?` helps. */
export function useFrameKeys(onFind: () => void, onHelp: () => void): void {
  // With what is drawn: a key that comes before the effects of a frame is heard, too.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const control = event.ctrlKey || event.metaKey;
      if (control && !event.altKey && !event.shiftKey && /^[kpлз]$/i.test(event.key)) {
        event.preventDefault();
        if (!document.querySelector("dialog[open]")) onFind();
      } else if (event.key === "?" && !control && !isTyping(event)) {
        event.preventDefault();
        onHelp();
      }
    };
    // Before the editor, which has these keys for something else.
    addEventListener("keydown", listener, { capture: true });
    return () => removeEventListener("keydown", listener, { capture: true });
  });
}

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t("keys")} onClose={onClose}>
      <dl class="keys">
        {keys.map(([names, meaning]) => (
          <div key={meaning}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{t(meaning)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
