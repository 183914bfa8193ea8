import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { settleFocus } from "./focus.ts";
import { Icon } from "./icons.tsx";
import { t } from "./text.ts";

interface DialogProps {
  title: string;
  lead?: ComponentChildren;
  children?: ComponentChildren;
  foot?: ComponentChildren;
  /** As large as the window allows, for texts side by side. */
  wide?: boolean;
  /** Only its own buttons close it. */
  fixed?: boolean;
  /** What Escape does where only its own buttons close it. */
  onEscape?: (() => void) | undefined;
  onClose: () => void;
  /** What `Ctrl Enter` does. */
  onSubmit?: (() => void) | undefined;
}

/** A sheet over the screen. What was focused before is focused again when it closes. */
export function Dialog({
  title,
  lead,
  children,
  foot,
  wide,
  fixed,
  onEscape,
  onClose,
  onSubmit,
}: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Before the next key: whoever types at once types into it.
  useLayoutEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    return () => {
      dialog.close();
      // What had it before may not be there any more.
      settleFocus();
    };
  }, []);
  /** Somebody filled in a field: a click that misses must not throw that away. */
  const filled = useRef(false);
  const submit = useRef(onSubmit);
  submit.current = onSubmit;
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit.current?.();
    }
    // A browser closes a dialog at the second Escape whatever `cancel` says.
    if (event.key === "Escape" && fixed) {
      event.preventDefault();
      onEscape?.();
    }
  };
  return (
    <dialog
      ref={ref}
      class={wide ? "wide" : ""}
      aria-labelledby={heading}
      onKeyDown={keys}
      onCancel={(event) => {
        event.preventDefault();
        if (!fixed) onClose();
      }}
      onInput={() => {
        filled.current = true;
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current && !fixed && !filled.current) onClose();
      }}
    >
      <div class="sheet">
        <header>
          <div>
            <h2 id={heading} tabIndex={-1}>
              {title}
            </h2>
            {lead && <p>{lead}</p>}
          </div>
          {!fixed && (
            <button type="button" class="quiet" aria-label={t("close")} onClick={onClose}>
              <Icon of="close" />
            </button>
          )}
        </header>
        <div class="content">{children}</div>
        {foot && <footer>{foot}</footer>}
      </div>
    </dialog>
  );
}

/** Tells whether a dialog is still drawn: what it began may end after it is gone. */
export function useDrawn(): () => boolean {
  const drawn = useRef(true);
  useLayoutEffect(
    () => () => {
      drawn.current = false;
    },
    [],
  );
  return () => drawn.current;
}
