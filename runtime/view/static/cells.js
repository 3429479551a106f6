// Cells: chains, what holds their nodes together, nodes, and in each node its leaf cells as squares.

const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b5a900", "#7f7f7f"]; // told apart by all eyes
const FEW = 512; // leaf cells, up to which squares are large
const MANY = 4096; // and from where on they are small

export class Cells {
  constructor(world, scene, selection) {
    this.world = world;
    this.selection = selection;
    world.nodeText = (name) => this.nodes.find((x) => x.name === name)?.button.title ?? "";
    this.by = "state";
    this.lit = "";
    this.squares = [];
    this.nodes = [];
    this.nodeOf = [];
    this.heads = [];
    const chains = (scene.chains ?? []).map((chain) => this.chain(chain));
    const place = document.getElementById("chains");
    place.classList.toggle("roomy", this.squares.length <= FEW);
    place.classList.toggle("small", this.squares.length > MANY);
    place.replaceChildren(...chains);
    place.addEventListener("click", (event) => this.pointed(event));
    this.key();
  }

  chain({ name, racks }) {
    const section = element("section", "chain");
    const head = element("h2");
    const share = element("span");
    head.append(name, " ", share);
    const first = this.squares.length;
    const held = element("div", "racks");
    for (const rack of racks) {
      const box = element("div", "rack");
      const nodes = element("div", "nodes");
      for (const [node, start, count] of rack.nodes) nodes.append(this.node(node, start, count));
      if (rack.address) {
        const title = element("h3");
        title.textContent = rack.address;
        box.append(title);
      }
      box.append(nodes);
      held.append(box);
    }
    this.heads.push({ share, first, end: this.squares.length });
    section.append(head, held);
    return section;
  }

  node(name, first, count) {
    const button = element("button", "host");
    button.type = "button";
    for (let n = first; n < first + count; n++) {
      const square = element("i");
      square.dataset.leaf = n;
      this.squares[n] = square;
      this.nodeOf[n] = this.nodes.length;
      button.append(square);
    }
    this.nodes.push({ name, first, count, button });
    return button;
  }

  /** A click on a leaf cell chooses the gang that has it; on a free one, or by keyboard, the node. */
  pointed(event) {
    const button = event.target.closest(".host");
    if (!button) return;
    const leaf = this.world.leaves[event.target.dataset?.leaf];
    const gang = leaf?.owner || leaf?.reserver;
    if (gang) this.selection.choose("gang", gang);
    else this.selection.choose("node", this.nodes.find((x) => x.button === button).name);
  }

  colour(by) {
    this.by = by;
    this.squares.forEach((_, n) => this.paint(n));
    this.key();
  }

  /** Lights up the leaf cells of a gang, or a node; all others are dim. */
  light(name, node = "") {
    this.lit = name;
    const place = document.getElementById("chains");
    place.classList.toggle("one-gang", Boolean(name));
    place.classList.toggle("one-node", Boolean(node));
    for (const x of this.nodes) x.button.classList.toggle("chosen", x.name === node);
    this.squares.forEach((square, n) => square.classList.toggle("lit", this.has(this.world.leaves[n], name)));
  }

  has(leaf, name) {
    return Boolean(name) && leaf !== undefined && (leaf.owner === name || leaf.reserver === name);
  }

  show(change) {
    const touched = new Set();
    for (const [n] of change.leaves) {
      this.paint(n);
      this.squares[n].classList.toggle("lit", this.has(this.world.leaves[n], this.lit));
      touched.add(this.nodeOf[n]);
    }
    for (const [n] of change.nodes) touched.add(n);
    for (const n of touched) this.tell(n);
    if (touched.size) this.share();
    if (this.by !== "state" && touched.size) this.key();
  }

  paint(n) {
    const leaf = this.world.leaves[n];
    const square = this.squares[n];
    if (!leaf) return;
    const lit = square.classList.contains("lit");
    const kind = kindOf(leaf);
    square.className = lit ? "lit" : "";
    square.style.background = "";
    if (this.by === "state" || kind === "free") square.classList.add(kind);
    else square.style.background = this.hue(leaf);
  }

  hue(leaf) {
    const gang = this.world.gangs.get(leaf.owner || leaf.reserver);
    switch (this.by) {
      case "tenant":
        return PALETTE[Math.max(this.world.tenants.indexOf(gang?.tenant), 0) % PALETTE.length];
      case "gang":
        return `hsl(${(hash(leaf.owner || leaf.reserver) * 137) % 360} 55% 52%)`; // names that differ little get hues that differ much
      default:
        return leaf.priority < 0 ? "var(--second)" : `hsl(${Math.max(0, 210 - Math.sqrt(leaf.priority) * 7)} 62% 48%)`;
    }
  }

  tell(n) {
    const { name, first, count, button } = this.nodes[n];
    const leaves = this.world.leaves.slice(first, first + count);
    const busy = leaves.filter((x) => kindOf(x) !== "free").length;
    const names = [...new Set(leaves.flatMap((x) => [x.owner, x.reserver]).filter(Boolean))];
    const bad = this.world.healthy[n] === false;
    button.classList.toggle("bad", bad);
    button.title = `${name}${bad ? " (bad)" : ""}: ${busy} of ${count} taken${names.length ? `\n${names.join(", ")}` : ""}`;
    button.setAttribute("aria-label", button.title.replace("\n", ", by "));
  }

  share() {
    for (const { share, first, end } of this.heads) {
      const busy = this.world.leaves.slice(first, end).filter((x) => x && kindOf(x) !== "free").length;
      share.textContent = `${busy} of ${end - first} leaf cells`;
    }
  }

  totals() {
    const found = { used: 0, second: 0, reserving: 0, reserved: 0, free: 0 };
    for (const leaf of this.world.leaves) found[kindOf(leaf)] += 1;
    return { ...found, used: found.used + found.reserving };
  }

  key() {
    const entries = {
      state: [["free", "free"], ["used", "used"], ["second", "used opportunistically"], ["reserving", "used, and reserved for another"], ["reserved", "reserved"], ["badkey", "bad node"]],
      tenant: this.world.tenants.map((name, n) => [PALETTE[n % PALETTE.length], name]),
      gang: [["", "each gang has its own colour"]],
      priority: [["var(--second)", "opportunistic"], ["hsl(210 62% 48%)", "0"], ["hsl(140 62% 48%)", "100"], ["hsl(53 62% 48%)", "500"], ["hsl(0 62% 48%)", "900 and more"]],
    }[this.by];
    document.getElementById("key").replaceChildren(
      ...entries.map(([look, text]) => {
        const item = element("li");
        const square = element("i");
        if (/^[a-z]+$/.test(look)) square.className = look;
        else if (look) square.style.background = look;
        item.append(...(look ? [square] : []), text);
        return item;
      }),
    );
  }
}

export function kindOf({ state, priority, owner }) {
  if (state === "Free") return "free";
  if (state === "Reserved") return "reserved";
  if (state === "Reserving") return "reserving";
  return owner && priority < 0 ? "second" : "used";
}

function hash(text) {
  let found = 7;
  for (const c of text) found = (found * 31 + c.charCodeAt(0)) % 100003;
  return found;
}

function element(kind, name = "") {
  const made = document.createElement(kind);
  if (name) made.className = name;
  return made;
}
