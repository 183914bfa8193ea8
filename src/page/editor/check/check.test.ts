import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "./check.ts";

/** Each problem as `kind@from-to`, and the text between. */
async function found(path: string, text: string, encoding = "utf-8") {
  return (await check(path, text, encoding)).map((one) => `${one.kind} ${text.slice(one.from, one.to)}`);
}

test("XML: the first breach is found at its place", async () => {
  const cases: [string, string[]][] = [
    ['<?xml version="1.0"?>\n<!-- n --><a b="1" c=\'&lt;\'><b/>&#169;<![CDATA[ < & ]]></a >\n', []],
    ['<!DOCTYPE a [<!ENTITY x "y>">]><a>&x;</a>', []],
    ["<а:б xmlns:а='u'></а:б>", []],
    ["", ["xml.empty "]],
    ["<a>", ["xml.unclosed <a"]],
    ["<a><b></a>", ["xml.mismatch </a>"]],
    ["<a/></b>", ["xml.closing </b>"]],
    ["<a/><b/>", ["xml.second <b"]],
    ["<a/>x", ["xml.outside x"]],
    ["<a>b & c</a>", ["xml.ampersand &"]],
    ["<a>&nbsp;</a>", ["xml.entity &nbsp;"]],
    ['<!-- & --><a b="&lt;&gt;" c="1"><![CDATA[&]]>&amp;<b/>&x</a>', ["xml.ampersand &"]],
    ['\n<a b="1" c="&y;"/>', ["xml.entity &y;"]],
    ["<a>1 < 2</a>", ["xml.less <"]],
    ['<a b="1"c="2"/>', ["xml.space c"]],
    ['<a b="1" b="2"/>', ["xml.duplicate b"]],
    ["<a b/>", ["xml.attribute b"]],
    ["<a b=1/>", ["xml.attribute b="]],
    ['<a b="1><c d="2"/>', ['xml.quote b="']],
    ["<a><!-- -- --></a>", ["xml.comment <!--"]],
    ["<a><![CDATA[</a>", ["xml.section <![CDATA["]],
    [' <?xml version="1.0"?><a/>', ['xml.declaration <?xml version="1.0"?>']],
    ["<a>\u0001</a>", ["xml.control \u0001"]],
    ["<a", ["xml.tag <a"]],
  ];
  for (const [text, expected] of cases) assert.deepEqual(await found("a.xml", text), expected, text);
});

test("XML: a mismatch says what is open, and since which line", async () => {
  const [problem] = await check("a.xml", "<a>\n<b>\n</a>", "utf-8");
  assert.deepEqual(problem, {
    kind: "xml.mismatch",
    from: 8,
    to: 12,
    values: { name: "a", open: "b", line: "2" },
  });
});

test("XML: a text with many attributes and hardly a reference is searched a few times, not once for each", async () => {
  const line = '<b c="1" d="2" e="3" f="4"/>\n';
  const rows = line.repeat(2_000_000 / line.length);
  const one = `<a${Array.from({ length: 100_000 }, (_, at) => ` b${at}="${at}"`).join("")}>&lt;</a>`;
  const { indexOf } = String.prototype;
  let walked = 0;
  String.prototype.indexOf = function (this: string, of: string, from = 0): number {
    const at = indexOf.call(this, of, from);
    walked += (at < 0 ? this.length : at) - from;
    return at;
  };
  try {
    for (const text of [`<a>${rows}</a>`, `<a>${rows}&amp;</a>`, one]) {
      walked = 0;
      assert.deepEqual(await found("a.xml", text), []);
      assert.ok(walked < 10 * text.length, `${walked} letters of ${text.length}`);
    }
  } finally {
    String.prototype.indexOf = indexOf;
  }
});

test("XML: another encoding than the declared one is a warning", async () => {
  const text = '<?xml version="1.0" encoding="windows-1251"?><a/>';
  assert.deepEqual(await found("a.xml", text), ["xml.encoding windows-1251"]);
  assert.deepEqual(await found("a.xml", text, "windows-1251"), []);
  assert.deepEqual(await found("a.xml", '<?xml version="1.0" encoding="UTF-16"?><a/>', "utf-16be"), []);
});

test("JSON: the first breach is found at its place", async () => {
  const cases: [string, string[]][] = [
    ['{"a": [1, -2.5e+3, true, null, "\\u00e9\\n"], "b": {}, "c": []}\n', []],
    ["12", []],
    ["[]", []],
    ["[[[]],[]]", []],
    ["", ["json.empty "]],
    ['{"a": 1,}', ["json.trailing }"]],
    ["[1,]", ["json.trailing ]"]],
    ['{"a" 1}', ['json.colon "a" ']],
    ['{"a": 1 "b": 2}', ['json.comma "']],
    ["[1 2]", ["json.comma 2"]],
    ["{'a': 1}", ["json.quotes '"]],
    ["{a: 1}", ["json.key a"]],
    ['{"a": yes}', ["json.value yes"]],
    ['{"a": }', ["json.trailing }"]],
    ['{"a": "b\n"}', ['json.string "b']],
    ['"\\x"', ["json.escape \\x"]],
    ['"\t"', ["json.control \t"]],
    ["[01]", ["json.number 01"]],
    ["[1.]", ["json.number 1."]],
    ['{"a": [1}', ["json.closing }"]],
    ['{"a": [1', ["json.unclosed ["]],
    ["{", ["json.unclosed {"]],
    ["[] []", ["json.rest []"]],
    ["// x\n{}", ["json.comment //"]],
    ['{"a": 1, /* x */ "b": 2}', ["json.comment /*"]],
    ['{"a": 1, "b": {"a": 2}, "a": 3}', ['json.duplicate "a"']],
  ];
  for (const [text, expected] of cases) {
    const kinds = await found("a.json", text);
    assert.deepEqual(kinds, expected, text);
    // The browser's own parser agrees whether it is JSON.
    let parses = true;
    try {
      JSON.parse(text);
    } catch {
      parses = false;
    }
    assert.equal(
      (await check("a.json", text, "utf-8")).every((one) => one.warning),
      parses,
      text,
    );
  }
  assert.deepEqual(await found("a.json", "[".repeat(100_000) + "]".repeat(100_000)), []);
});

test("INI: lines without a key, open sections, keys that come twice", async () => {
  assert.deepEqual(await found("a.ini", "; n\n# n\n[s]\na = 1\n b = c\nk: v\n\n[t]\na=2\r\n"), []);
  assert.deepEqual(await found("a.ini", "[s\na=1"), ["ini.section [s"]);
  assert.deepEqual(await found("a.ini", "[s]\nнепонятно\n=5"), ["ini.line непонятно", "ini.line =5"]);
  assert.deepEqual(await found("a.ini", "[s]\na=1\n[t]\na=1\n[S]\nA=2"), ["ini.duplicate A"]);
});

test("YAML: by the package", async () => {
  assert.deepEqual(await found("a.yml", "a: 1\nb: [1, 2]\n---\n- c\n"), []);
  assert.deepEqual(await found("a.yaml", "a: 1\na: 2\n"), ["yaml.duplicate a"]);
  assert.deepEqual(await found("a.yaml", "a:\n\t- 1\n"), ["yaml.tab \t"]);
  assert.equal((await found("a.yaml", 'a: "x\n'))[0]?.split(" ")[0], "yaml.unclosed");
  assert.equal((await found("a.yaml", "a: b: c\n")).length > 0, true);
});

test("other files have no rules", async () => {
  assert.deepEqual(await found("a.txt", "<"), []);
  assert.deepEqual(await found("a.html", "<br>"), []);
});
