import { useEffect, useState } from "preact/hooks";
import { Filter } from "../shared/filter.tsx";
import { Icon } from "../shared/icons.tsx";
import type { Loaded } from "../shared/load.ts";
import { Ago, Coming, Empty, Who } from "../shared/parts.tsx";
import { number, t } from "../shared/text.ts";
import type { Schemas } from "./api.ts";
import { noted } from "./frame/lazy.tsx";
import { FormDialog } from "./parts/form-dialog.tsx";
import { namedIn, ProjectFields } from "./parts/project-fields.tsx";
import { address, go } from "./route.ts";

type Project = Schemas["Project"];

interface ProjectsProps {
  session: Schemas["Session"];
  projects: Loaded<Project[]>;
}

const open = (project: Project): void => go({ screen: "files", repo: project.repo_id });

export function ProjectsScreen({ session, projects }: ProjectsProps) {
  const [filter, setFilter] = useState("");
  const [making, make] = useState(false);
  const list = projects.value;
  useEffect(() => {
    // No word comes of a project that somebody else makes: it is looked for whenever somebody comes to see.
    if (list) projects.again();
    const seen = () => {
      if (!document.hidden) projects.again();
    };
    document.addEventListener("visibilitychange", seen);
    return () => document.removeEventListener("visibilitychange", seen);
  }, []);
  const wanted = filter.trim().toLowerCase();
  const shown = (list ?? [])
    .filter((project) => project.repo_id.toLowerCase().includes(wanted))
    .sort((a, b) => b.updated_at.localeCompare(a.updated_at));
  const may = session.may.create_projects || session.may.create_public_projects;
  const add = may && (
    <button type="button" class="button primary" onClick={() => make(true)}>
      <Icon of="plus" />
      {t("newProject")}
    </button>
  );
  return (
    <main id="main" class="sheet-page" tabIndex={-1}>
      <header>
        <h1>{t("projects")}</h1>
        <Filter
          autofocus
          value={filter}
          onFilter={setFilter}
          onKeyDown={(event) => {
            if (event.key === "Enter" && shown[0]) open(shown[0]);
          }}
        />
        <span class="grow" />
        <a class="quiet" href={address({ screen: "deleted" })}>
          {t("deleted")}
        </a>
        {list?.length ? add : null}
      </header>
      {!list ? (
        <Coming of={projects} />
      ) : list.length === 0 ? (
        <Empty icon="box" title={t("noProjects")}>
          <p>{may ? t("noProjectsHint") : t("noProjectsRead")}</p>
          {add}
        </Empty>
      ) : shown.length === 0 ? (
        <p class="hint">{t("nothingMatches", { q: filter })}</p>
      ) : (
        <Table projects={shown} />
      )}
      {making && <NewProject onClose={() => make(false)} onDone={projects.again} />}
    </main>
  );
}

function Table({ projects }: { projects: Project[] }) {
  return (
    <table class="list projects">
      <thead>
        <tr>
          <th>{t("name")}</th>
          <th class="less">{t("branch")}</th>
          <th class="less end once">{t("filesOfAll")}</th>
          <th class="less">{t("owner")}</th>
          <th class="end">{t("changed")}</th>
        </tr>
      </thead>
      <tbody>
        {projects.map((project) => (
          <Row key={project.id} project={project} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ project }: { project: Project }) {
  const cut = project.name.lastIndexOf("/") + 1;
  const last = project.name.slice(cut);
  return (
    <tr>
      <td>
        <a class="cover" href={address({ screen: "files", repo: project.repo_id })}>
          <span class="glyph" aria-hidden="true">
            {last[0]?.toUpperCase()}
          </span>
          <span class="path" translate={false}>
            <span class="dir">{project.name.slice(0, cut)}</span>
            <b>{last}</b>
            <span class="dim">.{project.type}</span>
          </span>
        </a>
      </td>
      <td class="less">
        {project.default_branch ? (
          <span class="ref">
            <Icon of="branch" />
            <span class="name" title={project.default_branch} translate={false}>
              {project.default_branch}
            </span>
          </span>
        ) : (
          <span class="dim">–</span>
        )}
        {project.branches > 1 && <span class="dim"> +{project.branches - 1}</span>}
      </td>
      <td class="less end dim">{number(project.files)}</td>
      <td class="less">
        <Who name={project.owner} />
        <span class="by" title={project.owner} translate={false}>
          {project.owner}
        </span>
      </td>
      <td class="end dim">
        {project.updated_by && (
          <span class="less">
            <span class="by" title={project.updated_by} translate={false}>
              {project.updated_by}
            </span>
            ,{" "}
          </span>
        )}
        <Ago at={project.updated_at} />
      </td>
    </tr>
  );
}

function NewProject({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const send = async (fields: FormData) => {
    const { name, type } = namedIn(fields);
    const { createProject } = await noted(import("./named/calls.ts"));
    const project = await createProject(name, type);
    onDone();
    onClose();
    go({ screen: "files", repo: project.repo_id, branch: "main" });
  };
  return (
    <FormDialog
      title={t("newProject")}
      lead={t("newProjectHint")}
      action={t("create")}
      onClose={onClose}
      onSend={send}
    >
      <ProjectFields />
    </FormDialog>
  );
}
