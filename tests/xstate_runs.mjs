// What XState does with events: for each line of the input, a config and events, the states and actions of each step.
//
//   node tests/xstate_runs.mjs MODULES < LINES      MODULES: a folder with `node_modules` that has xstate
//
// A guard is an expression of the fields of the event, with `not`, `and` and `or`.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { readFileSync } from 'node:fs';

const require = createRequire(resolve(process.argv[2], 'index.js'));
const { createMachine, createActor } = require('xstate');

const code = (text) => text.replace(/\bnot\b/g, '!').replace(/\band\b/g, '&&').replace(/\bor\b/g, '||');
const guard = (text) => {
  const holds = new Function('a', 'b', `return ${code(text)}`);
  return ({ event }) => holds(event.a, event.b);
};
const leaf = (value) => (typeof value === 'string' ? value : leaf(Object.values(value)[0]));

for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const { config, events, guards, actions } = JSON.parse(line);
  let done = [];
  const machine = createMachine(config, {
    guards: Object.fromEntries(guards.map((x) => [x, guard(x)])),
    actions: Object.fromEntries(actions.map((x) => [x, () => done.push(x)]))
  });
  const actor = createActor(machine).start();
  const steps = events.map((event) => {
    done = [];
    actor.send(event);
    return [leaf(actor.getSnapshot().value), done];
  });
  console.log(JSON.stringify(steps));
}
process.exit(0);
