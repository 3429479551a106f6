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

/**
 * → `{ python, complete }`: Pyodide, in which what the page asks for can be imported; after `complete()`, which takes a
 * moment, all of the toolkit. `plain`: without the snapshot.
 */
export async function startPython(plain = false) {
  const toolkit = bytes("toolkit.zip").then((x) => x.arrayBuffer());
  const settings = await (await bytes("settings.json")).json();
  let python = plain ? null : await restored(settings).catch(() => null);
  const whole = python === null;
  python ??= await started(settings);
  const data = new Uint8Array(await toolkit);
  let done = false;

  /** The modules that were not imported when the snapshot was made are imported from files, which it does not hold. */
  function complete() {
    if (done) return;
    done = true;
    python.unpackArchive(data, "zip", { extractDir: settings.packages });
    python.runPython("import importlib; importlib.invalidate_caches()");
  }

  if (whole) complete();
  return { python, complete };
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
