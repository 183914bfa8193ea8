// A branch: its files, the open one, and the history beside it.
import type { Loaded } from "../shared/load.ts";
import { Waiting } from "../shared/parts.tsx";
import type { Schemas } from "./api.ts";
import { File } from "./file.tsx";
import { go, type Route } from "./route.ts";

interface BranchProps {
  session: Schemas["Session"];
  route: Route;
  project: Schemas["Project"] | null;
  branches: Loaded<Schemas["AdminBranch"][]>;
}

export function BranchScreen({ session, route, branches }: BranchProps) {
  const { repo, branch, path, at, line } = route;
  const known = branches.value?.find((one) => one.name === branch);
  if (!branch || !known) return <Waiting />;
  return (
    <div class="branch">
      <main id="main" tabIndex={-1}>
        {path && (
          <File
            key={`${at}\n${path}`}
            repo={repo}
            branch={branch}
            path={path}
            {...(at ? { at } : {})}
            {...(line ? { line: Number(line) } : {})}
            may={known.permissions}
            head={known.commit.id}
            account={session.username}
            onChanged={branches.again}
            onRestore={() => go({ ...route, rollback: "1" })}
          />
        )}
      </main>
    </div>
  );
}
