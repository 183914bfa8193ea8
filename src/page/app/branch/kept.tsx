// What was typed into a file of a branch or a project that is not there any more.
import type { Loaded } from "../../shared/load.ts";
import type { Schemas } from "../api.ts";
import type { Route } from "../route.ts";
import { File } from "./lazy-file.tsx";

interface KeptProps {
  session: Schemas["Session"];
  route: Route;
  branches: Loaded<Schemas["AdminBranch"][]>;
  onGone: () => void;
}

/** What anybody may where nothing is. */
const NO_RIGHTS: Schemas["Permissions"] = {
  read: false,
  write: false,
  delete: false,
  rollback: false,
  tokens: false,
  manage: false,
};

/** The text that this browser keeps for a file of a branch or a project that is not there. */
export function Kept({ session, route, branches, onGone }: KeptProps) {
  const path = route.path!;
  return (
    <div class="branch alone">
      <main id="main" tabIndex={-1}>
        <File
          key={path}
          repo={route.repo}
          branch={route.branch!}
          path={path}
          may={NO_RIGHTS}
          head={null}
          gone
          onGone={onGone}
          account={session.username}
          acts={null}
          onChanged={branches.again}
          onRestore={undefined}
        />
      </main>
    </div>
  );
}
