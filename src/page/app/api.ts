// All requests go through here. When the session has ended, the login is asked for over whatever is on the
// screen, and the request is repeated if the same account goes on: nothing that was typed is lost.
import type { components } from "../shared/admin.d.ts";
import { reached } from "../shared/reach.ts";
import { refusalWords } from "../shared/rules.ts";
import { type Key, t, Worded } from "../shared/text.ts";
import { pathWords } from "./parts/path-words.ts";

export { onReach, reached } from "../shared/reach.ts";
export type Schemas = components["schemas"];
export const API = "/site-builder/api";

/** A request that was not answered as hoped. `status` is 0 where nothing answered. */
export class Failure extends Worded {
  constructor(
    readonly status: number,
    /** What the service said, in its own words. */
    readonly detail: string,
    /** After how many seconds it may be tried again, where that was said. */
    readonly retryAfter = 0,
    /** The present tag of what a condition was about. */
    readonly etag: string | null = null,
    /** Nothing was to be changed. */
    readonly reads = false,
  ) {
    super(detail);
  }

  override get isAway(): boolean {
    return this.status === 0;
  }

  /** What to tell whoever asked, in the language of the page. */
  override get words(): string {
    if (this.status === 400) return refusalWords(this.detail) ?? pathWords(this.detail) ?? this.detail;
    const key = (
      {
        0: "offline",
        403: "forbidden",
        404: "notThere",
        429: "tooMany",
        503: this.reads ? "notNow" : "refused",
        507: "full",
      } as const
    )[this.status] satisfies Key | undefined;
    return key ? t(key) : this.detail;
  }
}

/** Whether a request was refused with this status; of 0: that nothing answered it. */
export const hasStatus = (error: unknown, status: number): error is Failure =>
  error instanceof Failure && error.status === status;

/** What carries a request; rejects where nothing answers. */
export type Carry = (path: string, init: RequestInit) => Promise<Response>;

export interface Options {
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  json?: unknown;
  body?: BodyInit;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Without it `fetch`. */
  carry?: Carry | undefined;
  /** A refusal for want of a session is the caller's to deal with. */
  quiet?: boolean;
  /** The account that this is done for, one of several requests; without it whoever is logged in. */
  as?: string | null;
}

/** Who is logged in, as far as the page knows. */
let account: string | null = null;

/** Says who is logged in: a request that another account began is not repeated. */
export function setAccount(name: string | null): void {
  account = name;
}

/** Who is logged in, as far as the page knows. */
export const accountNow = (): string | null => account;

/** Why a request is not made that was begun for an account that is not logged in any more. */
const otherAccount = (reads: boolean): Failure =>
  new Failure(401, t(account === null ? "sessionOver" : "otherAccount"), 0, null, reads);

let ask: (() => Promise<void>) | null = null;
let asking: Promise<void> | null = null;

/** Says who asks for the login when a session has ended; the promise is kept once there is another session. */
export function onSessionEnd(login: () => Promise<void>): void {
  ask = login;
}

/** A request that is not answered is told of each time that this has passed, in milliseconds. */
const SLOW_MS = 10_000;
let tellSlow: () => void = () => undefined;

/** Says who looks whether the service is there while a request is not answered for long. */
export function onSlow(listener: () => void): void {
  tellSlow = listener;
}

/** How often what is read is asked for again where the service has too much to do, if that is soon enough to wait for. */
const BUSY_TURNS = 3;
const BUSY_WAIT_MAX_S = 5;

const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000);
  });

/** What the service says of a refusal; null where a proxy answered in its place. */
async function said(answer: Response): Promise<string | null> {
  try {
    const { message } = (await answer.json()) as { message?: unknown };
    return typeof message === "string" ? message : null;
  } catch {
    return null;
  }
}

/**
 * Sends a request and gives its answer, of status 2xx or 304.
 * @throws Failure for any other, and where nothing answers.
 */
export async function send(path: string, options: Options = {}, turns = BUSY_TURNS): Promise<Response> {
  const { method = "GET", json, quiet, signal } = options;
  const { as: whose = account } = options;
  const reads = method === "GET" || method === "HEAD";
  if (account !== whose) throw otherAccount(reads);
  const headers = new Headers(options.headers);
  if (json !== undefined) headers.set("Content-Type", "application/json");
  // What the page reads by itself keeps nobody logged in.
  if (!navigator.userActivation.isActive) headers.set("X-Unattended", "1");
  const body = json === undefined ? options.body : JSON.stringify(json);
  const timer = setInterval(() => tellSlow(), SLOW_MS);
  let answer: Response;
  try {
    answer = await (options.carry ?? fetch)(path, {
      method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    reached(false);
    throw new Failure(0, t("offline"));
  } finally {
    clearInterval(timer);
  }
  const { status } = answer;
  const fine = answer.ok || status === 304;
  const message = fine ? null : await said(answer);
  signal?.throwIfAborted();
  // A proxy's word for a service that is not there, as while it is started anew.
  const isAway = message === null && (status === 502 || status === 504);
  reached(!isAway);
  if (isAway) throw new Failure(0, t("offline"));
  if (fine) return answer;
  if (status === 401 && !quiet && ask) {
    if (account === whose) {
      asking ??= ask().finally(() => {
        asking = null;
      });
      await asking;
    }
    if (account !== whose) throw otherAccount(reads);
    return send(path, options);
  }
  const wait = Number(answer.headers.get("Retry-After")) || 0;
  const isBusy = status === 429 || status === 503;
  if (reads && isBusy && turns > 0 && wait > 0 && wait <= BUSY_WAIT_MAX_S) {
    await pause(wait);
    signal?.throwIfAborted();
    return send(path, options, turns - 1);
  }
  const words = message ?? (answer.statusText || String(status));
  throw new Failure(status, words, wait, answer.headers.get("ETag"), reads);
}

const made = new Set<string>();

/** Whether a commit was made by this page, so that it is no news; it is true once: others may come back to it. */
export const takeMade = (commit: string): boolean => made.delete(commit);

/** Branches, by their paths, that are renamed or deleted here: it may be heard of before it is answered. */
export const leaving = new Set<string>();

/** Sends a request whose answer is JSON, or nothing. */
export async function read<T>(path: string, options: Options = {}): Promise<T> {
  const answer = await send(path, options);
  const value = answer.status === 204 ? null : await answer.json();
  if (options.method && value?.commit_id) made.add(value.commit_id);
  return value;
}

/** A name in a path. Dots alone a browser would take for steps: with one in front the service sees and refuses them. */
const segment = (name: string): string => encodeURIComponent(name).replace(/^\.\.?$/, ".%2F$&");

/** The path of a project. */
export const projectPath = (repo: string): string => `${API}/projects/${segment(repo)}`;
/** The path of a branch. */
export const branchPath = (repo: string, branch: string): string =>
  `${projectPath(repo)}/branches/${segment(branch)}`;
/** The path of a state: a branch now, or one of its snapshots. */
export const statePath = (repo: string, branch: string, version?: string): string =>
  branchPath(repo, branch) + (version ? `/snapshots/${segment(version)}` : "");
/** The path of a file in a state. */
export const filePath = (repo: string, branch: string, path: string, version?: string): string =>
  `${statePath(repo, branch, version)}/files/${segment(path)}`;

/** A query of what was given: `?a=1&b=2`, or nothing. */
export function query(
  pairs: Record<string, string | number | boolean | string[] | null | undefined>,
): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(pairs)) {
    if (value === undefined || value === null || value === "" || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value])
      search.append(key, one === true ? "1" : String(one));
  }
  const text = search.toString();
  return text ? `?${text}` : "";
}
