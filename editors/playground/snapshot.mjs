// Starts Python as the playground does, answers each kind of question once, and writes its memory:
// `node snapshot.mjs toolkit.zip settings.json warm.py snapshot.gz`.
import { readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";

const [toolkit, settings, warm, out] = process.argv.slice(2);
const { lock, packages } = JSON.parse(await readFile(settings, "utf8"));
try {
  const python = await loadPyodide({ _makeSnapshot: true, lockFileContents: lock });
  python.unpackArchive(new Uint8Array(await readFile(toolkit)), "zip", { extractDir: packages });
  python.runPython(await readFile(warm, "utf8"));
  await writeFile(out, gzipSync(python.makeMemorySnapshot(), { level: 9 }));
} catch (error) {
  console.error(error.message); // the rest would be a megabyte of Pyodide's source
  process.exit(1);
}
process.exit(0);
