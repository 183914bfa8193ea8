import { Dialog } from "../../shared/dialog.tsx";
import { useLoaded } from "../../shared/load.ts";
import { Coming } from "../../shared/parts.tsx";
import { t } from "../../shared/text.ts";
import { projectPath, read, type Schemas } from "../api.ts";
import { address } from "../route.ts";
import { say, type Word } from "./words.ts";

type Rule = Schemas["Rule"];

const checks: Record<Rule["check"], Word> = {
  json: "mustBeJson",
  xml: "mustBeXml",
  yaml: "mustBeYaml",
  schema: "mustKeepSchema",
};

export interface RulesProps {
  project: Schemas["Project"];
  /** The branch that is open. */
  branch: string | undefined;
  onClose: () => void;
}

/** The rules for contents, by the numbers that a refused save names. */
export function Rules({ project, branch, onClose }: RulesProps) {
  const { repo_id: repo, permissions } = project;
  const asked = useLoaded([repo], (signal) =>
    read<Schemas["Rules"]>(`${projectPath(repo)}/validation`, { signal }),
  );
  const rules = asked.value?.rules;
  return (
    <Dialog title={t("rules")} lead={say("rulesLead", { name: repo })} onClose={onClose}>
      {!rules ? (
        <Coming of={asked} />
      ) : rules.length === 0 ? (
        <p class="hint">{say("noRules")}</p>
      ) : (
        <ol class="given">
          {rules.map((rule, at) => (
            <One key={at} number={at + 1} rule={rule} repo={repo} branch={branch} />
          ))}
        </ol>
      )}
      {permissions.manage && <p class="hint">{say("setRules")}</p>}
    </Dialog>
  );
}

interface OneProps extends Pick<RulesProps, "branch"> {
  number: number;
  rule: Rule;
  repo: string;
}

function One({ number, rule, repo, branch }: OneProps) {
  const { check, patterns, schema } = rule;
  return (
    <li>
      <b>{number}</b>
      <div>
        <span class="scopes" translate={false}>
          {patterns.map((pattern) => (
            <code key={pattern} class="ref">
              {pattern}
            </code>
          ))}
        </span>
        <p class="sub">
          {say(checks[check])}{" "}
          {schema &&
            (branch ? (
              <a
                class="link"
                href={address({ screen: "files", repo, branch, path: schema })}
                translate={false}
              >
                {schema}
              </a>
            ) : (
              <code class="ref" translate={false}>
                {schema}
              </code>
            ))}
        </p>
      </div>
    </li>
  );
}
