// The editor's own words in the language of the page, by the English ones that it asks for.
import { editor as en } from "../shared/text/parts/editor.en.ts";
import { editor as ru } from "../shared/text/parts/editor.ru.ts";
import { t, wordsFrom } from "../shared/text.ts";

const say = wordsFrom({ en, ru });

export function phrases(): Record<string, string> {
  return {
    "$ unchanged lines": say("linesUnchanged"),
    "Control character": say("controlCharacter"),
    Find: say("findText"),
    Replace: say("replaceWith"),
    next: say("findNext"),
    previous: say("findPrevious"),
    all: say("findAll"),
    "match case": say("findCase"),
    regexp: say("findPattern"),
    "by word": say("findWord"),
    replace: say("replaceOne"),
    "replace all": say("replaceAll"),
    close: t("close"),
    "current match": say("findCurrent"),
    "replaced $ matches": say("replacedMany"),
    "replaced match on line $": say("replacedOnLine"),
    "on line": say("onLine"),
    "Go to line": say("goToLine"),
    go: say("goToLineGo"),
    "Fold line": say("foldLine"),
    "Unfold line": say("unfoldLine"),
    "Folded lines": say("foldedLines"),
    "Unfolded lines": say("unfoldedLines"),
    to: say("linesTo"),
    unfold: say("unfoldLine"),
    "folded code": say("foldedLines"),
    Diagnostics: say("problems"),
    "No diagnostics": say("problemsNone"),
    "Selection deleted": say("selectionDeleted"),
  };
}
