// The page in WebKit, the engine of Safari: Debian's WebKitWebDriver drives its small browser on a screen of its own.
// Playwright drives a WebKit of its own alone, so this speaks WebDriver itself, and goes the main way only.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { same, soon } from "./browser.mjs";
import { Account, newProject } from "./seed.mjs";
import { open, text } from "./journeys/editor/steps.mjs";

const { SITECONF_BASE: base, SITECONF_PASSWORD: password } = process.env;
const [CONTROL, END, ENTER] = ["\uE009", "\uE010", "\uE007"];
/** What WebDriver calls an element. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

const screen = spawn("Xvfb", ["-displayfd", "3", "-screen", "0", "1280x900x24"], { stdio: ["ignore", "ignore", "ignore", "pipe"] });
process.on("exit", () => screen.kill());
const [number] = await once(screen.stdio[3], "data");

/** A port that nobody listened on a moment ago, below those that Linux gives to who asks for any meanwhile. */
async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = new Promise((told) => server.once("listening", () => told(true)).once("error", () => told(false)));
    server.listen(port, "127.0.0.1");
    if (!(await isFree)) continue;
    await new Promise((closed) => server.close(closed));
    return port;
  }
}

const port = await freePort();
const driver = spawn("WebKitWebDriver", [`--port=${port}`], { stdio: "ignore", env: { ...process.env, GDK_BACKEND: "x11", DISPLAY: `:${String(number).trim()}` } });

const end = () => [driver, screen].forEach((program) => program.kill());
process.on("exit", end);

async function send(method, path, body) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
  const { value } = await answer.json();
  if (!answer.ok) throw new Error(`${path}: ${value.message || value.error}`);
  return value;
}

await soon(() => send("GET", "/status").then(() => true, () => false), true);
const { sessionId } = await send("POST", "/session", { capabilities: {} });
const session = `/session/${sessionId}`;

/** What a function gives in the page. */
const evaluate = (run, ...args) => send("POST", `${session}/execute/sync`, { script: `return (${run}).apply(null, arguments)`, args });
const go = (path) => send("POST", `${session}/url`, { url: base + path });
/** Waits until an element is there of which one sees something and that can be met with a click, and gives it. */
async function seen(selector, words = "") {
  const find = (selector, words) => {
    const roots = [document, ...[...document.querySelectorAll("*")].flatMap((node) => node.shadowRoot ?? [])];
    const node = roots.flatMap((root) => [...root.querySelectorAll(selector)]).find((one) => one.textContent.includes(words));
    if (!node) return null;
    const { left, top, width, height } = node.getBoundingClientRect();
    const met = node.getRootNode().elementFromPoint(left + width / 2, top + height / 2);
    return met && (node.contains(met) || met.contains(node)) ? node : null;
  };
  let node = null;
  await soon(async () => {
    node = await evaluate(find, selector, words);
    return node ? "seen" : `not seen: ${selector} ${words}`;
  }, "seen");
  return node;
}
const click = async (...what) => send("POST", `${session}/element/${(await seen(...what))[ELEMENT]}/click`, {});
const fill = async (selector, text) => send("POST", `${session}/element/${(await seen(selector))[ELEMENT]}/value`, { text });
/** Presses keys one after another; those of a list together. */
const press = (...keys) => send("POST", `${session}/actions`, {
  actions: [{ type: "key", id: "keys", actions: keys.flatMap((key) => [
    ...[key].flat().map((value) => ({ type: "keyDown", value })),
    ...[key].flat().reverse().map((value) => ({ type: "keyUp", value })),
  ]) }],
});

try {
  const admin = await Account.login(base, "admin", password);
  const repo = await newProject(admin, "webkit/way", { "a.txt": "one\n" });
  await go(open(repo, "a.txt"));
  await fill("[name=username]", "admin");
  await fill("[name=password]", `${password}${ENTER}`);
  await click(".cm-content");
  await press([CONTROL, END], ..."ещё");
  await seen(".file[data-changed=true]");
  await send("POST", `${session}/refresh`, {});
  await seen(".strip", "They are not saved yet.");
  await click(".cm-content");
  await press([CONTROL, "s"]);
  await seen(".file[data-changed=false][data-saving=false]");
  same(await text({ admin }, repo, "a.txt"), "one\nещё");
  await click(".moment a", "v0002");
  await click("main button", "Go back to before this");
  await click("dialog button", "Roll back 1 file");
  await seen(".toast", "The branch is back at v0002");
  same(await text({ admin }, repo, "a.txt"), "one\n");
  await go("/site-builder/tokens?new=1");
  await fill("dialog [name=name]", "Till 11");
  await click("dialog .picks input");
  await click("dialog button", "Create");
  await seen("dialog .secret code");
  await click("dialog button", "Done, I have kept it");
  await seen("tbody tr", "Till 11");
  console.log("all passed");
} finally {
  await send("DELETE", session).catch(() => null);
  end();
}
