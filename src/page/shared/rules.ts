// What the service says of files that break the rules of their project, in the words of the page.
import { t } from "./text.ts";

/** A file that breaks a rule. */
export interface Broken {
  path: string;
  /** Where in it; null where it is about the file as a whole. */
  place: { line: number; column: number } | null;
  /** The number of the rule, from 1 on. */
  rule: number;
  /** What it asks for: json, xml, yaml or schema. */
  check: string;
  /** What is wrong, in the words of the service. */
  reason: string;
}

const LINE =
  /^(?<path>.+?)(?::(?<line>\d+):(?<column>\d+))?: rule (?<rule>\d+) \((?<check>\w+)\): (?<reason>.*)$/;

/** The files that a refusal names; none where it was for another reason. */
export function brokenIn(message: string): Broken[] {
  return message.split("\n").flatMap((text) => {
    const found = LINE.exec(text)?.groups;
    if (!found) return [];
    const { path = "", line, column, rule, check = "", reason = "" } = found;
    const place = line ? { line: Number(line), column: Number(column) } : null;
    return [{ path, place, rule: Number(rule), check, reason }];
  });
}

/** The file, the place in it, the rule and the reason. */
export function brokenWords({ path, place, rule, check, reason }: Broken): string {
  const name = check === "schema" ? t("checkSchema") : check.toUpperCase();
  const values = { path, rule: String(rule), check: name, reason };
  // Line 1000 is not to be "1,000": it is the number of a place.
  return place ? t("brokenAt", { ...values, line: String(place.line) }) : t("brokenFile", values);
}

/** The words for a refusal that names such files, a line for each; undefined for another refusal. */
export function refusalWords(message: string): string | undefined {
  const broken = brokenIn(message);
  if (broken.length === 0) return undefined;
  const more = Number(/^and (\d+) more$/m.exec(message)?.[1] ?? 0);
  return [
    t("broken", { n: broken.length + more }),
    ...broken.map(brokenWords),
    ...(more > 0 ? [t("brokenMore", { n: more })] : []),
  ].join("\n");
}
