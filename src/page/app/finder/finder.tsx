// One box for going anywhere: files of this branch, its other branches, projects, commands.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../../shared/icons.tsx";
import { Path } from "../../shared/parts.tsx";
import { t, wordsOf } from "../../shared/text.ts";
import { FOUND_MAX, findFiles } from "../branch/tree/state.ts";
import { enter } from "../route.ts";
import { score } from "./score.ts";

export interface Command {
  sign: IconName;
  /** What it is found by, and how it is shown. */
  text: string;
  run: () => void;
}

interface FinderProps {
  /** The branch whose files are found; none on a screen that is about no branch. */
  where: { repo: string; branch: string; at: string | undefined } | null;
  /** What is found beside files. Before something is typed a few of each are shown, and all of the last. */
  groups: Command[][];
  onFile: (path: string) => void;
  onClose: () => void;
}

const SHOWN_MAX = 12;
/** So many of a group before something is typed. */
const FEW = 4;
/** So many that are no files have room beside them. */
const OTHERS_MIN = 4;

/** Those that fit what was typed, the best first. */
function best<One extends Command>(all: One[], wanted: string): One[] {
  return all
    .map((one) => ({ one, points: score(one.text, wanted) }))
    .filter(({ points }) => points >= 0)
    .sort((a, b) => b.points - a.points)
    .map(({ one }) => one);
}

/** What is shown while nothing is typed. */
const few = (groups: Command[][]): Command[] =>
  groups.flatMap((group, at) => (at < groups.length - 1 ? group.slice(0, FEW) : group));

export function Finder({ where, groups, onFile, onClose }: FinderProps) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<string[]>([]);
  const [failed, fail] = useState<unknown>(null);
  const [chosen, choose] = useState(0);
  const ref = useRef<HTMLDialogElement>(null);
  // Before the next key: whoever types at once types into it.
  useLayoutEffect(() => {
    const dialog = ref.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  const wanted = text.trim();
  useEffect(() => {
    fail(null);
    if (!where || !wanted) return setFiles([]);
    const abort = new AbortController();
    findFiles(where, wanted, abort.signal).then(
      (entries) => setFiles(entries.map((entry) => entry.path)),
      (error) => {
        if (abort.signal.aborted) return;
        setFiles([]);
        fail(error);
      },
    );
    return () => abort.abort();
  }, [wanted, where?.repo, where?.branch, where?.at]);
  const named: (Command & { file?: true })[] = files.map((path) => ({
    sign: "file" as const,
    text: path,
    file: true as const,
    run: () => {
      onFile(path);
      enter();
    },
  }));
  const fitting = best(named, wanted);
  const others: typeof named = wanted ? best(groups.flat(), wanted) : groups.flat();
  // Below the files, of which there may be many with one word in their paths.
  const room = SHOWN_MAX - Math.min(others.length, OTHERS_MIN);
  const found: typeof named = wanted
    ? [...fitting.slice(0, room), ...others].slice(0, SHOWN_MAX)
    : few(groups);
  const left = fitting.length + others.length - found.length;
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const keys = (event: KeyboardEvent) => {
    // That of an input method.
    if (event.isComposing) return;
    if (event.key === "ArrowDown") choose(Math.min(found.length - 1, chosen + 1));
    else if (event.key === "ArrowUp") choose(Math.max(0, chosen - 1));
    else if (event.key === "Enter") run(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      class="finder"
      ref={ref}
      aria-label={t("find")}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <label class="field">
        <Icon of="search" />
        <input
          autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls="found"
          aria-activedescendant={found.length > 0 ? `found-${chosen}` : undefined}
          placeholder={t("find")}
          aria-label={t("find")}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            choose(0);
          }}
          onKeyDown={keys}
        />
      </label>
      <div id="found" class="found" role="listbox" aria-label={t("find")}>
        {found.map((command, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the box above hears the keys
          <div
            key={`${command.sign} ${command.text}`}
            id={`found-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === chosen}
            onClick={() => run(command)}
          >
            <Icon of={command.sign} />
            {command.file ? <Path path={command.text} /> : <span class="path">{command.text}</span>}
          </div>
        ))}
      </div>
      {left > 0 && (
        <p class="hint inset">{t(files.length < FOUND_MAX ? "andMore" : "andManyMore", { n: left })}</p>
      )}
      {failed ? (
        <p class="hint inset" role="status">
          {t("notSearched", { why: wordsOf(failed) })}
        </p>
      ) : (
        found.length === 0 && <p class="hint inset">{t("findNothing")}</p>
      )}
    </dialog>
  );
}
