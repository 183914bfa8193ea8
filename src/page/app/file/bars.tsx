// What is to be said between the name of a file and its text: each state in words of its own, with what can
// be done about it.
import type { ComponentChildren } from "preact";
import type { Editor } from "../../editor/host.ts";
import { Icon, type IconName } from "../../shared/icons.tsx";
import { Behind } from "../../shared/parts.tsx";
import { ago, t, when, wordsOf } from "../../shared/text.ts";
import { address, parse } from "../route.ts";
import type { Drawn } from "./drawn.ts";
import { Guessed } from "./guessed.tsx";
import type { OpenFile } from "./open.ts";
import { encodingName } from "./status.tsx";
import type { SaveTrouble } from "./trouble.ts";
import { say } from "./words.ts";

interface BarProps {
  icon: IconName;
  bad?: boolean;
  children: ComponentChildren;
  actions?: ComponentChildren;
}

function Bar({ icon, bad, children, actions }: BarProps) {
  return (
    <div class={bad ? "strip bad" : "strip"} role={bad ? "alert" : "status"}>
      <Icon of={icon} />
      <span class="words">{children}</span>
      {actions}
    </div>
  );
}

function Button({ children, onClick }: { children: ComponentChildren; onClick: () => void }) {
  return (
    <button type="button" class="button" onClick={onClick}>
      {children}
    </button>
  );
}

interface BarsProps {
  path: string;
  drawn: Drawn;
  file: OpenFile;
  editor: Editor | null;
  /** The branch is not there any more. */
  gone: boolean;
  /** The role that would save was taken away. */
  forbidden: boolean;
}

/** The most important thing there is to say; null where there is nothing. */
export function Bars(props: BarsProps) {
  const { drawn, gone, forbidden } = props;
  if (gone && drawn.changed) return <TroubleBar {...props} trouble={{ kind: "gone" }} />;
  if (drawn.trouble) return <TroubleBar {...props} trouble={drawn.trouble} />;
  if (forbidden && drawn.changed) return <TroubleBar {...props} trouble={{ kind: "forbidden" }} />;
  if (drawn.news) return <NewsBar {...props} />;
  if (drawn.behind && drawn.phase !== "failed") {
    return (
      <Behind words={t("stale", { why: wordsOf(drawn.behind) })} onAgain={() => void props.file.look()} />
    );
  }
  if (drawn.restored === null || !drawn.changed) return null;
  const { another } = drawn;
  return (
    <Bar
      icon="clock"
      actions={
        <>
          {another !== null && (
            <Button onClick={() => void props.file.turn()}>
              {say("showOther", { when: ago(new Date(another).toISOString()) })}
            </Button>
          )}
          <Button onClick={() => void props.file.discard()}>{say("discard")}</Button>
        </>
      }
    >
      {say("draftRestored", { when: when(new Date(drawn.restored).toISOString()) })}
    </Bar>
  );
}

function NewsBar({ drawn, file }: BarsProps) {
  const { deleted = false, author = null } = drawn.news ?? {};
  const values: Record<string, string> = author ? { who: author.who, when: ago(author.at) } : {};
  if (deleted) {
    return (
      <Bar
        icon="trash"
        actions={
          <>
            <Button onClick={() => void file.restore()}>{say("restoreWithMine")}</Button>
            <Button onClick={() => void file.discard()}>{say("letGo")}</Button>
          </>
        }
      >
        {say(author ? "deletedMeanwhile" : "deletedMeanwhileUnknown", values)}
      </Bar>
    );
  }
  return (
    <Bar icon="user" actions={<Button onClick={() => void file.meet()}>{say("compareMine")}</Button>}>
      {say(author ? "savedMeanwhile" : "savedMeanwhileUnknown", values)}
    </Bar>
  );
}

function words(trouble: SaveTrouble, editor: Editor | null, guess: boolean): string {
  switch (trouble.kind) {
    case "offline":
      return say("troubleOffline");
    case "forbidden":
      return say("troubleForbidden");
    case "gone":
      return say("troubleGone");
    case "large":
      return say("troubleLarge");
    case "full":
      return say("troubleFull");
    case "busy":
      return say("troubleBusy");
    case "refused":
      return say("troubleRefused", { message: trouble.message });
    case "letter":
      return say(guess ? "troubleLetterGuess" : "troubleLetter", {
        letter: trouble.letter,
        encoding: encodingName(trouble.encoding),
        line: editor?.lineOf(trouble.at) ?? 1,
      });
    default:
      return say("troubleOther", { message: trouble.message });
  }
}

function TroubleBar({ path, drawn, file, editor, trouble }: BarsProps & { trouble: SaveTrouble }) {
  const again = <Button onClick={() => void file.save()}>{t("tryAgain")}</Button>;
  const mine = editor && (
    <Button onClick={() => downloadText(path, editor.text())}>{say("downloadMine")}</Button>
  );
  const discard = <Button onClick={() => void file.discard()}>{say("discard")}</Button>;
  let actions: ComponentChildren = again;
  if (trouble.kind === "forbidden" || trouble.kind === "gone" || trouble.kind === "large") {
    actions = (
      <>
        {mine}
        {discard}
      </>
    );
  } else if (trouble.kind === "letter") {
    const convert = () => {
      file.setForm({ ...drawn.form, encoding: "utf-8", bom: false });
      void file.save();
    };
    actions = (
      <>
        <Button onClick={() => editor?.goTo(trouble.at)}>{say("goThere")}</Button>
        {file.isGuess() ? (
          <Guessed
            encoding={trouble.encoding}
            editor={editor}
            onReadAs={(encoding) => void file.readAgain(encoding)}
            onSave={convert}
          />
        ) : (
          <Button onClick={convert}>{say("saveUtf8")}</Button>
        )}
      </>
    );
  } else if (trouble.kind === "refused") {
    const { broken } = trouble;
    const place = broken?.place;
    actions = (
      <>
        {place && (
          <Button onClick={() => editor?.goTo(editor.offset(place.line, place.column))}>
            {say("goThere")}
          </Button>
        )}
        {broken && (
          <a class="button" href={address({ ...parse(location), rules: "1" })}>
            {t("rules")}
          </a>
        )}
      </>
    );
  }
  return (
    <Bar icon="warn" bad actions={actions}>
      {words(trouble, editor, file.isGuess())}
    </Bar>
  );
}

function downloadText(path: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = path.slice(path.lastIndexOf("/") + 1);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
