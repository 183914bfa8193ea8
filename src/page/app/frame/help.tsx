// The list of all keys.
import { Dialog } from "../../shared/dialog.tsx";
import { keys as en } from "../../shared/text/parts/keys.en.ts";
import { keys as ru } from "../../shared/text/parts/keys.ru.ts";
import { t, wordsFrom } from "../../shared/text.ts";

const say = wordsFrom({ en, ru });

const keys: [string[], keyof typeof en][] = [
  [["Ctrl K", "Ctrl P"], "find"],
  [["Ctrl S"], "save"],
  [["Ctrl F"], "search"],
  [["Alt Z"], "wrap"],
  [["Esc Tab"], "leave"],
  [["[", "]"], "older"],
  [["F2"], "move"],
  [["Delete"], "delete"],
  [["Ctrl Enter"], "submit"],
  [["Esc"], "close"],
  [["?"], "help"],
];

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t("keys")} onClose={onClose}>
      <dl class="keys">
        {keys.map(([names, meaning]) => (
          <div key={meaning}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{say(meaning)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
