import { countDrafts } from "../../shared/drafts/places.ts";
import { useLoaded } from "../../shared/load.ts";
import { t } from "../../shared/text.ts";
import { address, go } from "../route.ts";
import type { SheetProps } from "./acts.tsx";
import { say } from "./words.ts";

/** Leads to where it can be restored by another name. */
export const toDeleted = { label: t("deleted"), run: () => go({ screen: "deleted" }) };

/** What stays of a branch or a project that is about to be deleted: who can restore it, and what was typed in it. */
export function Restorable({ session, project, branch, onClose }: Omit<SheetProps, "projects" | "branches">) {
  const place = {
    account: session.username,
    repo: project.repo_id,
    ...(branch ? { branch: branch.name } : {}),
  };
  const drafts = useLoaded([], () => countDrafts(place)).value ?? 0;
  const n = session.limits.keep_deleted_days;
  return (
    <>
      {drafts > 0 && <li>{say("typedStays", { n: drafts })}</li>}
      {project.permissions.manage ? (
        <li>
          {say("restorable", { n })}{" "}
          <a class="link" href={address({ screen: "deleted" })} onClick={onClose}>
            {t("deleted")}
          </a>
        </li>
      ) : (
        <li>{say("ownerRestores", { n, owner: project.owner })}</li>
      )}
    </>
  );
}
