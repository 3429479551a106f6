// Which program is started, and what the pages of panels may do.
import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { build } from "esbuild";

const out = await mkdtemp(join(tmpdir(), "fsm-"));
await build({ entryPoints: ["src/server.ts", "src/page.ts"], outdir: out, bundle: true, platform: "node", format: "esm", outExtension: { ".js": ".mjs" } });
const { fsmCommand, module } = await import(join(out, "server.mjs"));
const { page } = await import(join(out, "page.mjs"));

const place = { setting: "", interpreter: "", python: undefined, folders: ["/a", "/b"], path: "/usr/local/bin:/usr/bin", windows: false };
const there = (...paths) => (path) => paths.includes(path);

test("the settings win, even where nothing is", () => {
  assert.deepEqual(fsmCommand({ ...place, setting: "/opt/fsm", interpreter: "/opt/python" }, there("/a/.venv/bin/fsm")), ["/opt/fsm"]);
  assert.deepEqual(fsmCommand({ ...place, interpreter: "/opt/python" }, there("/a/.venv/bin/fsm")), ["/opt/python", "-P", "-m", "fsmdsl"]);
  assert.deepEqual(module("python"), ["python", "-P", "-m", "fsmdsl"]);
});

test("the Python extension's environment comes before those of the workspace, where it has fsm", () => {
  const chosen = { ...place, python: "/env/bin/python" };
  assert.deepEqual(fsmCommand(chosen, there("/env/bin/fsm", "/a/.venv/bin/fsm")), ["/env/bin/fsm"]);
  assert.deepEqual(fsmCommand(chosen, there("/env/bin/python", "/a/.venv/bin/fsm")), ["/a/.venv/bin/fsm"]);
});

test("a virtual environment of the workspace comes before the path", () => {
  assert.deepEqual(fsmCommand(place, there("/usr/bin/fsm", "/b/venv/bin/fsm")), ["/b/venv/bin/fsm"]);
  assert.deepEqual(fsmCommand(place, there("/b/venv/bin/fsm", "/a/.venv/bin/fsm")), ["/a/.venv/bin/fsm"]);
  assert.deepEqual(fsmCommand(place, there("/usr/bin/fsm")), ["/usr/bin/fsm"]);
});

test("where there is none, there is none", () => {
  assert.equal(fsmCommand(place, there()), undefined);
});

test("a page runs the extension's script alone, and its title is text", () => {
  const html = page({ title: `<script>alert("x")</script>`, script: "https://p/a.js", style: "https://p/a.css", origin: "https://p" });
  assert.match(html, /default-src &#39;none&#39;/);
  assert.doesNotMatch(html, /<script>alert/);
  const nonces = [...html.matchAll(/nonce[-=]"?([A-Za-z0-9+/=]+)/g)].map((x) => x[1].replace(/"$/, ""));
  assert.equal(new Set(nonces).size, 1);
});
