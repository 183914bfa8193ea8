// The drafts of a place: they are counted, thrown away, and go along where what they are of gets another name.
import { waiting } from "../drafts.ts";
import {
  type DraftKey,
  forget,
  idOf,
  type KeptDraft,
  LEFT,
  left,
  leftNames,
  nameOf,
  ownName,
  rangeOf,
  run,
  setOwnName,
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

/** How many files have drafts. */
export async function countDrafts(place: DraftPlace): Promise<number> {
  const kept = await keptOf(place);
  const ids = waitingOf(place).map(({ key }) => idOf(key));
  const names = [...ids, ...lateOf(place), ...kept.map(([name]) => name)];
  return new Set(names.map((name) => textOf(name.slice(0, 4)))).size;
}

/** Forgets all drafts of a place. */
export async function dropDrafts(place: DraftPlace): Promise<void> {
  for (const drafts of waitingOf(place)) drafts.cancel();
  for (const name of lateOf(place)) forget(name);
  const [first, ...others] = (await keptOf(place)).map(([name]) => name);
  if (!first) return;
  await run("readwrite", (store) => {
    for (const name of others) store.delete(name);
    return store.delete(first);
  });
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
  if (!first) return;
  await run("readwrite", (store) => {
    const move = ([name, draft]: [string[], KeptDraft]) => {
      store.delete(name);
      return store.put({ ...draft, name: moved(name) }, moved(name));
    };
    for (const one of others) move(one);
    return move(first);
  });
}
