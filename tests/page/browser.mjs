// A browser whose every complaint is noted, and what the journeys do with it.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.SITECONF_PAGE_PACKAGES, "here.js"));
const { chromium, firefox } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

const { SITECONF_CHROMIUM, SITECONF_FIREFOX } = process.env;

/** Firefox where there is one, which playwright drives by WebDriver BiDi as it comes; else Chromium. */
export const launch = () =>
  SITECONF_FIREFOX
    ? firefox.launch({ channel: "moz-firefox", executablePath: SITECONF_FIREFOX })
    : chromium.launch({ executablePath: SITECONF_CHROMIUM ?? "/usr/bin/chromium-headless-shell", args: ["--no-sandbox", "--disable-gpu"] });

/** What the page gives up itself fails so. */
const GIVEN_UP = ["net::ERR_ABORTED", "NS_BINDING_ABORTED"];
/** Firefox tells of what it did not do among the errors of the page: of those scripts that come to nothing have a stack. */
const isOfPage = (error) => !SITECONF_FIREFOX || !error.stack?.endsWith("\nundefined");

/** Fails where the two are not the same as JSON. */
export function same(found, expected, what = "") {
  const [a, b] = [found, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what}\n  found    ${a}\n  expected ${b}`);
}

/** How long anything on a screen may take, in milliseconds, on a machine that has other work. */
const PATIENCE = 20_000;

/** What is asked for to see whether requests pass here; the service gives its page for it. */
const PROBE = "/site-builder/?does-it-pass-here";

/** Waits until `read` finds what is expected. */
export async function soon(read, expected) {
  const end = performance.now() + PATIENCE;
  for (;;) {
    const found = await read();
    if (JSON.stringify(found) === JSON.stringify(expected)) return;
    if (performance.now() > end) return same(found, expected, "at last");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Counts the clicks of a person; gives what tells how many there were. */
export async function counted(page) {
  await page.evaluate(() => {
    globalThis.clicks = 0;
    addEventListener("pointerdown", () => { globalThis.clicks += 1; }, { capture: true });
  });
  return () => page.evaluate(() => globalThis.clicks);
}

/** Notes whether these words come to the screen from now on, be it for a moment; gives what tells it. */
export async function watch(page, words) {
  await page.evaluate((words) => {
    globalThis.appeared = false;
    const look = () => { globalThis.appeared ||= document.body.innerText.includes(words); };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
  }, words);
  return () => page.evaluate(() => globalThis.appeared);
}

/** One person with a window of their own. */
export class Person {
  /** What went wrong that nobody expected: violations, console errors, uncaught errors, failed requests. */
  complaints = [];
  /** A complaint that matches one of these was meant. */
  expected = [];

  constructor(base, context, page) {
    this.base = base;
    this.context = context;
    this.page = page;
  }

  static async open(browser, base, options = {}) {
    const { width = 1280, height = 800, dark = false, locale = "en-GB", touch = false } = options;
    const context = await browser.newContext({
      baseURL: base,
      viewport: { width, height },
      colorScheme: dark ? "dark" : "light",
      locale,
      timezoneId: "Europe/Berlin",
      hasTouch: touch,
      bypassCSP: false,
    });
    // Firefox asks nobody whether a page may copy.
    if (!SITECONF_FIREFOX) await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await context.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => {
        // What the tests evaluate is of the page for Firefox.
        if (event.sourceFile.endsWith("eval")) return;
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
      });
    });
    const page = await context.newPage();
    const person = new Person(base, context, page);
    const note = (text) => {
      if (!person.expected.some((pattern) => pattern.test(text))) person.complaints.push(text);
    };
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") note(`${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => {
      if (isOfPage(error)) note(`uncaught: ${error.stack}`);
    });
    page.on("requestfailed", (request) => {
      // What the page gave up itself.
      if (!GIVEN_UP.includes(request.failure()?.errorText)) note(`failed: ${request.method()} ${request.url()}`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) note(`${response.status()}: ${response.request().method()} ${response.url()}`);
    });
    // From now on, not when a journey begins to wait for one: the first key may come before that holds.
    page.on("filechooser", () => undefined);
    page.setDefaultTimeout(PATIENCE);
    return person;
  }

  /** Opens the page and logs in. */
  async login(name, password, at = "/site-builder/") {
    this.expected.push(/401.*\/user\/session/, /status of 401 .*\/user\/session/);
    await this.page.goto(at);
    await this.page.getByLabel("User name").or(this.page.getByLabel("Имя пользователя")).fill(name);
    await this.page.locator("input[type=password]").fill(password);
    await this.page.locator("form.login button[type=submit]").click();
    await this.page.locator("header.top").waitFor();
    return this;
  }

  async go(path) {
    await this.page.goto(path);
    await this.page.locator("header.top").waitFor();
  }

  /**
   * Like `page.route`, and it holds from the next request on: Chromium says that requests pass here before those of
   * an open page do, and on a busy machine the first one still reaches the service.
   */
  async route(kind, answer, options) {
    const { page } = this;
    await page.route(kind, answer, options);
    if (page.url() === "about:blank") return;
    await page.route((url) => url.pathname + url.search === PROBE, (route) => route.fulfill({ status: 204 }));
    // Without the network it fails as long as it does not pass here.
    const status = () => page.evaluate((probe) => fetch(probe).then((response) => response.status, () => 0), PROBE);
    await soon(status, 204);
  }

  /** Waits until nothing is under way on the screen. */
  async settled() {
    await this.page.waitForFunction(() => !document.querySelector(".skeleton, .busy"));
    await this.unmoved();
  }

  /** Waits until what fades in or moves has come to its end. */
  async unmoved() {
    const moves = () => document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime !== Infinity);
    await this.page.evaluate(`Promise.allSettled((${moves})().map((each) => each.finished)).then(() => {})`);
  }

  /** What axe finds on the screen, in words; rules of WCAG 2.2 A and AA, and best practice. */
  async accessibility() {
    // It is evaluated, not inserted: the page's policy stays as it is.
    const source = require("node:fs").readFileSync(axe, "utf8");
    await this.unmoved();
    await this.page.evaluate(source);
    const { violations } = await this.page.evaluate(async () => {
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
      return await globalThis.axe.run(document, { runOnly: { type: "tag", values: tags } });
    });
    return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary.split("\n").slice(0, 3).join(" ")}`));
  }

  async shot(name) {
    const folder = process.env.SITECONF_PAGE_SHOTS;
    if (folder) await this.page.screenshot({ path: join(folder, `${name}.png`) });
  }

  async close() {
    // What a route passes on may still be under way: that it comes to nothing would end the whole run.
    for (const page of this.context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" }).catch(() => null);
    await this.context.close();
  }
}
