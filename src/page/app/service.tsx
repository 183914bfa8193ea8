import { Icon } from "../shared/icons.tsx";
import { Coming, Empty } from "../shared/parts.tsx";
import { ago, size, t, wordsOf } from "../shared/text.ts";
import type { Schemas } from "./api.ts";
import { Facts } from "./service/facts.tsx";
import { useService } from "./service/watch.ts";
import { say, type Word } from "./service/words.ts";

export function ServiceScreen({ session }: { session: Schemas["Session"] }) {
  if (session.may.service) return <Whole />;
  return (
    <main id="main" class="sheet-page" tabIndex={-1}>
      <h1 class="said">{t("service")}</h1>
      <Empty icon="lock" title={say("onlyRoot")}>
        <p>{say("onlyRootHint")}</p>
      </Empty>
    </main>
  );
}

function Whole() {
  const { last, error, again } = useService();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: nothing in it takes keys, and they are to scroll it
    <main id="main" class="sheet-page" tabIndex={0}>
      <header>
        <div>
          <h1>{t("service")}</h1>
          {last && <p class="sub">{say("answered", { n: last.took, when: ago(last.at) })}</p>}
        </div>
      </header>
      {last ? (
        <>
          {error !== null && (
            <p class="state bad" role="status">
              <Icon of="warn" />
              {say("stale", { words: wordsOf(error), when: ago(last.at) })}
            </p>
          )}
          <Hindrances service={last.service} />
          <Facts service={last.service} />
        </>
      ) : (
        <Coming of={{ error, again }} />
      )}
    </main>
  );
}

/** What the service says is in the way, and the words for it. */
const hindrances: [RegExp, Word][] = [
  [/^writes are refused: the disk is full/, "full"],
  [/^writes are refused after a failed write/, "stopped"],
  [/^writes are refused until another process/, "busy"],
  [/^writes are refused: the data folder/, "moved"],
  [/^the database does not answer/, "databaseAway"],
  [/^everything is refused until/, "wentBack"],
  [/^large files are refused: their bucket is full/, "bucketFull"],
  [/^large files are refused: their bucket refuses/, "bucketDenies"],
  [/^the bucket of large files does not answer/, "bucketAway"],
  [/^the clock of this machine/, "clock"],
  [/^the service is stopping/, "stopping"],
  [/^the disk of the store has/, "low"],
];

function Hindrances({ service }: { service: Schemas["Service"] }) {
  if (service.hindrances.length === 0) {
    return (
      <p class="state well">
        <Icon of="check" />
        {say("well")}
      </p>
    );
  }
  const free = size(service.free_bytes ?? 0);
  return (
    <div role="status">
      <ul class="state bad">
        {service.hindrances.map((told) => {
          const word = hindrances.find(([pattern]) => pattern.test(told))?.[1];
          return (
            <li key={told}>
              <Icon of="warn" />
              {word ? say(word, { free }) : told}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
