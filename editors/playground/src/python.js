// Python with the toolkit in it: from a snapshot of its memory, or started anew where that cannot be had.
import { loadPyodide } from "./pyodide/pyodide.mjs";
import makeModule from "./pyodide/pyodide.asm.mjs";

const here = (name) => new URL(name, import.meta.url);

async function bytes(name) {
  const answer = await fetch(here(name));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer;
}

async function unpacked(answer) {
  return new Uint8Array(await new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

/** → Pyodide, in which `fsmdsl` can be imported. `plain`: without the snapshot. */
export async function startPython(plain = false) {
  const [toolkit, settings] = await Promise.all([bytes("toolkit.zip").then((x) => x.arrayBuffer()), bytes("settings.json").then((x) => x.json())]);
  const python = plain ? await started(settings) : await restored(settings).catch(() => started(settings));
  // Also after a snapshot: what was not imported then is imported from here.
  python.unpackArchive(new Uint8Array(toolkit), "zip", { extractDir: settings.packages });
  python.runPython("import importlib; importlib.invalidate_caches()");
  return python;
}

const options = (settings) => ({ indexURL: here("pyodide/").href, lockFileContents: settings.lock });

const started = (settings) => loadPyodide(options(settings));

async function restored(settings) {
  const snapshot = await unpacked(await bytes("snapshot.gz"));
  return loadPyodide({
    ...options(settings),
    _loadSnapshot: snapshot,
    // Pyodide does not grow its memory to the size of the snapshot by itself (pyodide#6254).
    createPyodideModule: async (given) => {
      const module = await makeModule(given);
      module.growMemory(snapshot.byteLength);
      return module;
    },
  });
}
