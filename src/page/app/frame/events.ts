// What others change meanwhile: the service tells of each branch that was made, changed or deleted.
import { useEffect, useRef } from "preact/hooks";
import type { Loaded } from "../../shared/load.ts";
import { projectPath, type Schemas } from "../api.ts";

/** After how many milliseconds a stream is opened again that was refused: a browser does so itself only where one broke off. */
const AGAIN_MS = 15_000;

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
    let source: EventSource | null = null;
    let timer = 0;
    const stop = () => {
      clearTimeout(timer);
      source?.close();
      source = null;
    };
    const listen = () => {
      source = new EventSource(`${projectPath(repo)}/events`);
      source.onerror = () => {
        if (source?.readyState !== EventSource.CLOSED) return;
        stop();
        // A stream does not say why it was refused: a request does, and asks for the login where the session has ended.
        known.current.again();
        timer = window.setTimeout(listen, AGAIN_MS);
      };
      // What changed before the stream was open, it does not tell.
      source.onopen = () => known.current.again();
      source.onmessage = ({ data }: MessageEvent<string>) => {
        const { value, set } = known.current;
        if (value) set(merged(value, JSON.parse(data) as Told));
      };
    };
    // A window that nobody sees needs no connection; one that is seen again asks for all.
    const seen = () => {
      stop();
      if (!document.hidden) listen();
    };
    if (!document.hidden) listen();
    document.addEventListener("visibilitychange", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      stop();
    };
  }, [repo]);
}

function merged(list: Branch[], { branches, deleted }: Told): Branch[] {
  const changed = new Map(branches.map((branch) => [branch.name, branch]));
  const kept = list
    .filter((branch) => !deleted.includes(branch.name) || changed.has(branch.name))
    .map((branch) => changed.get(branch.name) ?? branch);
  const added = branches.filter((branch) => !list.some((one) => one.name === branch.name));
  return [...kept, ...added].sort((a, b) => (a.name < b.name ? -1 : 1));
}
