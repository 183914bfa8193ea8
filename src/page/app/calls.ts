// What the page asks of the Admin API, a function a question.
import { API, branchPath, projectPath, query, read, type Schemas, send, statePath } from "./api.ts";

type Signal = AbortSignal | undefined;
const get = <T>(path: string, signal?: Signal): Promise<T> => read<T>(path, signal ? { signal } : {});

export const session = () => read<Schemas["Session"]>("/user/session", { quiet: true });
/** The same in an open screen: where the session has ended, the login is asked for. */
export const sessionAgain = () => read<Schemas["Session"]>("/user/session");
export const login = (username: string, password: string) =>
  read<Schemas["Session"]>("/user/login", { method: "POST", json: { username, password }, quiet: true });
export const logout = () => read<null>("/user/logout", { method: "POST", quiet: true });

export const projects = (signal?: Signal) =>
  get<Schemas["Project"][]>(`${API}/projects?scope=accessible`, signal);

export const branches = (repo: string, signal?: Signal) =>
  get<Schemas["AdminBranch"][]>(`${projectPath(repo)}/branches`, signal);

/** Entries of a folder; not `whole` where there are more of them. */
export interface Folder {
  entries: Schemas["AdminTreeEntry"][];
  whole: boolean;
}

/** The entries of a folder of a state: all, or the first ones. */
export async function folder(
  repo: string,
  branch: string,
  at: string | undefined,
  path: string,
  how: { signal: AbortSignal; limit?: number },
): Promise<Folder> {
  const { signal, limit } = how;
  const answer = await send(`${statePath(repo, branch, at)}/tree${query({ path, limit })}`, { signal });
  return { entries: await answer.json(), whole: !answer.headers.has("Link") };
}

export type History = Schemas["Snapshot"][];

/** A page of the history, newest first; `before` is the version that it begins after. */
export const history = (repo: string, branch: string, before?: string, signal?: Signal, limit = 100) =>
  get<History>(`${branchPath(repo, branch)}/history${query({ limit, before })}`, signal);

/** What changed one file, newest first. */
export interface FileHistory {
  list: History;
  /** The version that the next page begins after; null after the last. */
  next: string | null;
}

/** A page of what changed a file. It may have few of them, even none, and yet not be the last. */
export async function fileHistory(
  repo: string,
  branch: string,
  path: string,
  before: string | undefined,
  signal: AbortSignal,
): Promise<FileHistory> {
  const asked = query({ path, limit: 100, before });
  const answer = await send(`${branchPath(repo, branch)}/history${asked}`, { signal });
  const link = /<([^>]+)>; *rel="next"/.exec(answer.headers.get("Link") ?? "")?.[1];
  const next = link ? new URL(link, location.origin).searchParams.get("before") : null;
  return { list: await answer.json(), next };
}

/** What differs between two states; each is a version or the branch itself. */
export const difference = (repo: string, branch: string, from: string, to: string, signal?: Signal) =>
  get<Schemas["Difference"][]>(`${branchPath(repo, branch)}/diff${query({ from, to })}`, signal);

export interface Back {
  to: string;
  path?: string[] | undefined;
  /** The commit id that the branch must still have. */
  expect?: string | undefined;
}

const rollbackPath = (repo: string, branch: string, back: Back, rehearse: boolean) =>
  `${branchPath(repo, branch)}/rollback${query({ ...back, dry_run: rehearse })}`;

/** What going back would change. */
export const rehearsal = (repo: string, branch: string, back: Back) =>
  read<Schemas["Difference"][]>(rollbackPath(repo, branch, back, true), { method: "POST" });
export const rollback = (repo: string, branch: string, back: Back) =>
  read<Schemas["Rollback"]>(rollbackPath(repo, branch, back, false), { method: "POST" });

/** The bytes of a file of a state, and its tag. */
export async function fileBytes(
  path: string,
  signal?: Signal,
): Promise<{ bytes: Uint8Array; etag: string | null }> {
  const answer = await send(path, signal ? { signal } : {});
  return { bytes: new Uint8Array(await answer.arrayBuffer()), etag: answer.headers.get("ETag") };
}
