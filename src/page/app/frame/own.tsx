// One's own account: what everybody may do to it, in dialogs over any screen.
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { lazyDialog } from "./lazy.tsx";

export type OwnPart = "password" | "sessions";

interface OwnProps {
  part: OwnPart;
  session: Schemas["Session"];
  onClose: () => void;
  onLeave: () => void;
}

const Password = lazyDialog<OwnProps>(
  () => import("../own/password.tsx").then((own) => own.OwnPassword),
  () => t("changePassword"),
);
const Sessions = lazyDialog<OwnProps>(
  () => import("../own/sessions.tsx").then((own) => own.OwnSessions),
  () => t("sessions"),
);

export function Own(props: OwnProps) {
  return props.part === "password" ? <Password {...props} /> : <Sessions {...props} />;
}
