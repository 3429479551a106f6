// Makes fsmdsl/editor/live/static/codemirror.js and the licences of what is in it: `npm ci && npm run build`.
// With an argument, writes into that folder instead.
import { build } from "esbuild";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../../fsmdsl/editor/live/static");

const made = await build({
  entryPoints: [join(here, "src/codemirror.js")],
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  banner: { js: "/* CodeMirror, MIT licence: see codemirror.LICENSE.txt. Made by editors/live/build.mjs. */" },
  outfile: join(out, "codemirror.js"),
});

const packages = new Set();
for (const path of Object.keys(made.metafile.inputs)) {
  const name = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1];
  if (name) packages.add(name);
}
const told = [];
for (const name of [...packages].sort()) {
  const folder = join(here, "node_modules", name);
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((x) => /^licen[cs]e/i.test(x));
  told.push(`${name} ${version}\n\n${(await readFile(join(folder, file), "utf8")).trim()}\n`);
}
await writeFile(join(out, "codemirror.LICENSE.txt"), told.join(`\n${"-".repeat(80)}\n\n`));
