// One's own account: what everybody may do to it, in dialogs over any screen.
import type { ComponentChildren } from "preact";
import { Dialog } from "../../shared/dialog.tsx";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { lazy } from "./lazy.tsx";

export type OwnPart = "password" | "sessions";

interface OwnProps {
  part: OwnPart;
  session: Schemas["Session"];
  onClose: () => void;
  onLeave: () => void;
}

const asDialog = (inside: ComponentChildren, { part, onClose }: OwnProps) => (
  <Dialog title={t(part === "password" ? "changePassword" : "sessions")} onClose={onClose}>
    {inside}
  </Dialog>
);

const Password = lazy<OwnProps>(() => import("../own/password.tsx").then((own) => own.OwnPassword), asDialog);
const Sessions = lazy<OwnProps>(() => import("../own/sessions.tsx").then((own) => own.OwnSessions), asDialog);

export function Own(props: OwnProps) {
  return props.part === "password" ? <Password {...props} /> : <Sessions {...props} />;
}
