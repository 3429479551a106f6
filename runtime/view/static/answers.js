// What the allocator answers to an operator: why a gang waits, what holds a node, how full a virtual cluster is.
import { address } from "./selection.js";

const AGAIN = 10_000; // milliseconds, after which an answer that is shown is asked for again
const $ = (id) => document.getElementById(id);

export class Answers {
  constructor(selection) {
    this.selection = selection;
    this.asked = 0;
    this.subject = ""; // what the answers that are shown are about
    this.room = null; // what fits into the virtual cluster that is chosen: asked for once, as it costs decisions
    $("window").addEventListener("change", () => this.preemptions());
    $("tenants").hidden = false;
    setInterval(() => document.hidden || this.refresh(), AGAIN);
    this.tenants();
    this.preemptions();
  }

  refresh() {
    this.show();
    this.tenants();
    this.preemptions();
  }

  /** Counts over the same time as the list of what happened. */
  async preemptions() {
    const seconds = $("window").value;
    const found = await ask(`preemptions${seconds === "Infinity" ? "" : `?seconds=${seconds}`}`);
    if (found.error || seconds !== $("window").value) return;
    $("preempted").hidden = false;
    $("preempted").textContent = found.items.length ? `Preempted: ${found.items.map(preempted).join("; ")}.` : "No gang was preempted.";
  }

  fits(name) {
    if (this.room?.name !== name) this.room = new Fits(name);
    return this.room.place;
  }

  async tenants() {
    const [found, cheap] = await Promise.all([ask("virtualclusters/"), ask("opportunistic")]);
    if (found.error || cheap.error) return;
    const devices = cheap.items.reduce((sum, x) => sum + x.devices, 0);
    const gangs = cheap.items.length;
    const last = make("li");
    last.append(link("opportunistic", "", "Opportunistic gangs"), make("span", "numbers", `${gangs} gang${gangs === 1 ? "" : "s"}, ${devices} devices: they leave first`));
    $("quotas").replaceChildren(...found.items.map(quota), last);
  }

  /** Asks about what is chosen. What was shown of another goes at once; an answer that comes after another choice is dropped. */
  async show() {
    const { kind, name } = this.selection;
    const number = ++this.asked;
    const place = $("answers");
    if (this.subject !== `${kind} ${name}`) place.replaceChildren();
    this.subject = `${kind} ${name}`;
    if (!kind) return place.replaceChildren();
    const path = { gang: "why/", node: "nodes/", tenant: "virtualclusters/", opportunistic: "opportunistic" }[kind];
    const found = await ask(path + name.split("/").map(encodeURIComponent).join("/"));
    if (number !== this.asked) return;
    place.replaceChildren(...(found.error ? [make("p", "problem", found.error)] : { gang: why, node, tenant, opportunistic }[kind](found)));
    if (kind === "tenant" && !found.error) place.append(this.fits(name));
    if (kind !== "gang" || found.failure) return; // one that fails has no life
    const life = await ask(`lives/${name.split("/").map(encodeURIComponent).join("/")}`, "v1");
    if (number === this.asked && !life.error) place.append(...machines(life));
  }
}

/** The largest gangs that fit into a virtual cluster. Each is found by trial, so they are not asked for again by themselves. */
class Fits {
  constructor(name) {
    this.name = name;
    this.place = make("div", "fits");
    this.load();
  }

  async load() {
    const again = make("button", "", "Determine again");
    again.type = "button";
    again.addEventListener("click", () => this.load());
    this.place.replaceChildren(...room([], "…"));
    const found = await ask(`fits/${this.name.split("/").map(encodeURIComponent).join("/")}`);
    this.place.replaceChildren(...(found.error ? [make("p", "problem", found.error)] : room(found.items, new Date().toLocaleTimeString())), again);
  }
}

async function ask(path, version = "v2") {
  try {
    const answer = await fetch(`../${version}/inspect/${path}`);
    const found = await answer.json();
    return answer.ok ? found : { error: String(found).replace(/^\w+ error \(\d+\): /, "") };
  } catch {
    return { error: "The allocator does not answer." };
  }
}

// One answer each

function why(x) {
  const waits = x.state === "Pending" || x.state === "Preempting";
  const rows = [
    [x.failure ? "Fails for good" : waits ? "Why it waits" : "Now", x.reason],
    ["What to do", x.failure && "Correct the request or the configuration: as long as neither changes, it cannot be placed."],
    [x.failure ? "First seen" : "Waits since", x.since && time(x.since)],
    ["Place in the queue", x.place && `${x.place} of ${x.waiting} that wait in ${x.virtualCluster}`],
    ["Pods", `${x.pods.placed} placed, ${x.pods.known} known, ${x.pods.expected} expected`],
    ["Nodes", x.nodes.length && links("node", x.nodes)],
    ["Must leave first", x.wouldDisplace.length && gangs(x.wouldDisplace)],
    ["In the way", x.inTheWay.length && gangs(x.inTheWay)],
    ["Would make room", makers(x.wouldMakeRoom)],
    ["Problems", x.problems.length && x.problems.join("; ")],
  ];
  return [facts(rows), ...happened(x.events)];
}

/** The machines of all layers that a gang is in, where the service follows their lives: the application, its cliques, its pods. */
function machines(x) {
  const rows = [
    ["Application", `${x.core.state}; in the shim ${x.shim}`],
    ["Queue", x.queue && `${x.queue.name ?? x.queue}${x.queue.state ? `: ${x.queue.state}` : ""}`],
    ["Gang", `${x.gang.phase}${x.gang.running ? ", runs" : ""}`],
    ["Termination", x.gang.termination],
    ["Slice", x.slice],
    ["Waits for", x["waits for"].length && x["waits for"].join("; ")],
  ];
  const cliques = x.cliques.map((c) => [c.name, c.state, `${c.running} of ${c.pods}`, String(c.minimum)]);
  const pods = x.pods.map((p) => [p.name, p.task ?? "–", p.pod ?? "–", p.sliver ?? "–", p.node ? link("node", p.node) : "–", p["node state"] ?? "–"]);
  return [
    make("h3", "", "Machines of its layers"),
    facts(rows),
    table(["Clique", "State", "Running", "Minimum"], cliques),
    table(["Pod", "Task", "Pod's state", "Sliver", "Node", "Node's state"], pods),
  ];
}

function makers({ gangsEnd, nodesHealthy }) {
  const place = make("div");
  if (gangsEnd.length) place.append(make("p", "", gangsEnd.length > 1 ? "these gangs ending: " : "this gang ending: "), links("gang", gangsEnd));
  if (nodesHealthy.length) place.append(make("p", "", "these nodes becoming healthy: "), links("node", nodesHealthy));
  return place.childElementCount && place;
}

function node(x) {
  const rows = [
    ["Health", x.healthy ? "healthy" : `bad: ${x.reason}`],
    ["Kind", x.chains.join(", ")],
  ];
  const devices = x.devices.map((d) => [String(d.index), d.state, d.gang ? link("gang", d.gang) : "–", d.reservedFor ? link("gang", d.reservedFor) : "–"]);
  return [facts(rows), table(["Device", "State", "Gang", "Reserved for"], devices), ...happened(x.events)];
}

function tenant(x) {
  const rows = [
    ["Promised", `${x.promised} devices: ${x.used} in use, ${x.free} free, ${x.bad} bad`],
    ["Lent", x.lent && `${x.lent} devices of its cells, which opportunistic gangs use`],
    ["Opportunistic", `${x.opportunistic} devices beyond its promise`],
    ["Waits longest", x.waitsLongest && link("gang", x.waitsLongest)],
    ["Waiting", x.waiting.length ? gangs(x.waiting) : "nobody"],
    ["Fail for good", x.failing.length && gangs(x.failing)],
    ["Running", x.running.length ? gangs(x.running) : "nobody"],
  ];
  return [facts(rows)];
}

function opportunistic(x) {
  const why = (gang) => (gang.leavesFor.length ? `leaves for ${gang.leavesFor.join(", ")}` : gang.demotedBy ? `has lost its guarantee to ${gang.demotedBy}` : "");
  const rows = x.items.map((gang) => [link("gang", gang.gang), gang.virtualCluster || "–", String(gang.devices), why(gang)]);
  return [rows.length ? table(["Gang", "Virtual cluster", "Devices", ""], rows) : make("p", "", "No gang runs opportunistically."), ...room(x.fits)];
}

/** The largest gangs that fit now, by the devices of a pod. */
function room(items, when = "") {
  const rows = items.map((x) => [
    x.pinnedCellId ? `${x.leafCellType} in ${x.pinnedCellId}` : x.leafCellType,
    String(x.podDevices),
    `${x.exact ? "" : "≥ "}${x.pods}`,
    String(x.devices),
    String(x.free),
    `${x.exact ? "" : "≤ "}${Math.round(100 * x.fragmentation)} %`,
  ]);
  const head = make("h3", "", "Largest gang that fits now");
  if (when) head.append(make("span", "quiet", ` ${when}`));
  return [head, ...(rows.length ? [table(["Type", "Pod size", "Pods", "Devices", "Free", "Fragmentation"], rows)] : [])];
}

function preempted(x) {
  return `${x.virtualCluster || "no configured virtual cluster"}: ${x.gangs} ${x.victim} gang${x.gangs === 1 ? "" : "s"} ${x.fate} (${x.pods} pod${x.pods === 1 ? "" : "s"})`;
}

function quota(x) {
  const item = make("li");
  const bar = make("span", "bar");
  const share = (n) => `${Math.min(100, (100 * n) / Math.max(1, x.promised))}%`;
  for (const [kind, n] of [["used", x.used], ["bad", Math.min(x.bad, x.free)]]) {
    const part = make("i", kind);
    part.style.width = share(n);
    bar.append(part);
  }
  const waiting = x.waiting.length ? `, ${x.waiting.length} waiting` : "";
  const failing = x.failing.length ? `, ${x.failing.length} failing` : "";
  const bad = x.bad ? `, ${x.bad} bad` : "";
  item.append(link("tenant", x.virtualCluster), bar, make("span", "numbers", `${x.used} of ${x.promised} in use${bad}${waiting}${failing}`));
  return item;
}

// Pieces of the page: whatever comes from a cluster is text

function make(kind, name = "", text = "") {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

function link(kind, name, text = name) {
  const made = make("a", "", text);
  made.href = address(kind, name);
  return made;
}

function links(kind, names) {
  const place = make("span", "names");
  place.append(...names.flatMap((name, n) => [n ? ", " : "", link(kind, name)]));
  return place;
}

function gangs(found) {
  const list = make("ul", "gangs");
  list.append(
    ...found.map((x) => {
      const item = make("li");
      const rank = x.priority < 0 ? "opportunistic" : `priority ${x.priority}`;
      const since = x.since ? `, since ${time(x.since)}` : "";
      const failure = x.failure ? `: ${x.failure}` : "";
      item.append(link("gang", x.gang), make("span", "quiet", ` ${rank}, ${x.devices} devices${x.nodes.length ? ` on ${x.nodes.join(", ")}` : ""}${since}${failure}`));
      return item;
    }),
  );
  return list;
}

function facts(rows) {
  const list = make("dl", "facts");
  for (const [name, value] of rows) {
    if (!value) continue;
    const told = make("dd");
    told.append(value);
    list.append(make("dt", "", name), told);
  }
  return list;
}

function table(heads, rows) {
  const box = make("div", "scroll");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", heads.filter(Boolean).join(", "));
  const made = make("table");
  const head = make("tr");
  head.append(...heads.map((x) => Object.assign(make("th", "", x), { scope: "col" })));
  made.createTHead().append(head);
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const x of row) line.insertCell().append(x);
  }
  box.append(made);
  return box;
}

function happened(events) {
  if (!events.length) return [];
  const list = make("ol", "events");
  for (const x of [...events].reverse()) {
    const item = make("li");
    item.append(make("time", "", time(x.time)), make("span", "", x.text));
    list.append(item);
  }
  return [make("h3", "", "What happened"), list];
}

function time(text) {
  const moment = new Date(text);
  const today = moment.toDateString() === new Date().toDateString();
  return today ? moment.toLocaleTimeString() : moment.toLocaleString();
}
