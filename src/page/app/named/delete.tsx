import type { ComponentChildren } from "preact";
import { countDrafts, type DraftPlace } from "../../shared/drafts/places.ts";
import { Icon, type IconName } from "../../shared/icons.tsx";
import { useLoaded } from "../../shared/load.ts";
import { notify } from "../../shared/notice.tsx";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { undo } from "../parts/undo.ts";
import { address, go, type Screen } from "../route.ts";
import { isHere } from "./along.ts";
import { say } from "./words.ts";

interface DeleteProps {
  session: Schemas["Session"];
  /** The project itself, or that of the branch. */
  project: Schemas["Project"];
  place: DraftPlace;
  title: string;
  icon: IconName;
  name: string;
  /** How much is in it. */
  holds: string;
  /** What else becomes of it, in points. */
  children: ComponentChildren;
  /** Where whoever looks at it goes to. */
  next: { screen: Screen; repo?: string };
  onClose: () => void;
  /** Deletes it. */
  onDelete: () => Promise<unknown>;
  /** It is deleted: the lists are to be without it. */
  onGone: () => void;
  /** Brings it back. */
  onRestore: () => Promise<void>;
}

/** Asks before a branch or a project is deleted: tells what goes, and what stays. */
export function Delete(props: DeleteProps) {
  const { session, project, place, title, icon, name, holds, children, next, onClose } = props;
  const may = project.permissions.manage;
  const drafts = useLoaded([], () => countDrafts(place)).value ?? 0;
  const n = session.limits.keep_deleted_days;
  const send = async () => {
    await props.onDelete();
    onClose();
    if (isHere(place)) go(next, { replace: true });
    props.onGone();
    // Where it can be restored by another name.
    const otherwise = { label: t("deleted"), run: () => go({ screen: "deleted" }) };
    const words = { done: say("isRestored", { name }), otherwise };
    notify(say("isDeleted", { name }), may ? undo(props.onRestore, words) : undefined);
  };
  return (
    <FormDialog
      danger
      title={title}
      lead={say("deleteLead")}
      action={say("deleteIt")}
      onClose={onClose}
      onSend={send}
    >
      <p class="subject">
        <Icon of={icon} />
        <span class="path">{name}</span>
        <span class="sub">{holds}</span>
      </p>
      <ul class="points">
        {children}
        {drafts > 0 && <li>{say("typedStays", { n: drafts })}</li>}
        {may ? (
          <li>
            {say("restorable", { n })}{" "}
            <a class="link" href={address({ screen: "deleted" })} onClick={onClose}>
              {t("deleted")}
            </a>
          </li>
        ) : (
          <li>{say("ownerRestores", { n, owner: project.owner })}</li>
        )}
      </ul>
    </FormDialog>
  );
}
