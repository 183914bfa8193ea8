import "../../shared/stand-in.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Following } from "./following.ts";

const place = { repo: "p", branch: "main", path: "a.txt" };
const form = { encoding: "utf-8", bom: false, end: "\n" };

/** The service: the file as it is, or out of order. */
function service(answers: (Response | null)[]) {
  globalThis.fetch = async (path) => {
    if (!String(path).includes("/files/")) return Response.json([]);
    const answer = answers.shift();
    if (!answer) throw new Error("offline");
    return answer;
  };
}
const file = (text: string) => new Response(text, { headers: { ETag: '"1"' } });

test("a file that could not be read comes with its draft when its branch has another head", async () => {
  const name = "draft\nanna\np\nmain\na.txt\n1";
  const draft = { text: "typed", form, message: "why", etag: '"1"', base: { text: "read", form }, at: 1 };
  localStorage.setItem(name, JSON.stringify(draft));
  service([null, file("read")]);
  const open = new Following(
    place,
    { account: "anna", ...place },
    {
      draw: () => undefined,
      onChanged: () => undefined,
      mayDelete: () => true,
    },
  );
  const shown = () => {
    const { phase, text, message, restored, changed } = open.drawn;
    return { phase, text, message, restored, changed };
  };
  await open.load();
  assert.deepEqual(shown(), { phase: "failed", text: "", message: "", restored: null, changed: false });
  await open.follow("c2");
  assert.deepEqual(shown(), { phase: "text", text: "typed", message: "why", restored: 1, changed: true });
  open.close();
});
