import { Icon, Mark } from "../shared/icons.tsx";
import type { Loaded } from "../shared/load.ts";
import { Menu } from "../shared/menu.tsx";
import { Copy, Who } from "../shared/parts.tsx";
import { type Key, language, languages, setLanguage, t } from "../shared/text.ts";
import type { Schemas } from "./api.ts";
import { address, BASE, type Route } from "./route.ts";
import { setTheme, type Theme, theme, themes } from "./theme.ts";

interface BarProps {
  session: Schemas["Session"];
  route: Route;
  projects: Loaded<Schemas["Project"][]>;
  branches: Loaded<Schemas["AdminBranch"][]>;
  onLeave: () => void;
}

/** The bar above every screen: where we are, and the ways to elsewhere. */
export function TopBar({ session, route, projects, branches, onLeave }: BarProps) {
  return (
    <header class="top">
      <a class="home" href={BASE} aria-label={t("projects")}>
        <Mark />
      </a>
      {route.repo ? (
        <Crumbs route={route} projects={projects.value ?? []} branches={branches.value ?? []} />
      ) : (
        <b class="word">siteconf</b>
      )}
      <span class="grow" />
      <nav class="places" aria-label={t("menu")}>
        <a href={BASE} aria-current={route.screen === "projects" ? "page" : undefined}>
          {t("projects")}
        </a>
      </nav>
      <Person session={session} onLeave={onLeave} />
    </header>
  );
}

interface CrumbsProps {
  route: Route;
  projects: Schemas["Project"][];
  branches: Schemas["AdminBranch"][];
}

function Crumbs({ route, projects, branches }: CrumbsProps) {
  const branch = branches.find((one) => one.name === route.branch);
  return (
    <nav class="crumbs" aria-label={t("branches")}>
      <Menu
        kind="crumb"
        label={
          <>
            <b>{route.repo}</b>
            <Icon of="down" />
          </>
        }
      >
        {projects.map((project) => (
          <a
            key={project.id}
            href={address({ screen: "files", repo: project.repo_id })}
            aria-current={project.repo_id === route.repo ? "true" : undefined}
          >
            {project.repo_id}
          </a>
        ))}
      </Menu>
      <span class="slash">/</span>
      <Menu
        kind="crumb"
        label={
          <>
            <Icon of="branch" />
            <span class="name">{route.branch ?? "…"}</span>
            <Icon of="down" />
          </>
        }
      >
        {branches.map((one) => (
          <a
            key={one.name}
            href={address({ screen: "files", repo: route.repo, branch: one.name })}
            aria-current={one.name === route.branch ? "true" : undefined}
          >
            {one.name}
            <span class="dim">{t("fileCount", { n: one.files })}</span>
          </a>
        ))}
      </Menu>
      {branch && (
        <span class="digest" title={t("digest")}>
          <code>{branch.commit.short_id}</code>
          <Copy text={branch.commit.short_id} />
        </span>
      )}
    </nav>
  );
}

const themeNames: Record<Theme, Key> = { "": "themeAuto", light: "themeLight", dark: "themeDark" };

function Person({ session, onLeave }: { session: Schemas["Session"]; onLeave: () => void }) {
  return (
    <Menu align="right" title={session.username} label={<Who name={session.username} />}>
      <span class="label">
        <b>{session.username}</b>
        <span class="dim">{session.roles.join(", ")}</span>
      </span>
      <hr />
      {themes.map((name) => (
        <button
          key={name}
          type="button"
          aria-current={theme() === name ? "true" : undefined}
          onClick={() => setTheme(name)}
        >
          <Icon of="sun" />
          {t("theme", { name: t(themeNames[name]) })}
        </button>
      ))}
      <hr />
      {languages.map(({ id, name }) => (
        <button
          key={id}
          type="button"
          lang={id}
          aria-current={id === language ? "true" : undefined}
          onClick={() => setLanguage(id)}
        >
          <Icon of="globe" />
          {name}
        </button>
      ))}
      <hr />
      <button type="button" onClick={onLeave}>
        <Icon of="leave" />
        {t("logout")}
      </button>
      <hr />
      <a class="dim" href="/site-builder/licences" target="_blank" rel="noreferrer">
        {t("version", { version: session.server.version })} · {t("licences")}
      </a>
    </Menu>
  );
}
