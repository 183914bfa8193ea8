// The drafts of a place: they are counted, thrown away, and go along where what they are of gets another name.
import { useEffect, useState } from "preact/hooks";
import { waiting } from "../drafts.ts";
import {
  type DraftKey,
  forget,
  idOf,
  type KeptDraft,
  keptAt,
  LEFT,
  left,
  leftNames,
  nameOf,
  onDrafts,
  ownName,
  rangeOf,
  run,
  setOwnName,
  tellDrafts,
  textOf,
  underWay,
} from "./store.ts";

/** All of an account, or of one of its projects or branches; a path is that of a file, or of a folder with all in it. */
export type DraftPlace = Pick<DraftKey, "account"> & Partial<DraftKey>;

const startOf = ({ account, repo, branch }: DraftPlace): string[] =>
  [account, repo, branch].filter((part) => part !== undefined);

/** Whether a draft of this name is of the place. */
function isOf(place: DraftPlace, name: string[]): boolean {
  const { path } = place;
  const of = name[3] ?? "";
  return (
    startOf(place).every((part, at) => name[at] === part) &&
    (path === undefined || of === path || of.startsWith(`${path}/`))
  );
}

/** The drafts of a place that are in the database, by their names. What was written before is among them. */
async function keptOf(place: DraftPlace): Promise<[string[], KeptDraft][]> {
  let keys: IDBRequest<IDBValidKey[]> | null = null;
  const range = rangeOf(...startOf(place));
  const drafts: KeptDraft[] =
    (await run("readonly", (store) => {
      keys = store.getAllKeys(range);
      return store.getAll(range);
    })) ?? [];
  const names = ((keys as IDBRequest<IDBValidKey[]> | null)?.result ?? []) as string[][];
  return drafts
    .map((draft, at): [string[], KeptDraft] => [names[at]!, draft])
    .filter(([name]) => isOf(place, name));
}

/** The names of drafts of a place that are not in the database: they are under way, or a page left them that ended. */
const lateOf = (place: DraftPlace): string[][] =>
  [...new Set([...leftNames(startOf(place)), ...underWay.keys()])]
    .map(nameOf)
    .filter((name) => isOf(place, name));

const waitingOf = (place: DraftPlace) => [...waiting].filter(({ key }) => isOf(place, idOf(key)));

/** A file that has drafts. */
export interface Drafted extends DraftKey {
  /** When the newest of them was kept, in milliseconds; 0 where that is not known. */
  at: number;
}

/** The files of a place that have drafts, in the order of their names. */
export async function draftedIn(place: DraftPlace): Promise<Drafted[]> {
  const kept = (await run("readonly", (store) => store.getAllKeys(rangeOf(...startOf(place))))) ?? [];
  const ids = waitingOf(place).map(({ key }) => idOf(key));
  const names = [...ids, ...lateOf(place), ...(kept as string[][]).filter((name) => isOf(place, name))];
  const files = new Map<string, Drafted>();
  for (const name of names) {
    const [account = "", repo = "", branch = "", path = ""] = name;
    const id = textOf([account, repo, branch, path]);
    const at = Math.max(files.get(id)?.at ?? 0, keptAt(name));
    files.set(id, { account, repo, branch, path, at });
  }
  return [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, file]) => file);
}

/** The files of a place that have edits which are not saved, as far as this browser knows; null before they came. */
export function useDrafted({ account, repo, branch }: DraftPlace): Drafted[] | null {
  const [files, set] = useState<Drafted[] | null>(null);
  useEffect(() => {
    let isWanted = true;
    const look = async () => {
      const found = await draftedIn({ account, ...(repo ? { repo } : {}), ...(branch ? { branch } : {}) });
      if (isWanted) set(found);
    };
    void look();
    const stop = onDrafts(look);
    // Another tab may have kept or saved something meanwhile.
    document.addEventListener("visibilitychange", look);
    return () => {
      isWanted = false;
      stop();
      document.removeEventListener("visibilitychange", look);
    };
  }, [account, repo, branch]);
  return files;
}

/** How many files have drafts. */
export const countDrafts = async (place: DraftPlace): Promise<number> => (await draftedIn(place)).length;

/** Forgets all drafts of a place. */
export async function dropDrafts(place: DraftPlace): Promise<void> {
  for (const drafts of waitingOf(place)) drafts.cancel();
  for (const name of lateOf(place)) forget(name);
  const [first, ...others] = (await keptOf(place)).map(([name]) => name);
  if (first) {
    await run("readwrite", (store) => {
      for (const name of others) store.delete(name);
      return store.delete(first);
    });
  }
  tellDrafts();
}

/** Has the drafts of one place be those of another, which has the same parts. */
export async function moveDrafts(from: DraftPlace, to: DraftPlace): Promise<void> {
  const moved = ([account = "", repo = "", branch = "", path = "", ...rest]: string[]): string[] => [
    account,
    to.repo ?? repo,
    to.branch ?? branch,
    from.path === undefined ? path : `${to.path}${path.slice(from.path.length)}`,
    ...rest,
  ];
  for (const drafts of waitingOf(from)) drafts.flush();
  const kept = await keptOf(from);
  for (const name of [...kept.map(([one]) => one), ...lateOf(from)]) {
    if (ownName(name.slice(0, 4)) !== textOf(name)) continue;
    setOwnName(name.slice(0, 4), null);
    setOwnName(moved(name).slice(0, 4), textOf(moved(name)));
  }
  for (const name of lateOf(from)) {
    const text = textOf(name);
    const [here, there] = [underWay.get(text), left(text)];
    const next = ({ replaces = [], ...draft }: KeptDraft): KeptDraft => ({
      ...draft,
      replaces: replaces.map(moved),
    });
    forget(name);
    if (here) underWay.set(textOf(moved(name)), next(here));
    if (there) localStorage.setItem(LEFT + textOf(moved(name)), JSON.stringify(next(there)));
  }
  const [first, ...others] = kept;
  if (first) {
    await run("readwrite", (store) => {
      const move = ([name, draft]: [string[], KeptDraft]) => {
        store.delete(name);
        return store.put({ ...draft, name: moved(name) }, moved(name));
      };
      for (const one of others) move(one);
      return move(first);
    });
  }
  tellDrafts();
}
