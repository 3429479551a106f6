// Virtual clusters of a simulation, from what the page knows: who uses how much, and who waits. A service answers for itself.
import { address } from "./selection.js";

const OFTEN = 250; // milliseconds between two looks
const LISTED = 40; // gangs of a virtual cluster
const $ = (id) => document.getElementById(id);

export class Tenants {
  constructor(world, selection) {
    this.world = world;
    this.selection = selection;
    this.waiting = 0;
    $("tenants").hidden = !world.tenants.length;
  }

  /** A moment later: gangs come and go faster than one can read. */
  show() {
    this.waiting ||= setTimeout(() => {
      this.waiting = 0;
      this.draw();
    }, OFTEN);
  }

  draw() {
    const found = new Map(this.world.tenants.map((name) => [name, { name, used: 0, weak: 0, gangs: [], waits: [] }]));
    for (const gang of this.world.gangs.values()) {
      const tenant = found.get(gang.tenant);
      (gang.state === "Pending" || gang.state === "Preempting" ? tenant?.waits : tenant?.gangs)?.push(gang);
    }
    for (const leaf of this.world.leaves) {
      const tenant = leaf?.owner && found.get(this.world.gangs.get(leaf.owner)?.tenant);
      if (tenant) tenant[leaf.priority < 0 ? "weak" : "used"] += 1;
    }
    const all = this.world.leaves.length || 1;
    $("quotas").replaceChildren(...[...found.values()].map((x) => entry(x, all)));
    if (this.selection.kind === "tenant") $("answers").replaceChildren(...described(found.get(this.selection.name)));
    else if (this.selection.kind !== "gang") $("answers").replaceChildren();
  }
}

function entry({ name, used, weak, gangs, waits }, all) {
  const [item, bar, numbers] = ["li", "span", "span"].map((x) => document.createElement(x));
  bar.className = "bar";
  for (const [kind, n] of [["used", used], ["second", weak]]) {
    const part = document.createElement("i");
    part.className = kind;
    part.style.width = `${(100 * n) / all}%`;
    bar.append(part);
  }
  numbers.className = "numbers";
  const cheap = weak ? `, ${weak.toLocaleString("en")} of them opportunistic` : "";
  const late = waits.length ? `; ${waits.length.toLocaleString("en")} waiting` : "";
  numbers.textContent = `${(used + weak).toLocaleString("en")} devices${cheap}, ${gangs.length.toLocaleString("en")} gang${gangs.length === 1 ? "" : "s"}${late}`;
  item.append(link("tenant", name), bar, numbers);
  return item;
}

function* described(tenant) {
  if (!tenant) return;
  for (const [title, gangs] of [["Waiting", tenant.waits], ["Running", tenant.gangs]]) {
    const head = document.createElement("h3");
    head.textContent = `${title}: ${gangs.length || "nobody"}`;
    const list = document.createElement("ul");
    list.className = "gangs";
    const sorted = [...gangs].sort((a, b) => b.priority - a.priority || a.name.localeCompare(b.name));
    for (const gang of sorted.slice(0, LISTED)) {
      const [item, quiet] = ["li", "span"].map((x) => document.createElement(x));
      quiet.className = "quiet";
      quiet.textContent = ` ${gang.priority < 0 ? "opportunistic" : `priority ${gang.priority}`}, ${gang.pods} pod${gang.pods === 1 ? "" : "s"}`;
      item.append(link("gang", gang.name), quiet);
      list.append(item);
    }
    yield head;
    yield list;
    if (gangs.length > LISTED) yield Object.assign(document.createElement("p"), { className: "quiet", textContent: `and ${gangs.length - LISTED} more` });
  }
}

function link(kind, name) {
  const made = document.createElement("a");
  [made.href, made.textContent] = [address(kind, name), name];
  return made;
}
