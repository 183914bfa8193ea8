// Runs the journeys of `journeys/` one after another, each of them in a window of its own. A journey is a name and
// what a person does; it fails by throwing, and when the browser complained of anything. With SITECONF_PAGE_PART, as
// in 2/3, it runs every third file from the second on.
import { readdirSync } from "node:fs";
import { launch, Person } from "./browser.mjs";
import { Account, PASSWORD, seed } from "./seed.mjs";

const { SITECONF_BASE: base, SITECONF_PASSWORD: password, SITECONF_PAGE_ONLY: only = "", SITECONF_PAGE_PART: part = "1/1" } = process.env;
const [first, step] = part.split("/").map(Number);
const admin = process.env.SITECONF_SEEDED ? await Account.login(base, "admin", password) : await seed(base, password);
const browser = await launch();
const opened = [];

/** What every journey gets. */
const world = {
  base,
  browser,
  /** The Admin API as `admin`. */
  admin,
  /** A window of somebody who is not logged in. */
  async somebody(options) {
    const person = await Person.open(browser, base, options);
    opened.push(person);
    return person;
  },
  /** A window of `olga`, who may do everything, at this address. */
  async at(address, options) {
    const person = await world.somebody(options);
    await person.login("olga", PASSWORD, address);
    return person;
  },
};

const files = readdirSync(new URL("journeys/", import.meta.url)).filter((name) => name.endsWith(".mjs")).sort().filter((_, at) => at % step === first - 1);
const failed = [];
let count = 0;
for (const file of files) {
  const { default: journeys } = await import(`./journeys/${file}`);
  for (const [name, journey] of journeys) {
    if (!`${file}: ${name}`.includes(only)) continue;
    count += 1;
    const began = performance.now();
    let problem = null;
    try {
      await journey(world);
    } catch (error) {
      problem = String(error?.stack ?? error);
      await opened.at(-1)?.shot(`failed ${name}`);
    }
    const complaints = opened.flatMap((person) => person.complaints);
    for (const person of opened.splice(0)) await person.close();
    if (complaints.length > 0) problem = [problem, ...complaints.map((one) => `the browser: ${one}`)].filter(Boolean).join("\n");
    if (problem) failed.push([name, problem.replaceAll(/^/gm, "    ")]);
    console.log(`${problem ? "FAILED" : "ok"} ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  }
}
await browser.close();
if (count === 0 && part === "1/1") failed.push([only, "    no journey is named so"]);
// At the end, where a log that is cut short still has it.
for (const [name, problem] of failed) console.log(`FAILED ${name}\n${problem}`);
console.log(failed.length ? `${failed.length} failed` : "all passed");
process.exitCode = failed.length ? 1 : 0;
