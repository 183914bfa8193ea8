// Why the service refuses the path of a file, in the words of the page. The service alone knows the rules.
import { type Key, t } from "../../shared/text.ts";

/** What it says, and the words for that, which may need what is in the groups. */
const reasons: [RegExp, Key][] = [
  [/^malformed path: it is longer than (?<n>\d+) bytes/, "pathLong"],
  [/^malformed path: it has more than (?<n>\d+) segments/, "pathDeep"],
  [/^malformed path: a segment is empty/, "pathEmptyName"],
  [/^malformed path: a segment is "\." or "\.\."/, "pathDots"],
  [/^malformed path: a segment is longer than (?<n>\d+) bytes/, "pathNameLong"],
  [/^malformed path: it holds a backslash/, "pathBackslash"],
  [/^malformed path: it holds a control/, "pathUnseen"],
  [/^malformed path: a segment is git's own/, "pathGit"],
  [/^"(?<path>.*)" is a file, not a folder/s, "pathBelowFile"],
  [/^"(?<path>.*)" is a folder, not a file/s, "pathIsFolder"],
];

/** What it says of one of several files, with its path in front. */
const OF_FILE = /^(?:action \d+ \(\w+ "(?<acted>.*?)"(?: to ".*?")?\)|"(?<named>.*?)"): (?<reason>.*)$/s;

/** The words for a refusal that is about a path; undefined for another refusal. */
export function pathWords(message: string): string | undefined {
  const { acted, named, reason = message } = OF_FILE.exec(message)?.groups ?? {};
  const path = acted ?? named;
  const why = reasonWords(reason);
  if (path === undefined || (!why && acted === undefined)) return why;
  return t("pathNamed", { path, why: why ?? t("details", { message: reason }) });
}

function reasonWords(message: string): string | undefined {
  for (const [pattern, key] of reasons) {
    const found = pattern.exec(message);
    if (found) return t(key, { path: found.groups?.["path"] ?? "", n: Number(found.groups?.["n"] ?? 0) });
  }
  return undefined;
}
