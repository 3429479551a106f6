// The page: what the server tells, the numbers on top, the controls of a simulation. The rest is in cells.js and gangs.js.
import { Cells } from "./cells.js";
import { Gangs } from "./gangs.js";

const $ = (id) => document.getElementById(id);

/** All that is known; what the server sends changes it. */
const world = { time: 0, simulation: false, leaves: [], healthy: [], gangs: new Map(), tenants: [] };
const LATEST = 200;
const PACES = [[60, "1 min"], [600, "10 min"], [3600, "1 h"], [21600, "6 h"], [43200, "12 h"], [86400, "1 day"], [604800, "1 week"]];
const shares = [];

const response = await fetch("scene");
const scene = await response.json();
world.simulation = scene.simulation;
world.tenants = scene.tenants ?? [];

const gangs = new Gangs(world, (name) => cells.light(name));
const cells = new Cells(world, scene, (name) => gangs.choose(name));
$("controls").hidden = !world.simulation;
for (const [seconds, text] of PACES) $("pace").append(new Option(`${text} in a second`, seconds));
for (const input of document.querySelectorAll("input[name=colour]"))
  input.addEventListener("change", () => cells.colour(input.value));

let told = performance.now();
const stream = new EventSource("stream");
stream.onopen = () => ($("link").textContent = "");
stream.onerror = () => ($("link").textContent = "Not connected; trying again.");
stream.onmessage = ({ data }) => show(JSON.parse(data));

function show(change) {
  world.time = change.time;
  for (const [n, state, priority, owner, reserver] of change.leaves) world.leaves[n] = { state, priority, owner, reserver };
  for (const [n, healthy] of change.nodes) world.healthy[n] = healthy;
  for (const name of change.gone) world.gangs.delete(name);
  const before = new Map(change.gangs.map(([name]) => [name, world.gangs.get(name)?.state]));
  for (const [name, tenant, priority, state, pods, note] of change.gangs)
    world.gangs.set(name, { name, tenant, priority, state, pods, note });
  cells.show(change);
  gangs.show(change);
  totals();
  remark(change.remarks.length || world.simulation ? change.remarks : derived(change, before));
  if (change.how) control(change.how);
  $("clock").textContent = clock(world.time);
  told = performance.now();
  document.body.dataset.ready = "true";
}

/** Where nobody says what happened, what became of the gangs. */
function derived(change, before) {
  if (before.size > LATEST) return [];
  const became = change.gangs.filter(([name, , , state]) => before.get(name) !== state);
  return [
    ...became.map(([name, , , state]) => [change.time, before.get(name) ? `${name}: ${before.get(name)} → ${state}` : `${name}: ${state}`]),
    ...change.gone.map((name) => [change.time, `${name} is gone`]),
  ];
}

function clock(seconds) {
  if (!world.simulation) return new Date(seconds * 1000).toLocaleTimeString();
  const part = (n) => String(Math.floor(n)).padStart(2, "0");
  return `day ${Math.floor(seconds / 86400) + 1}, ${part((seconds / 3600) % 24)}:${part((seconds / 60) % 60)}:${part(seconds % 60)}`;
}

function totals() {
  const { used, second, reserved, free } = cells.totals();
  const all = world.leaves.length || 1;
  const waiting = [...world.gangs.values()].filter((x) => x.state === "Pending" || x.state === "Preempting").length;
  const listed = [
    ["in use", `${used + second} of ${world.leaves.length} (${Math.round((100 * (used + second)) / all)} %)`],
    ["opportunistic", second], ["reserved", reserved], ["free", free],
    ["bad nodes", world.healthy.filter((x) => !x).length],
    ["gangs", world.gangs.size], ["waiting", waiting],
  ];
  $("totals").replaceChildren(
    ...listed.map(([name, value]) => {
      const [term, told] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      told.textContent = value.toLocaleString();
      const pair = document.createElement("div");
      pair.append(term, told);
      return pair;
    }),
  );
  shares.push((used + second) / all);
  if (shares.length > 160) shares.shift();
  const line = shares.map((x, n) => `L${n} ${(1 - x) * 28}`).join("");
  $("spark").setAttribute("viewBox", `0 0 ${Math.max(shares.length - 1, 1)} 28`);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", `M0 28${line}L${shares.length - 1} 28Z`);
  $("spark").replaceChildren(path);
}

function remark(remarks) {
  for (const [time, text] of remarks) {
    const [item, when, what] = ["li", "time", "span"].map((x) => document.createElement(x));
    when.textContent = clock(time);
    what.textContent = text;
    item.append(when, what);
    $("remarks").prepend(item);
  }
  while ($("remarks").childElementCount > LATEST) $("remarks").lastElementChild.remove();
}

// The controls of a simulation

function control({ pace, paused, ended }) {
  $("pause").textContent = ended ? "Ended" : paused ? "Resume" : "Pause";
  $("pause").setAttribute("aria-pressed", String(paused));
  $("pause").disabled = ended;
  if (![...$("pace").options].some((x) => Number(x.value) === pace)) $("pace").append(new Option(`${pace} s in a second`, pace));
  if (document.activeElement !== $("pace")) $("pace").value = String(pace);
}

const tell = async (what) => {
  const answer = await fetch("control", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what) });
  if (answer.ok) control(await answer.json());
  else $("link").textContent = await answer.text();
};
$("pause").addEventListener("click", () => tell({ paused: $("pause").getAttribute("aria-pressed") !== "true" }));
$("pace").addEventListener("change", () => tell({ pace: Number($("pace").value) }));
