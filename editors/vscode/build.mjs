// Makes dist/: the extension as one file, and the pages that its panels show. `npm ci && npm run build`.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const shared = join(here, "../../fsmdsl/report/static");
const dist = join(here, "dist");

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
const usual = { absWorkingDir: here, bundle: true, minify: true, charset: "utf8", legalComments: "none", logLevel: "warning" };
await build({
  ...usual,
  entryPoints: ["src/extension.ts"],
  outfile: join(dist, "extension.js"),
  platform: "node",
  target: "node18",
  format: "cjs",
  external: ["vscode"],
});
await build({
  ...usual,
  entryPoints: ["src/views/diagram.js", "src/views/trace.js"],
  outdir: dist,
  target: "es2022",
  format: "iife",
  // The stepper is the report's own.
  alias: { "fsmdsl-stepper": join(shared, "stepper.js") },
});
const styles = await Promise.all(["theme.css", "stepper.css"].map((name) => readFile(join(shared, name), "utf8")));
await writeFile(join(dist, "trace.css"), styles.join("\n"));
await copyFile(join(here, "../../LICENSE"), join(here, "LICENSE"));
await copyFile(join(here, "src/views/diagram.css"), join(dist, "diagram.css"));
await copyFile(join(here, "../../fsmdsl/cli/gang.fsm"), join(dist, "gang.fsm"));
