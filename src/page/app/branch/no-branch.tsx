// A project without a branch, and in place of a branch or a project that is not there.
import { useState } from "preact/hooks";
import { Icon } from "../../shared/icons.tsx";
import type { Loaded } from "../../shared/load.ts";
import { Empty } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { address, BASE } from "../route.ts";
import { NewBranch } from "./new-branch.tsx";

interface NoBranchProps {
  repo: string;
  /** Whether one may be made. */
  may: boolean;
  branches: Loaded<Schemas["AdminBranch"][]>;
}

export function NoBranch({ repo, may, branches }: NoBranchProps) {
  const [making, make] = useState(false);
  return (
    <Empty icon="branch" title={t("noBranch")}>
      <p>{t("noBranchHint")}</p>
      {may && (
        <button type="button" class="button primary" onClick={() => make(true)}>
          <Icon of="plus" />
          {t("newBranch")}
        </button>
      )}
      {making && <NewBranch repo={repo} branches={branches} onClose={() => make(false)} />}
    </Empty>
  );
}

/** Names what is not there, or not for the caller to see; `first` is the branch to go to instead. */
export function NoSuch({ repo, branch, first }: { repo: string; branch?: string; first?: string }) {
  const title =
    branch === undefined ? t("noSuchProject", { name: repo }) : t("noSuchBranch", { name: branch });
  return (
    <Empty icon={branch === undefined ? "box" : "branch"} title={title}>
      <p>{t("noSuchHint")}</p>
      <div class="ways">
        {first !== undefined && (
          <a class="button" href={address({ screen: "files", repo, branch: first })}>
            <Icon of="branch" />
            {first}
          </a>
        )}
        <a class="button" href={BASE}>
          {t("toProjects")}
        </a>
      </div>
    </Empty>
  );
}
