// Every state has an address: /site-builder/<screen>/<repo id>?branch=&path=&at=&change=&from=&to=
// Names have their slashes as they are in the path and in the query: some proxies refuse %2F.
import { useLayoutEffect, useState } from "preact/hooks";
import { enterEntry, entryNow, forgetEntry, leaveEntry, nextEntry } from "./parts/entries.ts";

export const BASE = "/site-builder/";
const screens = [
  "projects",
  "files",
  "compare",
  "tokens",
  "accounts",
  "service",
  "deleted",
  "unsaved",
] as const;
export type Screen = (typeof screens)[number];

/** What the query may say. */
export interface Query {
  branch?: string;
  path?: string;
  /** The snapshot whose files are shown. */
  at?: string;
  /** The snapshot that holds the state before the change that is shown. */
  change?: string;
  /** `1`: the sheet for going back is open. */
  rollback?: string;
  line?: string;
  from?: string;
  to?: string;
  /** `1`: the form for a new one is open. */
  new?: string;
  /** `1`: those of all accounts. */
  all?: string;
  /** `1`: the rules of the project are shown. */
  rules?: string;
}

export interface Route extends Query {
  screen: Screen;
  /** The repo id, empty on a screen that is about no project. */
  repo: string;
}

const keys = [
  "branch",
  "path",
  "at",
  "change",
  "rollback",
  "line",
  "from",
  "to",
  "new",
  "all",
  "rules",
] as const;

/** The state of an address. One that names no screen is the projects'. */
export function parse(location: { pathname: string; search: string }): Route {
  let rest = "";
  try {
    rest = decodeURIComponent(location.pathname.slice(BASE.length)).replace(/\/+$/, "");
  } catch {
    // A broken escape names nothing.
  }
  const [first = "", ...others] = rest.split("/");
  const screen = screens.find((name) => name === first) ?? "projects";
  const route: Route = { screen, repo: screen === "files" || screen === "compare" ? others.join("/") : "" };
  const query = new URLSearchParams(location.search);
  for (const key of keys) {
    const value = query.get(key);
    if (value) route[key] = value;
  }
  if ((screen === "files" || screen === "compare") && !route.repo) route.screen = "projects";
  return route;
}

const encoded = (text: string): string => encodeURIComponent(text).replaceAll("%2F", "/");

/** The address of a state. */
export function address(route: { screen: Screen; repo?: string } & Query): string {
  const path =
    route.screen === "projects" ? "" : route.repo ? `${route.screen}/${encoded(route.repo)}` : route.screen;
  const pairs = keys.flatMap((key) => (route[key] ? [`${key}=${encoded(route[key])}`] : []));
  return BASE + path + (pairs.length > 0 ? `?${pairs.join("&")}` : "");
}

const listeners = new Set<() => void>();
const tell = (): void => {
  for (const listener of listeners) listener();
};

/** Whoever went to the state that is shown is about to type into its text. */
let isEntered = false;
/** It is of a file that they are about to make. */
let makes = false;

/**
 * Says that the keys are to go to the text of the state that was gone to last, as soon as it is there; `toMake`: it is
 * that of a file that is not.
 */
export function enter(toMake = false): void {
  isEntered = true;
  makes = toMake;
}

/** Whether the file of this state is to be made; it is true once. */
export function takeMaking(): boolean {
  const making = makes;
  makes = false;
  return making;
}

/** Whether that was said of this state; it is true once. */
export function takeEntry(): boolean {
  const entered = isEntered;
  isEntered = false;
  return entered;
}

/** Goes to a state; `replace` leaves none to come back to. */
export function go(to: { screen: Screen; repo?: string } & Query, how: { replace?: boolean } = {}): void {
  isEntered = false;
  makes = false;
  if (how.replace) {
    forgetEntry();
    history.replaceState(entryNow(), "", address(to));
  } else {
    leaveEntry();
    // With its number at once: browsers bear so many calls in so many seconds, and no more.
    const entry = nextEntry();
    history.pushState(entry, "", address(to));
    enterEntry(entry);
  }
  tell();
}

/** Makes links within the page go without loading it again. */
export function followLinks(): void {
  enterEntry(history.state);
  addEventListener("popstate", ({ state }) => {
    isEntered = false;
    makes = false;
    leaveEntry();
    enterEntry(state);
    tell();
  });
  addEventListener("click", (event) => {
    const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    const inside =
      link.pathname.startsWith(BASE) && !/^(api|-|licences)(\/|$)/.test(link.pathname.slice(BASE.length));
    if (!inside) return;
    // A place on this page, as of the link that skips to the content.
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(parse(link));
  });
}

export function useRoute(): Route {
  const [route, set] = useState(() => parse(location));
  useLayoutEffect(() => {
    const listener = () => set(parse(location));
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return route;
}
