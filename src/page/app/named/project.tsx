import { Icon } from "../../shared/icons.tsx";
import { notify } from "../../shared/notice.tsx";
import { t } from "../../shared/text.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { namedIn, ProjectFields } from "../parts/project-fields.tsx";
import { undo } from "../parts/undo.ts";
import { go } from "../route.ts";
import type { SheetProps } from "./acts.tsx";
import { follow, isHere } from "./along.ts";
import * as calls from "./calls.ts";
import { Restorable, toDeleted } from "./restorable.tsx";
import { say } from "./words.ts";

export function RenameProject({ session, project, projects, onClose }: SheetProps) {
  const { repo_id: repo, name, type } = project;
  const { username: account } = session;
  const rename = async (from: string, to: { name: string; type: string }): Promise<string> => {
    const renamed = await calls.renameProject(from, to.name, to.type);
    const { repo_id: next } = renamed;
    const others = projects.value?.filter((one) => one.repo_id !== from && one.repo_id !== next) ?? [];
    const list = [...others, renamed].sort((a, b) => (a.repo_id < b.repo_id ? -1 : 1));
    await follow({ account, repo: from }, { account, repo: next }, () => projects.set(list));
    return next;
  };
  const send = async (fields: FormData) => {
    const next = await rename(repo, namedIn(fields));
    onClose();
    if (next === repo) return;
    const words = { done: say("projectIsAgain", { name: repo }) };
    notify(
      say("projectIs", { name: next }),
      undo(() => rename(next, { name, type }), words),
    );
  };
  return (
    <FormDialog
      title={say("renameProjectTitle")}
      lead={say("renameProjectLead", { name: repo })}
      action={say("rename")}
      onClose={onClose}
      onSend={send}
    >
      <ProjectFields name={name} type={type} />
      <ul class="points">
        <li>{say("tokensGoAlong")}</li>
        <li>{say("rolesByName")}</li>
      </ul>
    </FormDialog>
  );
}

export function DeleteProject({ session, project, projects, onClose }: SheetProps) {
  const { repo_id: name, id } = project;
  const send = async () => {
    await calls.deleteProject(name);
    const restore = async () => {
      await calls.restore(`project-${id}`);
      projects.again();
    };
    onClose();
    projects.set(projects.value?.filter((one) => one.id !== id) ?? []);
    if (isHere({ account: session.username, repo: name })) go({ screen: "projects" }, { replace: true });
    projects.again();
    const words = { done: say("isRestored", { name }), otherwise: toDeleted };
    notify(say("isDeleted", { name }), project.permissions.manage ? undo(restore, words) : undefined);
  };
  return (
    <FormDialog
      danger
      title={say("deleteProjectTitle", { name })}
      lead={say("deleteLead")}
      action={say("deleteIt")}
      onClose={onClose}
      onSend={send}
    >
      <p class="subject">
        <Icon of="box" />
        <span class="path">{name}</span>
        <span class="sub">
          {say("branchCount", { n: project.branches })} · {t("fileCount", { n: project.files })}
        </span>
      </p>
      <ul class="points">
        <li>{say("tokensStay")}</li>
        <Restorable session={session} project={project} branch={null} onClose={onClose} />
      </ul>
    </FormDialog>
  );
}
