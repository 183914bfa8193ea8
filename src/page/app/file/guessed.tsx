// What is offered where an encoding that was only guessed lacks a letter: it may be another one.
import { useState } from "preact/hooks";
import { ENCODINGS, type Encoding } from "../../editor/bytes.ts";
import type { Editor } from "../../editor/host.ts";
import { Dialog } from "../../shared/dialog.tsx";
import { Menu } from "../../shared/menu.tsx";
import { t } from "../../shared/text.ts";
import { encodingName } from "./status.tsx";
import { say } from "./words.ts";

interface GuessedProps {
  encoding: Encoding;
  editor: Editor | null;
  onReadAs: (encoding: Encoding) => void;
  onSave: () => void;
}

/** To read the file in another encoding, or to save it in UTF-8 as it reads, which is asked once more. */
export function Guessed({ encoding, editor, onReadAs, onSave }: GuessedProps) {
  const [asking, ask] = useState(false);
  const name = encodingName(encoding);
  const others = ENCODINGS.filter((one) => one !== encoding && !one.startsWith("utf"));
  return (
    <>
      <Menu align="right" kind="button" label={say("readAsOther")}>
        <span class="label dim">{say("readAs")}</span>
        {others.map((one) => (
          <button type="button" key={one} onClick={() => onReadAs(one)}>
            {encodingName(one)}
          </button>
        ))}
      </Menu>
      <button type="button" class="button" onClick={() => ask(true)}>
        {say("saveUtf8Ask")}
      </button>
      {asking && (
        <Dialog
          title={say("guessedTitle", { name })}
          lead={say("guessedLead")}
          onClose={() => ask(false)}
          onSubmit={onSave}
          foot={
            <>
              <span class="grow" />
              <button type="button" class="button" autofocus onClick={() => ask(false)}>
                {t("cancel")}
              </button>
              <button type="button" class="button primary" onClick={onSave}>
                {say("saveUtf8")}
              </button>
            </>
          }
        >
          {samples(editor?.text() ?? "").map((line) => (
            <p key={line} class="mono">
              {line}
            </p>
          ))}
        </Dialog>
      )}
    </>
  );
}

const SHOWN = 5;
const LONGEST = 80;

/** Lines that an encoding decides about, as they read. */
function samples(text: string): string[] {
  const found = new Set<string>();
  for (const [line] of text.matchAll(/^.*[^\p{ASCII}].*$/gmu)) {
    const [place = 0] = [/[^\p{ASCII}]/u.exec(line)?.index];
    found.add(
      line
        .slice(Math.max(0, place - LONGEST / 2))
        .slice(0, LONGEST)
        .trim(),
    );
    if (found.size === SHOWN) break;
  }
  return [...found];
}
