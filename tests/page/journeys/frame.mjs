// Logging in, finding, and what happens to the page from outside.
import { Person, same, soon, watch } from "../browser.mjs";
import { file, newProject, PASSWORD, project, REPO } from "../seed.mjs";

const heading = (page, name) => page.getByRole("heading", { name, level: 1 });

/** As when somebody comes back to the window. */
const seenAgain = (page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

export default [
  ["a wrong password is told, the right one opens what the link named", async (world) => {
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/401/);
    await page.goto(`/site-builder/files/${REPO}?branch=main`);
    await page.getByLabel("User name").fill("anna");
    await page.getByLabel("Password").fill("not the password");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("The name or the password is wrong.").waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Log in" }).click();
    await heading(page, REPO).waitFor();
  }],

  // By a limit of its own, and because others have all places.
  ...[[429, "too many wrong logins"], [503, "too many logins at once"]].map(([status, message]) => [`who is kept waiting by ${status} is told for how long`, async (world) => {
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/401/, new RegExp(status));
    // What it counts down is longer than any machine takes to look at it.
    await page.clock.install();
    await person.route("**/user/login", (route) =>
      route.fulfill({ status, headers: { "Retry-After": "60" }, json: { message } }));
    await page.goto("/site-builder/");
    await page.getByLabel("User name").fill("anna");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText(/Try again in \d+ seconds/).waitFor();
    same(await page.getByRole("button", { name: "Log in" }).isDisabled(), true);
    await page.unrouteAll();
    await page.clock.runFor(61_000);
    await page.locator("button[type=submit]:enabled").click();
    await heading(page, "Projects").waitFor();
  }]),

  ["a login that is refused for the address of the page says what to set", async (world) => {
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/401/, /403/);
    // As behind a proxy that sends a name of its own, in a browser that trusts the connection too little to say more.
    await person.route("**/user/login", async (route) => {
      const { "sec-fetch-site": _, ...headers } = await route.request().allHeaders();
      await route.fulfill({ response: await route.fetch({ headers: { ...headers, origin: "http://conf.example" } }) });
    });
    await page.goto("/site-builder/");
    await page.getByLabel("User name").fill("anna");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Log in" }).click();
    same(await page.getByRole("alert").innerText(), `requests of other sites are refused: the page's Origin "http://conf.example" is not where its request was sent to, "${new URL(person.base).host}"; behind a proxy, give the setting external_url the address that the browser shows, or name the proxy in trusted_proxies and let it send X-Forwarded-Host and X-Forwarded-Proto`);
  }],

  ["a service that is away while the page is opened is waited for, and asks nobody to log in", async (world) => {
    const person = await world.at("/site-builder/");
    const { page } = person;
    person.expected.push(/502/);
    await person.route("**/user/session", (route) => route.fulfill({ status: 502, body: "bad gateway" }));
    await page.reload();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    same(await page.locator("#page").innerText(), "siteconf\nThat did not work\n\nThe service does not answer.\n\nTry again");
    same(await person.accessibility(), []);
    await person.shot("service unknown");
    await page.unrouteAll();
    await heading(page, "Projects").waitFor();
  }],

  ["a session that ends is renewed over the open screen, and the request repeated", async (world) => {
    const person = await world.at(`/site-builder/files/${REPO}?branch=main`);
    const { page, context } = person;
    person.expected.push(/401/);
    await page.locator(".moment", { hasText: "v0003" }).waitFor();
    await context.clearCookies();
    await page.locator(".moment", { hasText: "v0003" }).locator("a").click();
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    same(await dialog.getByLabel("User name").inputValue(), "olga");
    same(await person.accessibility(), []);
    await person.shot("login again");
    await dialog.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.locator(".changes li").first().waitFor();
    await soon(() => page.locator(".changes li").count(), 3);
  }],

  ["a session that ends while somebody only looks is told, and what was saved meanwhile comes after the login", async (world) => {
    const repo = await newProject(world.admin, "acme/looked-at", { "a.txt": "a\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page, context } = person;
    person.expected.push(/401/);
    await page.locator(".moment", { hasText: "v0001" }).waitFor();
    await context.clearCookies();
    await seenAgain(page);
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.waitFor();
    await world.admin.send("PUT", file(repo, "main", "b.txt"), "b\n");
    await dialog.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.locator(".moment", { hasText: "b.txt" }).waitFor();
  }],

  ["who logs out and in as somebody else is somebody else in every window", async (world) => {
    const first = await world.at("/site-builder/");
    const other = await first.context.newPage();
    await other.goto("/site-builder/tokens");
    const who = (page, name) => page.getByRole("button", { name, exact: true });
    await who(other, "olga").click();
    await who(first.page, "olga").click();
    await first.page.getByRole("button", { name: "Log out", exact: true }).click();
    await first.page.locator("form.login").waitFor();
    const dialog = other.getByRole("dialog", { name: "Your session has ended" });
    await dialog.waitFor();
    // It is said for a moment only, from when the first window has logged in.
    const isTold = await watch(other, "You are logged in as anna now.");
    await first.login("anna", PASSWORD);
    await dialog.waitFor({ state: "detached" });
    await who(other, "anna").waitFor();
    await soon(isTold, true);
    // What one window did not hear of, it finds when somebody looks at it.
    await first.page.evaluate(async (password) => {
      const json = JSON.stringify({ username: "sergei", password });
      await fetch("/user/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: json });
    }, PASSWORD);
    await seenAgain(other);
    await who(other, "sergei").waitFor();
  }],

  ["a window that could not look who has logged in meanwhile looks again", async (world) => {
    const { page, context, base } = await world.at("/site-builder/");
    const other = new Person(base, context, await context.newPage());
    await other.go("/site-builder/tokens");
    const who = (name) => other.page.getByRole("button", { name, exact: true });
    await who("olga").waitFor();
    let asked = 0;
    await other.route("**/user/session", (route) => (asked++ === 0 ? route.abort() : route.fallback()));
    await page.evaluate(async (password) => {
      const json = JSON.stringify({ username: "sergei", password });
      await fetch("/user/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: json });
      new BroadcastChannel("session").postMessage(null);
    }, PASSWORD);
    await who("sergei").waitFor();
    same(asked, 2);
  }],

  ["what could not be read again is told to be old", async (world) => {
    const repo = await newProject(world.admin, "acme/stale", { "a.txt": "a\n" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/403/);
    await page.locator(".moment", { hasText: "v0001" }).waitFor();
    for (const asked of ["events", "branches"])
      await person.route(`**/${encodeURIComponent(repo)}/${asked}`, (route) => route.fulfill({ status: 403, json: { message: "no" } }));
    await seenAgain(page);
    await page.getByText("What you see may be out of date").waitFor();
    same(await person.accessibility(), []);
    await person.shot("stale");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("What you see may be out of date").waitFor({ state: "detached" });
  }],

  ["a project that a colleague makes is there when somebody comes back to the projects, or to the window", async (world) => {
    const { page } = await world.at(`/site-builder/files/${REPO}?branch=main`);
    await page.locator(".overview").waitFor();
    await newProject(world.admin, "acme/of-a-colleague");
    await page.getByRole("link", { name: "To the projects" }).click();
    await page.getByRole("link", { name: /of-a-colleague/ }).waitFor();
    await newProject(world.admin, "acme/of-another");
    await seenAgain(page);
    await page.getByRole("link", { name: /of-another/ }).waitFor();
  }],

  ["how many files a project has is told of all its branches, as people write numbers", async (world) => {
    const person = await world.somebody();
    const all = await world.admin.json("GET", "/site-builder/api/projects");
    await person.route((url) => url.pathname.endsWith("/api/projects"), (route) => route.fulfill({ json: all.map((one) => ({ ...one, files: 354_472 })) }));
    await person.login("olga", PASSWORD);
    await person.page.getByRole("columnheader", { name: "Files in all branches" }).waitFor();
    await person.page.getByRole("cell", { name: "354,472" }).first().waitFor();
  }],

  ["a project is made, and its branch says what to do", async (world) => {
    const { page } = await world.at("/site-builder/");
    await page.getByRole("button", { name: "New project" }).click();
    await page.getByLabel("Name", { exact: true }).fill("acme/made");
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/files\/acme\/made.erp\?branch=main/);
    await page.getByRole("heading", { name: "An empty branch" }).waitFor();
  }],

  ["a name finds its file, a word its command", async (world) => {
    const { page } = await world.at(`/site-builder/files/${REPO}?branch=main`);
    await page.locator(".overview").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("скид");
    await page.getByRole("option").filter({ hasText: "rules/скидки.xml" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/path=rules/);
    await page.keyboard.press("Control+p");
    await page.keyboard.type("new tok");
    await page.getByRole("option", { name: "New token" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "New token" }).waitFor();
  }],

  ["a branch and a project are found by their names, below the files", async (world) => {
    const files = Object.fromEntries(Array.from({ length: 14 }, (_, at) => [`finder/${at}.txt`, "a\n"]));
    const repo = await newProject(world.admin, "acme/finder", files);
    await world.admin.json("POST", `${project(repo)}/branches`, { name: "finder-2", from: "main" });
    for (let at = 3; at < 9; at += 1) await world.admin.json("POST", `${project(repo)}/branches`, { name: `finder-${at}`, from: "main" });
    const person = await world.at(`/site-builder/files/${repo}?branch=finder-8`);
    const { page } = person;
    await page.locator(".overview").waitFor();
    const signs = () => page.getByRole("option").allInnerTexts();
    await page.keyboard.press("Control+k");
    // Before anything is typed some of the branches, then of the projects, and all commands.
    await page.getByRole("option", { name: ".erp" }).first().waitFor();
    const before = await signs();
    same(before.slice(0, 4), ["main", "finder-2", "finder-3", "finder-4"]);
    same(before.slice(4, 7).every((name) => name.endsWith(".erp") && name !== repo), true, before.join(", "));
    same(before.slice(8, 10), ["Projects", "Tokens"]);
    await page.locator("dialog").getByText(/^and \d+ more$/).waitFor();
    await person.shot("finder before");
    await page.keyboard.type("finder");
    await page.getByRole("option", { name: ".txt" }).first().waitFor();
    // Of seven that are no files four are shown, and eight of 14 files.
    await page.locator("dialog").getByText("and 9 more").waitFor();
    same((await signs()).slice(-4).filter((name) => name.endsWith(".txt")), []);
    await person.shot("finder typed");
    await page.getByRole("option", { name: "finder-2" }).click();
    await page.waitForURL(/branch=finder-2/);
  }],

  ["what is drawn hears keys, and takes what is dropped, before anything else can happen", async (world) => {
    const person = await world.somebody();
    const { page } = person;
    // Each event comes in the very turn in which the part that hears it is drawn; what is kept from the browser was heard.
    await page.addInitScript(() => {
      const key = (init) => new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...init });
      const dragged = new DataTransfer();
      dragged.items.add(new File(["one"], "one.xml"));
      const waiting = [
        ["find", "header.top", key({ key: "k", ctrlKey: true })],
        ["save", "section.file[data-changed]", key({ key: "s", code: "KeyS", ctrlKey: true })],
        ["drop", "section.file[data-changed]", new DragEvent("dragover", { bubbles: true, cancelable: true, dataTransfer: dragged })],
      ];
      globalThis.heard = [];
      const observer = new MutationObserver(() => {
        for (const [name, selector, event] of waiting) {
          if (event.done || !document.querySelector(selector)) continue;
          event.done = true;
          if (!document.dispatchEvent(event)) globalThis.heard.push(name);
        }
        const menu = document.querySelector(".menu .items");
        if (!menu || globalThis.menu) return;
        globalThis.menu = menu;
        if (menu.contains(document.activeElement)) globalThis.heard.push("menu");
      });
      observer.observe(document, { childList: true, subtree: true });
    });
    await person.login("olga", PASSWORD, `/site-builder/files/${REPO}?branch=main&path=rules/скидки.xml`);
    await page.locator("section.file[data-changed]").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "olga", exact: true }).click();
    await page.locator(".menu .items").waitFor();
    await soon(() => page.evaluate(() => globalThis.heard.toSorted()), ["drop", "find", "menu", "save"]);
  }],

  ["a tree is walked by keys alone", async (world) => {
    const { page } = await world.at(`/site-builder/files/${REPO}?branch=main`);
    await page.getByRole("treeitem", { name: "config" }).waitFor();
    await page.getByRole("searchbox", { name: "Filter files" }).focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.getByRole("treeitem", { name: "prices.xml" }).waitFor();
    // However long the keys take, no time goes by between the letters of one word.
    await page.evaluate(() => {
      const now = performance.now();
      performance.now = () => now;
    });
    await page.keyboard.type("pri");
    await page.evaluate(() => { delete performance.now; });
    await page.keyboard.press("Enter");
    await page.waitForURL(/path=config\/prices.xml/);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("treeitem", { name: "prices.xml" }).waitFor({ state: "detached" });
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.activeElement.textContent === "readme.txt");
  }],

  ["a menu is walked by keys alone, in a wide window and in a narrow one", async (world) => {
    for (const [width, first] of [[1280, "Change the password"], [400, "Projects"]]) {
      const { page } = await world.at("/site-builder/", { width });
      const focused = () => page.evaluate(() => document.activeElement.textContent.trim());
      await page.getByRole("button", { name: "olga", exact: true }).focus();
      await page.keyboard.press("Enter");
      await soon(focused, first);
      await page.keyboard.press("ArrowUp");
      same(await focused().then((text) => text.endsWith("Licences")), true);
      await page.keyboard.press("ArrowUp");
      same(await focused(), "Log out");
      for (const _ of "12") await page.keyboard.press("ArrowDown");
      same(await focused(), first);
      await page.keyboard.press("Escape");
      await page.locator(".menu .items").waitFor({ state: "detached" });
      same(await page.evaluate(() => document.activeElement.title), "olga");
    }
  }],

  ["a link from another site opens what it names", async (world) => {
    const person = await world.at("/site-builder/");
    const { page, base } = person;
    await person.route("http://elsewhere.test/", (route) =>
      route.fulfill({ contentType: "text/html", body: `<a href="${base}/site-builder/files/${REPO}?branch=main&change=v0003">look</a>` }));
    await page.goto("http://elsewhere.test/");
    await page.getByRole("link", { name: "look" }).click();
    await page.getByRole("heading", { name: /New warehouses in Kazan/ }).waitFor();
  }],

  ["without the service that is told, and it goes on when it is back, as another version too", async (world) => {
    const person = await world.at(`/site-builder/files/${REPO}?branch=main`);
    const { page, context } = person;
    person.expected.push(/ERR_INTERNET_DISCONNECTED/, /failed: GET/);
    await page.locator(".moment", { hasText: "v0003" }).waitFor();
    await context.setOffline(true);
    await page.locator(".moment", { hasText: "v0003" }).locator("a").click();
    await page.getByText("The service does not answer. What you typed is kept").waitFor();
    await person.route("**/site-builder/", (route) => route.fulfill({ contentType: "text/html", body: "another" }));
    await context.setOffline(false);
    await page.getByText("The service was updated").waitFor();
    // Whatever did not come comes by itself.
    await page.locator(".changes li").first().waitFor();
    await page.locator(".pair .cm-content").first().waitFor();
    await page.locator(".health.ok").waitFor();
    await page.getByRole("treeitem", { name: "settings" }).click();
    await page.getByRole("treeitem", { name: "обмен.ini" }).click();
    await page.locator(".file[data-phase=text] .cm-content").waitFor();
    await context.setOffline(true);
    await page.getByRole("treeitem", { name: "config" }).click();
    await page.locator(".health.bad").waitFor();
    await page.getByText("The service does not answer. What you typed is kept").waitFor();
    await page.getByRole("treeitem", { name: "readme.txt" }).click();
    await page.locator(".file").getByText("The service does not answer.").waitFor();
    await person.shot("away");
    await context.setOffline(false);
    await page.getByRole("treeitem", { name: "prices.xml" }).waitFor();
    await page.locator(".file[data-phase=text] .cm-content").waitFor();
    await page.locator(".health.ok").waitFor();
    same(await page.getByRole("button", { name: "Try again" }).count(), 0);
  }],

  ["every role is shown what it may", async (world) => {
    const admin = await world.at(`/site-builder/files/${REPO}?branch=main&change=v0003`);
    await admin.page.locator("main").getByRole("button", { name: "Go back to before this" }).waitFor();
    const person = await world.somebody();
    const { page } = person;
    await person.login("auditor", PASSWORD, `/site-builder/files/${REPO}?branch=main&change=v0003`);
    await page.getByRole("heading", { name: /New warehouses in Kazan/ }).waitFor();
    same(await page.getByRole("button", { name: /Go back to before this/ }).count(), 0);
    await page.getByRole("navigation", { name: "Branches" }).getByRole("button", { name: "main" }).click();
    same(await page.getByRole("button", { name: "New branch" }).count(), 0);
    await person.go(`/site-builder/files/${REPO}?branch=main&rollback=v0003`);
    await page.locator(".overview").waitFor();
    same(await page.getByRole("dialog").count(), 0);
    await person.go("/site-builder/");
    await page.getByRole("link", { name: /shop/ }).waitFor();
    same(await page.getByRole("link", { name: "Accounts" }).count(), 0);
    same(await page.getByRole("link", { name: "Service" }).count(), 0);
  }],

  ["the page speaks Russian, and keeps to it", async (world) => {
    const { page } = await world.at(`/site-builder/files/${REPO}?branch=main&change=v0003`);
    await page.getByRole("button", { name: "olga" }).click();
    await page.getByRole("button", { name: "Русский" }).click();
    await page.locator("main").getByRole("button", { name: "Вернуть как было до этого" }).waitFor();
    same(await page.evaluate(() => document.documentElement.lang), "ru");
    await page.reload();
    await page.getByText("10 файлов").waitFor();
  }],

  ["a pane is made wider by dragging and by keys, stays so, and is as it was after a double click", async (world) => {
    const { page } = await world.at(`/site-builder/files/${REPO}?branch=main`);
    const widths = () => page.evaluate(() => [".left", ".right"].map((pane) => Math.round(document.querySelector(pane).getBoundingClientRect().width)));
    const [files, history] = [page.getByRole("separator", { name: "Width of Files" }), page.getByRole("separator", { name: "Width of History" })];
    await Promise.all([files.waitFor(), history.waitFor()]);
    const before = await widths();
    const { x, y, width } = await files.boundingBox();
    await page.mouse.move(x + width / 2, y + 200);
    await page.mouse.down();
    await page.mouse.move(x + width / 2 + 60, y + 220, { steps: 3 });
    await page.mouse.up();
    await soon(widths, [before[0] + 60, before[1]]);
    await history.focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await soon(widths, [before[0] + 60, before[1] + 32]);
    await soon(() => history.getAttribute("aria-valuenow"), String(before[1] + 32));
    await page.keyboard.press("Home");
    await soon(widths, [before[0] + 60, 160]);
    await page.reload();
    await history.waitFor();
    await soon(widths, [before[0] + 60, 160]);
    await files.dblclick();
    await history.dblclick();
    await soon(widths, before);
  }],

  ["nobody scrolls sideways in a narrow window", async (world) => {
    const repo = await newProject(world.admin, "acme/with-a-long-name-that-goes-on-and-on", { "a/long/path/to/a/file-with-a-long-name.xml": "x" });
    for (const width of [320, 640]) {
      const { page } = await world.at(`/site-builder/files/${repo}?branch=main&change=v0001`, { width, height: 700 });
      await page.locator(".labels").waitFor();
      for (const at of [`files/${repo}?branch=main`, "", "tokens", "accounts", "service"]) {
        await page.goto(`/site-builder/${at}`);
        await page.locator("main h1").first().waitFor();
        same(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${width}: ${at}`);
        if (at !== "tokens") continue;
        await page.locator(".list tbody tr").first().waitFor();
        same(await page.locator("main").evaluate((main) => main.scrollWidth > main.clientWidth), false, `${width}: ${at}: main`);
      }
    }
  }],

  ["why a new project or branch is refused is said in the language of the page", async (world) => {
    const person = await world.at("/site-builder/", { locale: "ru-RU" });
    const { page } = person;
    person.expected.push(/400/);
    const dialog = page.getByRole("dialog");
    const make = async (name, words) => {
      await dialog.getByLabel("Имя").fill(name);
      await page.keyboard.press("Enter");
      await dialog.getByRole("alert").getByText(words).waitFor();
    };
    await page.getByRole("button", { name: "Новый проект" }).click();
    await make("плохое имя", "Буквы, цифры");
    await make("acme/shop", "Проект с таким именем уже есть.");
    await person.shot("project refused ru");
    await dialog.getByLabel("Имя").fill("русский/проект");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Ветка пуста" }).waitFor();
    await page.getByRole("navigation", { name: "Ветки" }).getByRole("button", { name: "main" }).click();
    await page.getByRole("button", { name: "Новая ветка" }).click();
    await make("a b", "В имени ветки нет пробелов");
    await make("main", "Ветка с таким именем уже есть.");
  }],
];
