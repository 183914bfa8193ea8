// The forms of a role: each has a sentence that says what it opens.
import { Fragment } from "preact";
import { useId, useState } from "preact/hooks";
import { say, type Word } from "./words.ts";

const USER = "ROLE_SITEBUILDER_USER";
const EDITOR = "ROLE_SITEBUILDER_EDITOR__";
export const ROOT = `${EDITOR}ROOT`;

/** A role without what all of them begin with. */
export const shortOf = (role: string): string => role.replace(/^ROLE_SITEBUILDER_/, "");

interface Form {
  /** The role, or what stands before the name of a group. */
  role: string;
  opens: Word;
}
const group: Form = { role: `${USER}__`, opens: "groupOpens" };
const forms: Form[] = [
  { role: USER, opens: "userOpens" },
  group,
  { role: `${EDITOR}PUBLIC`, opens: "publicOpens" },
  { role: `${EDITOR}READONLY`, opens: "readonlyOpens" },
  { role: ROOT, opens: "rootOpens" },
];

/** What a role opens, in a sentence. */
export function opens(role: string): string {
  const form = forms.find((one) => one.role === role) ?? group;
  return say(form.opens);
}

/** A role, as the table shows it. */
export function Chip({ role }: { role: string }) {
  return (
    <span class={role === ROOT ? "ref all" : "ref"} translate={false} title={`${role}\n${opens(role)}`}>
      {shortOf(role)
        .split(/(?<=__|\/)/)
        .map((part, at) => (
          <Fragment key={part}>
            {at > 0 && <wbr />}
            {part}
          </Fragment>
        ))}
    </span>
  );
}

/** The role that the fields of `RoleFields` say; empty for none. */
export function roleOf(fields: FormData): string {
  const role = String(fields.get("role"));
  return role === group.role ? role + String(fields.get("group")).trim() : role;
}

interface FieldsProps {
  label: string;
  /** Offers to give none, too. */
  optional?: boolean;
}

/** Chooses a role: its form, and for a group its name. */
export function RoleFields({ label, optional = false }: FieldsProps) {
  const [about, example] = [useId(), useId()];
  const [chosen, choose] = useState(optional ? "" : group.role);
  return (
    <>
      <div class="hinted">
        <label>
          {label}
          <select
            name="role"
            aria-describedby={about}
            value={chosen}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            {optional && <option value="">{say("noRole")}</option>}
            {forms.map(({ role }) => (
              <option key={role} value={role}>
                {role === group.role ? `${shortOf(role)}…` : shortOf(role)}
              </option>
            ))}
          </select>
        </label>
        <p class="sub" id={about}>
          {chosen ? opens(chosen) : say("noRoleOpens")}
        </p>
      </div>
      {chosen === group.role && (
        <div class="hinted">
          <label>
            {say("group")}
            <input
              name="group"
              aria-describedby={example}
              required
              maxLength={200}
              placeholder="acme"
              autocomplete="off"
            />
          </label>
          <p class="sub" id={example}>
            {say("groupHint")}
          </p>
        </div>
      )}
    </>
  );
}
