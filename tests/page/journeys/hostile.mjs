// Files that would do harm where a browser took them for more than bytes: opened in the page, asked for by their own
// address, and taken into pages of others. No script of theirs runs, and nothing changes.
import { same } from "../browser.mjs";
import { branch, file, newProject, PASSWORD } from "../seed.mjs";

// What each tries: a change in the name of who looks, and a sign that it ran.
const script = `try{top.name="ran"}catch{};alert("ran");fetch("/site-builder/api/projects",{method:"POST",headers:{"Content-Type":"application/json"},body:'{"name":"harm/done","type":"erp"}'});`;
const html = `<!doctype html><html><body onload='${script.replaceAll("'", "&#39;")}'><script>${script}</script><img src=x onerror="alert('ran')"></body></html>`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert('ran')"><script>${script.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</script></svg>`;
const xhtml = `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><script>alert("ran")</script></body></html>`;

const files = {
  "a.html": html,
  "a.htm": html,
  "a.shtml": html,
  "a.xhtml": xhtml,
  "a.svg": svg,
  "styled.xml": `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="a.xsl"?><a/>`,
  "script.xml": xhtml,
  "a.xsl": `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><script>alert("ran")</script></xsl:template></xsl:stylesheet>`,
  "entity.xml": `<!DOCTYPE a [<!ENTITY x SYSTEM "/site-builder/api/projects">]><a>&x;</a>`,
  "a.js": script,
  "a.mjs": script,
  "a.json": `{"a":"</script><script>alert('ran')</script>"}`,
  "a.css": `@import "javascript:alert('ran')";body{background:url("javascript:alert('ran')")}`,
  "a.pdf": `%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert("ran"))>>>>endobj\ntrailer<</Root 1 0 R>>\n`,
  "a.png": `\u0089PNG\r\n${html}`,
  "a.gif": `GIF89a/*${html}*/=1;${script}`,
  "a.mht": `MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n${html}`,
  "a.md": `[x](javascript:alert('ran'))\n${html}`,
  "no-extension": html,
  "a.txt": html,
  '"><img src=x onerror=alert(1)>.txt': html,
  "a.webmanifest": `{"start_url":"javascript:alert('ran')"}`,
};

/** Complains of a script that ran. */
function guard(person) {
  person.page.on("dialog", (dialog) => {
    person.complaints.push(`a script ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
}

async function unchanged(world, repo, head) {
  same((await world.admin.json("GET", branch(repo, "main"))).commit.id, head);
  const projects = await world.admin.json("GET", "/site-builder/api/projects?scope=accessible");
  same(projects.filter((project) => project.repo_id.startsWith("harm/")), []);
}

export default [
  ["files of hostile kinds run nothing and change nothing, in the page, by their address and from another site", async (world) => {
    const repo = await newProject(world.admin, "acme/hostile", files);
    const head = (await world.admin.json("GET", branch(repo, "main"))).commit.id;
    const person = await world.at(`/site-builder/files/${repo}?branch=main`);
    const { page } = person;
    guard(person);
    for (const path of Object.keys(files)) {
      await person.go(`/site-builder/files/${repo}?branch=main&path=${encodeURIComponent(path)}`);
      await page.locator(".file[data-phase=text] .cm-content, .file[data-phase] .other").first().waitFor();
      await person.settled();
      const download = page.waitForEvent("download");
      // A download is no page: the browser stays where it is.
      await page.goto(file(repo, "main", path)).catch(() => null);
      await (await download).cancel();
      same(await page.evaluate(() => globalThis.name), "", path);
    }
    await unchanged(world, repo, head);

    const other = await world.somebody();
    guard(other);
    await other.login("olga", PASSWORD);
    // What a browser refuses there it complains of.
    other.expected.push(/^(?!a script ran)/);
    const places = Object.keys(files).map((path) => `${world.base}${file(repo, "main", path)}`);
    const taken = places.map((at) =>
      `<script src="${at}"></script><link rel="stylesheet" href="${at}"><img src="${at}"><iframe src="${at}"></iframe><object data="${at}"></object>`);
    // Even on a page of this origin that had no policy of its own.
    for (const origin of ["http://elsewhere.test", world.base]) {
      await other.route(`${origin}/taken`, (route) =>
        route.fulfill({ contentType: "text/html", body: `<!doctype html><title>taken</title>${taken.join("")}` }));
      await other.page.goto(`${origin}/taken`);
      same(await other.page.evaluate(() => globalThis.name), "", origin);
    }
    await unchanged(world, repo, head);
  }],
];
