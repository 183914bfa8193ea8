// A branch with nothing chosen: what it holds, and how a client gets it.
import { Ago, Coming, Empty, Snippet } from "../../shared/parts.tsx";
import { number, size, t, when } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { Choose } from "../upload/choose.tsx";
import type { Sought } from "./history-state.ts";

interface OverviewProps {
  repo: string;
  branch: Schemas["AdminBranch"];
  /** Absent where nothing can be saved. */
  onUpload: ((files: FileList | null) => void) | undefined;
}

type Fact = [name: string, value: string];

const factsOf = (files: number, bytes: number): Fact[] => [
  [t("files"), number(files)],
  [t("size"), size(bytes)],
];

function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What a client sends for the tree of a branch. */
function command(repo: string, branch: string): string {
  const api = `${location.origin}/site-builder/api/erp-config`;
  const ref = encodeURIComponent(branch);
  return `curl --header "PRIVATE-TOKEN: $TOKEN" \\
  "${api}/projects/${encodeURIComponent(repo)}/repository/tree?ref=${ref}&recursive=1"`;
}

export function Overview({ repo, branch, onUpload }: OverviewProps) {
  const ways = onUpload && (
    <div class="ways">
      <Choose kind="button" onChoose={onUpload} />
    </div>
  );
  if (branch.files === 0) {
    return (
      <Empty icon="upload" title={t("emptyBranch")}>
        <p>{onUpload ? t("emptyHint") : t("emptyRead")}</p>
        {ways}
      </Empty>
    );
  }
  const facts: Fact[] = [
    ...factsOf(branch.files, branch.bytes),
    [t("history"), t("snapshotCount", { n: branch.snapshots })],
    ["short_id", branch.commit.short_id],
  ];
  return (
    <div class="overview">
      <header>
        <h1 translate={false}>{repo}</h1>
        <p class="sub">
          {t("branch")} <span translate={false}>{branch.name}</span> · {t("changed")}{" "}
          <Ago at={branch.updated_at} />
        </p>
      </header>
      <Facts facts={facts} />
      <h2>{t("clientAsks")}</h2>
      <Snippet text={command(repo, branch.name)} />
      <p class="hint">{t(onUpload ? "openHint" : "openHintRead", { key: "Ctrl K" })}</p>
      {ways}
    </div>
  );
}

/** A branch as it was, with nothing chosen. */
export function OverviewThen({ repo, branch, sought }: { repo: string; branch: string; sought: Sought }) {
  const { change } = sought;
  if (!change) return <Coming of={sought} />;
  const facts = factsOf(change.files, change.bytes);
  return (
    <div class="overview">
      <header>
        <h1 translate={false}>{repo}</h1>
        <p class="sub">
          {t("branch")} <span translate={false}>{branch}</span> · {change.version} · {when(change.created_at)}
        </p>
      </header>
      <Facts facts={change.short_id ? [...facts, ["short_id", change.short_id]] : facts} />
    </div>
  );
}
