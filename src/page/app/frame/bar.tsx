import { useEffect, useState } from "preact/hooks";
import { Icon, Mark } from "../../shared/icons.tsx";
import { Item, Menu } from "../../shared/menu.tsx";
import { Who } from "../../shared/parts.tsx";
import { type Key, language, languages, setLanguage, t } from "../../shared/text.ts";
import { onReach } from "../api.ts";
import { address, BASE, go } from "../route.ts";
import { Crumbs, type CrumbsProps } from "./crumbs.tsx";
import { health } from "./health.ts";
import type { OwnPart } from "./own.tsx";
import { setTheme, type Theme, theme, themes } from "./theme.ts";

interface BarProps extends CrumbsProps {
  onFind: () => void;
  onHelp: () => void;
  onOwn: (part: OwnPart) => void;
  onLeave: () => void;
}

/** The bar above every screen: where we are, and the ways to elsewhere. */
export function TopBar(props: BarProps) {
  const { session, route, onFind } = props;
  const { may } = session;
  const screens = (["tokens", "accounts", "service"] as const).filter(
    (name) => name === "tokens" || may[name],
  );
  const places = [
    ["projects", BASE] as const,
    ...screens.map((screen) => [screen, address({ screen })] as const),
  ];
  return (
    <header class="top">
      <a class="home" href={BASE} aria-label={t("toProjects")}>
        <Mark />
      </a>
      {route.repo ? <Crumbs {...props} /> : <b class="word">siteconf</b>}
      <span class="grow" />
      <button type="button" class="find" onClick={onFind}>
        <Icon of="search" />
        <span>{t("find")}</span>
        <kbd>Ctrl K</kbd>
      </button>
      <span class="grow" />
      <nav class="places" aria-label={t("menu")}>
        {places.map(([name, href]) => (
          <a key={name} href={href} aria-current={route.screen === name ? "page" : undefined}>
            {t(name)}
          </a>
        ))}
      </nav>
      <Health />
      <Person {...props} places={places} />
    </header>
  );
}

const CHECK_MS = 30_000;

/** A dot: the service answers, and takes changes. */
function Health() {
  const [ms, setMs] = useState<number | null | undefined>(undefined);
  useEffect(() => {
    const look = async () => {
      if (document.hidden) return;
      const began = performance.now();
      try {
        await health();
        setMs(Math.max(1, Math.round(performance.now() - began)));
      } catch {
        setMs(null);
      }
    };
    look();
    const timer = setInterval(look, CHECK_MS);
    let away = false;
    const stop = onReach((reachable) => {
      if (!reachable) setMs(null);
      else if (away) look();
      away = !reachable;
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, []);
  const words = ms ? t("healthy", { n: ms }) : t("unhealthy");
  if (ms === undefined) return <span class="health" />;
  return <span class={ms ? "health ok" : "health bad"} role="img" aria-label={words} title={words} />;
}

const themeNames: Record<Theme, Key> = { "": "themeAuto", light: "themeLight", dark: "themeDark" };

interface PersonProps extends Pick<BarProps, "session" | "onHelp" | "onOwn" | "onLeave"> {
  places: readonly (readonly [Key, string])[];
}

function Person({ session, places, onHelp, onOwn, onLeave }: PersonProps) {
  return (
    <Menu align="right" title={session.username} label={<Who name={session.username} />}>
      <span class="label">
        <b>{session.username}</b>
        <span class="dim">
          {session.roles.map((role) => role.replace(/^ROLE_SITEBUILDER_/, "")).join(", ")}
        </span>
      </span>
      <span class="narrow">
        {places.map(([name, href]) => (
          <a key={name} href={href}>
            {t(name)}
          </a>
        ))}
      </span>
      <hr />
      <Item icon="lock" words={t("changePassword")} onClick={() => onOwn("password")} />
      <Item icon="clock" words={t("sessions")} onClick={() => onOwn("sessions")} />
      <Item icon="edit" words={t("unsaved")} onClick={() => go({ screen: "unsaved" })} />
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
      <Item icon="help" words={t("keys")} onClick={onHelp} />
      <Item icon="leave" words={t("logout")} onClick={onLeave} />
      <hr />
      <a class="dim" href="/site-builder/licences" target="_blank" rel="noreferrer">
        {t("version", { version: session.server.version })} · {t("licences")}
      </a>
    </Menu>
  );
}
