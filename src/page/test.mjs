// Runs the unit tests, `*.test.ts`: bundles each into a temporary folder and hands them to node.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const folders = ["app", "editor", "shared"];
const tests = folders.flatMap((folder) =>
  readdirSync(join(here, folder), { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join(folder, name)),
);
const out = mkdtempSync(join(tmpdir(), "siteconf-page-"));
try {
  await esbuild.build({
    absWorkingDir: here,
    entryPoints: tests,
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    // As the browser gets the packages; node itself is there as well.
    platform: "browser",
    external: ["node:*"],
    format: "esm",
  });
  const files = readdirSync(out, { recursive: true }).filter((name) => name.endsWith(".mjs"));
  const { status } = spawnSync(process.execPath, ["--test", ...files.map((name) => join(out, name))], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
