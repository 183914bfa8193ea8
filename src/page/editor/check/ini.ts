// What can be told of an INI file, of which there is no one standard: sections, `key = value` or `key: value`,
// notes after `;` or `#`, and lines that begin with a blank and go on with the value above.
import type { Problem } from "./problem.ts";

/** More would fill the screen and help nobody. */
const PROBLEMS_MAX = 100;

/** Lines that are none of these, sections that are not closed, and keys that come twice in a section. */
export function checkIni(text: string): Problem[] {
  const problems: Problem[] = [];
  const sections = new Map<string, Set<string>>();
  let keys = new Set<string>();
  let from = 0;
  let continues = false;
  for (const whole of text.split("\n")) {
    const line = whole.endsWith("\r") ? whole.slice(0, -1) : whole;
    const to = from + line.length;
    const body = line.trim();
    if (body.startsWith("[")) {
      const end = body.indexOf("]");
      if (end < 0) problems.push({ kind: "ini.section", from, to });
      const name = body
        .slice(1, end < 0 ? undefined : end)
        .trim()
        .toLowerCase();
      keys = sections.get(name) ?? new Set();
      sections.set(name, keys);
      continues = false;
    } else if (body !== "" && !/^[;#]/.test(body) && !(continues && /^[ \t]/.test(line))) {
      const cut = body.search(/[=:]/);
      if (cut <= 0) problems.push({ kind: "ini.line", from, to, warning: cut < 0 });
      else {
        const key = body.slice(0, cut).trim();
        const name = key.toLowerCase();
        if (keys.has(name)) {
          problems.push({
            kind: "ini.duplicate",
            from,
            to: from + line.search(/[=:]/),
            values: { key },
            warning: true,
          });
        }
        keys.add(name);
      }
      continues = cut > 0;
    }
    if (problems.length >= PROBLEMS_MAX) break;
    from += whole.length + 1;
  }
  return problems;
}
