// Low windows, as a page of 1280 by 1024 enlarged to 400 % has: whatever is shown can be read, and every button reached.
import { same } from "../browser.mjs";
import { branch, newProject } from "../seed.mjs";
import { editor, keys, open, put, type } from "./editor/steps.mjs";

const text = Array.from({ length: 40 }, (_, at) => `line ${at}`).join("\n");
const other = text.replace("line 0", "LINE 0").replace("line 39", "LINE 39");

/** A pane of text shows at least this much, in pixels. */
const PANE_PX = 120;

/** What keeps the last pane of text, or one of these buttons, from being seen whole once it is scrolled to. */
const unseen = ({ page }, buttons) => page.evaluate(([buttons, least]) => {
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.getElementById("page");
  const bars = [...top.querySelectorAll(".top, .tabs")].filter((bar) => bar.checkVisibility()).map((bar) => bar.getBoundingClientRect());
  const room = [Math.max(0, ...bars.filter((bar) => bar.top <= 0).map((bar) => bar.bottom)), Math.min(innerHeight, ...bars.filter((bar) => bar.top > 0).map((bar) => bar.top))];
  const shownOf = (node) => {
    node.scrollIntoView({ block: "nearest" });
    const box = node.getBoundingClientRect();
    return Math.min(box.bottom, room[1]) - Math.max(box.top, room[0]);
  };
  const found = [];
  const pane = [...top.querySelectorAll(".code")].at(-1);
  const shown = pane ? shownOf(pane) : 0;
  if (shown < least) found.push(`a pane of ${Math.round(shown)} px`);
  for (const name of buttons) {
    const button = [...top.querySelectorAll("button, a.button")].find((one) => one.textContent.includes(name));
    if (!button || shownOf(button) < Math.min(20, button.offsetHeight) || button.offsetHeight === 0) found.push(`no ${name}`);
  }
  return found;
}, [buttons, PANE_PX]);

const windows = [{ width: 320, height: 256 }, { width: 640, height: 360 }, { width: 900, height: 300 }];

export default [
  ["in a low window no pane of text vanishes, and no button is cut off", async (world) => {
    const repo = await newProject(world.admin, "acme/low", { "a.txt": text, "b.txt": "x" }, { "a.txt": other, "b.txt": "y" }, { "a.txt": `${other}\n` });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    const screens = [
      ["file", "&path=a.txt", []],
      ["then", "&path=a.txt&at=v0002", ["Go back to this state", "Back to now"]],
      ["change", "&change=v0002", ["Files before this", "Go back to before this"]],
      ["single change", "&change=v0003", ["Go back to before this"]],
      ["rollback", "&change=v0002&rollback=v0002", ["Roll back 2 files", "Cancel"]],
      ["compare", "&from=v0002", ["Close"]],
    ];
    for (const size of windows) {
      await page.setViewportSize(size);
      for (const [name, query, buttons] of screens) {
        const [kind, rest] = name === "compare" ? ["compare", query] : ["files", query];
        await person.go(`/site-builder/${kind}/${repo}?branch=main${rest}`);
        await page.locator(".code .cm-content").last().waitFor();
        await person.settled();
        await person.shot(`low ${size.width}x${size.height} ${name}`);
        same(await unseen(person, buttons), [], `${name} at ${size.width}x${size.height}`);
      }
    }
  }],

  ["in a low window a merge is seen before it is saved", async (world) => {
    const repo = await newProject(world.admin, "acme/low-merge", { "a.txt": text });
    const person = await world.at(open(repo, "a.txt"), { width: 320, height: 256 });
    const { page } = person;
    person.expected.push(/412/);
    await editor(person);
    await type(person, "mine\n");
    await put(world, repo, "a.txt", other);
    await keys(person, "Control+s");
    await page.locator("dialog .cm-content").last().waitFor();
    for (const size of windows) {
      await page.setViewportSize(size);
      await person.shot(`low ${size.width}x${size.height} merge`);
      same(await unseen(person, ["Save the merged text", "Keep mine", "Take theirs"]), [], `at ${size.width}x${size.height}`);
    }
  }],

  ["on a telephone the kind of a change is told by a word", async (world) => {
    const repo = await newProject(world.admin, "acme/kinds", { "kept.txt": "x", "folder/with/a/rather/long/path/kept too.txt": "x" }, { "kept.txt": "y", "new.txt": "z" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002&rollback=v0002`, { width: 320, height: 640 });
    const changes = person.page.locator("dialog .changes");
    await changes.getByRole("button", { name: "kept.txt changes back" }).waitFor();
    await changes.getByRole("button", { name: "new.txt goes away" }).waitFor();
    await person.shot("kinds rollback");
    await person.go(`/site-builder/compare/${repo}?branch=main&from=v0001`);
    await person.page.locator(".changes").getByRole("button", { name: "kept too.txt added" }).waitFor();
    await person.settled();
    await person.shot("kinds compare");
    same(await person.page.locator(".changes .sub").evaluateAll((words) => words.every((word) => word.scrollWidth <= word.clientWidth)), true);
    // So is what somebody said of it: in three lines at most, and with dots where they are not enough.
    const message = "what was said of it is longer than a line";
    await world.admin.json("POST", `${branch(repo, "main")}/batch`, { message, actions: [{ action: "create", file_path: "other.txt", content: "x" }] });
    await person.go(`/site-builder/files/${repo}?branch=main&change=v0003`);
    const heading = person.page.getByRole("heading", { name: message });
    await heading.waitFor();
    same(await heading.evaluate((node) => [node.scrollWidth <= node.clientWidth, node.clientHeight > 30, node.clientHeight < 70]), [true, true, true]);
    await person.shot("kinds said");
  }],

  ["in a window that is neither wide nor narrow the names of things have room, and none lies over another", async (world) => {
    const repo = await newProject(world.admin, "acme/middle", { "config/prices.xml": text }, { "config/prices.xml": other, "b.txt": "x" });
    const person = await world.at(open(repo, "config/prices.xml"), { locale: "ru-RU" });
    const { page } = person;
    /** Pairs of what stands in a line of which one lies over the other, or is cut. */
    const crowded = (line) => page.locator(line).evaluateAll((lines) => lines.flatMap((line) => {
      const boxes = [...line.children].map((node) => [node.textContent || node.className, node.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
      const names = [...line.querySelectorAll(".base")].filter((node) => node.scrollWidth > node.clientWidth || node.getBoundingClientRect().right > node.parentElement.getBoundingClientRect().right + 1);
      const over = boxes.filter(([, a], at) => a.right > innerWidth || boxes.slice(at + 1).some(([, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
      return [...over.map(([name]) => name), ...names.map((node) => `cut: ${node.textContent}`)];
    }));
    await editor(person);
    await type(person, "mine");
    for (const width of [1010, 900, 768]) {
      await page.setViewportSize({ width, height: 700 });
      await person.shot(`middle ${width} file`);
      same([...(await crowded(".filehead")), ...(await crowded(".status")), ...(await crowded(".top"))], [], `a file at ${width}`);
      same(await page.locator(".filehead h1 .path").evaluate((node) => node.scrollWidth <= node.clientWidth), true, `its name at ${width}`);
      same(await page.locator(".tabs").isVisible(), width < 1000, `tabs at ${width}`);
      same(await page.locator(".health").evaluate((node) => node.offsetWidth === node.offsetHeight), true, "a round dot");
    }
    await person.go(`/site-builder/compare/${repo}?branch=main&from=v0001&to=v0002`);
    await page.locator(".code .cm-content").waitFor();
    for (const width of [1010, 900, 768]) {
      await page.setViewportSize({ width, height: 700 });
      await person.shot(`middle ${width} compare`);
      same(await crowded(".compare .filehead"), [], `compare at ${width}`);
      same(await page.locator(".compare h1").evaluate((node) => node.scrollWidth <= node.clientWidth), true, `its title at ${width}`);
    }
  }],

  ["on a telephone the name of a file stays while it is edited, its lines wrap, and no box or chip is squeezed", async (world) => {
    const repo = await newProject(world.admin, "acme/small", { "config/prices.txt": `${"word ".repeat(40)}\n` });
    const person = await world.at(open(repo, "config/prices.txt"), { width: 320, height: 640, locale: "ru-RU", touch: true });
    const { page } = person;
    await editor(person);
    await page.locator(".cm-lineWrapping").waitFor();
    await type(person, "mine");
    await page.locator(".filehead .pill").waitFor();
    await person.shot("telephone edit");
    const whole = (node) => node.scrollWidth <= node.clientWidth;
    same(await page.locator(".filehead h1 .base").evaluate(whole), true);
    same(await page.locator(".filehead h1 .path").evaluate(whole), true);
    await person.go("/site-builder/tokens?new=1");
    await page.locator("dialog .picks").waitFor();
    same(await page.locator("dialog [type=checkbox]").evaluateAll((boxes) => boxes.every((box) => box.offsetWidth === box.offsetHeight)), true);
    await person.go("/site-builder/accounts");
    await page.getByRole("row", { name: /auditor/ }).waitFor();
    await person.shot("telephone accounts");
    // Each part of a chip, and each name, is in one line; the letter before a name is in that of the name.
    same(await page.locator(".accounts").evaluate((table) => [...table.querySelectorAll(".ref, .person b")].flatMap((node) => [...node.childNodes].filter((part) => {
      const range = document.createRange();
      range.selectNodeContents(part);
      const tops = [...range.getClientRects()].map((box) => Math.round(box.top));
      return node.textContent.length < 20 && new Set(tops).size > 1;
    }).map(() => node.textContent))), []);
  }],

  ["with letters twice as large nothing is covered, and rows do not collide", async (world) => {
    const repo = await newProject(world.admin, "acme/large-letters", { "folder/a.txt": text, "folder/b.txt": "x", "c.txt": "x" }, { "folder/a.txt": other, "c.txt": "y" });
    const person = await world.at("/site-builder/");
    const { page } = person;
    const session = await person.context.newCDPSession(page);
    await session.send("Page.setFontSizes", { fontSizes: { standard: 32, fixed: 26 } });
    const files = `/site-builder/files/${repo}?branch=main`;
    await person.go(`${files}&change=v0002`);
    same(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize), "32px");
    const back = page.getByRole("button", { name: "Go back to before this" }).first();
    await back.waitFor();
    await person.settled();
    await person.shot("letters change");
    // Its own middle and ends are what a click meets there.
    same(await back.evaluate((node) => {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      return [left + 9, (left + right) / 2, right - 9].map((x) => node.contains(document.elementFromPoint(x, (top + bottom) / 2)));
    }), [true, true, true]);
    await back.click();
    await page.locator("dialog .code .cm-content").waitFor();
    await person.unmoved();
    await person.shot("letters rollback");
    same(await unseen(person, ["Roll back 2 files", "Cancel"]), []);
    await person.go(`${files}&path=folder/a.txt`);
    await page.locator("header.top .menu > button").last().click();
    await page.getByRole("button", { name: "Log out" }).scrollIntoViewIfNeeded();
    await person.shot("letters menu");
    same(await page.locator(".items").evaluate((node) => {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
    }), true, "the menu is in the window");
    await page.keyboard.press("Escape");
    await page.locator(".tabs button").first().click();
    await page.getByRole("treeitem", { name: "b.txt" }).waitFor();
    await person.shot("letters tree");
    same(await page.getByRole("treeitem").evaluateAll((rows) => {
      const boxes = rows.map((row) => row.getBoundingClientRect()).sort((a, b) => a.top - b.top);
      return boxes.every((box, at) => box.height >= 50 && (at === 0 || box.top >= boxes[at - 1].bottom));
    }), true, "rows");
  }],
];
