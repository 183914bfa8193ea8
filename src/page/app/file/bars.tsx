// What is to be said between the name of a file and its text: each state in words of its own, with what can
// be done about it.
import type { ComponentChildren } from "preact";
import type { Editor } from "../../editor/host.ts";
import { Icon, type IconName } from "../../shared/icons.tsx";
import { ago, t, when } from "../../shared/text.ts";
import type { Drawn } from "./drawn.ts";
import type { OpenFile } from "./open.ts";
import { encodingName } from "./status.tsx";
import type { Trouble } from "./trouble.ts";

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
  /** The role that would save was taken away. */
  forbidden: boolean;
}

/** The most important thing there is to say; null where there is nothing. */
export function Bars(props: BarsProps) {
  const { drawn, forbidden } = props;
  if (drawn.trouble) return <TroubleBar {...props} trouble={drawn.trouble} />;
  if (forbidden && drawn.changed) return <TroubleBar {...props} trouble={{ kind: "forbidden" }} />;
  if (drawn.news) return <NewsBar {...props} />;
  if (drawn.restored === null || !drawn.changed) return null;
  return (
    <Bar icon="clock" actions={<Button onClick={() => void props.file.discard()}>{t("discard")}</Button>}>
      {t("draftRestored", { when: when(new Date(drawn.restored).toISOString()) })}
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
            <Button onClick={() => void file.restore()}>{t("restoreWithMine")}</Button>
            <Button onClick={() => void file.discard()}>{t("letGo")}</Button>
          </>
        }
      >
        {t(author ? "deletedMeanwhile" : "deletedMeanwhileUnknown", values)}
      </Bar>
    );
  }
  return (
    <Bar icon="user" actions={<Button onClick={() => void file.meet()}>{t("compareMine")}</Button>}>
      {t(author ? "savedMeanwhile" : "savedMeanwhileUnknown", values)}
    </Bar>
  );
}

function words(trouble: Trouble, editor: Editor | null): string {
  switch (trouble.kind) {
    case "offline":
      return t("troubleOffline");
    case "forbidden":
      return t("troubleForbidden");
    case "gone":
      return t("troubleGone");
    case "large":
      return t("troubleLarge");
    case "full":
      return t("troubleFull");
    case "busy":
      return t("troubleBusy");
    case "refused":
      return t("troubleRefused", { message: trouble.message });
    case "letter":
      return t("troubleLetter", {
        letter: trouble.letter,
        encoding: encodingName(trouble.encoding),
        line: editor?.lineOf(trouble.at) ?? 1,
      });
    default:
      return t("troubleOther", { message: trouble.message });
  }
}

function TroubleBar({ path, drawn, file, editor, trouble }: BarsProps & { trouble: Trouble }) {
  const again = <Button onClick={() => void file.save()}>{t("tryAgain")}</Button>;
  const mine = editor && (
    <Button onClick={() => downloadText(path, editor.text())}>{t("downloadMine")}</Button>
  );
  const discard = <Button onClick={() => void file.discard()}>{t("discard")}</Button>;
  let actions: ComponentChildren = again;
  if (trouble.kind === "forbidden" || trouble.kind === "gone" || trouble.kind === "large") {
    actions = (
      <>
        {mine}
        {discard}
      </>
    );
  } else if (trouble.kind === "letter") {
    actions = (
      <>
        <Button onClick={() => editor?.goTo(trouble.at)}>{t("goThere")}</Button>
        <Button
          onClick={() => {
            file.setForm({ ...drawn.form, encoding: "utf-8", bom: false });
            void file.save();
          }}
        >
          {t("saveUtf8")}
        </Button>
      </>
    );
  } else if (trouble.kind === "refused") {
    const { place } = trouble;
    actions = place && (
      <Button onClick={() => editor?.goTo(editor.offset(place.line, place.column))}>{t("goThere")}</Button>
    );
  }
  return (
    <Bar icon="warn" bad actions={actions}>
      {words(trouble, editor)}
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
