// A dialog with a form: it is sent once at a time, and what the service refuses is said in it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Dialog, useDrawn } from "../../shared/dialog.tsx";
import { complain } from "../../shared/notice.tsx";
import { Alert } from "../../shared/parts.tsx";
import { t, wordsOf } from "../../shared/text.ts";

interface FormDialogProps {
  title: string;
  lead?: ComponentChildren;
  /** The fields. */
  children?: ComponentChildren;
  /** What the button says that sends the form. */
  action: string;
  /** False while the fields do not make a whole yet. */
  ready?: boolean;
  /** It takes something away. */
  danger?: boolean;
  onClose: () => void;
  /** Sends the fields, and closes the dialog when that is done. */
  onSend: (fields: FormData) => Promise<void>;
}

export function FormDialog({
  title,
  lead,
  children,
  action,
  ready = true,
  danger = false,
  onClose,
  onSend,
}: FormDialogProps) {
  const form = useRef<HTMLFormElement>(null);
  const isDrawn = useDrawn();
  const [failed, fail] = useState("");
  const [busy, setBusy] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  // It takes the focus when it can: what cannot be pressed has none.
  useLayoutEffect(() => {
    if (danger && ready) button.current!.focus();
  }, [ready]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    // A key sends it whatever the button says.
    if (busy || !ready) return;
    setBusy(true);
    try {
      await onSend(new FormData(event.currentTarget as HTMLFormElement));
    } catch (error) {
      const words = wordsOf(error);
      // What somebody began and closed is not done, and they are to know.
      if (isDrawn()) fail(words);
      else complain(words);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} lead={lead} onClose={onClose} onSubmit={() => form.current?.requestSubmit()}>
      <form class="form" ref={form} onSubmit={submit}>
        {children}
        {failed && <Alert>{failed}</Alert>}
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button
            type="submit"
            ref={button}
            class={danger ? "button danger" : "button primary"}
            // A button that is disabled loses the focus, and with it the keys that close the dialog or try again.
            aria-disabled={busy}
            disabled={!ready}
          >
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
