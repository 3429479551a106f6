// Gangs: a table that can be searched, and the chosen one in its diagram.

const MOST = 200; // rows
const $ = (id) => document.getElementById(id);
const ORDER = ["BeingPreempted", "Preempting", "Pending", "Allocated"];

export class Gangs {
  constructor(world, selection) {
    this.world = world;
    this.selection = selection;
    this.picture = null;
    this.waiting = 0;
    $("find").addEventListener("input", () => {
      selection.set("find", $("find").value);
      this.table();
    });
    $("rows").addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row) selection.choose("gang", row.dataset.gang);
    });
    fetch("AffinityGroup.svg").then(async (answer) => {
      const root = new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement;
      this.picture = document.adoptNode(root);
      $("diagram").append(this.picture);
      this.detail();
    });
  }

  get chosen() {
    return this.selection.kind === "gang" ? this.selection.name : "";
  }

  /** The table follows a moment later: gangs come and go faster than one can read. */
  show(change) {
    if (change.gangs.some(([name]) => name === this.chosen) || change.gone.includes(this.chosen)) this.detail();
    if (!change.gangs.length && !change.gone.length) return;
    this.waiting ||= setTimeout(() => {
      this.waiting = 0;
      this.table();
    }, 250);
  }

  cells() {
    const found = new Map();
    for (const leaf of this.world.leaves) if (leaf.owner) found.set(leaf.owner, (found.get(leaf.owner) ?? 0) + 1);
    return found;
  }

  table() {
    const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const told = (x) => `${x.name} ${x.tenant} ${stateOf(x)} ${x.note} ${x.priority < 0 ? "opportunistic" : ""}`.toLowerCase();
    const found = [...this.world.gangs.values()].filter((x) => words.every((word) => told(x).includes(word)));
    found.sort((a, b) => ORDER.indexOf(nameOf(a.state)) - ORDER.indexOf(nameOf(b.state)) || b.priority - a.priority || a.name.localeCompare(b.name));
    const cells = this.cells();
    $("rows").replaceChildren(...found.slice(0, MOST).map((x) => this.row(x, cells.get(x.name) ?? 0)));
    $("more").textContent = found.length > MOST ? `${MOST} of ${found.length}; find shows others` : found.length ? "" : "none";
  }

  row(gang, cells) {
    const row = document.createElement("tr");
    row.dataset.gang = gang.name;
    row.classList.toggle("chosen", gang.name === this.chosen);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = gang.name;
    button.setAttribute("aria-pressed", String(gang.name === this.chosen));
    const told = [button, gang.tenant, gang.priority < 0 ? "opp." : String(gang.priority), String(cells || "–"), stateOf(gang)];
    row.append(
      ...told.map((x) => {
        const cell = document.createElement("td");
        cell.append(x);
        return cell;
      }),
    );
    return row;
  }

  detail() {
    const { kind, name } = this.selection;
    $("chosen-title").textContent = kind === "opportunistic" ? "Opportunistic gangs" : kind === "node" ? `Node ${name}` : kind === "tenant" ? `Virtual cluster ${name}` : name;
    $("facts").textContent = "";
    $("diagram").hidden = kind !== "gang";
    if (kind === "node" && this.world.simulation) $("facts").textContent = this.world.nodeText?.(name) ?? "";
    if (kind !== "gang") return;
    const gang = this.world.gangs.get(name);
    const note = gang?.note ? `, ${gang.note}` : "";
    $("facts").textContent = gang
      ? `${stateOf(gang)}; ${gang.pods} pod${gang.pods === 1 ? "" : "s"} of ${gang.tenant}, ${gang.priority < 0 ? "opportunistic" : `priority ${gang.priority}`}${note}`
      : "It is gone.";
    for (const old of this.picture?.querySelectorAll(".now") ?? []) old.classList.remove("now");
    this.picture?.querySelector(`#state-${CSS.escape(nameOf(gang?.state ?? "Deleted"))}`)?.classList.add("now");
    this.picture?.setAttribute("aria-label", `The life of a gang; ${name} is ${gang?.state ?? "Deleted"}`);
  }
}

/** What a gang is doing: to its machine, one that fails for good is pending. */
const stateOf = (gang) => (gang.fails ? "Fails for good" : gang.state);

/** The name of a state in the spec: `BeingPreempted` is shown as `Being preempted`. */
const nameOf = (state) => state.replace(/ (.)/g, (_, letter) => letter.toUpperCase());
