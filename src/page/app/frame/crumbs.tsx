// Where we are: the project and its branch, each with a menu of the others and of what can be done to this one.
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../../shared/icons.tsx";
import type { Loaded } from "../../shared/load.ts";
import { Item, Menu } from "../../shared/menu.tsx";
import { Copy } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { NewBranch } from "../branch/new-branch.tsx";
import { useNamedActs } from "../named/acts.tsx";
import { address, type Route } from "../route.ts";

export interface CrumbsProps {
  session: Schemas["Session"];
  route: Route;
  project: Schemas["Project"] | null;
  projects: Loaded<Schemas["Project"][]>;
  branches: Loaded<Schemas["AdminBranch"][]>;
}

/** Those first that somebody looks for first: of many only the beginning is in sight. */
const first = <One,>(all: One[] | null, isFirst: (one: One) => boolean): One[] =>
  [...(all ?? [])].sort((a, b) => Number(isFirst(b)) - Number(isFirst(a)));

export function Crumbs({ session, route, project, projects, branches }: CrumbsProps) {
  const [making, make] = useState(false);
  // Whoever goes to another project makes no branch there.
  useEffect(() => make(false), [route.repo]);
  const { items, sheet } = useNamedActs(session, route, project, projects, branches);
  const branch = branches.value?.find((one) => one.name === route.branch);
  const from = branch && route.at ? `${branch.name}@${route.at}` : branch?.name;
  return (
    <nav class="crumbs" aria-label={t("branches")}>
      <Menu
        kind="crumb"
        label={
          <>
            <b translate={false}>{route.repo}</b>
            <Icon of="down" />
          </>
        }
      >
        {first(projects.value, (one) => one.repo_id === route.repo).map((one) => (
          <a
            key={one.id}
            href={address({ screen: "files", repo: one.repo_id })}
            translate={false}
            aria-current={one.repo_id === route.repo ? "true" : undefined}
          >
            {one.repo_id}
          </a>
        ))}
        {items.project}
      </Menu>
      <span class="slash">/</span>
      <Menu
        kind="crumb"
        label={
          <>
            <Icon of="branch" />
            <span class="name" translate={false}>
              {route.branch ?? "…"}
            </span>
            <Icon of="down" />
          </>
        }
      >
        {first(branches.value, (one) => one.name === route.branch || one.default).map((one) => (
          <a
            key={one.name}
            href={address({ screen: "files", repo: route.repo, branch: one.name })}
            translate={false}
            aria-current={one.name === route.branch ? "true" : undefined}
          >
            {one.name}
            <span class="dim">{t("fileCount", { n: one.files })}</span>
          </a>
        ))}
        {(project?.permissions.write || items.branch) && (
          <div class="acts">
            {project?.permissions.write && (
              <Item icon="plus" words={t("newBranch")} onClick={() => make(true)} />
            )}
            {items.branch}
          </div>
        )}
      </Menu>
      {branch && (
        <span class="digest" title={t("digest")}>
          <code>{branch.commit.short_id}</code>
          <Copy text={branch.commit.short_id} />
        </span>
      )}
      {sheet}
      {making && (
        <NewBranch
          repo={route.repo}
          {...(from ? { from } : {})}
          branches={branches}
          onClose={() => make(false)}
        />
      )}
    </nav>
  );
}
