// How full the cluster was: areas over an axis of time.

const MOST = 600; // samples
const [HEIGHT, LEFT, BOTTOM, TOP] = [120, 44, 20, 6];

export class Usage {
  constructor(svg, clock) {
    this.svg = svg;
    this.clock = clock;
    this.samples = [];
    this.drawn = 0;
    addEventListener("resize", () => this.draw());
  }

  /** Samples from before the page was opened. */
  async load() {
    const answer = await fetch("../v2/inspect/usage?seconds=3600").catch(() => null);
    if (!answer?.ok) return;
    const { items } = await answer.json();
    const first = this.samples[0]?.time ?? Infinity;
    const before = items.map((x) => ({ ...x, time: Date.parse(x.time) / 1000 })).filter((x) => x.time < first);
    this.samples = [...before, ...this.samples];
    this.draw();
  }

  add(time, guaranteed, opportunistic, devices) {
    this.samples.push({ time, guaranteed, opportunistic, devices });
    // Twice as coarse, when there are too many; the latest one stays.
    if (this.samples.length > MOST) this.samples = this.samples.filter((_, n) => n % 2 === this.samples.length % 2 || n === this.samples.length - 1);
    if (performance.now() - this.drawn > 250) this.draw();
  }

  draw() {
    this.drawn = performance.now();
    const all = this.samples;
    if (!all.length) return;
    const width = Math.max(this.svg.clientWidth, 200);
    const [from, to] = [all[0].time, all.at(-1).time];
    const x = (t) => LEFT + ((width - LEFT - 8) * (t - from)) / Math.max(to - from, 1e-9);
    const y = (share) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - share);
    const share = (s, n) => n / Math.max(s.devices, 1);
    const area = (value) => {
      const line = all.map((s) => `${x(s.time).toFixed(1)} ${y(value(s)).toFixed(1)}`).join("L");
      return `M${x(from)} ${y(0)}L${line}L${x(to).toFixed(1)} ${y(0)}Z`;
    };
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const parts = [0, 0.5, 1].flatMap((s) => [
      piece("line", { x1: LEFT, x2: width - 8, y1: y(s), y2: y(s), class: "grid" }),
      text(LEFT - 6, y(s) + 4, `${100 * s} %`, "end"),
    ]);
    parts.push(piece("path", { d: area((s) => share(s, s.guaranteed + s.opportunistic)), class: "second" }));
    parts.push(piece("path", { d: area((s) => share(s, s.guaranteed)), class: "used" }));
    for (const [n, anchor] of [[0, "start"], [1, "middle"], [2, "end"]]) {
      const moment = from + ((to - from) * n) / 2;
      if (n === 0 || to - from > 2) parts.push(text(x(moment), HEIGHT - 4, this.clock(moment), anchor));
    }
    this.svg.replaceChildren(...parts);
    const now = all.at(-1);
    const percent = (n) => Math.round(100 * share(now, n));
    this.svg.setAttribute("aria-label", `Devices in use over time; now ${percent(now.guaranteed)} % with a guarantee, ${percent(now.opportunistic)} % opportunistically`);
  }
}

function piece(kind, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function text(x, y, content, anchor) {
  const made = piece("text", { x, y, "text-anchor": anchor });
  made.textContent = content;
  return made;
}
