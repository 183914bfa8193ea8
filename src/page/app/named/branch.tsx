import { useState } from "preact/hooks";
import { notify } from "../../shared/notice.tsx";
import { t } from "../../shared/text.ts";
import { branchPath, Failure, hasStatus, leaving } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { undo } from "../parts/undo.ts";
import { follow } from "./along.ts";
import * as calls from "./calls.ts";
import { Delete } from "./delete.tsx";
import type { BranchSheetProps } from "./sheet.ts";
import { say } from "./words.ts";

/** Does what takes its name from a branch: that this goes is taken in with the answer, be it heard of before. */
async function leave(repo: string, name: string, again: () => void, act: () => Promise<void>): Promise<void> {
  const left = branchPath(repo, name);
  leaving.add(left);
  try {
    await act();
  } catch (error) {
    // It may have gone all the same, or by somebody else.
    again();
    throw error;
  } finally {
    leaving.delete(left);
  }
}

export function RenameBranch({ session, project, branch, projects, branches, onClose }: BranchSheetProps) {
  const { repo_id: repo } = project;
  const { username: account } = session;
  const { name } = branch;
  const [wanted, setWanted] = useState(name);
  const to = wanted.trim();
  const rename = (from: string, next: string) =>
    leave(repo, from, branches.again, async () => {
      const renamed = await calls.renameBranch(repo, from, next);
      const place = { account, repo };
      await follow({ ...place, branch: from }, { ...place, branch: next }, () =>
        branches.change((list) => {
          const others = list.filter((one) => one.name !== from && one.name !== next);
          return [...others, renamed].sort((a, b) => (a.name < b.name ? -1 : 1));
        }),
      );
      // Which one is the default may be another now.
      branches.again();
      projects.again();
    });
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
  const { username: account } = session;
  const { name } = branch;
  // What they have seen, until they were told that it is another.
  const [seen, see] = useState<string | null>(branch.commit.id);
  const again = () => {
    branches.again();
    projects.again();
  };
  return (
    <Delete
      session={session}
      project={project}
      place={{ account, repo, branch: name }}
      title={say("deleteBranchTitle", { name })}
      icon="branch"
      name={name}
      holds={t("fileCount", { n: branch.files })}
      next={{ screen: "files", repo }}
      onClose={onClose}
      onDelete={() =>
        leave(repo, name, branches.again, async () => {
          try {
            await calls.deleteBranch(repo, name, seen ?? branch.commit.id);
          } catch (error) {
            if (!hasStatus(error, 412)) throw error;
            see(null);
            throw new Failure(400, say("branchLate"));
          }
        })
      }
      onGone={() => {
        branches.change((list) => list.filter((one) => one.name !== name));
        again();
      }}
      onRestore={async () => {
        await calls.restoreBranch(repo, name, account);
        again();
      }}
    >
      {branch.default && project.branches > 1 && <li>{say("wasDefault")}</li>}
    </Delete>
  );
}
