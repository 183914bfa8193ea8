// The open file: text, message, save.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Editor } from "../editor/host.ts";
import { isDialogOpen } from "../shared/focus.ts";
import { Icon } from "../shared/icons.tsx";
import { Menu } from "../shared/menu.tsx";
import { Path, Trouble, Waiting } from "../shared/parts.tsx";
import { t, wordsOf } from "../shared/text.ts";
import { hasStatus, type Schemas } from "./api.ts";
import { type Acts, EntryItems } from "./branch/entry/acts.tsx";
import { Bars } from "./file/bars.tsx";
import { Code } from "./file/code.tsx";
import { ConflictSheet } from "./file/conflict/merger.tsx";
import { type Drawn, START } from "./file/drawn.ts";
import { Message } from "./file/message.tsx";
import { OpenFile } from "./file/open.ts";
import { Other } from "./file/other.tsx";
import { downloadUrl, type Place } from "./file/remote.ts";
import { AT_START, Status } from "./file/status.tsx";
import { say } from "./file/words.ts";
import { setOpened } from "./parts/opened.ts";
import { enter, takeEntry, takeMaking } from "./route.ts";

export interface FileProps {
  repo: string;
  branch: string;
  path: string;
  /** The snapshot that is shown; absent: the branch as it is now, which can be saved to. */
  at?: string;
  /** The line to begin at. */
  line?: number;
  /** What the caller may in this branch. */
  may: Schemas["Permissions"];
  /** The commit id of the branch as last heard of: another one means that somebody saved. */
  head: string | null;
  /** The branch is not there any more. */
  gone: boolean;
  /** It is gone, and nothing was typed here that is not saved. */
  onGone: () => void;
  /** A folder is there in its place. */
  onFolder?: () => void;
  /** Whose drafts these are. */
  account: string;
  /** Null where nothing may be done to files beside saving. */
  acts: Acts | null;
  /** Something was saved, deleted or undone here: tree, history and head are to be read again. */
  onChanged: () => void;
  /** Opens the sheet that restores this one file as of `at`; absent where there is nothing to go back to. */
  onRestore: (() => void) | undefined;
}

/** The open file of these names; the caller gives another `key` for another file. */
function useOpenFile(props: FileProps, place: Place): [OpenFile, Drawn] {
  const [drawn, draw] = useState<Drawn>(START);
  const now = useRef(props);
  now.current = props;
  const file = useMemo(() => {
    const { account, repo, branch, path } = props;
    return new OpenFile(
      place,
      { account, repo, branch, path },
      {
        draw,
        onChanged: () => now.current.onChanged(),
        mayDelete: () => now.current.may.delete,
        onFolder: () => now.current.onFolder?.(),
      },
    );
  }, []);
  useEffect(() => {
    void file.load();
    const unset = place.at ? null : setOpened(file);
    return () => {
      unset?.();
      file.close();
    };
  }, []);
  const known = useRef(props.head);
  useEffect(() => {
    if (props.head === known.current) return;
    known.current = props.head;
    void file.follow(props.head);
  }, [props.head]);
  return [file, drawn];
}

const WRAP = "wrap";
/** Where the button for it has no room. */
const ALWAYS_WRAPS = "(max-width: 30em)";

/** Keys that hold wherever the focus is on the screen of the file. */
function useKeys(save: () => void, wrap: () => void): void {
  const now = useRef({ save, wrap });
  now.current = { save, wrap };
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.code === "KeyS") {
        event.preventDefault();
        if (!isDialogOpen()) now.current.save();
      } else if (event.altKey && !event.ctrlKey && event.code === "KeyZ") {
        event.preventDefault();
        now.current.wrap();
      }
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}

export function File(props: FileProps) {
  const { repo, branch, path, at, line, may, gone, onRestore } = props;
  const place: Place = { repo, branch, path, at };
  const [file, drawn] = useOpenFile(props, place);
  const [editor, setEditor] = useState<Editor | null>(null);
  const [cursor, setCursor] = useState(AT_START);
  const [wrap, setWrap] = useState(
    () => (localStorage.getItem(WRAP) ?? (matchMedia(ALWAYS_WRAPS).matches ? "1" : "0")) === "1",
  );
  const toggleWrap = () => {
    localStorage.setItem(WRAP, wrap ? "0" : "1");
    setWrap(!wrap);
  };
  const save = () => {
    if (may.write && !gone) void file.save();
  };
  useKeys(save, toggleWrap);
  useLayoutEffect(() => {
    if (drawn.other?.kind === "none" && may.write && takeMaking()) file.create();
  });
  // At each drawing: the file may have been open already when somebody went to it by its name.
  useEffect(() => {
    if (editor && takeEntry()) editor.focus();
  });
  useEffect(() => {
    // Until there is an editor nobody knows what is in it.
    const waits = drawn.phase === "loading" || drawn.saving || (drawn.phase === "text" && !editor);
    if (gone && !waits && !file.isPrecious()) props.onGone();
  });
  // Whoever lost the role in the middle of an edit keeps the text, and can take it elsewhere.
  const editable = !at && (may.write || drawn.changed);
  return (
    <section class="file" data-phase={drawn.phase} data-changed={drawn.changed} data-saving={drawn.saving}>
      <Head {...props} drawn={drawn} file={file} onSave={save} onRestore={onRestore} />
      <Bars path={path} drawn={drawn} file={file} editor={editor} gone={gone} forbidden={!at && !may.write} />
      {drawn.phase === "loading" && <Waiting />}
      {drawn.phase === "failed" && (
        <Trouble
          words={wordsOf(drawn.error)}
          {...(mayHelp(drawn.error) ? { onAgain: () => void file.load() } : {})}
        />
      )}
      {drawn.phase === "other" && drawn.other && (
        <Other
          place={place}
          other={drawn.other}
          editable={!at && may.write}
          onReplaced={() => {
            void file.load();
            props.onChanged();
          }}
          onCreate={() => {
            file.create();
            enter();
          }}
        />
      )}
      {drawn.phase === "text" && (
        <>
          <Code
            path={path}
            drawn={drawn}
            editable={editable}
            wrap={wrap}
            line={line}
            onEditor={(opened) => {
              file.attach(opened);
              setEditor(opened);
            }}
            onChange={() => file.typed()}
            onMove={setCursor}
            onProblems={(problems) => file.set({ problems })}
          />
          <Status
            path={path}
            drawn={drawn}
            cursor={cursor}
            editor={editor}
            editable={editable}
            wrap={wrap}
            onWrap={toggleWrap}
            onForm={(form) => file.setForm(form)}
            onReadAs={(encoding) => void file.readAs(encoding)}
          />
        </>
      )}
      {drawn.conflict && (
        <ConflictSheet
          path={path}
          conflict={drawn.conflict}
          onMerging={(left) => file.merging(left)}
          onClose={(left) => file.leaveConflict(left)}
          onTakeTheirs={() => void file.takeTheirs()}
          onSave={(text, form) => drawn.conflict && void file.resolve(drawn.conflict, text, form)}
        />
      )}
    </section>
  );
}

/** Whether it may be another answer next time: a path that is refused always is. */
const mayHelp = (error: unknown): boolean => !hasStatus(error, 400);

interface HeadProps extends FileProps {
  drawn: Drawn;
  file: OpenFile;
  onSave: () => void;
}

function Head({ repo, branch, path, at, may, gone, acts, drawn, file, onSave, onRestore }: HeadProps) {
  const { changed, isNew, saving, problems } = drawn;
  const place: Place = { repo, branch, path, at };
  const writes = drawn.phase === "text" && !at && !gone && (may.write || changed);
  const isThere = !isNew && drawn.phase !== "loading" && drawn.other?.kind !== "none";
  const why = !may.write
    ? say("readOnlyRole")
    : !changed
      ? say("nothingToSave")
      : problems.some((one) => !one.warning)
        ? say("saveWithProblems")
        : "Ctrl S";
  const button = useRef<HTMLButtonElement>(null);
  return (
    <header class="filehead">
      <h1 class="grow">
        <Path path={path} />
        {isNew ? (
          <span class="pill warn">{say("isNew")}</span>
        ) : (
          changed && <span class="pill warn">{say("unsaved")}</span>
        )}
        {(at || !(may.write || gone)) && (
          <span class="pill" title={say(at ? "readOnlyAt" : "readOnlyRole")}>
            {say("readOnly")}
          </span>
        )}
      </h1>
      {isThere && !gone && (
        <a
          class="quiet"
          href={downloadUrl(place)}
          download=""
          title={say("download")}
          aria-label={say("download")}
        >
          <Icon of="download" />
        </a>
      )}
      {onRestore && drawn.phase !== "loading" && (
        <button type="button" class="button" onClick={onRestore}>
          <Icon of="back" />
          {say("restoreFile")}
        </button>
      )}
      {writes && changed && (
        <Message
          value={drawn.message}
          onInput={(words) => file.setMessage(words)}
          onSave={onSave}
          onGone={() => button.current?.focus()}
        />
      )}
      {writes && (
        <button
          type="button"
          ref={button}
          class="button primary"
          disabled={!may.write}
          // It keeps the focus once there is nothing to save.
          aria-disabled={!changed || saving}
          title={why}
          onClick={onSave}
        >
          {saving ? t("saving") : say("save")}
        </button>
      )}
      {acts && isThere && drawn.phase !== "failed" && (
        <Menu align="right" title={t("moreAbout", { name: path })} label={<Icon of="dots" />}>
          <EntryItems acts={acts} entry={{ path, folder: false }} />
        </Menu>
      )}
    </header>
  );
}
