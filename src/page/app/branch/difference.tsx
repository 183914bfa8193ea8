// What differs between two states: the paths, and the two texts of one of them.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Language } from "../../editor/bytes.ts";
import { type Chunk, loadChunk } from "../../editor/chunk.ts";
import { type Loaded, useBack } from "../../shared/load.ts";
import { Coming, Empty } from "../../shared/parts.tsx";
import { REM_PX } from "../../shared/rem.ts";
import { size, t } from "../../shared/text.ts";
import { filePath, type Schemas } from "../api.ts";
import * as calls from "../calls.ts";
import { NoPart, noted, renew } from "../frame/lazy.tsx";
import { Changes } from "./difference/changes.tsx";
import { formsOf, modesOf } from "./forms.ts";

export type Difference = Schemas["Difference"];

/** The path that is shown: the chosen one, else the first. */
export const shownOf = (list: Difference[] | null, chosen: string | undefined): Difference | undefined =>
  list?.find((one) => one.path === chosen) ?? list?.[0];

interface DifferencesProps {
  repo: string;
  branch: string;
  before: Side;
  after: Side;
  differences: Loaded<Difference[]>;
  chosen: string | undefined;
  onChoose: (path: string) => void;
  /** What is said where nothing differs. */
  nothing: string;
  /** A single path is named elsewhere on the screen. */
  named?: boolean;
}

/** All that differs between two states. */
export function Differences(props: DifferencesProps) {
  const { repo, branch, before, after, differences, chosen, onChoose, nothing, named = false } = props;
  const list = differences.value;
  if (!list) return <Coming of={differences} />;
  if (list.length === 0) return <Empty icon="check" title={nothing} />;
  const entry = shownOf(list, chosen);
  const single = named && list.length === 1;
  return (
    <div class={single ? "single" : "split"}>
      {!single && <Changes list={list} current={entry?.path} as="done" onChoose={onChoose} />}
      <Sides repo={repo} branch={branch} before={before} after={after} entry={entry} />
    </div>
  );
}

/** A state whose files are compared: a version, or the branch as it is now. */
export interface Side {
  version: string | null;
  label: string;
}

interface SidesProps {
  repo: string;
  branch: string;
  before: Side;
  after: Side;
  entry: Difference | undefined;
}

type Reason = "binary" | "large" | "same" | "empty";
type Texts = Compared | { reason: Reason };

interface Compared {
  before: string;
  after: string;
  /** How the two lie in their files, where that is another. */
  forms: string[];
  language: Language;
  /** What shows them. */
  chunk: Chunk;
}

const versionOf = (side: Side): string | undefined => side.version ?? undefined;

async function textsOf(
  { repo, branch, before, after, entry }: SidesProps,
  signal: AbortSignal,
): Promise<Texts> {
  if (!entry) return { reason: "same" };
  if (!entry.old?.size && !entry.new?.size) return { reason: "empty" };
  const bytes = await noted(import("../../editor/bytes.ts"));
  if (Math.max(entry.old?.size ?? 0, entry.new?.size ?? 0) > bytes.COMPARED_MAX) return { reason: "large" };
  const bytesOf = async (side: Side, there: boolean) =>
    there ? (await calls.fileBytes(filePath(repo, branch, entry.path, versionOf(side)), signal)).bytes : null;
  const [old, young, chunk, names] = await Promise.all([
    bytesOf(before, entry.old !== null),
    bytesOf(after, entry.new !== null),
    noted(loadChunk()),
    noted(import("../file/status.tsx")),
  ]);
  const [was, is] = bytes.decodeBoth(old, young);
  if ((old && !was) || (young && !is)) return { reason: "binary" };
  return {
    before: was?.text ?? "",
    after: is?.text ?? "",
    forms: was && is ? formsOf(was, is, names) : [],
    language: bytes.language(entry.path),
    chunk,
  };
}

/** Less than this, and the two texts stand one below the other. */
const SIDE_BY_SIDE_PX = 56.25 * REM_PX;

/** The two texts of a path, the older left. */
export function Sides(props: SidesProps) {
  const { repo, branch, before, after, entry } = props;
  const [texts, setTexts] = useState<Texts | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [wide, setWide] = useState(false);
  const [turn, setTurn] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const node = box.current!;
    const observer = new ResizeObserver(() => setWide(node.clientWidth >= SIDE_BY_SIDE_PX));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const abort = new AbortController();
    setError(null);
    const late = setTimeout(() => setTexts(null), 150);
    textsOf(props, abort.signal)
      .then(setTexts, (problem) => !abort.signal.aborted && setError(problem))
      .finally(() => clearTimeout(late));
    return () => {
      clearTimeout(late);
      abort.abort();
    };
  }, [repo, branch, before.version, after.version, entry?.path, entry?.old?.id, entry?.new?.id, turn]);
  const again = () => setTurn((n) => n + 1);
  useBack(error, again);
  const forms = [...(texts && "forms" in texts ? texts.forms : []), ...modesOf(entry)];
  return (
    <div class="pair" ref={box}>
      {forms.length > 0 && (
        <ul class="forms" aria-label={t("formChanged")}>
          {forms.map((words) => (
            <li key={words}>{words}</li>
          ))}
        </ul>
      )}
      <div class={wide ? "labels" : "labels one"}>
        <span>{before.label}</span>
        <span>{after.label}</span>
      </div>
      {error || !texts ? (
        <Coming of={{ error, again: error instanceof NoPart ? renew : again }} />
      ) : "reason" in texts ? (
        <Untold reason={texts.reason} entry={entry} />
      ) : (
        <Pair {...texts} labels={[before.label, after.label]} unified={!wide} />
      )}
    </div>
  );
}

function Untold({ reason, entry }: { reason: Reason; entry: Difference | undefined }) {
  if (!entry || reason === "same") return <Empty icon="check" title={t("noDifference")} />;
  if (reason === "empty") return <Empty icon="file" title={t("emptyFile")} />;
  const states = [entry.old, entry.new].map((state) => (state ? `${size(state.size)} · ${state.md5}` : "–"));
  return (
    <Empty icon="file" title={reason === "binary" ? t("binaryDiffers") : t("largeDiffers")}>
      <p class="mono">{states[0]}</p>
      <p class="mono">→ {states[1]}</p>
    </Empty>
  );
}

interface PairProps extends Omit<Compared, "forms"> {
  labels: [string, string];
  unified: boolean;
}

function Pair({ before, after, language, chunk, labels, unified }: PairProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const shown = chunk.showPair(place.current!, { before, after, language, labels, unified });
    return () => shown.destroy();
  }, [before, after, language, unified, labels[0], labels[1]]);
  // Another element for each form: what was mounted in a shadow root stays in it.
  return <div key={String(unified)} class="code" ref={place} />;
}
