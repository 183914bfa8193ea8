// What the service tells of itself, in groups.
import type { ComponentChildren } from "preact";
import { Ago } from "../../shared/parts.tsx";
import { locale, number, size, t, when } from "../../shared/text.ts";
import type { Schemas } from "../api.ts";
import { EXPIRING_DAYS } from "../tokens/expiring.ts";
import { say, type Word } from "./words.ts";

type Service = Schemas["Service"];

const unit = (name: string, value: number): string =>
  new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "long" }).format(value);
const spans: [string, number][] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

/** How long, in its two largest units: `3 days 4 hours`. */
export function span(seconds: number): string {
  const at = spans.findIndex(([, length]) => seconds >= length);
  const first = at < 0 ? spans.length - 1 : at;
  let left = seconds;
  const said = spans.slice(first, first + 2).map(([name, length]) => {
    const count = Math.floor(left / length);
    left -= count * length;
    return count > 0 || name === "second" ? unit(name, count) : "";
  });
  // Seconds beside minutes would change with every answer.
  return (said[0]! + (spans[first + 1]?.[0] === "second" ? "" : ` ${said[1] ?? ""}`)).trim();
}

type Row = [Word, ComponentChildren];
/** What the names of rows have in them. */
const named = { n: EXPIRING_DAYS };

function Group({ title, lead, rows }: { title: Word; lead?: Word; rows: Row[] }) {
  return (
    <section class="group">
      <h2>{say(title)}</h2>
      {lead && <p class="sub">{say(lead)}</p>}
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{say(name, named)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const dim = (word: Word) => <span class="dim">{say(word)}</span>;
const counted = (value: number | null) => (value === null ? dim("uncounted") : number(value));

function Free({ service }: { service: Service }) {
  if (service.free_bytes === null) return dim("unknown");
  const free = size(service.free_bytes);
  return service.disk_low ? <span class="pill warn">{free}</span> : <span>{free}</span>;
}

export function Facts({ service }: { service: Service }) {
  const { bytes, last_backup: backup, last_collection: collection } = service;
  return (
    <div class="groups">
      <Group
        title="running"
        rows={[
          ["version", service.version],
          ["started", when(service.started_at)],
          ["uptime", span(service.uptime_s)],
          ["connections", number(service.connections)],
          ["format", <code key="format">{service.format}</code>],
          [
            "writes",
            service.writes_refused ? (
              <span class="pill del">{say("refused")}</span>
            ) : (
              <span class="pill add">{say("taken")}</span>
            ),
          ],
        ]}
      />
      <Group
        title="room"
        rows={[
          ["free", <Free key="free" service={service} />],
          ["total", size((bytes.database ?? 0) + bytes.log + (bytes.files ?? 0))],
          ["database", bytes.database === null ? dim("uncounted") : size(bytes.database)],
          ["log", size(bytes.log)],
          ["largeFiles", bytes.files === null ? dim("uncounted") : size(bytes.files)],
        ]}
      />
      <Group
        title="use"
        lead="minutely"
        rows={[
          ["accounts", counted(service.accounts)],
          ["sessions", counted(service.sessions)],
          ["projects", counted(service.projects)],
          ["tokens", counted(service.tokens)],
          [
            "expiring",
            service.tokens_expiring ? (
              <span class="pill warn">{number(service.tokens_expiring)}</span>
            ) : (
              counted(service.tokens_expiring)
            ),
          ],
        ]}
      />
      <Group
        title="care"
        rows={[
          ["backup", backup ? <Ago at={backup} /> : <span class="pill warn">{say("noBackup")}</span>],
          ...(collection
            ? ([
                ["collection", <Ago key="at" at={collection.at} />],
                ["live", size(collection.live_bytes)],
                ["old", size(collection.old_bytes)],
              ] as Row[])
            : ([["collection", dim("noCollection")]] as Row[])),
        ]}
      />
      <Objects objects={service.objects} />
    </div>
  );
}

const kinds: Record<string, Word> = { blob: "blob", node: "node", manifest: "manifest" };

function Objects({ objects }: { objects: Service["objects"] }) {
  return (
    <section class="group whole">
      <h2>{say("kept")}</h2>
      <p class="sub">{say("minutely")}</p>
      {objects.length === 0 ? (
        <p class="hint">{say("uncounted")}</p>
      ) : (
        <table class="plain">
          <thead>
            <tr>
              <th>{say("kind")}</th>
              <th class="end">{say("count")}</th>
              <th class="end">{t("size")}</th>
            </tr>
          </thead>
          <tbody>
            {objects.map(({ kind, objects: count, bytes }) => (
              <tr key={kind}>
                <td>{kinds[kind] ? say(kinds[kind]) : kind}</td>
                <td class="end">{number(count)}</td>
                <td class="end">{size(bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
