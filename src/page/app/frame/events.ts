// What others change meanwhile: the service tells of each branch that was made, changed or deleted.
import { useEffect, useRef } from "preact/hooks";
import type { Loaded } from "../../shared/load.ts";
import { branchPath, leaving, projectPath, type Schemas } from "../api.ts";
import { listen } from "./stream.ts";

type Branch = Schemas["AdminBranch"];

interface Told {
  branches: Branch[];
  deleted: string[];
}

/** Keeps the branches of a project true while the page is looked at. */
export function useBranchEvents(repo: string, branches: Loaded<Branch[]>): void {
  const known = useRef(branches);
  known.current = branches;
  useEffect(() => {
    if (!repo) return;
    let stop = (): void => undefined;
    const begin = () => {
      stop = listen(`${projectPath(repo)}/events`, {
        // A request says why a stream was refused, and asks for the login where the session has ended.
        onRefused: () => known.current.again(),
        // What changed before the stream was open, it does not tell.
        onOpen: () => known.current.again(),
        onData: (data) => {
          const told = JSON.parse(data) as Told;
          known.current.change((list) => merged(list, told, repo));
        },
      });
    };
    // A window that nobody sees needs no connection; one that is seen again asks for all.
    const seen = () => {
      stop();
      if (!document.hidden) begin();
    };
    if (!document.hidden) begin();
    document.addEventListener("visibilitychange", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      stop();
    };
  }, [repo]);
}

function merged(list: Branch[], { branches, deleted }: Told, repo: string): Branch[] {
  const changed = new Map(branches.map((branch) => [branch.name, branch]));
  // One that goes by what is under way here goes with the answer to that, which takes along who looks at it.
  const kept = list
    .filter(({ name }) => !deleted.includes(name) || changed.has(name) || leaving.has(branchPath(repo, name)))
    .map((branch) => changed.get(branch.name) ?? branch);
  const added = branches.filter((branch) => !list.some((one) => one.name === branch.name));
  return [...kept, ...added].sort((a, b) => (a.name < b.name ? -1 : 1));
}
