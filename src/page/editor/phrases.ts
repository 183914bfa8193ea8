// The editor's own words in the language of the page, by the English ones that it asks for.
import { t } from "../shared/text.ts";

export function phrases(): Record<string, string> {
  return {
    "$ unchanged lines": t("linesUnchanged"),
    "Control character": t("controlCharacter"),
    Find: t("findText"),
    Replace: t("replaceWith"),
    next: t("findNext"),
    previous: t("findPrevious"),
    all: t("findAll"),
    "match case": t("findCase"),
    regexp: t("findPattern"),
    "by word": t("findWord"),
    replace: t("replaceOne"),
    "replace all": t("replaceAll"),
    close: t("close"),
    "current match": t("findCurrent"),
    "replaced $ matches": t("replacedMany"),
    "replaced match on line $": t("replacedOnLine"),
    "on line": t("onLine"),
    "Go to line": t("goToLine"),
    go: t("goToLineGo"),
    "Fold line": t("foldLine"),
    "Unfold line": t("unfoldLine"),
    "Folded lines": t("foldedLines"),
    "Unfolded lines": t("unfoldedLines"),
    to: t("linesTo"),
    unfold: t("unfoldLine"),
    "folded code": t("foldedLines"),
    Diagnostics: t("problems"),
    "No diagnostics": t("problemsNone"),
    "Selection deleted": t("selectionDeleted"),
  };
}
