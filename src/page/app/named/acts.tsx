// What is done to a branch or a project as such: it gets another name, or is deleted; and the rules of a project. The
// dialogs are fetched when one is first opened.
import { useEffect, useRef, useState } from "preact/hooks";
import type { IconName } from "../../shared/icons.tsx";
import { Item } from "../../shared/menu.tsx";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { lazyDialog } from "../frame/lazy.tsx";
import { go, type Route } from "../route.ts";
import type { RulesProps } from "./rules.tsx";
import type { Branches, BranchSheetProps, Projects, SheetProps } from "./sheet.ts";

const RenameBranch = lazyDialog<BranchSheetProps>(
  () => import("./branch.tsx").then((part) => part.RenameBranch),
  () => t("renameBranch"),
);
const DeleteBranch = lazyDialog<BranchSheetProps>(
  () => import("./branch.tsx").then((part) => part.DeleteBranch),
  () => t("deleteBranch"),
);
const RenameProject = lazyDialog<SheetProps>(
  () => import("./project.tsx").then((part) => part.RenameProject),
  () => t("renameProject"),
);
const Rules = lazyDialog<RulesProps>(
  () => import("./rules.tsx").then((part) => part.Rules),
  () => t("rules"),
);
const DeleteProject = lazyDialog<SheetProps>(
  () => import("./project.tsx").then((part) => part.DeleteProject),
  () => t("deleteProject"),
);

const ofBranch = { renameBranch: RenameBranch, deleteBranch: DeleteBranch };
const ofProject = { renameProject: RenameProject, deleteProject: DeleteProject };
type Act = keyof typeof ofBranch | keyof typeof ofProject;
const isOfBranch = (act: Act): act is keyof typeof ofBranch => Object.hasOwn(ofBranch, act);

function Doing({ act, ...props }: SheetProps & { act: Act }) {
  if (!isOfBranch(act)) {
    const Sheet = ofProject[act];
    return <Sheet {...props} />;
  }
  const { branch } = props;
  const Sheet = ofBranch[act];
  return branch && <Sheet {...props} branch={branch} />;
}

/** The items of the two menus, where the service would not refuse them, and the dialog of what is being done. */
export function useNamedActs(
  session: Schemas["Session"],
  route: Route,
  project: Schemas["Project"] | null,
  projects: Projects,
  branches: Branches,
) {
  const [doing, begin] = useState<{ act: Act; of: string } | null>(null);
  const branch = branches.value?.find((one) => one.name === route.branch) ?? null;
  const item = (act: Act, of: string, icon: IconName = "edit") => (
    <Item danger={icon === "trash"} icon={icon} words={t(act)} onClick={() => begin({ act, of })} />
  );
  const here = `${route.repo}\n${route.branch}`;
  const may = branch?.permissions;
  const mayAll = project?.permissions;
  const items = {
    branch: project && branch && (may?.rollback || may?.delete) && (
      <>
        {may.rollback && item("renameBranch", here)}
        {may.delete && item("deleteBranch", here, "trash")}
      </>
    ),
    project: project && (
      <div class="acts">
        <Item icon="check" words={t("rules")} onClick={() => go({ ...route, rules: "1" })} />
        {mayAll?.manage && item("renameProject", project.repo_id)}
        {mayAll?.delete && item("deleteProject", project.repo_id, "trash")}
      </div>
    ),
  };
  // It may be heard that the branch has gone before its own deletion or renaming is answered.
  const last = useRef(branch);
  if (branch) last.current = branch;
  // Whoever has gone elsewhere meanwhile does nothing to what is there, nor once they are back.
  const isHere = doing?.of === (doing && isOfBranch(doing.act) ? here : project?.repo_id);
  useEffect(() => {
    if (doing && !isHere) begin(null);
  }, [doing, isHere]);
  const of = branch ?? last.current;
  const props = { session, branch: of, projects, branches, onClose: () => begin(null) };
  const sheet = project && (
    <>
      {doing && isHere && <Doing {...props} act={doing.act} project={project} />}
      {route.rules && (
        <Rules
          project={project}
          branch={branch?.name}
          onClose={() => go({ ...route, rules: "" }, { replace: true })}
        />
      )}
    </>
  );
  return { items, sheet };
}
