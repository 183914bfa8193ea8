// The keys of the frame.
import { useLayoutEffect } from "preact/hooks";
import { isDialogOpen } from "../../shared/focus.ts";
import { isTyping } from "../branch/keys.ts";

/** `Ctrl K` and `Ctrl P` find, `?` helps. */
export function useFrameKeys(onFind: () => void, onHelp: () => void): void {
  // With what is drawn: a key that comes before the effects of a frame is heard, too.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const control = event.ctrlKey || event.metaKey;
      if (control && !event.altKey && !event.shiftKey && /^[kpлз]$/i.test(event.key)) {
        event.preventDefault();
        if (!isDialogOpen()) onFind();
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
