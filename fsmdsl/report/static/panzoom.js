/**
 * Zoom and pan for an SVG that stands in a page: `mountPanZoom(figure, svg) → { zoom, all, goTo(element) }`. The SVG has
 * to be in sight, for its size is read.
 *
 * Buttons, the mouse (drag; wheel with Ctrl, so that the page still scrolls; double click), and keys while the figure has
 * the focus: + - zoom, arrows move, 0 shows all.
 */
export function mountPanZoom(figure, svg) {
  const drawn = svg.getAttribute("viewBox");
  svg.dataset.drawn = drawn;
  const whole = boxOf(svg);
  if (!whole) return null;
  let box = { ...whole };

  function show(next) {
    const w = Math.min(Math.max(next.w, whole.w / 60), whole.w);
    const h = w * (whole.h / whole.w);
    const x = Math.min(Math.max(next.x, whole.x), whole.x + whole.w - w);
    const y = Math.min(Math.max(next.y, whole.y), whole.y + whole.h - h);
    box = { x, y, w, h };
    svg.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
    figure.classList.toggle("is-zoomed", w < whole.w * 0.999);
  }

  /** Zoom so that the point at a share of the width and height stays where it is. */
  function zoom(by, across = 0.5, down = 0.5) {
    const w = Math.min(box.w / by, whole.w);
    show({ x: box.x + (box.w - w) * across, y: box.y + (box.h - w * (whole.h / whole.w)) * down, w });
  }

  /** Moves to an element of the picture, large enough to be read. */
  function goTo(element) {
    const [outer, inner] = [svg.getBoundingClientRect(), element.getBoundingClientRect()];
    const x = box.x + ((inner.left + inner.width / 2 - outer.left) / outer.width) * box.w;
    const y = box.y + ((inner.top + inner.height / 2 - outer.top) / outer.height) * box.h;
    const w = Math.min(whole.w, outer.width / READABLE);
    show({ x: x - w / 2, y: y - (w * (whole.h / whole.w)) / 2, w });
  }

  const move = (dx, dy) => show({ ...box, x: box.x + dx * box.w, y: box.y + dy * box.h });
  const all = () => show({ ...whole });
  const keys = {
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: all,
    ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1),
  };

  const stage = document.createElement("div");
  stage.className = "zoomed";
  stage.tabIndex = 0;
  stage.setAttribute("role", "group");
  stage.setAttribute("aria-label", `${svg.getAttribute("aria-label") ?? "Diagram"}; plus and minus zoom, arrows move, 0 shows all`);
  svg.replaceWith(stage);
  stage.append(svg);
  const bar = document.createElement("div");
  bar.className = "zoom-bar";
  for (const [label, sign, does] of [["Zoom in", "+", keys["+"]], ["Zoom out", "−", keys["-"]], ["Show all", "⤢", all]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.title = label;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", does);
    bar.append(button);
  }
  const top = figure.querySelector(".diagram-bar");
  if (top) top.append(bar);
  else stage.before(bar);

  stage.addEventListener("keydown", (event) => {
    const moves = event.key.startsWith("Arrow");
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys) || (moves && box.w >= whole.w)) return;
    event.preventDefault();
    keys[event.key]();
  });
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = svg.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), (event.clientX - at.left) / at.width, (event.clientY - at.top) / at.height);
  }, { passive: false });
  stage.addEventListener("dblclick", (event) => {
    const at = svg.getBoundingClientRect();
    zoom(1.8, (event.clientX - at.left) / at.width, (event.clientY - at.top) / at.height);
  });
  dragged(stage, svg, (dx, dy) => show({ ...box, x: box.x - dx * box.w, y: box.y - dy * box.h }));
  addEventListener("beforeprint", () => svg.setAttribute("viewBox", drawn));
  addEventListener("afterprint", () => show(box));
  return { zoom, all, goTo };
}

/** Pixels for a unit of a drawing, with which its letters can be read. */
const READABLE = 1.15;

/** Calls back with the way of the pointer as a share of the width and height of the picture. */
function dragged(stage, svg, moved) {
  let last = null;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && !event.target.closest("a, button")) last = event;
  });
  stage.addEventListener("pointermove", (event) => {
    if (!last) return;
    const at = svg.getBoundingClientRect();
    if (!stage.hasPointerCapture(event.pointerId)) stage.setPointerCapture(event.pointerId);
    moved((event.clientX - last.clientX) / at.width, (event.clientY - last.clientY) / at.height);
    last = event;
  });
  for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, () => (last = null));
}

/** The whole picture, as wide or high as the place that it has on the page. */
function boxOf(svg) {
  const [x, y, w, h] = (svg.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  if (!(w > 0 && h > 0)) return null;
  const at = svg.getBoundingClientRect();
  if (!at.width || !at.height) return { x, y, w, h };
  const [wide, high] = [Math.max(w, (h * at.width) / at.height), Math.max(h, (w * at.height) / at.width)];
  return { x: x - (wide - w) / 2, y: y - (high - h) / 2, w: wide, h: high };
}
