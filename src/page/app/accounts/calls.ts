// What the screen of the accounts asks of the Admin API. What is refused is told in the page's own words.
import { API, type Options, read, type Schemas } from "../api.ts";
import { explained, type Refusals } from "../parts/refusals.ts";
import { say, type Word } from "./words.ts";

export type Account = Schemas["Account"];

const known: [RegExp, Word][] = [
  [/^"(?<name>.+)" is the last account with the role/, "lastRoot"],
  [/^"(?<name>.+)" owns (?<n>\d+) deleted projects? \((?<first>.+)\);/, "ownsDeleted"],
  [/^"(?<name>.+)" owns (?<n>\d+) projects? \((?<first>.+)\);/, "ownsProjects"],
  [/^the user name ".*" is taken/, "taken"],
  [/^malformed user name/, "badName"],
  [/unknown role/, "badRole"],
  [/^there is no user/, "gone"],
  [/^the account does not have this role/, "roleGone"],
];
const refusals: Refusals = known.map(([pattern, word]) => [pattern, (groups) => say(word, groups)]);

async function ask<T>(path: string, options: Options = {}): Promise<T> {
  try {
    return await read<T>(`${API}/accounts${path}`, options);
  } catch (error) {
    throw explained(error, refusals);
  }
}

const pathOf = (name: string): string => `/${encodeURIComponent(name)}`;

export const list = (signal: AbortSignal) => ask<Account[]>("", { signal });
export const show = (name: string, signal: AbortSignal) =>
  ask<Schemas["WholeAccount"]>(pathOf(name), { signal });
export const create = (name: string, password: string, roles: string[]) =>
  ask<Account>("", { method: "POST", json: { name, password, roles } });
export const change = (name: string, json: Schemas["AccountChange"]) =>
  ask<Account>(pathOf(name), { method: "PATCH", json });
export const setPassword = (name: string, password: string) =>
  ask<Account>(`${pathOf(name)}/password`, { method: "PUT", json: { password } });
export const remove = (name: string) => ask<null>(pathOf(name), { method: "DELETE" });
export const giveRole = (name: string, role: string) =>
  ask<Account>(`${pathOf(name)}/roles${pathOf(role)}`, { method: "PUT" });
export const takeRole = (name: string, role: string) =>
  ask<Account>(`${pathOf(name)}/roles${pathOf(role)}`, { method: "DELETE" });
