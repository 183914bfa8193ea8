// Who looks at a branch or a project that gets another name is taken along, with what they typed.
import { type DraftPlace, moveDrafts } from "../../shared/drafts/places.ts";
import { openedIn } from "../parts/opened.ts";
import { go, parse } from "../route.ts";

/** Says whether a branch, or without one a project, is on the screen. */
export function isHere({ repo, branch }: DraftPlace): boolean {
  const route = parse(location);
  return route.repo === repo && (branch === undefined || route.branch === branch);
}

/**
 * What was typed here, and whoever looks at it, goes along to another name. `list` has the lists say it, at the same
 * moment: between the two there would be nothing of that name to show.
 */
export async function follow(from: DraftPlace, to: DraftPlace, list: () => void): Promise<void> {
  await moveDrafts(from, to);
  list();
  if (!isHere(from)) return;
  openedIn(from)?.release();
  const { repo = "", branch } = to;
  const route = parse(location);
  go({ ...route, repo, ...(branch ? { branch } : {}) }, { replace: true });
}
