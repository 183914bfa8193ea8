// Uses a client that @hey-api/openapi-ts made of the service's document, as a program would.

import { client } from "./generated/client.gen";
import {
  deleteFile,
  listProjects,
  readBranches,
  readBranchesV4,
  readCommitDiff,
  readCommitRefs,
  readCommits,
  readComparison,
  readFile,
  readProject,
  readRawFile,
  readTarGz,
  readTree,
  saveFile,
} from "./generated/sdk.gen";

declare const process: { env: Record<string, string | undefined>; exit(status: number): never };

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

function check(holds: boolean, what: string, seen: unknown): void {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(seen)}`);
}

const repo_id = setting("SITECONF_PROJECT");
const session = setting("SITECONF_SESSION");

async function main(): Promise<void> {
  client.setConfig({
    baseUrl: setting("SITECONF_URL"),
    auth: (scheme) => {
      if (scheme.in === "cookie") return session;
      return scheme.type === "apiKey" ? setting("SITECONF_TOKEN") : undefined;
    },
  });
  const must = { throwOnError: true } as const;
  const path = { repo_id };

  const { data: branches } = await readBranches({ path, ...must });
  check(branches.map((branch) => branch.name).join() === "main,next", "branches", branches);
  const { data: again } = await readBranchesV4({ path, ...must });
  check(JSON.stringify(again.map((b) => b.commit.id)) === JSON.stringify(branches.map((b) => b.commit.id)), "V4", again);
  const head = branches[0]!.commit;
  const { data: project } = await readProject({ path, ...must });
  check(project.permissions.project_access.access_level === 20, "permissions", project);

  const { data: tree } = await readTree({ path, query: { ref: "main", recursive: true }, ...must });
  check(tree.some((entry) => entry.path === "данные/прайс лист.bin"), "tree", tree);
  const settings = { repo_id, path: "settings.xml" };
  const { data: text } = await readRawFile({ path: settings, query: { ref: "main" }, parseAs: "text", ...must });
  check((text as unknown) === '<settings currency="EUR"/>', "raw", text);
  const { data: file } = await readFile({ path: settings, query: { ref: "main" }, ...must });
  check(atob(file.content) === '<settings currency="EUR"/>', "file", file);
  const absent = await readFile({ path: { repo_id, path: "none" } });
  check(absent.error?.message === "404 File Not Found", "absent", absent.error);

  const { data: commits } = await readCommits({ path, query: { ref_name: "main" }, ...must });
  check(commits[0]?.id === head.id, "commits", commits);
  const { data: diffs } = await readCommitDiff({ path: { repo_id, sha: file.last_commit_id }, ...must });
  check(diffs.length === 1 && diffs[0]?.new_path === "settings.xml", "diff", diffs);
  const { data: refs } = await readCommitRefs({ path: { repo_id, sha: head.id }, ...must });
  check(refs.some((ref) => ref.name === "main"), "refs", refs);
  const query = { from: "main@v0001", to: "main", unidiff: true };
  const { data: compared } = await readComparison({ path, query, ...must });
  check(compared.diffs.length === 3, "comparison", compared);
  const { data: archive } = await readTarGz({ path, parseAs: "arrayBuffer", ...must });
  const bytes = new Uint8Array(archive as unknown as ArrayBuffer);
  check(bytes[0] === 0x1f && bytes[1] === 0x8b, "archive", bytes.slice(0, 8));

  const { data: projects } = await listProjects({ query: { per_page: 5 }, ...must });
  check(projects.some((own) => own.repo_id === repo_id), "projects", projects);
  const at = { repo_id, ref: "next", path: "made/by client.xml" };
  for (const status of [201, 412]) {
    const body = new Blob(["<made/>"]);
    const saved = await saveFile({ path: at, body, headers: { "If-None-Match": "*" } });
    check(saved.response?.status === status, "saved", saved.error);
  }
  const { data: deleted } = await deleteFile({ path: at, ...must });
  check(deleted.path === at.path, "deleted", deleted);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
