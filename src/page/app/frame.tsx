// The frame: who is logged in, where we are, and the bar above every screen.
import { useCallback, useEffect, useState } from "preact/hooks";
import { useLoaded } from "../shared/load.ts";
import { Notices } from "../shared/notice.tsx";
import { t } from "../shared/text.ts";
import { onSessionEnd, type Schemas } from "./api.ts";
import { TopBar } from "./bar.tsx";
import { BranchScreen } from "./branch.tsx";
import * as calls from "./calls.ts";
import { LoginDialog, LoginScreen } from "./login.tsx";
import { ProjectsScreen } from "./projects.tsx";
import { go, type Route, useRoute } from "./route.ts";

/** The session; undefined until the service has said whether there is one. */
function useSession() {
  const [session, setSession] = useState<Schemas["Session"] | null | undefined>(undefined);
  const [again, setAgain] = useState<((session: Schemas["Session"]) => void) | null>(null);
  useEffect(() => {
    calls.session().then(setSession, () => setSession(null));
  }, []);
  useEffect(() => {
    const login = () =>
      new Promise<void>((done) => {
        setAgain(() => (fresh: Schemas["Session"]) => {
          setSession(fresh);
          setAgain(null);
          done();
        });
      });
    onSessionEnd(login);
  }, []);
  const leave = useCallback(async () => {
    await calls.logout().catch(() => null);
    setSession(null);
  }, []);
  return { session, setSession, again, leave };
}

function title(route: Route): string {
  const names = [route.path?.split("/").at(-1), route.branch, route.repo || t("projects"), "siteconf"];
  return names.filter(Boolean).join(" · ");
}

export function App() {
  const { session, setSession, again, leave } = useSession();
  const route = useRoute();
  useEffect(() => {
    document.title = title(route);
  }, [route]);
  if (session === undefined) return null;
  if (session === null) return <LoginScreen onDone={setSession} />;
  return (
    <>
      <Inside key={session.username} session={session} route={route} onLeave={leave} />
      {again && <LoginDialog again={session.username} onDone={again} />}
      <Notices />
    </>
  );
}

function Inside({
  session,
  route,
  onLeave,
}: {
  session: Schemas["Session"];
  route: Route;
  onLeave: () => void;
}) {
  const projects = useLoaded([], (signal) => calls.projects(signal));
  const { repo } = route;
  const branches = useLoaded([repo], (signal) => (repo ? calls.branches(repo, signal) : null));
  useEffect(() => {
    if (route.screen !== "files" || route.branch || !branches.value) return;
    const first = branches.value.find((branch) => branch.default) ?? branches.value[0];
    if (first) go({ ...route, branch: first.name }, { replace: true });
  }, [route, branches.value]);
  const project = projects.value?.find((one) => one.repo_id === repo) ?? null;
  return (
    <>
      <a class="skip" href="#main">
        {t("skip")}
      </a>
      <TopBar session={session} route={route} projects={projects} branches={branches} onLeave={onLeave} />
      {route.screen === "files" ? (
        <BranchScreen
          key={`${repo}\n${route.branch}`}
          session={session}
          route={route}
          project={project}
          branches={branches}
        />
      ) : (
        <ProjectsScreen session={session} projects={projects} />
      )}
    </>
  );
}
