// How the service is: what it tells of itself, how often it is asked, and what is in the way.
import { same, soon } from "../browser.mjs";
import { PASSWORD } from "../seed.mjs";

const api = "/site-builder/api/service";
const fact = (page, name) => page.locator(".group dl > div").filter({ has: page.locator("dt").getByText(name, { exact: true }) }).locator("dd");

/** The screen, where the service answers with this beside what it is. */
async function told(world, changes) {
  const person = await world.somebody();
  const whole = await world.admin.json("GET", api);
  await person.route("**/api/service", (route) => route.fulfill({ json: { ...whole, ...changes } }));
  await person.login("olga", PASSWORD, "/site-builder/service");
  await person.page.locator(".group").first().waitFor();
  return { person, page: person.page };
}

export default [
  ["the service tells how it is", async (world) => {
    const { page } = await world.at("/site-builder/");
    await page.getByRole("link", { name: "Service" }).click();
    await page.getByText("The service takes requests and changes.").waitFor();
    await page.getByText(/^It answered in \d+ ms, just now\.$/).waitFor();
    const { version } = await world.admin.json("GET", api);
    same(await fact(page, "Version").innerText(), version);
    same(await fact(page, "Accepts changes").innerText(), "yes");
    same(await fact(page, "Last backup").innerText(), "none yet");
    same(/^[\d.]+ [KMGT]B$/.test(await fact(page, "Free on the disk").innerText()), true);
    same(/^[\d.]+ ([KMGT]?B)$/.test(await fact(page, "Database").innerText()), true);
  }],

  ["what is counted is told by kind, and a figure that is not there is not made up", async (world) => {
    const counted = await told(world, {
      uptime_s: 3 * 86_400 + 4 * 3600 + 59,
      objects: [{ kind: "blob", objects: 1200, bytes: 5_000_000 }, { kind: "node", objects: 30, bytes: 20_000 }],
      last_backup: new Date(Date.now() - 7_200_000).toISOString(),
      last_collection: { at: new Date(Date.now() - 86_400_000).toISOString(), live_bytes: 1_048_576, old_bytes: 2048 },
      tokens_expiring: 2,
    });
    same(await fact(counted.page, "For").innerText(), "3 days 4 hours");
    same(await counted.page.locator(".plain tbody tr").allInnerTexts(), ["Contents of files\t1,200\t4.8 MB", "Folders\t30\t20 KB"]);
    same(await fact(counted.page, "Last backup").innerText(), "2 hr. ago");
    same(await fact(counted.page, "Last collection").innerText(), "yesterday");
    same(await fact(counted.page, "Needed by the history alone").innerText(), "2 KB");
    same(await fact(counted.page, "Expire within 30 days").innerText(), "2");
    const { page } = await told(world, {
      free_bytes: null,
      sessions: null,
      accounts: null,
      objects: [],
      bytes: { database: 100, log: 20, files: null },
    });
    same(await fact(page, "Free on the disk").innerText(), "not known");
    same(await fact(page, "Sessions").innerText(), "not counted yet");
    same(await fact(page, "Accounts").innerText(), "not counted yet");
    same(await fact(page, "Large files").innerText(), "not counted yet");
    same(await fact(page, "The store takes").innerText(), "120 B");
    await page.locator(".group.whole").getByText("not counted yet").waitFor();
  }],

  ["each thing in the way has words of its own", async (world) => {
    const { person, page } = await told(world, {
      hindrances: [
        "writes are refused: the disk is full",
        "writes are refused after a failed write, until the service is restarted",
        "writes are refused until another process that uses the store has ended, such as a suspended command",
        "writes are refused: the data folder is not at its place any more; put it back, or restart the service with the new one",
        "the database does not answer, or cannot be used; the log says why",
        "everything is refused until the service is restarted: the database no longer has changes that it had; see that it is the right one",
        "large files are refused: their bucket is full, or its quota is used up",
        "large files are refused: their bucket refuses writes to the keys of the service, which need s3:PutObject there",
        "the bucket of large files does not answer, or cannot be used; the log says why",
        "the clock of this machine is 40 s behind the database's; set both by NTP",
        "the service is stopping",
        "the disk of the store has 12 MiB left, less than disk_low_bytes",
        "something that this page does not know",
      ],
      writes_refused: true,
      disk_low: true,
      free_bytes: 12_582_912,
    });
    same(await page.locator(".state li").allInnerTexts(), [
      "Changes are refused: the disk is full. Make room on it.",
      "Changes are refused since a write failed. Look into the log, then restart the service.",
      "Changes are refused until another process that uses the store has ended, such as a suspended command.",
      "Changes are refused: the data folder is not at its place any more. Put it back, or restart the service with the new one.",
      "The database does not answer, or cannot be used. The log says why.",
      "Everything is refused: the database no longer has changes that it had. See that it is the right one, then restart the service.",
      "Large files are refused: their bucket is full, or its quota is used up.",
      "Large files are refused: the service may not write to their bucket. Its keys need s3:PutObject there.",
      "The bucket of large files does not answer, or cannot be used. The log says why.",
      "The clocks of the service's machine and of the database differ. Set both by NTP.",
      "The service is stopping.",
      "The disk of the store is nearly full: 12 MB are left.",
      "something that this page does not know",
    ]);
    same(await fact(page, "Accepts changes").innerText(), "no");
    same(await person.accessibility(), []);
    await person.shot("service in trouble");
  }],

  ["it is asked again while somebody looks, and only then; a figure that is old says so", async (world) => {
    const person = await world.somebody();
    const { page } = person;
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().endsWith(api)) asked += 1;
    });
    // Its clock goes on by itself, too.
    const again = async (act) => {
      const before = asked;
      await act();
      await soon(() => asked > before, true);
    };
    await page.clock.install();
    await again(() => person.login("olga", PASSWORD, "/site-builder/service"));
    await page.locator(".state.well").waitFor();
    await again(() => page.clock.fastForward(11_000));
    const hide = (hidden) => page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await page.getByText(/^It answered in \d+ ms, just now\.$/).waitFor();
    await hide(true);
    const seen = asked;
    await page.clock.fastForward(60_000);
    await page.clock.fastForward(60_000);
    same(asked, seen);
    await again(() => hide(false));
    person.expected.push(/ERR_FAILED/, /failed:/);
    await person.route("**/api/service", (route) => route.abort("failed"));
    await page.clock.fastForward(11_000);
    await page.getByText("It does not answer now: The service does not answer. What stands here is of").waitFor();
    await page.unrouteAll();
    await page.clock.fastForward(11_000);
    await page.locator(".state.bad").waitFor({ state: "detached" });
  }],

  ["a first answer that does not come has words and a second try", async (world) => {
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/500/);
    await person.route("**/api/service", (route) => route.fulfill({ status: 500, json: { message: "something went wrong" } }));
    await person.login("olga", PASSWORD, "/site-builder/service");
    await page.getByText("something went wrong").waitFor();
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".state.well").waitFor();
  }],
];
