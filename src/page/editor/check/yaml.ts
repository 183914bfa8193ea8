// Whether a text is YAML, by the package `yaml`. A chunk of its own, fetched with the first YAML file.
import { Composer, Parser, type YAMLParseError, YAMLWarning } from "yaml";
import type { Problem, ProblemKind } from "./problem.ts";

const KINDS: Partial<Record<YAMLParseError["code"], ProblemKind>> = {
  DUPLICATE_KEY: "yaml.duplicate",
  BAD_INDENT: "yaml.indent",
  TAB_AS_INDENT: "yaml.tab",
  MISSING_CHAR: "yaml.unclosed",
};
/** More would fill the screen and help nobody. */
const PROBLEMS_MAX = 100;

/** Problems of all documents of the text. */
export function checkYaml(text: string): Problem[] {
  const problems: Problem[] = [];
  const composer = new Composer({ prettyErrors: false, logLevel: "silent" });
  for (const document of composer.compose(new Parser().parse(text))) {
    for (const error of [...document.errors, ...document.warnings]) {
      problems.push({
        kind: KINDS[error.code] ?? "yaml.other",
        from: Math.min(error.pos[0], text.length),
        to: Math.min(Math.max(error.pos[1], error.pos[0]), text.length),
        values: { message: error.message },
        warning: error instanceof YAMLWarning,
      });
      if (problems.length >= PROBLEMS_MAX) return problems;
    }
  }
  return problems;
}
