import { ENCODINGS, type Encoding, type Form, type LineEnd } from "../../editor/bytes.ts";
import type { Cursor, Editor } from "../../editor/host.ts";
import { language, languageName } from "../../editor/language.ts";
import { Icon } from "../../shared/icons.tsx";
import { Menu } from "../../shared/menu.tsx";
import { size } from "../../shared/text.ts";
import type { Drawn } from "./drawn.ts";
import { say } from "./words.ts";

const NAMES: Record<Encoding, string> = {
  "utf-8": "UTF-8",
  "utf-16le": "UTF-16 LE",
  "utf-16be": "UTF-16 BE",
  "windows-1251": "Windows-1251",
  ibm866: "CP 866",
  "koi8-r": "KOI8-R",
  "windows-1252": "Windows-1252",
};

/** What people call an encoding. */
export function encodingName(encoding: Encoding, bom = false): string {
  return bom && encoding === "utf-8" ? "UTF-8 BOM" : NAMES[encoding];
}

/** What people call a kind of line end. */
export function lineEndName(end: LineEnd): string {
  return end === "mixed" ? say("mixedEnds") : end === "\r\n" ? "CRLF" : end === "\r" ? "CR" : "LF";
}

interface StatusProps {
  path: string;
  drawn: Drawn;
  cursor: Cursor;
  editor: Editor | null;
  editable: boolean;
  wrap: boolean;
  onWrap: () => void;
  onForm: (form: Form) => void;
  onReadAs: (encoding: Encoding) => void;
}

/** The line under a text: where the cursor is, and how the text lies in its file. */
export function Status(props: StatusProps) {
  const { path, drawn, cursor, editable } = props;
  const { form } = drawn;
  const named = languageName(language(path));
  const unusual = form.encoding !== "utf-8" || form.bom;
  return (
    <footer class="status">
      <span>{say("place", { line: cursor.line, column: cursor.column })}</span>
      {cursor.selected > 0 && <span class="extra">{say("selected", { n: cursor.selected })}</span>}
      <Problems {...props} />
      <span class="grow" />
      <button type="button" class="flat wraps" aria-pressed={props.wrap} title="Alt Z" onClick={props.onWrap}>
        {say("wrap")}
      </button>
      {named && <span class="extra">{named}</span>}
      {editable ? (
        <>
          <Encodings {...props} unusual={unusual} />
          <LineEnds {...props} />
        </>
      ) : (
        <>
          <span class={unusual ? "strong" : ""}>{encodingName(form.encoding, form.bom)}</span>
          <span class={form.end === "mixed" ? "strong" : ""}>{lineEndName(form.end)}</span>
        </>
      )}
      <span title={say("bytesExact", { n: drawn.size })}>{size(drawn.size)}</span>
    </footer>
  );
}

function Problems({ drawn, cursor, editor }: StatusProps) {
  const { problems } = drawn;
  if (problems.length === 0) return null;
  const bad = problems.some((problem) => !problem.warning);
  const next = () => {
    if (!editor) return;
    const here = editor.offset(cursor.line, cursor.column);
    const to = problems.find((problem) => problem.from > here) ?? problems[0];
    if (to) editor.goTo(to.from);
  };
  return (
    <button
      type="button"
      class={bad ? "flat bad" : "flat strong"}
      title={problems[0]?.message}
      onClick={next}
    >
      <Icon of="warn" />
      <span class="name">
        {say("problemCount", { n: problems.length })}
        <span class="extra">: {problems[0]?.message}</span>
      </span>
    </button>
  );
}

const marked = (encoding: Encoding): boolean => encoding.startsWith("utf-16");

function Encodings({ drawn, unusual, onForm, onReadAs }: StatusProps & { unusual: boolean }) {
  const { form, changed, isNew } = drawn;
  const name = encodingName(form.encoding, form.bom);
  return (
    <Menu
      align="right"
      title={say("encodingOf", { name })}
      label={<span class={unusual ? "strong" : ""}>{name}</span>}
    >
      {!changed && !isNew && (
        <>
          <span class="label dim">{say("readAs")}</span>
          {ENCODINGS.filter((one) => one !== form.encoding).map((one) => (
            <button type="button" key={one} onClick={() => onReadAs(one)}>
              {encodingName(one)}
            </button>
          ))}
          <hr />
        </>
      )}
      <span class="label dim">{say("saveAs")}</span>
      {ENCODINGS.map((one) => (
        <button
          type="button"
          key={one}
          aria-current={one === form.encoding && form.bom === marked(one) ? "true" : undefined}
          onClick={() => onForm({ ...form, encoding: one, bom: marked(one) })}
        >
          {encodingName(one)}
        </button>
      ))}
      <button
        type="button"
        aria-current={form.encoding === "utf-8" && form.bom ? "true" : undefined}
        onClick={() => onForm({ ...form, encoding: "utf-8", bom: true })}
      >
        {encodingName("utf-8", true)}
      </button>
    </Menu>
  );
}

function LineEnds({ drawn, onForm }: StatusProps) {
  const { form } = drawn;
  const name = lineEndName(form.end);
  return (
    <Menu
      align="right"
      title={say("lineEndOf", { name })}
      label={<span class={form.end === "mixed" ? "strong" : ""}>{name}</span>}
    >
      <span class="label dim">{say("makeEnds")}</span>
      {(["\n", "\r\n"] as const).map((end) => (
        <button
          type="button"
          key={end}
          aria-current={end === form.end ? "true" : undefined}
          onClick={() => onForm({ ...form, end })}
        >
          {lineEndName(end)}
        </button>
      ))}
    </Menu>
  );
}

/** The place of a text that nobody has looked into. */
export const AT_START: Cursor = { line: 1, column: 1, selected: 0 };
