// Opening, editing and saving a file: its bytes come back as they were, but for what was typed.
import { same, soon } from "../browser.mjs";
import { file, newProject, PASSWORD } from "../seed.mjs";
import { another, answerAfter, bytes, changed, editor, keys, open, put, saved, type, utf16 } from "./editor/steps.mjs";

const windows = (...parts) => Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...Buffer.from(part, "latin1")] : part)));
// "Цены": Windows-1251, CP 866, KOI8-R.
const [cp1251, cp866, koi8] = [[0xd6, 0xe5, 0xed, 0xfb], [0x96, 0xa5, 0xad, 0xeb], [0xe3, 0xc5, 0xce, 0xd9]];

// "Цех" of CP 866, which looks like Windows-1251.
const shop866 = [0x96, 0xa5, 0xe5];

/** A file of some form: what it holds, what is typed at its end, and what it holds then. */
const forms = [
  ["utf-8", "a.txt", Buffer.from("цены\n"), "ещё", Buffer.from("цены\nещё"), "UTF-8"],
  ["utf-8 with a mark and CRLF", "b.txt", Buffer.from("\ufeffone\r\ntwo\r\n"), "x\ny", Buffer.from("\ufeffone\r\ntwo\r\nx\r\ny"), "UTF-8 BOM"],
  ["mixed line ends", "c.txt", Buffer.from("one\r\ntwo\nthree\r\n"), "x\ny", Buffer.from("one\r\ntwo\nthree\r\nx\ny"), "Mixed"],
  ["carriage returns alone", "d.txt", Buffer.from("one\rtwo\r"), "x\ny", Buffer.from("one\rtwo\rx\ry"), "CR"],
  ["UTF-16 LE", "e.txt", utf16("\ufeffцены\r\n", true), "x\nё", utf16("\ufeffцены\r\nx\r\nё", true), "UTF-16 LE"],
  ["UTF-16 BE", "f.txt", utf16("\ufeffцены\n", false), "x", utf16("\ufeffцены\nx", false), "UTF-16 BE"],
  ["Windows-1251", "g.ini", windows("[", cp1251, "]\r\n", "a=1\r\n"), "Ё", windows("[", cp1251, "]\r\n", "a=1\r\n", [0xa8]), "Windows-1251"],
  ["no line at all", "h.txt", Buffer.from(""), "x", Buffer.from("x"), "LF"],
];

/** Chooses an encoding: of those to read the file in, which come first, or of those to save it in. */
async function choose(page, name, which) {
  await page.getByRole("button", { name: "Encoding:" }).click();
  await page.locator(".items button", { hasText: name })[which]().click();
}

export default [
  ["a save keeps encoding, mark and line ends, byte for byte", async (world) => {
    const repo = await newProject(world.admin, "acme/forms", { "readme.txt": "." });
    for (const [, path, before] of forms) await put(world, repo, path, before);
    const person = await world.at(open(repo, forms[0][1]));
    for (const [name, path, , typed, after, shown] of forms) {
      await person.page.goto(open(repo, path));
      await editor(person);
      same((await person.page.locator(".status").innerText()).includes(shown), true, `${name}: the status line says ${shown}`);
      await type(person, typed);
      await keys(person, "Control+s");
      await saved(person);
      same(await bytes(world, repo, path), [...after], name);
    }
  }],

  ["behind a proxy that compresses, and changes the tags for it, a file is saved all the same", async (world) => {
    const repo = await newProject(world.admin, "acme/compressed", { "a.txt": "a\n", "b.txt": "b\n" });
    const person = await world.somebody();
    const isFile = (url) => /\/branches\/main\/files\/[ab]\.txt$/.test(url.pathname);
    await person.route(isFile, async (route) => {
      if (route.request().method() !== "GET") return route.fallback();
      const response = await route.fetch();
      const headers = response.headers();
      const isWeak = new URL(response.url()).pathname.endsWith("a.txt");
      const etag = isWeak ? `W/${headers.etag}` : headers.etag.replace(/"$/, '-gzip"');
      await route.fulfill({ response, headers: { ...headers, etag } });
    });
    await person.login("olga", PASSWORD, open(repo, "a.txt"));
    for (const name of ["a", "b"]) {
      if (name !== "a") await person.page.goto(open(repo, `${name}.txt`));
      await editor(person);
      await type(person, "more\n");
      await changed(person);
      await keys(person, "Control+s");
      await saved(person);
      same(await person.page.locator("dialog[open]").count(), 0);
      same(await bytes(world, repo, `${name}.txt`), [...Buffer.from(`${name}\nmore\n`)]);
    }
  }],

  ["another encoding is chosen for reading and for saving", async (world) => {
    const repo = await newProject(world.admin, "acme/encodings", { "readme.txt": "." });
    await put(world, repo, "old.txt", windows(cp866, "\r\n"));
    await put(world, repo, "unix.txt", windows(koi8, "\n"));
    const person = await world.at(open(repo, "old.txt"));
    const { page } = person;
    await editor(person);
    await page.getByRole("button", { name: "Encoding:" }).click();
    await page.locator(".items button", { hasText: "CP 866" }).first().click();
    await page.locator(".cm-line", { hasText: "Цены" }).waitFor();
    await soon(() => page.locator(".file").getAttribute("data-changed"), "false");
    await type(person, "да");
    await keys(person, "Control+s");
    await saved(person);
    same(await bytes(world, repo, "old.txt"), [...windows(cp866, "\r\n"), 0xa4, 0xa0]);
    // Saved in another encoding, with other line ends.
    await page.getByRole("button", { name: "Encoding:" }).click();
    await page.locator(".items button", { hasText: /^UTF-8$/ }).last().click();
    await page.getByRole("button", { name: "Line ends:" }).click();
    await page.locator(".items button", { hasText: /^LF$/ }).click();
    await changed(person);
    await keys(person, "Control+s");
    await saved(person);
    same(await bytes(world, repo, "old.txt"), [...Buffer.from("Цены\nда")]);
    await page.goto(open(repo, "unix.txt"));
    await editor(person);
    await page.getByRole("button", { name: "Encoding:" }).click();
    await page.locator(".items button", { hasText: "KOI8-R" }).first().click();
    await page.locator(".cm-line", { hasText: "Цены" }).waitFor();
  }],

  ["an encoding that was chosen holds for what others save, after a reload, and for an undo", async (world) => {
    const repo = await newProject(world.admin, "acme/chosen", { "readme.txt": "." });
    await put(world, repo, "a.txt", windows(shop866, "\na\nb\n"));
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    person.expected.push(/412/);
    const first = (text) => soon(() => page.locator(".file .cm-line").first().innerText(), text);
    await editor(person);
    await choose(page, "CP 866", "first");
    await first("Цех");
    await put(world, repo, "a.txt", windows(shop866, "2\na\nb\n"));
    await first("Цех2");
    await type(person, "more");
    await put(world, repo, "a.txt", windows(shop866, "3\na\nb\n"));
    await page.locator(".strip").getByText("admin saved this file").waitFor();
    await page.reload();
    await editor(person);
    await first("Цех2");
    await keys(person, "Control+s");
    await page.getByText("is together on the right already").waitFor();
    await page.getByRole("button", { name: "Save the merged text" }).click();
    await saved(person);
    same(await bytes(world, repo, "a.txt"), [...windows(shop866, "3\na\nb\nmore")]);
    await choose(page, "KOI8-R", "last");
    await keys(person, "Control+s");
    await saved(person);
    // The branch is told to be another before the undo is answered.
    await answerAfter(person, "PUT", "**/files/a.txt*", await another(world, repo, page));
    await page.getByRole("button", { name: "Undo", exact: true }).last().click();
    await page.getByText("The save of a.txt was taken back").waitFor();
    await page.getByRole("button", { name: "Encoding: CP 866" }).waitFor();
    await first("Цех3");
  }],

  ["a save in another encoding whose answer is lost is not a conflict with oneself", async (world) => {
    const repo = await newProject(world.admin, "acme/lost-encoding", { "readme.txt": "." });
    await put(world, repo, "a.txt", "Цех\n");
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    person.expected.push(/failed:/, /ERR_FAILED/, /412/);
    await editor(person);
    await choose(page, "CP 866", "last");
    let isLost = false;
    await person.route("**/files/a.txt*", async (route) => {
      if (isLost || route.request().method() !== "PUT") return route.fallback();
      isLost = true;
      await route.fetch();
      await route.abort("failed");
    });
    const refused = page.waitForResponse((response) => response.status() === 412);
    await keys(person, "Control+s");
    // If nothing else is answered meanwhile, it does not save once more by itself.
    page.getByRole("button", { name: "Try again" }).click().catch(() => {});
    await refused;
    await saved(person);
    same(await page.locator("dialog[open]").count(), 0);
    same(await bytes(world, repo, "a.txt"), [...windows(shop866, "\n")]);
    await page.getByRole("button", { name: "Encoding: CP 866" }).waitFor();
  }],

  ["a letter that the encoding lacks is named, and UTF-8 offered", async (world) => {
    const repo = await newProject(world.admin, "acme/letters", { "readme.txt": "." });
    await put(world, repo, "a.ini", windows(cp1251, "\n"));
    const person = await world.at(open(repo, "a.ini"));
    await editor(person);
    await type(person, "x=∑");
    await keys(person, "Control+s");
    await person.page.getByText("“∑” in line 2 does not exist in Windows-1251, which was only guessed.").waitFor();
    same(await bytes(world, repo, "a.ini"), [...windows(cp1251, "\n")]);
    // Nothing but its letters says that it is Windows-1251: that is asked, with the lines that it decides about.
    await person.page.getByRole("button", { name: "Save in UTF-8…" }).click();
    const dialog = person.page.getByRole("dialog", { name: "Is this file in Windows-1251?" });
    await dialog.getByText("Цены").waitFor();
    await person.shot("guessed encoding");
    await dialog.getByRole("button", { name: "Save in UTF-8" }).click();
    await saved(person);
    same(await bytes(world, repo, "a.ini"), [...Buffer.from("Цены\nx=∑")]);
  }],

  ["a German file is read and saved as it is, and one that was guessed wrong is read again with what was typed", async (world) => {
    const repo = await newProject(world.admin, "acme/western", { "readme.txt": "." });
    await put(world, repo, "a.csv", Buffer.from("Nr;Größe\r\n", "latin1"));
    // Not one of its words has a letter of ASCII.
    await put(world, repo, "b.csv", Buffer.from("ÄÖÜ;äöü\r\n", "latin1"));
    const person = await world.at(open(repo, "a.csv"));
    const { page } = person;
    await editor(person);
    same((await page.locator(".file .cm-line").allInnerTexts())[0], "Nr;Größe");
    await page.getByRole("button", { name: "Encoding: Windows-1252" }).waitFor();
    await type(person, "ü €");
    await keys(person, "Control+s");
    await saved(person);
    same(await bytes(world, repo, "a.csv"), [...Buffer.from("Nr;Größe\r\nü \x80", "latin1")]);
    await person.go(open(repo, "b.csv"));
    await editor(person);
    await type(person, "Maß");
    await page.keyboard.press("Control+Home");
    await page.keyboard.type("x;");
    await keys(person, "Control+s");
    await page.getByText("“ß” in line 2 does not exist in").waitFor();
    await page.getByRole("button", { name: "Read as…" }).click();
    await person.shot("read as another");
    await page.getByRole("button", { name: "Windows-1252", exact: true }).click();
    await soon(() => page.locator(".file .cm-line").allInnerTexts(), ["x;ÄÖÜ;äöü", "Maß"]);
    await changed(person);
    // It is the draft now.
    await page.reload();
    await editor(person);
    await soon(() => page.locator(".file .cm-line").allInnerTexts(), ["x;ÄÖÜ;äöü", "Maß"]);
    await keys(person, "Control+s");
    await saved(person);
    same(await bytes(world, repo, "b.csv"), [...Buffer.from("x;ÄÖÜ;äöü\r\nMaß", "latin1")]);
  }],

  ["a new file is there once it is saved; the message is kept; a save is taken back", async (world) => {
    const repo = await newProject(world.admin, "acme/new", { "readme.txt": "." });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/404/);
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("button", { name: "New file" }).click();
    await page.locator("dialog [name=path]").fill("config/new.json");
    await page.keyboard.press("Enter");
    await editor(person);
    await type(person, '{"a": 1}');
    await page.getByLabel("What changed? (optional)").fill("the first one");
    await page.keyboard.press("Enter");
    await saved(person);
    same(await bytes(world, repo, "config/new.json"), [...Buffer.from('{"a": 1}')]);
    await page.locator(".moment", { hasText: "the first one" }).waitFor();
    await type(person, "\n");
    await keys(person, "Control+s");
    await saved(person);
    await page.getByRole("button", { name: "Undo", exact: true }).last().click();
    await page.getByText("The save of config/new.json was taken back").waitFor();
    same(await bytes(world, repo, "config/new.json"), [...Buffer.from('{"a": 1}')]);
    await soon(() => page.locator(".cm-line").count(), 1);
    await page.locator(".file[data-changed=false]").waitFor();
  }],

  ["a link to a file that is not there says so, and by whom it was removed; it can be made", async (world) => {
    const repo = await newProject(world.admin, "acme/not-there", { "a.txt": "a", "old.txt": "old" });
    await world.admin.send("DELETE", file(repo, "main", "old.txt"));
    const person = await world.somebody();
    const { page } = person;
    person.expected.push(/404/);
    await person.login("olga", PASSWORD, open(repo, "old.txt"));
    await page.getByRole("heading", { name: "There is no file “old.txt” here" }).waitFor();
    await page.getByText("admin removed it just now.").waitFor();
    same(await page.getByRole("button", { name: "Save" }).count(), 0);
    same(await person.accessibility(), []);
    await person.shot("file not there");
    await page.getByRole("link", { name: "See that change" }).click();
    await page.locator(".change .labels").waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Create it" }).click();
    await page.locator(".cm-content:focus").waitFor();
    await page.keyboard.type("new");
    await keys(person, "Control+s");
    await saved(person);
    same(await bytes(world, repo, "old.txt"), [...Buffer.from("new")]);
    const reader = await world.somebody();
    reader.expected.push(/404/);
    await reader.login("auditor", PASSWORD, open(repo, "typo.txt"));
    await reader.page.getByRole("heading", { name: "There is no file “typo.txt” here" }).waitFor();
    same(await reader.page.locator("main").getByRole("button").allInnerTexts(), []);
  }],

  ["a new file's name that cannot be is refused in the dialog, and white space around it is left out", async (world) => {
    const repo = await newProject(world.admin, "acme/names", { "lf.txt": "x", "config/a.txt": "x" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    person.expected.push(/40[04]/);
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("button", { name: "New file" }).click();
    for (const [path, words] of [
      ["/a", "A name is missing"],
      ["../a", "“.” and “..” cannot be names."],
      ["a/", "A name is missing"],
      ["a\\b", "The path has a “\\”."],
      ["a//b", "A name is missing"],
      ["a".repeat(256), "A name in the path is longer than 255 bytes."],
      [".git/config", "“.git”"],
      ["config", "“config” is a folder."],
      ["lf.txt/deep/sub.txt", "“lf.txt” is a file: nothing can be below it."],
    ]) {
      await page.locator("dialog [name=path]").fill(path);
      await page.keyboard.press("Enter");
      await page.locator("dialog").getByText(words).waitFor();
    }
    await page.locator("dialog [name=path]").fill(" config/prices.xml ");
    await page.keyboard.press("Enter");
    await editor(person);
    await type(person, "<a/>");
    await keys(person, "Control+s");
    await saved(person);
    same(await bytes(world, repo, "config/prices.xml"), [...Buffer.from("<a/>")]);
    await page.goto(open(repo, "/a"));
    await page.locator(".file").getByText("A name is missing").waitFor();
    same(await page.getByRole("button", { name: "Try again" }).count(), 0);
    // Nor is it the branch that lies there, for a browser.
    for (const path of ["..", "."]) {
      await page.goto(open(repo, path));
      await page.locator(".file").getByText("“.” and “..” cannot be names.").waitFor();
      same(await page.locator(".filehead").getByRole("button", { name: "More about" }).count(), 0);
    }
  }],

  ["a key and Ctrl S within one frame are saved", async (world) => {
    const repo = await newProject(world.admin, "acme/frame", { "a.txt": "a" });
    const person = await world.at(open(repo, "a.txt"));
    await editor(person);
    await type(person, "b");
    await keys(person, "Control+s");
    await saved(person);
    const both = person.page.waitForResponse(async (response) => response.request().postData() === "abc");
    // Neither waits for the other.
    await Promise.all([person.page.keyboard.press("c"), keys(person, "Control+s")]);
    await both;
    await saved(person);
    same(await bytes(world, repo, "a.txt"), [...Buffer.from("abc")]);
  }],

  ["XML, JSON, YAML and INI are checked at their place, and saved all the same", async (world) => {
    const repo = await newProject(world.admin, "acme/checks", {
      "a.xml": "<a>\n  <b>1</c>\n</a>\n",
      "a.json": '{\n  "a": 1,\n}\n',
      "a.yaml": "a: 1\na: 2\n",
      "a.ini": "[a\nb=1\n",
    });
    const person = await world.at(open(repo, "a.xml"));
    for (const [path, words, line] of [
      ["a.xml", "</c> does not close <b> of line 2.", 2],
      ["a.json", "Before “}” something is missing, or a comma is too many.", 3],
      ["a.yaml", "This key comes twice.", 2],
      ["a.ini", "The name of the section is not closed by “]”.", 1],
    ]) {
      await person.page.goto(open(repo, path));
      await editor(person);
      const problems = person.page.getByRole("button", { name: "1 problem" });
      await problems.waitFor();
      same(await problems.getAttribute("title"), words);
      await problems.click();
      await person.page.getByText(`Ln ${line},`).waitFor();
      await person.shot(`problem ${path}`);
      await type(person, "\n");
      await keys(person, "Control+s");
      await saved(person);
    }
  }],

  ["what XML declares is compared with the encoding that is chosen", async (world) => {
    const repo = await newProject(world.admin, "acme/declared", { "a.xml": '<?xml version="1.0" encoding="UTF-8"?>\n<a/>\n' });
    const { page } = await world.at(open(repo, "a.xml"));
    await page.locator(".status").getByText("UTF-8").waitFor();
    const problem = page.getByRole("button", { name: "1 problem" });
    await choose(page, "Windows-1251", "last");
    await problem.waitFor();
    await choose(page, /^UTF-8$/, "last");
    await problem.waitFor({ state: "detached" });
  }],

  ["what is no text is shown as what it is, and replaced", async (world) => {
    const repo = await newProject(world.admin, "acme/binary", { "readme.txt": "." });
    const dot = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mP8z8BQz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC", "base64");
    await put(world, repo, "a.png", dot);
    const person = await world.at(open(repo, "a.png"));
    const { page } = person;
    await page.getByRole("heading", { name: "Not text" }).waitFor();
    await soon(() => page.locator(".other img").evaluate((image) => [image.naturalWidth, image.naturalHeight]), [10, 10]);
    await page.locator(".other input[type=file]").setInputFiles({ name: "x.bin", mimeType: "", buffer: Buffer.from([0, 1, 2]) });
    await page.getByText("Replaced a.png").waitFor();
    same(await bytes(world, repo, "a.png"), [0, 1, 2]);
    const there = await world.admin.send("GET", file(repo, "main", "a.png"));
    same(there.headers.get("content-length"), "3");
    // The same file is another choice, and nothing that somebody saved meanwhile is replaced unseen.
    const chooser = page.waitForEvent("filechooser");
    await page.locator(".other label").click();
    const chosen = await chooser;
    same(await page.locator(".other input[type=file]").inputValue(), "");
    person.expected.push(/412/);
    let isMet = false;
    await person.route("**/files/a.png*", async (route) => {
      if (!isMet && route.request().method() === "PUT") {
        isMet = true;
        await put(world, repo, "a.png", Buffer.from([0, 3]));
      }
      await route.fallback();
    });
    await chosen.setFiles({ name: "x.bin", mimeType: "", buffer: Buffer.from([0, 1, 2]) });
    await page.locator(".toast.bad").getByText("Not saved: Somebody else saved this file.").waitFor();
    same(await bytes(world, repo, "a.png"), [0, 3]);
  }],
];
