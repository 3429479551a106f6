// What XState itself makes of the machines in some files, as JSON lines: the name, and all rows of each machine.
//
//   node tests/xstate_rows.mjs MODULES FILE…      MODULES: a folder with `node_modules` that has xstate and esbuild
//
// Nothing is started: `createActor` and all modules but xstate are replaced. The files themselves are run.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const [modules, ...files] = process.argv.slice(2);
const require = createRequire(resolve(modules, 'index.js'));
const xstate = require('xstate');
const { buildSync } = require('esbuild');

const nothing = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : key === Symbol.iterator ? [][Symbol.iterator].bind([]) : nothing),
  apply: () => nothing,
  construct: () => nothing
});

function machinesOf(file) {
  const made = [];
  const noted = (machine) => (made.push(machine), machine);
  const wrapped = {
    ...xstate,
    createMachine: (...given) => noted(xstate.createMachine(...given)),
    setup: (given) => {
      const known = xstate.setup(given);
      return { ...known, createMachine: (config) => noted(known.createMachine(config)) };
    },
    createActor: () => nothing
  };
  const options = { bundle: true, write: false, format: 'cjs', external: ['*'], jsx: 'automatic', logLevel: 'silent' };
  const built = buildSync({ entryPoints: [file], ...options });
  const module = { exports: {} };
  const log = console.log;
  console.log = () => {};
  try {
    new Function('require', 'module', 'exports', built.outputFiles[0].text)(
      (name) => (name === 'xstate' ? wrapped : nothing), module, module.exports
    );
  } finally {
    console.log = log;
  }
  return made;
}

const nodes = (node) => [node, ...Object.values(node.states).flatMap(nodes)];
const path = (node) => node.path.join('.');

function* rowsOf(node) {
  const all = [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
  for (const t of all) {
    const event = t.eventType ?? '';
    let target = t.target?.[0];
    if (target?.type === 'history') target = target.parent;
    const stays = target === node && !t.reenter && Object.keys(node.states).length === 0;
    const to = !target || stays ? null : path(target);
    const finals = Object.values(node.states).filter((s) => s.type === 'final');
    const sources = node.parent
      ? [node]
      : Object.values(node.states).filter((s) => s.type !== 'final' && s.type !== 'history');
    let kind = event === '*' ? 'any' : event;
    if (event === '') kind = 'always';
    else if (event.startsWith('xstate.after.')) kind = 'after';
    else if (/^xstate\.(done|error|snapshot)\.actor/.test(event)) kind = event.split('.')[1];
    else if (event.startsWith('xstate.done.state')) {
      if (finals.length) {
        for (const s of finals) yield [path(s), 'always', to];
        continue;
      }
      kind = 'done';
    }
    for (const s of sources) yield [path(s), kind, to];
  }
}

for (const file of files) {
  let made = [];
  try {
    made = machinesOf(file);
  } catch (error) {
    console.error(`${file}: ${String(error).split('\n')[0]}`);
  }
  for (const machine of made) {
    const all = nodes(machine.root);
    const states = all.filter((x) => x.parent && x.type !== 'history').map(path).sort();
    if (states.length) console.log(JSON.stringify({ file, name: machine.id, states, rows: all.flatMap((x) => [...rowsOf(x)]) }));
  }
}
process.exit(0);
