// What is asked of the service for the names of branches and projects, and for what was deleted.
import { wordsOf } from "../../shared/text.ts";
import { API, branchPath, Failure, projectPath, query, read, type Schemas, send } from "../api.ts";
import { explained, type Refusals } from "../parts/refusals.ts";
import { say } from "./words.ts";

export type Deleted = Schemas["Deleted"];

const refusals: Refusals = [
  [/^a branch of this name exists already/, () => say("branchTaken")],
  [/^a project of this name exists already/, () => say("projectTaken")],
  [/^malformed branch/, () => say("badBranch")],
  [/^malformed (name|type|project)/, () => say("badProject")],
  [/^Nothing deleted has this id/, () => say("notDeleted")],
];

/** The name that something is to have is taken. */
export class Taken extends Failure {}

async function ask<T>(asked: Promise<T>, more: Refusals = []): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    const isTaken = error instanceof Failure && /^a (branch|project) of this name/.test(error.detail);
    const told = explained(error, [...more, ...refusals]);
    throw isTaken ? new Taken(400, wordsOf(told)) : told;
  }
}

export const renameBranch = (repo: string, branch: string, name: string) =>
  ask(read<Schemas["AdminBranch"]>(branchPath(repo, branch), { method: "PATCH", json: { name } }));

export const createBranch = (repo: string, name: string, from?: string) =>
  ask(
    read<Schemas["AdminBranch"]>(`${projectPath(repo)}/branches`, {
      method: "POST",
      json: from ? { name, from } : { name },
    }),
  );

/** Deletes a branch while it is at this commit. */
export async function deleteBranch(repo: string, branch: string, commit: string): Promise<void> {
  await read(branchPath(repo, branch), { method: "DELETE", headers: { "If-Match": `"${commit}"` } });
}

const forbidden: Refusals = [[/^403 /, () => say("notThatName")]];

/** Makes a project, and its branch `main`. */
export async function createProject(name: string, type: string): Promise<Schemas["Project"]> {
  const json = { name, type };
  const made = await ask(read<Schemas["Project"]>(`${API}/projects`, { method: "POST", json }), forbidden);
  await createBranch(made.repo_id, "main");
  return made;
}

export const renameProject = (repo: string, name: string, type: string) =>
  ask(read<Schemas["Project"]>(projectPath(repo), { method: "PATCH", json: { name, type } }), forbidden);
export const deleteProject = (repo: string) => read<null>(projectPath(repo), { method: "DELETE" });

export interface Page {
  list: Deleted[];
  /** Where the next page begins; null after the last. */
  next: string | null;
}

const PAGE = 50;

/** What was deleted and may be restored, the newest first; `after` is what the page before says. */
export async function deleted(after?: string | null, signal?: AbortSignal): Promise<Page> {
  const asked = query({ scope: "accessible", pagination: "keyset", per_page: PAGE, page_token: after });
  const answer = await send(`${API}/deleted${asked}`, signal ? { signal } : {});
  const link = /<([^>]+)>; *rel="next"/.exec(answer.headers.get("Link") ?? "")?.[1];
  const next = link ? new URL(link, location.origin).searchParams.get("page_token") : null;
  return { list: await answer.json(), next };
}

/** Restores it, by another name if one is given. */
export const restore = (id: string, as?: string) =>
  ask(
    read<Schemas["Project"] | Schemas["AdminBranch"]>(`${API}/deleted/${id}/restore`, {
      method: "POST",
      ...(as ? { json: { as } } : {}),
    }),
    forbidden,
  );

/** Restores the branch that an account deleted last of those that had this name. */
export async function restoreBranch(repo: string, branch: string, by: string): Promise<void> {
  const { list } = await deleted();
  const found = list.find((one) => one.repo_id === repo && one.branch === branch && one.deleted_by === by);
  if (!found) throw new Failure(400, say("notDeleted"));
  await restore(found.id);
}
