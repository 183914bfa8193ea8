// Looks at a text while it is written. What is found is told; it never keeps anybody from saving.
import { checkable } from "../language.ts";
import { checkIni } from "./ini.ts";
import { checkJson } from "./json.ts";
import type { Problem } from "./problem.ts";
import { checkDeclaration, checkXml } from "./xml.ts";

export type { Problem, ProblemKind } from "./problem.ts";

/** The largest YAML that is checked, in UTF-16 units: its parser takes a second for some 500,000. */
const YAML_MAX = 256 << 10;

/**
 * The problems of a text by the format that its path's ending names. `encoding` is the one that it will be
 * saved in. Nothing for formats without rules.
 */
export async function check(path: string, text: string, encoding: string): Promise<Problem[]> {
  switch (checkable(path)) {
    case "xml":
      return [...checkDeclaration(text.slice(0, 200), encoding), ...checkXml(text)];
    case "json":
      return checkJson(text);
    case "ini":
      return checkIni(text);
    case "yaml":
      return text.length > YAML_MAX ? [] : (await import("./yaml.ts")).checkYaml(text);
    default:
      return [];
  }
}
