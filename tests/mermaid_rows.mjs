// The arrows that Mermaid itself reads in the state diagrams of a Markdown file, as JSON lines, one for each diagram.
//
//   node tests/mermaid_rows.mjs MODULES FILE      MODULES: a folder with `node_modules` that has mermaid and jsdom
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, file] = process.argv.slice(2);
const require = createRequire(resolve(modules, 'index.js'));
const { JSDOM } = require('jsdom');
globalThis.window = new JSDOM('<body></body>').window;
globalThis.document = globalThis.window.document;
const core = resolve(modules, 'node_modules/mermaid/dist/mermaid.core.mjs');
const { default: mermaid } = await import(pathToFileURL(core));

const choices = new Set();

function* arrowsOf(statements) {
  for (const x of statements) {
    if (x.type === 'choice') choices.add(x.id);
    if (x.stmt === 'relation' && !/_(start|end)$/.test(x.state1.id) && !/_(start|end)$/.test(x.state2.id))
      yield [x.state1.id, x.state2.id, x.description ?? ''];
    yield* arrowsOf(x.doc ?? []);
  }
}

for (const [, text] of readFileSync(file, 'utf8').matchAll(/^```mermaid(?:-example)?\n([\s\S]*?)^```/gm)) {
  if (!/^\s*stateDiagram/m.test(text)) continue;
  await mermaid.parse(text);
  const diagram = await mermaid.mermaidAPI.getDiagramFromText(text);
  choices.clear();
  const arrows = [...arrowsOf(diagram.db.getRootDocV2().doc)];
  console.log(JSON.stringify({ arrows, choices: [...choices] }));
}
process.exit(0);
