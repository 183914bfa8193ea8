// What the dialogs of a branch or a project are told.
import type { Loaded } from "../../shared/load.ts";
import type { Schemas } from "../api.ts";

export type Branches = Loaded<Schemas["AdminBranch"][]>;
export type Projects = Loaded<Schemas["Project"][]>;

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
