/**
 * A run of a system, to be walked through step by step. Used by the report and by the live page.
 *
 *     mountStepper(element, trace, options) → { go(n, quiet), step, destroy() }     quiet: the address is left alone
 *
 * `trace` is what `fsmdsl.report.stepping.stepping` makes, plain JSON:
 *
 *     {
 *       id: "hived.Small-run-0",            deep links are #<id>/step/<n>
 *       title: "invariant gang",
 *       outcome: "violated",                also "holds" (a witness), or "" where nothing is decided
 *       why: ["for g = g1: …"],             what is wrong in the end; lines of text
 *       instances: [{ name: "g0", machine: "hived.AffinityGroup" }, …],
 *       places: [["g0", ""], ["g0", "cells"], …],
 *                                           all that can change: the owner, and the field; "" is the owner's state;
 *                                           an owner "" is the system itself (channels, answers waited for)
 *       start: ["Pending", "{}", …],        the value of each place before the first step
 *       steps: [{
 *         text: "g0.schedule({c0, c1})",
 *         then: { what, then, inside: […] },  the step as a tree: what came, what it led to, what that caused
 *         changes: [[1, "{c0, c1}"], …],    place and new value
 *         followed: [[0, 3], …],            instance (its place in `instances`) and index of the transition
 *         fault: null,                      or why the step fails (then nothing has changed)
 *       }, …],
 *       loop: null,                         or the index in `steps` of the first that is repeated for ever
 *                                           (the number of steps: nothing happens any more)
 *       formula: [{ depth: 0, text: "all g in groups: …", values: [[0, "true"], [4, "false"]] }, …],
 *                                           the parts of the formula asked, an outer part before its inner ones; each
 *                                           value with the first step after which it is so
 *     }
 *
 * `options`, all optional:
 *
 *     diagrams: { "hived.AffinityGroup": { svg, prefix } }   drawn by `fsmdsl.draw`; `svg` is text or an element, which is
 *                                           copied; `prefix` is what its ids begin with
 *     sequence                              a sequence diagram of the same run, text or an element (which is moved)
 *     links: true                           keep the address of the page at the step
 *     onStep(n)                             called after each move
 *
 * Step 0 is the beginning, step n is after n steps. Keys: ← → one step, PageUp PageDown ten, Home End.
 */
export function mountStepper(element, trace, options = {}) {
  const { diagrams = {}, sequence = null, links = true, onStep = null } = options;
  const worlds = worldsOf(trace);
  const parts = [
    bar(trace, (n) => go(n)),
    list(trace, (n) => go(n)),
    told(trace, worlds),
    formula(trace),
    pictures(trace, worlds, diagrams),
    chart(sequence),
  ].filter(Boolean);
  let at = -1;

  function go(n, quiet = false) {
    const next = Math.max(0, Math.min(trace.steps.length, Number(n) || 0));
    if (next === at) return;
    for (const part of parts) part.show(next, at);
    at = next;
    if (links && !quiet) history.replaceState(null, "", `#${trace.id}/step/${at}`);
    if (onStep) onStep(at);
  }

  function keyed(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea, .zoomed *, .zoomed")) return;
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    const to = { Home: 0, End: trace.steps.length }[event.key] ?? (by === undefined ? undefined : at + by);
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  }

  function addressed() {
    const found = stepInAddress(trace.id);
    if (links && found !== null) go(found, true);
  }

  const root = h("div", { class: "stepper", role: "group", "aria-label": `Run: ${trace.title}`, tabindex: "-1" });
  const [top, steps, now, ...others] = parts.map((part) => part.element);
  const side = h("div", { class: "stepper-side" }, now, ...others.filter((x) => x.matches(".stepper-formula")));
  root.append(top, h("div", { class: "stepper-main" }, steps, side), ...others.filter((x) => !x.matches(".stepper-formula")));
  root.addEventListener("keydown", keyed);
  addEventListener("hashchange", addressed);
  element.replaceChildren(root);
  go((links ? stepInAddress(trace.id) : null) ?? 0, true);

  return {
    go,
    get step() {
      return at;
    },
    destroy() {
      removeEventListener("hashchange", addressed);
      root.remove();
    },
  };
}

/** The step that the address of the page names, if it is one of this run. */
function stepInAddress(id) {
  const [place, number] = decodeURIComponent(location.hash.slice(1)).split("/step/");
  return place === id && /^\d+$/.test(number ?? "") ? Number(number) : null;
}

/** The values of all places, before the first step and after each. */
function worldsOf(trace) {
  const worlds = [trace.start];
  for (const step of trace.steps) {
    const next = step.changes.length ? worlds.at(-1).slice() : worlds.at(-1);
    for (const [place, value] of step.changes) next[place] = value;
    worlds.push(next);
  }
  return worlds;
}

// Where one is -------------------------------------------------------------------------------------------------------

function bar(trace, go) {
  const last = trace.steps.length;
  const range = h("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "Step" });
  const place = h("output", { "aria-live": "polite" });
  let at = 0;
  const button = (label, sign, to) => {
    const made = h("button", { type: "button", "aria-label": label, title: label }, sign);
    made.addEventListener("click", () => go(to()));
    return made;
  };
  const back = [button("First step", "«", () => 0), button("Step back", "‹", () => at - 1)];
  const on = [button("Step forward", "›", () => at + 1), button("Last step", "»", () => last)];
  range.addEventListener("input", () => go(range.valueAsNumber));
  return {
    element: h("div", { class: "stepper-bar" }, ...back, ...on, range, place, h("span", { class: "stepper-keys", "aria-hidden": "true" }, "← →")),
    show(n) {
      at = n;
      range.value = n;
      place.textContent = `Step ${n} of ${last}`;
      range.setAttribute("aria-valuetext", n ? `${n}: ${trace.steps[n - 1].text}` : "the beginning");
      for (const x of back) x.setAttribute("aria-disabled", String(n === 0));
      for (const x of on) x.setAttribute("aria-disabled", String(n === last));
    },
  };
}

function list(trace, go) {
  const item = (text, n, failed) => {
    const button = h("button", { type: "button", tabindex: "-1" }, h("b", {}, String(n)), h("span", {}, text));
    button.addEventListener("click", () => go(n));
    return h("li", failed ? { class: "failed" } : {}, button);
  };
  const items = [item("the beginning", 0, false), ...trace.steps.map((x, n) => item(x.text, n + 1, x.fault))];
  const shown = items.slice();
  if (trace.loop !== null) {
    const ever = trace.loop === trace.steps.length ? "then nothing more happens" : "repeated forever from here";
    shown.splice(trace.loop + 1, 0, h("li", { class: "stepper-loop" }, `↻ ${ever}`));
  }
  const element = h("ol", { class: "stepper-steps", "aria-label": "Steps", tabindex: "0" }, ...shown);
  return {
    element,
    show(n, old) {
      if (old >= 0) items[old].firstChild.removeAttribute("aria-current");
      items[n].firstChild.setAttribute("aria-current", "step");
      scrollInside(element, items[n]);
    },
  };
}

// What happened and what is so ---------------------------------------------------------------------------------------

function told(trace, worlds) {
  const what = h("div", { class: "stepper-what" });
  const rows = owners(trace).map(([owner, places]) => row(trace, owner, places));
  const head = h("tr", {}, ...["Instance", "State", "Fields"].map((x) => h("th", { scope: "col" }, x)));
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows.map((x) => x.element)));
  return {
    element: h("div", { class: "stepper-now" }, what, h("div", { class: "stepper-values", tabindex: "0", role: "region", "aria-label": "Values" }, table)),
    show(n) {
      const step = n ? trace.steps[n - 1] : null;
      what.replaceChildren(...happened(trace, step, n));
      for (const x of rows) x.show(worlds[n], n ? worlds[n - 1] : worlds[0]);
    },
  };
}

function* happened(trace, step, n) {
  if (step === null) yield h("p", { class: "stepper-title" }, "The beginning");
  else yield h("ul", { class: "stepper-tree" }, branch(step.then, true));
  if (step?.fault) yield h("p", { class: "stepper-fault" }, ...coded(step.fault));
  if (n === trace.steps.length) {
    const said = trace.why.filter((x) => !step?.fault || !step.fault.startsWith(x));
    if (said.length) yield h("ul", { class: `stepper-why ${trace.outcome}` }, ...said.map((x) => h("li", {}, ...coded(x))));
  }
}

function branch(node, first) {
  const then = node.then ? h("span", { class: "stepper-then" }, node.then) : null;
  const inside = node.inside.length ? h("ul", {}, ...node.inside.map((x) => branch(x, false))) : null;
  return h("li", {}, h(first ? "b" : "span", {}, node.what), then, inside);
}

/** The places by their owner, in order; what is the system's own last. */
function owners(trace) {
  const found = new Map();
  trace.places.forEach(([owner], n) => found.set(owner, [...(found.get(owner) ?? []), n]));
  const own = found.get("");
  found.delete("");
  return own ? [...found, ["", own]] : [...found];
}

function row(trace, owner, places) {
  const state = h("td", {});
  const fields = h("td", {});
  const machine = trace.instances.find((x) => x.name === owner)?.machine ?? "";
  const name = h("th", { scope: "row" }, owner || "the system", h("span", {}, machine.split(".").at(-1)));
  return {
    element: h("tr", {}, name, state, fields),
    show(now, before) {
      const values = places.map((n) => [trace.places[n][1], now[n], before[n]]);
      state.replaceChildren(...values.filter((x) => !x[0]).map(([, value, old]) => valued(value, old)));
      const told = values.filter((x) => x[0]);
      fields.replaceChildren(...told.map(([field, value, old]) => h("span", { class: "stepper-field" }, h("i", {}, field), " ", valued(value, old))));
    },
  };
}

/** A value; one that has changed with what it was. */
function valued(value, old) {
  if (value === old) return h("span", {}, value);
  return h("span", { class: "stepper-changed" }, h("del", {}, old), h("span", { class: "stepper-arrow", "aria-hidden": "true" }, " → "), h("ins", {}, value));
}

/** The formula with the value of each of its parts after the step. */
function formula(trace) {
  if (!trace.formula?.length) return null;
  const rows = trace.formula.map((part) => {
    const value = h("td", {});
    const text = h("th", { scope: "row", style: `--depth: ${part.depth}` }, ...coded(part.text));
    return { part, value, element: h("tr", {}, value, text) };
  });
  const caption = h("caption", {}, "The formula, and what its parts are worth here");
  const table = h("table", {}, caption, h("tbody", {}, ...rows.map((x) => x.element)));
  return {
    element: h("div", { class: "stepper-formula", tabindex: "0", role: "region", "aria-label": "The formula" }, table),
    show(n) {
      for (const { part, value, element } of rows) {
        const now = valueAt(part.values, n);
        value.replaceChildren(now);
        element.className = { true: "true", false: "false" }[now] ?? "";
        value.classList.toggle("stepper-changed", n > 0 && valueAt(part.values, n - 1) !== now);
      }
    },
  };
}

const valueAt = (values, n) => values.findLast(([from]) => from <= n)?.[1] ?? "";

// Pictures -----------------------------------------------------------------------------------------------------------

/** The diagram of each machine, with the states lit up that its instances are in, and the transitions just followed. */
function pictures(trace, worlds, diagrams) {
  const names = [...new Set(trace.instances.map((x) => x.machine))].filter((x) => diagrams[x]?.svg);
  if (!names.length) return null;
  const drawn = names.map((name) => picture(trace, worlds, name, diagrams[name]));
  return {
    element: h("div", { class: "stepper-pictures" }, ...drawn.map((x) => x.element)),
    show: (n, old) => drawn.forEach((x) => x.show(n, old)),
  };
}

function picture(trace, worlds, machine, { svg, prefix = "" }) {
  const image = imageOf(svg, true);
  const own = trace.instances.map((x, n) => [x, n]).filter(([x]) => x.machine === machine);
  const place = new Map(trace.places.map(([owner, field], n) => [field ? null : owner, n]));
  const node = (state) => image.querySelector(`[data-id="${CSS.escape(`${prefix}state-${safe(state)}`)}"]`);
  const caption = `${machine.split(".").at(-1)}: ${own.map(([x]) => x.name).join(", ")}`;
  const scroll = h("div", { class: "stepper-scroll", tabindex: "0", role: "region", "aria-label": caption }, image);
  return {
    element: h("figure", { "data-machine": machine }, scroll, h("figcaption", {}, caption)),
    show(n) {
      for (const x of image.querySelectorAll(".lit, .followed")) x.classList.remove("lit", "followed", "moved");
      for (const x of image.querySelectorAll(".token")) x.remove();
      const there = new Map();
      for (const [x] of own) {
        const state = worlds[n][place.get(x.name)];
        there.set(state, [...(there.get(state) ?? []), x.name]);
      }
      for (const [state, who] of there) {
        const lit = node(state);
        lit?.classList.add("lit");
        if (lit && own.length > 1) lit.append(token(lit, who));
      }
      const followed = n ? trace.steps[n - 1].followed : [];
      for (const [instance, index] of followed) {
        if (trace.instances[instance].machine !== machine) continue;
        const drawn = [...image.querySelectorAll(`.edge.transition-${index}, [data-id="${CSS.escape(`${prefix}transition-${index}`)}"]`)];
        const inside = node(worlds[n][place.get(trace.instances[instance].name)])?.querySelectorAll(".label") ?? [];
        // A row that is not drawn is one of those for which the last row of its state stands.
        for (const x of drawn.length ? drawn : [...inside].slice(-1)) x.classList.add("followed");
      }
      const first = image.querySelector(".lit");
      if (first) requestAnimationFrame(() => scrollInside(scroll, first));
    },
  };
}

/** A label at the upper edge of a state with the instances that are in it. */
function token(node, names) {
  const outline = node.querySelector("path, polygon");
  const numbers = (outline?.getAttribute("d") ?? outline?.getAttribute("points") ?? "").match(/-?\d+(\.\d+)?/g)?.map(Number) ?? [0, 0];
  const xs = numbers.filter((_, n) => n % 2 === 0);
  const top = Math.min(...numbers.filter((_, n) => n % 2));
  const text = names.length > 3 ? `${names.slice(0, 2).join(" ")} +${names.length - 2}` : names.join(" ");
  const wide = text.length * 6 + 10;
  const x = Math.max(...xs) - wide + 6;
  return s(
    "g",
    { class: "token", transform: `translate(${x} ${top - 12})` },
    s("title", {}, names.join(", ")),
    s("rect", { width: wide, height: 15, rx: 7.5 }),
    s("text", { x: wide / 2, y: 11, "text-anchor": "middle" }, text),
  );
}

/** A sequence diagram: what is not yet is pale, and the step is in view. */
function chart(sequence) {
  if (!sequence) return null;
  const image = imageOf(sequence, typeof sequence === "string");
  const groups = [[]];
  for (const group of image.querySelectorAll(":scope > g")) {
    if (group.classList.contains("step")) groups.push([]);
    groups.at(-1).push(group);
  }
  const scroll = h("div", { class: "stepper-scroll", tabindex: "0", role: "region", "aria-label": "Sequence diagram" }, image);
  const element = h("details", { class: "stepper-sequence", open: "" }, h("summary", {}, "As a sequence diagram"), scroll);
  groups.slice(1).flat().forEach((x) => x.classList.add("future"));
  return {
    element,
    show(n, old) {
      const [from, to] = [Math.min(n, Math.max(old, 0)), Math.max(n, Math.max(old, 0))];
      for (let k = from + 1; k <= to; k += 1) for (const x of groups[k] ?? []) x.classList.toggle("future", k > n);
      groups[Math.max(old, 0)]?.[0]?.classList.remove("current");
      if (n) groups[n]?.[0]?.classList.add("current");
      const first = n ? groups[n]?.[0] : null;
      requestAnimationFrame(() => (first && element.open ? scrollInside(scroll, first) : scroll.scrollTo(0, 0)));
    },
  };
}

// Small things -------------------------------------------------------------------------------------------------------

/** An SVG that stands in this page; of a copy the ids become `data-id`, so that no two are the same. */
function imageOf(svg, copied) {
  const source = typeof svg === "string" ? new DOMParser().parseFromString(svg, "image/svg+xml").documentElement : svg;
  if (!copied) return source;
  const image = document.importNode(source, true);
  for (const x of [image, ...image.querySelectorAll("[id]")]) {
    if (x.id) x.setAttribute("data-id", x.id);
    x.removeAttribute("id");
  }
  return image;
}

/** As `fsmdsl.draw.text.safe`: a name as it stands in an id. */
const safe = (name) => name.replace(/[^A-Za-z0-9_]/gu, (x) => `-${x.codePointAt(0).toString(16)}-`);

/** Scrolls a box, and nothing around it, until something inside is in view. */
function scrollInside(box, inside) {
  const [outer, inner] = [box.getBoundingClientRect(), inside.getBoundingClientRect()];
  if (inner.top < outer.top) box.scrollTop += inner.top - outer.top - 8;
  else if (inner.bottom > outer.bottom) box.scrollTop += Math.min(inner.bottom - outer.bottom + 40, inner.top - outer.top);
  if (inner.left < outer.left) box.scrollLeft += inner.left - outer.left - 8;
  else if (inner.right > outer.right) box.scrollLeft += Math.min(inner.right - outer.right + 40, inner.left - outer.left);
}

/** Text, and what stands between backticks as code. */
function coded(text) {
  const pieces = text.split("`");
  return pieces.length % 2 ? pieces.map((x, n) => (n % 2 ? h("code", {}, x) : x)).filter((x) => x !== "") : [text];
}

function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function s(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((x) => x !== null));
  return element;
}
