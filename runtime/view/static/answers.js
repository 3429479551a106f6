// What the allocator answers to an operator: why a gang waits, what holds a node, how full a virtual cluster is.
import { address } from "./selection.js";

const AGAIN = 10_000; // milliseconds, after which an answer that is shown is asked for again
const $ = (id) => document.getElementById(id);

export class Answers {
  constructor(selection) {
    this.selection = selection;
    this.asked = 0;
    this.subject = ""; // what the answers that are shown are about
    $("tenants").hidden = false;
    setInterval(() => document.hidden || this.refresh(), AGAIN);
    this.tenants();
  }

  refresh() {
    this.show();
    this.tenants();
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
    if (kind !== "gang") return;
    const life = await ask(`lives/${name.split("/").map(encodeURIComponent).join("/")}`, "v1");
    if (number === this.asked && !life.error) place.append(...machines(life));
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
    [waits ? "Why it waits" : "Now", x.reason],
    ["Waits since", x.since && time(x.since)],
    ["Place in the queue", x.place && `${x.place} of ${x.waiting} that wait in ${x.virtualCluster}`],
    ["Pods", `${x.pods.placed} placed, ${x.pods.known} known, ${x.pods.expected} expected`],
    ["Nodes", x.nodes.length && links("node", x.nodes)],
    ["Must leave first", x.wouldDisplace.length && gangs(x.wouldDisplace)],
    ["In the way", x.inTheWay.length && gangs(x.inTheWay)],
    ["Would make room", room(x.wouldMakeRoom)],
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

function room({ gangsEnd, nodesHealthy }) {
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
    ["Opportunistic", `${x.opportunistic} devices beyond its promise`],
    ["Waiting", x.waiting.length ? gangs(x.waiting) : "nobody"],
    ["Running", x.running.length ? gangs(x.running) : "nobody"],
  ];
  return [facts(rows)];
}

function opportunistic(x) {
  const why = (gang) => (gang.leavesFor.length ? `leaves for ${gang.leavesFor.join(", ")}` : gang.demotedBy ? `has lost its guarantee to ${gang.demotedBy}` : "");
  const rows = x.items.map((gang) => [link("gang", gang.gang), gang.virtualCluster || "–", String(gang.devices), why(gang)]);
  return [rows.length ? table(["Gang", "Virtual cluster", "Devices", ""], rows) : make("p", "", "No gang runs opportunistically.")];
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
  const bad = x.bad ? `, ${x.bad} bad` : "";
  item.append(link("tenant", x.virtualCluster), bar, make("span", "numbers", `${x.used} of ${x.promised} in use${bad}${waiting}`));
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
      item.append(link("gang", x.gang), make("span", "quiet", ` ${rank}, ${x.devices} devices${x.nodes.length ? ` on ${x.nodes.join(", ")}` : ""}`));
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
