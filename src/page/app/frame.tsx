// The frame: who is logged in, where we are, and the bar above every screen.
import { useEffect, useState } from "preact/hooks";
import type { IconName } from "../shared/icons.tsx";
import { useLoaded } from "../shared/load.ts";
import { Notices } from "../shared/notice.tsx";
import { type Key, t } from "../shared/text.ts";
import type { Schemas } from "./api.ts";
import { BranchScreen } from "./branch.tsx";
import * as calls from "./calls.ts";
import { type Command, Finder } from "./finder/finder.tsx";
import { TopBar } from "./frame/bar.tsx";
import { useBranchEvents } from "./frame/events.ts";
import { useFrameKeys } from "./frame/keys.ts";
import { asScreen, lazy, lazyDialog } from "./frame/lazy.tsx";
import { useLeave } from "./frame/leave.tsx";
import { Own, type OwnPart } from "./frame/own.tsx";
import { Reach, Stale } from "./frame/reach.tsx";
import { useSession } from "./frame/session.ts";
import { LoginDialog, LoginScreen, UnknownScreen } from "./login.tsx";
import { ProjectsScreen } from "./projects.tsx";
import { go, type Route, useRoute } from "./route.ts";
import { OpenUpload, type Upload } from "./upload/open.tsx";

const AccountsScreen = lazy(() => import("./accounts.tsx").then((part) => part.AccountsScreen), asScreen);
const CompareScreen = lazy(() => import("./compare.tsx").then((part) => part.CompareScreen), asScreen);
const DeletedScreen = lazy(() => import("./deleted.tsx").then((part) => part.DeletedScreen), asScreen);
const TokensScreen = lazy(() => import("./tokens.tsx").then((part) => part.TokensScreen), asScreen);
const UnsavedScreen = lazy(() => import("./own/unsaved.tsx").then((part) => part.UnsavedScreen), asScreen);
const ServiceScreen = lazy(() => import("./service.tsx").then((part) => part.ServiceScreen), asScreen);

const Help = lazyDialog<{ onClose: () => void }>(
  () => import("./frame/help.tsx").then((part) => part.Help),
  () => t("keys"),
);

function title(route: Route): string {
  const { screen } = route;
  const place = t(screen === "files" || screen === "compare" ? "projects" : screen);
  const names = [route.path?.split("/").at(-1), route.branch, route.repo || place, "siteconf"];
  return names.filter(Boolean).join(" · ");
}

export function App() {
  const { session, error, asks, enter, leave: out, find, look } = useSession();
  const { leave, question } = useLeave(session, out);
  const route = useRoute();
  useEffect(() => {
    document.title = title(route);
  }, [route]);
  if (session === undefined) return error ? <UnknownScreen error={error} onAgain={find} /> : null;
  if (session === null) return <LoginScreen onDone={enter} />;
  return (
    <>
      <Inside key={session.username} session={session} route={route} onLeave={leave} onRights={look} />
      {question}
      {asks && <LoginDialog again={session.username} onDone={enter} />}
      <Notices />
    </>
  );
}

function Inside({
  session,
  route,
  onLeave,
  onRights,
}: {
  session: Schemas["Session"];
  route: Route;
  onLeave: () => void;
  onRights: () => void;
}) {
  const projects = useLoaded([], (signal) => calls.projects(signal));
  const { repo } = route;
  const branches = useLoaded([repo], (signal) => (repo ? calls.branches(repo, signal) : null));
  useBranchEvents(repo, branches);
  useEffect(() => {
    if (!repo || route.branch || !branches.value) return;
    const first = branches.value.find((branch) => branch.default) ?? branches.value[0];
    if (first) go({ ...route, branch: first.name }, { replace: true });
  }, [route, branches.value]);
  const project = projects.value?.find((one) => one.repo_id === repo) ?? null;
  const known = branches.value?.find((one) => one.name === route.branch);
  const [finding, find] = useState(false);
  const [helping, help] = useState(false);
  const [own, setOwn] = useState<OwnPart | null>(null);
  const [upload, setUpload] = useState<Upload | null>(null);
  useFrameKeys(
    () => find(true),
    () => help(true),
  );
  return (
    <>
      <a class="skip" href="#main">
        {t("skip")}
      </a>
      <TopBar
        session={session}
        route={route}
        project={project}
        projects={projects}
        branches={branches}
        onFind={() => find(true)}
        onHelp={() => help(true)}
        onOwn={setOwn}
        onLeave={onLeave}
      />
      <Reach />
      <Stale of={repo ? branches : projects} />
      {route.screen === "tokens" ? (
        <TokensScreen session={session} route={route} projects={projects} />
      ) : route.screen === "accounts" ? (
        <AccountsScreen session={session} route={route} onRights={onRights} />
      ) : route.screen === "deleted" ? (
        <DeletedScreen session={session} projects={projects} />
      ) : route.screen === "unsaved" ? (
        <UnsavedScreen session={session} />
      ) : route.screen === "service" ? (
        <ServiceScreen session={session} />
      ) : route.screen === "compare" && known ? (
        <CompareScreen key={`${repo}\n${known.name}`} route={route} branch={known} />
      ) : route.screen === "files" || route.screen === "compare" ? (
        <BranchScreen
          key={`${repo}\n${route.branch}`}
          session={session}
          route={route}
          project={project}
          branches={branches}
          uploads={{ open: upload, begin: setUpload }}
        />
      ) : (
        <ProjectsScreen session={session} projects={projects} />
      )}
      {upload && <OpenUpload upload={upload} route={route} onClose={() => setUpload(null)} />}
      {finding && (
        <Finder
          where={known ? { repo, branch: known.name, at: route.at } : null}
          groups={[
            branchesOf(repo, branches.value ?? [], route.branch),
            projectsOf(projects.value ?? [], repo),
            commandsOf(session, setOwn),
          ]}
          onFile={(path) =>
            known && go({ screen: "files", repo, branch: known.name, path, at: route.at ?? "" })
          }
          onClose={() => find(false)}
        />
      )}
      {own && <Own part={own} session={session} onClose={() => setOwn(null)} onLeave={onLeave} />}
      {helping && <Help onClose={() => help(false)} />}
    </>
  );
}

/** The other branches of a project, the default one first. */
function branchesOf(repo: string, all: Schemas["AdminBranch"][], here: string | undefined): Command[] {
  const others = all.filter(({ name }) => name !== here);
  return others
    .sort((a, b) => Number(b.default) - Number(a.default))
    .map(({ name }) => ({
      sign: "branch",
      text: name,
      run: () => go({ screen: "files", repo, branch: name }),
    }));
}

/** All projects, the one that is open last. */
function projectsOf(all: Schemas["Project"][], here: string): Command[] {
  const repos = all.map((one) => one.repo_id).sort((a, b) => Number(a === here) - Number(b === here));
  return repos.map((repo) => ({ sign: "box", text: repo, run: () => go({ screen: "files", repo }) }));
}

function commandsOf({ may }: Schemas["Session"], onOwn: (part: OwnPart) => void): Command[] {
  const places: [IconName, Key, () => void][] = [
    ["box", "projects", () => go({ screen: "projects" })],
    ["key", "tokens", () => go({ screen: "tokens" })],
    ["key", "newToken", () => go({ screen: "tokens", new: "1" })],
    ["trash", "deleted", () => go({ screen: "deleted" })],
    ["edit", "unsaved", () => go({ screen: "unsaved" })],
    ["lock", "changePassword", () => onOwn("password")],
    ["clock", "sessions", () => onOwn("sessions")],
  ];
  if (may.accounts) {
    places.push(["users", "accounts", () => go({ screen: "accounts" })]);
    places.push(["users", "newAccount", () => go({ screen: "accounts", new: "1" })]);
  }
  if (may.service) places.push(["pulse", "service", () => go({ screen: "service" })]);
  return places.map(([sign, key, run]) => ({ sign, text: t(key), run }));
}
