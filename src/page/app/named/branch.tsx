import { useState } from "preact/hooks";
import { Icon } from "../../shared/icons.tsx";
import { notify } from "../../shared/notice.tsx";
import { t } from "../../shared/text.ts";
import { Failure } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { undo } from "../parts/undo.ts";
import { go } from "../route.ts";
import type { BranchSheetProps } from "./acts.tsx";
import { follow, isHere } from "./along.ts";
import * as calls from "./calls.ts";
import { Restorable, toDeleted } from "./restorable.tsx";
import { say } from "./words.ts";

export function RenameBranch({ session, project, branch, projects, branches, onClose }: BranchSheetProps) {
  const { repo_id: repo } = project;
  const { username: account } = session;
  const { name } = branch;
  const [wanted, setWanted] = useState(name);
  const to = wanted.trim();
  const rename = async (from: string, next: string) => {
    const renamed = await calls.renameBranch(repo, from, next);
    const others = branches.value?.filter((one) => one.name !== from && one.name !== next) ?? [];
    const list = [...others, renamed].sort((a, b) => (a.name < b.name ? -1 : 1));
    const place = { account, repo };
    await follow({ ...place, branch: from }, { ...place, branch: next }, () => branches.set(list));
    // Which one is the default may be another now.
    branches.again();
    projects.again();
  };
  const send = async () => {
    await rename(name, to);
    onClose();
    const words = { done: say("branchIsAgain", { name }) };
    notify(
      say("branchIs", { name: to }),
      undo(() => rename(to, name), words),
    );
  };
  return (
    <FormDialog
      title={say("renameBranchTitle")}
      lead={say("renameBranchLead", { name })}
      action={say("rename")}
      ready={to !== "" && to !== name}
      onClose={onClose}
      onSend={send}
    >
      <label>
        {t("name")}
        <input
          required
          autofocus
          maxLength={255}
          spellcheck={false}
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
          onFocus={(event) => event.currentTarget.select()}
        />
      </label>
      {branch.default && <p class="hint">{say("isDefault")}</p>}
    </FormDialog>
  );
}

export function DeleteBranch({ session, project, branch, projects, branches, onClose }: BranchSheetProps) {
  const { repo_id: repo } = project;
  const { name } = branch;
  const place = { account: session.username, repo, branch: name };
  // What they have seen, until they were told that it is another.
  const [seen, see] = useState<string | null>(branch.commit.id);
  const send = async () => {
    try {
      await calls.deleteBranch(repo, name, seen ?? branch.commit.id);
    } catch (error) {
      if (!(error instanceof Failure && error.status === 412)) throw error;
      see(null);
      branches.again();
      throw new Failure(400, say("branchLate"));
    }
    const restore = async () => {
      await calls.restoreBranch(repo, name, session.username);
      branches.again();
      projects.again();
    };
    onClose();
    if (isHere(place)) go({ screen: "files", repo }, { replace: true });
    branches.set(branches.value?.filter((one) => one.name !== name) ?? []);
    branches.again();
    projects.again();
    const words = { done: say("isRestored", { name }), otherwise: toDeleted };
    notify(say("isDeleted", { name }), project.permissions.manage ? undo(restore, words) : undefined);
  };
  return (
    <FormDialog
      danger
      title={say("deleteBranchTitle", { name })}
      lead={say("deleteLead")}
      action={say("deleteIt")}
      onClose={onClose}
      onSend={send}
    >
      <p class="subject">
        <Icon of="branch" />
        <span class="path">{name}</span>
        <span class="sub">{t("fileCount", { n: branch.files })}</span>
      </p>
      <ul class="points">
        {branch.default && project.branches > 1 && <li>{say("wasDefault")}</li>}
        <Restorable session={session} project={project} branch={branch} onClose={onClose} />
      </ul>
    </FormDialog>
  );
}
