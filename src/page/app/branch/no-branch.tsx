// A project without a branch.
import { useState } from "preact/hooks";
import { Icon } from "../../shared/icons.tsx";
import { Empty } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import { NewBranch } from "./new-branch.tsx";

interface NoBranchProps {
  repo: string;
  /** Whether one may be made. */
  may: boolean;
  /** One was made. */
  onDone: () => void;
}

export function NoBranch({ repo, may, onDone }: NoBranchProps) {
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
      {making && <NewBranch repo={repo} onClose={() => make(false)} onDone={onDone} />}
    </Empty>
  );
}
