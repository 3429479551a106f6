/**
 * The picture of all states of a system: coloured by a field of the reader's choice, each state told when pointed at.
 *
 *     mountSpace(element, data)
 *
 * `element` has the drawing (`svg.space` with circles `[data-n]`), a `select`, and places `.space-legend`, `.space-told`.
 * `data`: { fields: [{ owner, name, values }], states: [[index of the value, by field], …], depths: [0, …],
 * steps: [[from, to, ["g0.schedule(…)", …]], …], failing: [[state, ["…"]], …] }; the field "" of an owner is its state.
 */
export function mountSpace(element, data) {
  const svg = element.querySelector("svg.space");
  const nodes = [...svg.querySelectorAll("[data-n]")];
  const select = element.querySelector("select");
  const legend = element.querySelector(".space-legend");
  const told = element.querySelector(".space-told");
  const lines = ["out", "in"].map((kind) => {
    const path = document.createElementNS(svg.namespaceURI, "path");
    path.setAttribute("class", `steps ${kind}`);
    nodes[0].before(path);
    return path;
  });
  let at = -1;

  data.fields.forEach(({ owner, name, values }, n) => {
    const label = name ? `${owner ? `${owner}.` : ""}${name}` : `${owner}: state`;
    if (values.length > 1) select.append(new Option(label, n));
  });
  if (!select.options.length) select.append(new Option("nothing differs", 0));

  function paint() {
    const field = Number(select.value);
    const counts = new Map();
    for (const state of data.states) counts.set(state[field], (counts.get(state[field]) ?? 0) + 1);
    const ranked = [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value);
    const tint = new Map(ranked.map((value, n) => [value, n < 9 ? n : 9]));
    nodes.forEach((node, n) => node.setAttribute("data-tint", tint.get(data.states[n][field])));
    const { values } = data.fields[field];
    const shown = ranked.slice(0, 9).map((value, n) => entry(n, values[value], counts.get(value)));
    const rest = ranked.slice(9);
    if (rest.length) shown.push(entry(9, `${rest.length} other values`, rest.reduce((sum, x) => sum + counts.get(x), 0)));
    legend.replaceChildren(...shown);
  }

  function entry(tint, text, count) {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.dataset.tint = tint;
    item.append(swatch, ` ${text || "none"} `, Object.assign(document.createElement("small"), { textContent: count.toLocaleString("en") }));
    return item;
  }

  function go(n) {
    if (n === at) return;
    if (at >= 0) nodes[at].classList.remove("here");
    at = n;
    nodes[n].classList.add("here");
    const [out, into] = [data.steps.filter(([a]) => a === n), data.steps.filter(([, b]) => b === n)];
    lines[0].setAttribute("d", out.map(([, b]) => line(n, b)).join(""));
    lines[1].setAttribute("d", into.map(([a]) => line(a, n)).join(""));
    told.replaceChildren(...describe(n, out, into));
  }

  const centre = (n) => [nodes[n].dataset.x, nodes[n].dataset.y].map(Number);

  function line(a, b) {
    const [x, y] = centre(a);
    const [to, down] = centre(b);
    if (a === b) return `M${x} ${y}c14-14 14 14 0 0`;
    if (down > y) return `M${x} ${y}L${to} ${down}`;
    const bend = Math.min(Math.abs(y - down) / 3 + Math.abs(to - x) / 6, 60) + 8;
    return `M${x} ${y}Q${(x + to) / 2 + bend} ${(y + down) / 2 + (y === down ? bend : 0)} ${to} ${down}`;
  }

  function* describe(n, out, into) {
    yield paragraph("b", `State ${n}, ${data.depths[n]} step${data.depths[n] === 1 ? "" : "s"} from the beginning`);
    const list = document.createElement("dl");
    data.fields.forEach(({ owner, name, values }, f) => {
      const value = values[data.states[n][f]];
      if (!value) return;
      list.append(paragraph("dt", name ? `${owner ? `${owner}.` : ""}${name}` : owner), paragraph("dd", value));
    });
    yield list;
    const said = out.flatMap(([, b, steps]) => steps.map((x) => `${x} → ${b}`));
    const fails = data.failing.filter(([a]) => a === n).flatMap(([, steps]) => steps.map((x) => `${x} fails`));
    yield paragraph("b", `${counted(said.length + fails.length, "step leads", "steps lead")} on, ${counted(into.length, "state leads", "states lead")} here`);
    const steps = document.createElement("ul");
    steps.append(...[...said, ...fails].slice(0, 60).map((x) => paragraph("li", x)));
    yield steps;
  }

  function paragraph(tag, text) {
    return Object.assign(document.createElement(tag), { textContent: text });
  }

  /** The nearest state in a direction. */
  function nearest(dx, dy) {
    const [x, y] = centre(Math.max(at, 0));
    let [best, least] = [at, Infinity];
    nodes.forEach((_, n) => {
      const [ox, oy] = centre(n);
      const along = (ox - x) * dx + (oy - y) * dy;
      const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
      if (n !== at && along > 1 && along + 2.5 * aside < least) [best, least] = [n, along + 2.5 * aside];
    });
    return best;
  }

  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const box = element.querySelector(".space-box");
  box.addEventListener("keydown", (event) => {
    if (!(event.key in ways)) return;
    event.preventDefault();
    go(nearest(...ways[event.key]));
    nodes[at].scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  for (const kind of ["pointerover", "click"]) {
    svg.addEventListener(kind, (event) => event.target.dataset.n !== undefined && go(Number(event.target.dataset.n)));
  }
  select.addEventListener("change", paint);
  paint();
  go(0);
}

/** `1 step leads`, `1,204 steps lead`. */
const counted = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
