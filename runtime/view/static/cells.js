// Cells: chains, what holds their nodes together, nodes, and in each node its leaf cells as squares.

const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b5a900", "#7f7f7f"]; // told apart by all eyes
const FEW = 512; // leaf cells, up to which squares are large
const MANY = 4096; // and from where on they are small
const LETTER = 5.6; // pixels, at most, of a letter of a node's name in the map

export class Cells {
  constructor(world, scene, selection) {
    this.world = world;
    this.selection = selection;
    world.nodeText = (name) => this.nodes.find((x) => x.name === name)?.text ?? "";
    this.by = "state";
    this.lit = "";
    this.squares = [];
    this.nodes = [];
    this.numberOf = new Map(); // of a node, by its button
    this.nodeOf = [];
    this.heads = [];
    const chains = (scene.chains ?? []).map((chain) => this.chain(chain));
    const place = document.getElementById("chains");
    place.classList.toggle("roomy", this.squares.length <= FEW);
    place.classList.toggle("small", this.squares.length > MANY);
    place.replaceChildren(...chains);
    this.label();
    this.hint = document.getElementById("hint");
    place.addEventListener("click", (event) => this.pointed(event));
    place.addEventListener("keydown", (event) => this.move(event));
    place.addEventListener("focusin", (event) => this.reach(event.target.closest(".host")));
    place.addEventListener("focusout", () => this.tip(null));
    place.addEventListener("pointerover", (event) => this.tip(event.target.closest(".host")));
    place.addEventListener("pointerleave", () => this.tip(null));
    const focused = () => (place.contains(document.activeElement) ? document.activeElement.closest(".host") : null);
    addEventListener("scroll", () => this.hint.hidden || this.tip(focused()), { passive: true }); // the focus scrolls, too
    addEventListener("keydown", (event) => event.key === "Escape" && this.tip(null));
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
    button.tabIndex = this.nodes.length ? -1 : 0; // one stop for the Tab key: the arrow keys go on from there
    for (let n = first; n < first + count; n++) {
      const square = element("i");
      square.dataset.leaf = n;
      this.squares[n] = square;
      this.nodeOf[n] = this.nodes.length;
      button.append(square);
    }
    this.nodes.push({ name, first, count, button, text: name });
    this.numberOf.set(button, this.nodes.length - 1);
    return button;
  }

  /** The names of nodes where they have room: in full, or else without what all names begin with. */
  label() {
    const names = this.nodes.map((x) => x.name);
    const same = shared(names);
    const square = this.squares.length <= FEW ? 19 : this.squares.length > MANY ? 7 : 12;
    for (const x of this.nodes) {
      const width = square * Math.min(4, x.count);
      const fits = [x.name, `…${x.name.slice(same)}`].find((text) => text.length * LETTER <= width);
      if (!fits || (fits !== x.name && !same)) continue;
      const label = element("span", "name");
      label.textContent = fits;
      x.button.append(label);
    }
  }

  /** The name of a node, and what is on it, next to it: for the pointer and for the keyboard. */
  tip(button) {
    this.hint.hidden = !button;
    if (!button) return;
    this.hint.textContent = this.nodes[this.numberOf.get(button)].text;
    const at = button.getBoundingClientRect();
    const own = this.hint.getBoundingClientRect();
    const left = Math.min(Math.max(4, at.left), document.documentElement.clientWidth - own.width - 4);
    const below = at.bottom + 4 + own.height <= innerHeight;
    this.hint.style.left = `${Math.max(4, left)}px`;
    this.hint.style.top = `${below ? at.bottom + 4 : Math.max(4, at.top - own.height - 4)}px`;
  }

  /** The node that has the focus keeps it when Tab comes back. */
  reach(button) {
    if (!button) return;
    for (const x of this.nodes) x.button.tabIndex = x.button === button ? 0 : -1;
    this.tip(button);
  }

  move(event) {
    const from = this.numberOf.get(event.target.closest(".host"));
    if (from === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    const last = this.nodes.length - 1;
    const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: last }[event.key] ?? this.across(from, event.key);
    if (to === undefined) return;
    event.preventDefault();
    this.nodes[Math.min(last, Math.max(0, to))].button.focus();
  }

  /** The nearest node in the next row of nodes, up or down. */
  across(from, key) {
    if (key !== "ArrowUp" && key !== "ArrowDown") return undefined;
    const step = key === "ArrowDown" ? 1 : -1;
    const at = this.nodes[from].button.getBoundingClientRect();
    const middle = (x) => (x.left + x.right) / 2;
    let [best, row, near] = [from, null, Infinity];
    for (let n = from + step; n >= 0 && n < this.nodes.length; n += step) {
      const there = this.nodes[n].button.getBoundingClientRect();
      if (Math.abs(there.top - at.top) < 2) continue;
      row ??= there.top;
      if (Math.abs(there.top - row) >= 2) break;
      const far = Math.abs(middle(there) - middle(at));
      if (far < near) [best, near] = [n, far];
    }
    return best;
  }

  /** A click on a leaf cell chooses the gang that has it; on a free one, or by keyboard, the node. */
  pointed(event) {
    const button = event.target.closest(".host");
    if (!button) return;
    const leaf = this.world.leaves[event.target.dataset?.leaf];
    const gang = leaf?.owner || leaf?.reserver;
    if (gang) this.selection.choose("gang", gang);
    else this.selection.choose("node", this.nodes[this.numberOf.get(button)].name);
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
    const text = `${name}${bad ? " (bad)" : ""}: ${busy} of ${count} taken${names.length ? `\n${names.join(", ")}` : ""}`;
    this.nodes[n].text = text;
    button.setAttribute("aria-label", text.replace("\n", ", by "));
    if (!this.hint.hidden && document.activeElement === button) this.tip(button);
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

/** How many characters all names begin with, as far as they are told apart by what follows. */
function shared(names) {
  if (names.length < 2) return 0;
  let same = 0;
  while (names.every((x) => x[same] === names[0][same] && same < x.length - 1)) same += 1;
  return same;
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
