// Forced colours, as of a high contrast theme, and a wish for more contrast: nothing is told by a background alone.
import { same, soon } from "../browser.mjs";
import { newProject } from "../seed.mjs";
import { editor, keys, open, put, type } from "./editor/steps.mjs";

/** The outline of what is found first: its width and style; the search goes into shadow roots. */
const outline = (locator) => locator.first().evaluate((node) => {
  const { outlineWidth, outlineStyle } = getComputedStyle(node);
  return `${outlineWidth} ${outlineStyle}`;
});
const outlined = async (locator, what) => {
  await locator.first().waitFor();
  same(await outline(locator), "2px solid", what);
};
const forced = { forcedColors: "active" };

export default [
  ["in forced colours what is chosen and what has the focus is outlined", async (world) => {
    const repo = await newProject(world.admin, "acme/forced", { "a.txt": "x", "b.txt": "x" }, { "a.txt": "y", "b.txt": "y" });
    const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0002`);
    const { page } = person;
    const files = `/site-builder/files/${repo}?branch=main`;
    await page.emulateMedia(forced);
    await outlined(page.locator(".changes .current"), "a file of a change");
    await outlined(page.locator(".moment.current > a"), "a change");
    // They keep their colours.
    for (const sign of [".health.ok", ".moment.now .dot"]) {
      await page.locator(sign).waitFor();
      same(await page.locator(sign).evaluate((node) => getComputedStyle(node).backgroundColor), "rgb(44, 138, 75)", sign);
    }
    await person.shot("forced change");
    await page.getByPlaceholder("Filter files").focus();
    await outlined(page.locator("aside .field"), "a field with the focus");
    await page.keyboard.press("Control+k");
    await outlined(page.locator(".found > [aria-selected=true]"), "a line of the finder");
    await person.shot("forced finder");
    await page.keyboard.press("Escape");
    await person.go(`${files}&change=v0002&rollback=v0002`);
    await outlined(page.locator("dialog .changes .current"), "a file of a rollback");
    await person.go(`/site-builder/compare/${repo}?branch=main&from=v0002`);
    await outlined(page.locator(".changes .current"), "a file of a comparison");
    await person.go("/site-builder/tokens?new=1");
    await page.locator("dialog input[name=name]").focus();
    await outlined(page.locator("dialog input[name=name]"), "an input with the focus");
    await page.setViewportSize({ width: 390, height: 844 });
    await person.go(files);
    await outlined(page.locator(".tabs [aria-pressed=true]"), "the tab that is shown");
    await person.shot("forced phone");
  }],

  ["in forced colours a clash is outlined, and changed lines stand where the others do", async (world) => {
    const repo = await newProject(world.admin, "acme/forced-merge", { "a.txt": "one\ntwo\nthree\n" });
    const person = await world.at(open(repo, "a.txt"));
    const { page } = person;
    person.expected.push(/412/);
    await page.emulateMedia(forced);
    await editor(person);
    await type(person, "mine\n");
    await put(world, repo, "a.txt", "ONE\ntwo\nthree\ntheirs\n");
    await keys(person, "Control+s");
    const lines = page.locator("dialog .cm-merge-b .cm-line");
    await soon(() => page.locator("dialog .cm-clash").count(), 1);
    await person.unmoved();
    await person.shot("forced merge");
    await outlined(page.locator("dialog .cm-clash"), "a clash");
    const starts = await page.locator("dialog .cm-merge-a .cm-line").evaluateAll((lines) => lines.map((line) => {
      const range = document.createRange();
      range.selectNodeContents(line);
      return line.textContent && Math.round(range.getBoundingClientRect().left);
    }).filter(Boolean));
    same(starts.length >= 4 && starts.every((start) => start === starts[0]), true, `where lines start: ${starts}`);
    same(await lines.count() >= 4, true);
  }],

  ["who asks for more contrast gets it", async (world) => {
    const repo = await newProject(world.admin, "acme/contrast", { "a.txt": "x", "b.txt": "x" });
    for (const dark of [false, true]) {
      const person = await world.at(`/site-builder/files/${repo}?branch=main&change=v0001`, { dark });
      const { page } = person;
      await page.emulateMedia({ contrast: "more" });
      await page.locator(".changes .sub").first().waitFor();
      await person.settled();
      const low = await page.evaluate(() => {
        const light = (colour) => {
          const [r, g, b] = colour.match(/[\d.]+/g).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
        const behind = (node) => {
          const { backgroundColor } = getComputedStyle(node);
          return /, 0\)$/.test(backgroundColor) ? behind(node.parentElement) : backgroundColor;
        };
        const texts = [...document.querySelectorAll(".sub, .version, .changes .current, .labels, .strip, .places a, .foot, .day")];
        const edges = [...document.querySelectorAll(".top, .filehead, aside, .button:not(.primary), .field")];
        return [
          ...texts.filter((node) => ratio(getComputedStyle(node).color, behind(node)) < 7),
          ...edges.filter((node) => ["borderBottom", "borderRight", "borderLeft"].some((side) => {
            const style = getComputedStyle(node);
            return style[`${side}Width`] !== "0px" && ratio(style[`${side}Color`], behind(node.parentElement)) < 4.5;
          })),
        ].map((node) => `${node.className}: ${node.textContent.slice(0, 20)}`);
      });
      await person.shot(`contrast ${dark ? "dark" : "light"}`);
      same(low, [], dark ? "dark" : "light");
    }
  }],
];
