import type { ComponentChildren } from "preact";
import { Dialog } from "../../shared/dialog.tsx";
import { Copy } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";

interface SecretProps {
  /** What it is, and that it is shown this once. */
  lead: string;
  secret: string;
  /** What stands below it. */
  children?: ComponentChildren;
  onClose: () => void;
}

/** A secret, this once. Neither Escape nor a click outside closes it. */
export function Secret({ lead, secret, children, onClose }: SecretProps) {
  return (
    <Dialog
      fixed
      title={t("secretTitle")}
      lead={lead}
      onClose={onClose}
      foot={
        <>
          <span class="grow" />
          <button type="button" class="button" onClick={onClose}>
            {t("secretKept")}
          </button>
        </>
      }
    >
      <div class="secret">
        <code>{secret}</code>
        <Copy text={secret} label={t("copy")} primary />
      </div>
      {children}
    </Dialog>
  );
}
