// Writes the types of the Admin API's answers, out of the parts of the OpenAPI document: `shared/admin.d.ts`,
// which is made anew before each check and is not kept.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const parts = new URL("../http/openapi/", import.meta.url);

function merge(whole, part) {
  for (const [key, value] of Object.entries(part)) {
    const both = value && typeof value === "object" && !Array.isArray(value) && whole[key];
    whole[key] = both ? merge(whole[key], value) : value;
  }
  return whole;
}

const names = readdirSync(parts).filter((name) => name.endsWith(".json"));
const document = names
  .map((name) => JSON.parse(readFileSync(new URL(name, parts), "utf8")))
  .reduce(merge, {});
const types = astToString(await openapiTS(document));
writeFileSync(new URL("shared/admin.d.ts", import.meta.url), types);
