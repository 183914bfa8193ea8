// What is done to a branch or a project as such: it gets another name, or is deleted. The dialogs are fetched when one is
// first opened.
import { useState } from "preact/hooks";
import type { Loaded } from "../../shared/load.ts";
import { Item } from "../../shared/menu.tsx";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { lazyDialog } from "../frame/lazy.tsx";
import type { Route } from "../route.ts";

type Branches = Loaded<Schemas["AdminBranch"][]>;
type Projects = Loaded<Schemas["Project"][]>;

export interface SheetProps {
  session: Schemas["Session"];
  /** The project itself, or that of the branch. */
  project: Schemas["Project"];
  branch: Schemas["AdminBranch"] | null;
  projects: Projects;
  branches: Branches;
  onClose: () => void;
}

export interface BranchSheetProps extends SheetProps {
  branch: Schemas["AdminBranch"];
}

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
  const item = (act: Act, of: string, isDanger = false) => (
    <Item
      danger={isDanger}
      icon={isDanger ? "trash" : "edit"}
      words={t(act)}
      onClick={() => begin({ act, of })}
    />
  );
  const may = branch?.permissions;
  const mayAll = project?.permissions;
  const items = {
    branch: project && branch && (may?.rollback || may?.delete) && (
      <>
        {may.rollback && item("renameBranch", branch.name)}
        {may.delete && item("deleteBranch", branch.name, true)}
      </>
    ),
    project: project && (mayAll?.manage || mayAll?.delete) && (
      <div class="acts">
        {mayAll.manage && item("renameProject", project.repo_id)}
        {mayAll.delete && item("deleteProject", project.repo_id, true)}
      </div>
    ),
  };
  // Whoever has gone elsewhere meanwhile does nothing to what is there.
  const isHere = doing?.of === (doing && isOfBranch(doing.act) ? branch?.name : project?.repo_id);
  const props = { session, branch, projects, branches, onClose: () => begin(null) };
  const sheet = doing && isHere && project && <Doing {...props} act={doing.act} project={project} />;
  return { items, sheet };
}
