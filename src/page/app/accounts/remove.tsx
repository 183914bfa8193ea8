import { useLoaded } from "../../shared/load.ts";
import { Coming } from "../../shared/parts.tsx";
import type { Schemas } from "../api.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { address } from "../route.ts";
import * as calls from "./calls.ts";
import { say } from "./words.ts";

const PROJECTS_SHOWN = 8;

interface RemoveProps {
  name: string;
  onClose: () => void;
  onDone: () => void;
}

/** Asks before an account is removed: tells what goes with it, or what is in the way. */
export function RemoveAccount({ name, onClose, onDone }: RemoveProps) {
  const whole = useLoaded([name], (signal) => calls.show(name, signal));
  const account = whole.value;
  return (
    <FormDialog
      danger
      title={say("removeTitle", { name })}
      lead={say("removeLead", { name })}
      action={say("removeDo")}
      ready={account !== null && account.projects.length === 0}
      onClose={onClose}
      onSend={async () => {
        await calls.remove(name);
        onDone();
      }}
    >
      {account ? <Consequences account={account} /> : <Coming of={whole} />}
    </FormDialog>
  );
}

function Consequences({ account }: { account: Schemas["WholeAccount"] }) {
  const { projects, tokens, sessions } = account;
  if (projects.length > 0) {
    const more = projects.length - PROJECTS_SHOWN;
    return (
      <div class="in-the-way">
        <p>{say("inTheWay", { n: projects.length })}</p>
        <ul>
          {projects.slice(0, PROJECTS_SHOWN).map((repo) => (
            <li key={repo}>
              <a class="ref" href={address({ screen: "files", repo })}>
                {repo}
              </a>
            </li>
          ))}
          {more > 0 && <li class="dim">{say("moreProjects", { n: more })}</li>}
        </ul>
      </div>
    );
  }
  if (tokens + sessions === 0) return <p>{say("goesNothing")}</p>;
  return (
    <ul class="points">
      {tokens > 0 && <li>{say("goesTokens", { n: tokens })}</li>}
      {sessions > 0 && <li>{say("goesSessions", { n: sessions })}</li>}
    </ul>
  );
}
