import { notify } from "../../shared/notice.tsx";
import { t } from "../../shared/text.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { namedIn, ProjectFields } from "../parts/project-fields.tsx";
import { undo } from "../parts/undo.ts";
import { follow } from "./along.ts";
import * as calls from "./calls.ts";
import { Delete } from "./delete.tsx";
import type { SheetProps } from "./sheet.ts";
import { say } from "./words.ts";

export function RenameProject({ session, project, projects, onClose }: SheetProps) {
  const { repo_id: repo, name, type } = project;
  const { username: account } = session;
  const rename = async (from: string, to: { name: string; type: string }): Promise<string> => {
    const renamed = await calls.renameProject(from, to.name, to.type);
    const { repo_id: next } = renamed;
    await follow({ account, repo: from }, { account, repo: next }, () =>
      projects.change((list) => {
        const others = list.filter((one) => one.repo_id !== from && one.repo_id !== next);
        return [...others, renamed].sort((a, b) => (a.repo_id < b.repo_id ? -1 : 1));
      }),
    );
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
  const { repo_id: repo, id } = project;
  return (
    <Delete
      session={session}
      project={project}
      place={{ account: session.username, repo }}
      title={say("deleteProjectTitle", { name: repo })}
      icon="box"
      name={repo}
      holds={`${say("branchCount", { n: project.branches })} · ${t("fileCount", { n: project.files })}`}
      next={{ screen: "projects" }}
      onClose={onClose}
      onDelete={() => calls.deleteProject(repo)}
      onGone={() => {
        projects.change((list) => list.filter((one) => one.id !== id));
        projects.again();
      }}
      onRestore={async () => {
        await calls.restore(`project-${id}`);
        projects.again();
      }}
    >
      <li>{say("tokensStay")}</li>
    </Delete>
  );
}
