// Zoom and drag of a picture in a frame that scrolls. 1 is the picture's own size; "fit" is as wide as the frame, at most 1.
const STEP = 1.25;
const [LEAST, MOST] = [0.1, 8];

/** `{ element, show(svg) }`: the element has the buttons and the frame. `scale` is a number or "fit"; `keep(scale)` is
 * called when it changes. */
export function zoomable(scale, keep) {
  const frame = document.createElement("div");
  const shown = document.createElement("output");
  const bar = document.createElement("div");
  bar.className = "zoom";
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", "Zoom");
  frame.className = "frame";
  frame.tabIndex = 0;
  frame.setAttribute("aria-label", "Diagram");
  bar.append(
    button("−", "Zoom out (-)", () => by(1 / STEP)), shown, button("+", "Zoom in (+)", () => by(STEP)),
    button("1:1", "Own size (1)", () => to(1)), button("Fit", "Fit the width (0)", () => to("fit")),
  );
  const element = document.createElement("div");
  element.append(bar, frame);
  let picture;

  function size() {
    const box = picture.viewBox.baseVal;
    const unit = (value) => (Number.parseFloat(value) || 0) * (/pt$/.test(value) ? 4 / 3 : 1);
    return [unit(picture.getAttribute("data-width")) || box.width, unit(picture.getAttribute("data-height")) || box.height];
  }

  function now() {
    if (scale !== "fit") return scale;
    const inside = frame.clientWidth - 16;
    return Math.max(LEAST, Math.min(1, inside / size()[0] || 1));
  }

  function lay() {
    if (!(picture instanceof SVGSVGElement)) return;
    const [width, height] = size();
    picture.style.width = `${width * now()}px`;
    picture.style.height = `${height * now()}px`;
    shown.textContent = `${Math.round(now() * 100)} %`;
  }

  function to(next) {
    scale = next === "fit" ? next : Math.min(MOST, Math.max(LEAST, next));
    keep(scale);
    lay();
  }

  /** The point under the pointer, or the middle, stays where it is. */
  function by(factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) {
    const before = now();
    to(before * factor);
    const ratio = now() / before;
    frame.scrollLeft = (frame.scrollLeft + x) * ratio - x;
    frame.scrollTop = (frame.scrollTop + y) * ratio - y;
  }

  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    by(event.deltaY < 0 ? STEP : 1 / STEP, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const act = { "+": () => by(STEP), "=": () => by(STEP), "-": () => by(1 / STEP), 0: () => to("fit"), 1: () => to(1) }[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
  frame.addEventListener("pointerdown", (down) => {
    if (down.button !== 0) return;
    const [left, top] = [frame.scrollLeft + down.clientX, frame.scrollTop + down.clientY];
    const move = (event) => frame.scrollTo(left - event.clientX, top - event.clientY);
    const end = () => (frame.removeEventListener("pointermove", move), frame.classList.remove("dragged"));
    frame.setPointerCapture(down.pointerId);
    frame.classList.add("dragged");
    frame.addEventListener("pointermove", move);
    frame.addEventListener("pointerup", end, { once: true });
    frame.addEventListener("pointercancel", end, { once: true });
  });
  addEventListener("resize", lay);

  return {
    element,
    frame,
    show(next) {
      picture = next;
      for (const side of ["width", "height"])
        if (next instanceof SVGSVGElement) {
          next.setAttribute(`data-${side}`, next.getAttribute(side) ?? "");
          next.removeAttribute(side);
        }
      frame.replaceChildren(next);
      lay();
    },
  };
}

function button(text, title, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.title = title;
  made.setAttribute("aria-label", title);
  made.addEventListener("click", act);
  return made;
}
