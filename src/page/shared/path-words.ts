// Why the service refuses the path of a file, in the words of the page. The service alone knows the rules.
import { type Key, t } from "./text.ts";

/** What it says, and the words for that, which may need what is in the groups. */
const reasons: [RegExp, Key][] = [
  [/^it is longer than (?<n>\d+) bytes/, "pathLong"],
  [/^it has more than (?<n>\d+) segments/, "pathDeep"],
  [/^a segment is empty/, "pathEmptyName"],
  [/^a segment is "\." or "\.\."/, "pathDots"],
  [/^a segment is longer than (?<n>\d+) bytes/, "pathNameLong"],
  [/^it holds a backslash/, "pathBackslash"],
  [/^it holds a control/, "pathUnseen"],
  [/^a segment is git's own/, "pathGit"],
];

/** The words for a refusal that is about a path; undefined for another refusal. */
export function pathWords(message: string): string | undefined {
  const reason = /^malformed path: (.*)/.exec(message)?.[1];
  if (reason === undefined) return undefined;
  for (const [pattern, key] of reasons) {
    const found = pattern.exec(reason);
    if (found) return t(key, { n: Number(found.groups?.["n"] ?? 0) });
  }
  return undefined;
}
