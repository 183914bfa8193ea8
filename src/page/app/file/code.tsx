import { useEffect, useRef } from "preact/hooks";
import { COLOUR_MAX } from "../../editor/bytes.ts";
import { useChunk } from "../../editor/chunk.ts";
import type { Cursor, Editor, Mark } from "../../editor/host.ts";
import { checkable, language } from "../../editor/language.ts";
import { Waiting } from "../../shared/parts.tsx";
import { Missing } from "../frame/lazy.tsx";
import type { Drawn } from "./drawn.ts";
import { say, type Word } from "./words.ts";

interface CodeProps {
  path: string;
  drawn: Drawn;
  editable: boolean;
  wrap: boolean;
  line?: number | undefined;
  onEditor: (editor: Editor) => void;
  onChange: () => void;
  onMove: (cursor: Cursor) => void;
  onProblems: (problems: Mark[]) => void;
}

/** The text of a file. Another `edition` of it is another editor; everything else is told to the one there is. */
export function Code(props: CodeProps) {
  const { path, drawn, editable, wrap } = props;
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  // What the editor calls must be that of the last drawing, not that of the first.
  const now = useRef(props);
  now.current = props;
  const { chunk, failed } = useChunk();
  useEffect(() => {
    if (!chunk || !place.current) return;
    const plain = drawn.text.length > COLOUR_MAX;
    const opened = chunk.openText(place.current, {
      text: drawn.text,
      language: language(path),
      label: path,
      description: say("leaveEditor"),
      plain,
      keepsReturns: drawn.form.end === "mixed",
      editable: now.current.editable,
      wrap: now.current.wrap,
      ...(props.line ? { line: props.line } : {}),
      ...(checkable(path) && !plain ? { check: (text: string) => look(now.current, text) } : {}),
      onChange: () => now.current.onChange(),
      onMove: (at) => now.current.onMove(at),
    });
    editor.current = opened;
    now.current.onEditor(opened);
    return () => opened.destroy();
  }, [chunk, drawn.edition]);
  useEffect(() => editor.current?.setEditable(editable), [editable]);
  useEffect(() => editor.current?.setWrap(wrap), [wrap]);
  // By then the check is told of it.
  useEffect(() => editor.current?.recheck(), [drawn.form.encoding]);
  return (
    <>
      {failed ? <Missing /> : !chunk && <Waiting />}
      <div class="code" ref={place} />
    </>
  );
}

/** Looks at a text and tells what was found in the words of the page. */
async function look({ path, drawn, onProblems }: CodeProps, text: string): Promise<Mark[]> {
  // Without it the text is there all the same, and the next key looks for it again.
  const part = await import("../../editor/check/check.ts").catch(() => null);
  if (!part) return [];
  const { check } = part;
  const marks = (await check(path, text, drawn.form.encoding)).map((problem) => ({
    from: problem.from,
    to: problem.to,
    message: say(`check.${problem.kind}` as Word, problem.values),
    warning: problem.warning ?? false,
  }));
  onProblems(marks);
  return marks;
}
