// Bundles the page into a folder: `node build.mjs [--out FOLDER] [--modules FOLDER] [--watch]`. The folder is
// what the service serves; `--modules` says where the packages are, if not beside this file.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
const { values: args } = parseArgs({
  options: { out: { type: "string" }, modules: { type: "string" }, watch: { type: "boolean" } },
});
const out = resolve(args.out ?? join(here, "../../target/page"));
const modules = resolve(args.modules ?? join(here, "node_modules"));
const find = createRequire(join(modules, "here.js"));
const { default: esbuild } = await import(pathToFileURL(find.resolve("esbuild")).href);

/** The licences of all packages that have something in the bundle. */
function licences(inputs) {
  const folders = new Set();
  for (const input of Object.keys(inputs)) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) folders.add(resolve(here, found[1]));
  }
  const texts = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : "";
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return `The page is made of these packages.\n\n${texts.sort().join(`\n${"-".repeat(72)}\n\n`)}`;
}

const whatElse = {
  name: "what-else",
  setup(build) {
    build.onEnd(({ errors, metafile }) => {
      if (errors.length > 0) return;
      writeFileSync(join(out, "licences.txt"), licences(metafile.inputs));
      for (const name of ["index.html", "icon.svg"]) copyFileSync(join(here, name), join(out, name));
      // For reloading: whoever serves the folder may look when this was written.
      if (args.watch) process.stdout.write(`bundled into ${out}\n`);
    });
  },
};

if (!existsSync(out)) mkdirSync(out, { recursive: true });
const context = await esbuild.context({
  absWorkingDir: here,
  entryPoints: [
    { in: "app/main.tsx", out: "app" },
    { in: "app.css", out: "app" },
  ],
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: !args.watch,
  // As it is served: a letter of Russian takes two bytes, not the six of its escape.
  charset: "utf8",
  chunkNames: "[name]-[hash]",
  nodePaths: [modules],
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  plugins: [whatElse],
});
if (args.watch) await context.watch();
else {
  await context.rebuild();
  await context.dispose();
}
