// Who looks at what is deleted or gets another path is taken along, with what they typed.
import { type DraftPlace, dropDrafts, moveDrafts } from "../../../shared/drafts/places.ts";
import { openedIn } from "../../parts/opened.ts";
import { go, parse } from "../../route.ts";

type EntryPlace = DraftPlace & { path: string };

/** The rest of the path that is on the screen, if that is of this place as it is now. */
function restOf({ repo, branch, path }: EntryPlace): string | null {
  const route = parse(location);
  const here = route.screen === "files" && route.repo === repo && route.branch === branch;
  if (!here || route.at || route.change || !route.path) return null;
  const isIn = route.path === path || route.path.startsWith(`${path}/`);
  return isIn ? route.path.slice(path.length) : null;
}

/** Goes there in the place of what is not there any more; the keys that were in it stay in the main part. */
function replace(to: { repo: string; branch: string; path?: string }): void {
  const main = document.getElementById("main");
  if (main?.contains(document.activeElement)) main.focus();
  go({ screen: "files", ...to }, { replace: true });
}

/** What was typed here goes with what it was typed into; whoever looks at that comes to the branch. */
export async function leave(place: EntryPlace): Promise<void> {
  openedIn(place)?.release();
  await dropDrafts(place);
  const { repo = "", branch = "" } = place;
  if (restOf(place) !== null) replace({ repo, branch });
}

/** What was typed here, and whoever looks at it, goes along to another path. */
export async function follow(from: EntryPlace, path: string): Promise<void> {
  await moveDrafts(from, { ...from, path });
  openedIn(from)?.release();
  const rest = restOf(from);
  const { repo = "", branch = "" } = from;
  if (rest !== null) replace({ repo, branch, path: path + rest });
}
