// The folders of a state: fetched when they are opened, and kept until the state is another.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useBack } from "../../../shared/load.ts";
import { hasStatus, query, read, type Schemas, statePath } from "../../api.ts";
import * as calls from "../../calls.ts";
import { lookOf, useLook } from "../../parts/entries.ts";

export type TreeEntry = Schemas["AdminTreeEntry"];

/** So many entries of a folder are shown before the others have come: more than a screen has lines. */
const FIRST = 200;

/** A line of the tree. */
export interface Row {
  path: string;
  name: string;
  depth: number;
  folder: boolean;
  open: boolean;
  size: number | undefined;
  /** Of a file. */
  etag: string | undefined;
  /** Of an open folder: how many entries it has, undefined until all came. */
  count: number | undefined;
  failed: boolean;
  /** Which entry of its folder it is, from 1 on, and of how many: -1 until all came. */
  place: number;
  of: number;
}

/** A folder as it came last; null before it did. */
interface KeptFolder {
  folder: calls.Folder | null;
  /** The snapshot that it is of. */
  at: string | undefined;
  /** Why it could not be read the last time. */
  error: unknown;
}

type Folders = ReadonlyMap<string, KeptFolder>;

interface StateAt {
  repo: string;
  branch: string;
  at: string | undefined;
  /** What tells one state of the branch from the next. */
  head: string | null;
}

/** The folders above a path, the outermost first. */
export const parents = (path: string): string[] => {
  const names = path.split("/").slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join("/"));
};

export interface TreeState {
  rows: Row[];
  /** Why a folder could not be read; what came of it before is shown. */
  error: unknown;
  /** There is nothing to show: the root did not come yet, or cannot be read. */
  bare: boolean;
  again: () => void;
  toggle: (path: string, open?: boolean) => void;
}

/** The lines of a tree whose folders are opened one by one; `reveal` is a path whose folders are open. */
export function useTree({ repo, branch, at, head }: StateAt, reveal: string | undefined): TreeState {
  const [folders, setFolders] = useState<Folders>(new Map());
  const [turn, setTurn] = useState(0);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => lookOf("folders") ?? new Set([""]));
  useLook("folders", () => open);
  const asked = useRef(new AbortController());
  const load = async (path: string) => {
    const { signal } = asked.current;
    const set = (folder: calls.Folder) =>
      setFolders((map) => new Map(map).set(path, { folder, at, error: null }));
    const get = (how: { limit?: number }) => calls.folder(repo, branch, at, path, { signal, ...how });
    try {
      // What is shown already is replaced by all there is: by the first entries it would shrink for a moment.
      const first = folders.get(path)?.folder ? null : await get({ limit: FIRST });
      if (first) set(first);
      if (!first?.whole) set(await get({}));
    } catch (error) {
      if (signal.aborted) return;
      setFolders((map) => {
        const next = new Map(map);
        const was = next.get(path);
        // It went, and the folder above will say so.
        if (path && hasStatus(error, 404)) next.delete(path);
        // What another state has there is not what this one has.
        else next.set(path, { folder: was?.at === at ? (was?.folder ?? null) : null, at, error });
        return next;
      });
    }
  };
  useEffect(() => {
    asked.current = new AbortController();
    // What is closed is fetched anew when it is opened.
    setFolders((map) => new Map([...map].filter(([path]) => open.has(path))));
    for (const path of open) void load(path);
    return () => asked.current.abort();
  }, [repo, branch, at, head, turn]);
  const show = (paths: string[]) => {
    const missing = paths.filter((path) => !open.has(path));
    if (missing.length === 0) return;
    setOpen(new Set([...open, ...missing]));
    for (const path of missing) {
      const kept = folders.get(path);
      if (!kept?.folder || kept.error) void load(path);
    }
  };
  useEffect(() => {
    if (reveal) show(parents(reveal));
  }, [reveal]);
  const toggle = (path: string, want = !open.has(path)) => {
    if (want) return show([path]);
    const next = new Set(open);
    next.delete(path);
    setOpen(next);
  };
  const rows = useMemo(() => flatten(folders, open), [folders, open]);
  const failed = [...open].find((path) => folders.get(path)?.error);
  const error = failed === undefined ? null : folders.get(failed)?.error;
  const again = () => setTurn((n) => n + 1);
  useBack(error, again);
  return { rows, error, bare: !folders.get("")?.folder, toggle, again };
}

function flatten(folders: Folders, open: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const walk = (path: string, depth: number) => {
    const kept = folders.get(path)?.folder;
    const of = kept?.whole ? kept.entries.length : -1;
    for (const [at, entry] of (kept?.entries ?? []).entries()) {
      const folder = entry.type === "tree";
      const isOpen = folder && open.has(entry.path);
      const inside = isOpen ? folders.get(entry.path) : undefined;
      rows.push({
        path: entry.path,
        name: entry.name,
        depth,
        folder,
        open: isOpen,
        size: entry.size,
        etag: entry.etag,
        count: inside?.folder?.whole ? inside.folder.entries.length : undefined,
        failed: Boolean(inside?.error),
        place: at + 1,
        of,
      });
      if (isOpen) walk(entry.path, depth + 1);
    }
  };
  walk("", 0);
  return rows;
}

/** Most files that a search shows. */
export const FOUND_MAX = 500;

/** The files of a state whose path has this text in it, the shortest paths first. */
export async function findFiles(
  where: Omit<StateAt, "head">,
  text: string,
  signal: AbortSignal,
): Promise<TreeEntry[]> {
  const { repo, branch, at } = where;
  const asked = query({ recursive: true, search: text, limit: FOUND_MAX });
  const found = await read<TreeEntry[]>(`${statePath(repo, branch, at)}/tree${asked}`, { signal });
  return found.filter((entry) => entry.type === "blob");
}

/** Between two searches, in milliseconds. */
const FILTER_PAUSE = 150;

/** What a filter finds. */
export interface Found {
  /** The files, as lines; null before they came. */
  rows: Row[] | null;
  /** The text that they have in their paths. */
  text: string;
  /** Why they could not be searched. */
  error: unknown;
}

const UNFILTERED: Found = { rows: null, text: "", error: null };

/** The files that a filter finds. */
export function useFilter({ repo, branch, at, head }: StateAt, filter: string): Found {
  const [found, setFound] = useState(UNFILTERED);
  const asked = useRef(-FILTER_PAUSE);
  const text = filter.trim();
  useEffect(() => {
    if (!text) return setFound(UNFILTERED);
    const abort = new AbortController();
    const ask = async () => {
      asked.current = performance.now();
      try {
        const entries = await findFiles({ repo, branch, at }, text, abort.signal);
        setFound({ rows: entries.map(foundRow), text, error: null });
      } catch (error) {
        if (!abort.signal.aborted) setFound({ rows: null, text, error });
      }
    };
    // The first letter is searched for at once; who types on is not searched for letter by letter.
    const timer = setTimeout(ask, asked.current + FILTER_PAUSE - performance.now());
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, repo, branch, at, head]);
  return text ? found : UNFILTERED;
}

function foundRow({ path, name, size, etag }: TreeEntry, at: number, all: TreeEntry[]): Row {
  const file = { path, name, size, etag, folder: false, open: false, count: undefined, failed: false };
  return { ...file, depth: 0, place: at + 1, of: all.length };
}
