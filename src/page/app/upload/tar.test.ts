import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { test } from "node:test";
import { tar, tarSize } from "./tar.ts";

test("tar(1) finds every name and every byte", {
  skip: spawnSync("tar", ["--version"]).status !== 0,
}, async () => {
  const long = `${"п".repeat(80)}/${"я".repeat(100)}.xml`;
  const files = [
    { path: "a.txt", file: new Blob(["one\n"]) },
    { path: long, file: new Blob(["x".repeat(512)]) },
    { path: "empty", file: new Blob([]) },
    { path: "run.sh", file: new Blob(["#"]), executable: true },
  ];
  const archive = tar(files);
  assert.equal(
    archive.size,
    files.reduce((sum, one) => sum + tarSize(one), 1024),
  );
  const input = Buffer.from(await archive.arrayBuffer());
  const list = execFileSync("tar", ["-tvf", "-", "--quoting-style", "literal"], { input, encoding: "utf8" });
  assert.deepEqual(
    list
      .trim()
      .split("\n")
      .map((line) => [line.split(/\s+/)[0], Number(line.split(/\s+/)[2]), line.split(/\s+/)[5]]),
    [
      ["-rw-r--r--", 4, "a.txt"],
      ["-rw-r--r--", 512, long],
      ["-rw-r--r--", 0, "empty"],
      ["-rwxr-xr-x", 1, "run.sh"],
    ],
  );
  const content = execFileSync("tar", ["-xOf", "-", "a.txt"], { input, encoding: "utf8" });
  assert.equal(content, "one\n");
});
