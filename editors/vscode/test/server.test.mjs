// Which program is started, and what the pages of panels may do.
import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { build } from "esbuild";

const out = await mkdtemp(join(tmpdir(), "fsm-"));
await build({ entryPoints: ["src/server.ts", "src/page.ts"], outdir: out, bundle: true, platform: "node", format: "esm", outExtension: { ".js": ".mjs" } });
const { fsmProgram } = await import(join(out, "server.mjs"));
const { page } = await import(join(out, "page.mjs"));

const place = { setting: "", folders: ["/a", "/b"], path: "/usr/local/bin:/usr/bin", windows: false };
const there = (...paths) => (path) => paths.includes(path);

test("the setting wins, even where nothing is", () => {
  assert.equal(fsmProgram({ ...place, setting: "/opt/fsm" }, there("/a/.venv/bin/fsm")), "/opt/fsm");
});

test("a virtual environment of the workspace comes before the path", () => {
  assert.equal(fsmProgram(place, there("/usr/bin/fsm", "/b/venv/bin/fsm")), "/b/venv/bin/fsm");
  assert.equal(fsmProgram(place, there("/b/venv/bin/fsm", "/a/.venv/bin/fsm")), "/a/.venv/bin/fsm");
  assert.equal(fsmProgram(place, there("/usr/bin/fsm")), "/usr/bin/fsm");
});

test("where there is none, there is none", () => {
  assert.equal(fsmProgram(place, there()), undefined);
});

test("a page runs the extension's script alone, and its title is text", () => {
  const html = page({ title: `<script>alert("x")</script>`, script: "https://p/a.js", style: "https://p/a.css", origin: "https://p" });
  assert.match(html, /default-src &#39;none&#39;/);
  assert.doesNotMatch(html, /<script>alert/);
  const nonces = [...html.matchAll(/nonce[-=]"?([A-Za-z0-9+/=]+)/g)].map((x) => x[1].replace(/"$/, ""));
  assert.equal(new Set(nonces).size, 1);
});
