// The page: what the server tells, the numbers on top, the controls of a simulation. Each panel has a module of its own.
import { Answers } from "./answers.js";
import { Cells } from "./cells.js";
import { Gangs } from "./gangs.js";
import { Selection } from "./selection.js";
import { Tenants } from "./tenants.js";
import { Usage } from "./usage.js";

const $ = (id) => document.getElementById(id);

/** All that is known; what the server sends changes it. */
const world = { time: 0, simulation: false, leaves: [], healthy: [], gangs: new Map(), tenants: [] };
const LATEST = 200;
const PACES = [[60, "1 min"], [600, "10 min"], [3600, "1 h"], [21600, "6 h"], [43200, "12 h"], [86400, "1 day"], [604800, "1 week"]];

const response = await fetch("scene");
const scene = await response.json();
world.simulation = scene.simulation;
world.tenants = scene.tenants ?? [];

const selection = new Selection(() => select());
const gangs = new Gangs(world, selection);
const cells = new Cells(world, scene, selection);
const usage = new Usage($("chart"), clock);
const answers = world.simulation ? null : new Answers(selection);
const tenants = world.simulation ? new Tenants(world, selection) : null;
if (!world.simulation) usage.load();
$("close").addEventListener("click", () => selection.choose(""));
$("window").addEventListener("change", hideOld);
$("controls").hidden = !world.simulation;
for (const [seconds, text] of PACES) $("pace").append(new Option(`${text} in a second`, seconds));
for (const input of document.querySelectorAll("input[name=colour]"))
  input.addEventListener("change", () => {
    cells.colour(input.value);
    selection.set("colour", input.value === "state" ? "" : input.value);
  });

/** The page follows its address. */
function select() {
  const { kind, name } = selection;
  const colour = document.querySelector(`input[name=colour][value="${CSS.escape(selection.get("colour") || "state")}"]`);
  if (colour && !colour.checked) {
    colour.checked = true;
    cells.colour(colour.value);
  }
  if ($("find").value !== selection.get("find")) $("find").value = selection.get("find");
  cells.light(kind === "gang" ? name : "", kind === "node" ? name : "");
  gangs.table();
  gangs.detail();
  answers?.show();
  tenants?.draw();
  $("chosen").hidden = !kind;
  if (kind && matchMedia("(max-width: 900px)").matches) $("chosen").scrollIntoView({ block: "start" });
}

const stream = new EventSource("stream");
stream.onopen = () => ($("link").textContent = "");
stream.onerror = () => ($("link").textContent = "Not connected; trying again.");
stream.onmessage = ({ data }) => show(JSON.parse(data));

function show(change) {
  world.time = change.time;
  for (const [n, state, priority, owner, reserver] of change.leaves) world.leaves[n] = { state, priority, owner, reserver };
  for (const [n, healthy] of change.nodes) world.healthy[n] = healthy;
  for (const name of change.gone) world.gangs.delete(name);
  for (const [name, tenant, priority, state, pods, note, fails] of change.gangs)
    world.gangs.set(name, { name, tenant, priority, state, pods, note, fails });
  cells.show(change);
  gangs.show(change);
  tenants?.show();
  totals();
  remark(change.remarks);
  if (change.how) control(change.how);
  $("clock").textContent = clock(world.time);
  const chosen = selection.kind === "gang" && [...change.gangs.map(([name]) => name), ...change.gone].includes(selection.name);
  if (chosen) answers?.refresh();
  if (document.body.dataset.ready !== "true") select();
  document.body.dataset.ready = "true";
}

function clock(seconds) {
  if (!world.simulation) return new Date(seconds * 1000).toLocaleTimeString();
  const part = (n) => String(Math.floor(n)).padStart(2, "0");
  return `day ${Math.floor(seconds / 86400) + 1}, ${part((seconds / 3600) % 24)}:${part((seconds / 60) % 60)}:${part(seconds % 60)}`;
}

function totals() {
  const { used, second, reserved, free } = cells.totals();
  const all = world.leaves.length || 1;
  const failing = [...world.gangs.values()].filter((x) => x.fails).length;
  const waiting = [...world.gangs.values()].filter((x) => !x.fails && (x.state === "Pending" || x.state === "Preempting")).length;
  const listed = [
    ["in use", `${used + second} of ${world.leaves.length} (${Math.round((100 * (used + second)) / all)} %)`],
    ["opportunistic", second], ["reserved", reserved], ["free", free],
    ["bad nodes", world.healthy.filter((x) => !x).length],
    ["gangs", world.gangs.size], ["waiting", waiting], ...(failing ? [["failing", failing]] : []),
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
  // Of a cell that is reserved for another gang, the gang that still uses it counts.
  const inUse = world.leaves.filter((x) => x.owner);
  const weak = inUse.filter((x) => (x.state === "Reserving" ? world.gangs.get(x.owner)?.priority : x.priority) < 0).length;
  usage.add(world.time, inUse.length - weak, weak, world.leaves.length);
}

function remark(remarks) {
  for (const [time, text] of remarks) {
    const [item, when, what] = ["li", "time", "span"].map((x) => document.createElement(x));
    when.textContent = clock(time);
    what.textContent = text;
    item.dataset.time = time;
    item.append(when, what);
    $("remarks").prepend(item);
  }
  while ($("remarks").childElementCount > LATEST) $("remarks").lastElementChild.remove();
  hideOld();
}

function hideOld() {
  const first = world.time - Number($("window").value);
  for (const item of $("remarks").children) item.hidden = Number(item.dataset.time) < first;
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
