/** The page of `fsm report`: one view at a time, search, overlays on diagrams, steppers and pictures when they come in sight. */
import { downloads } from "./download.js";
import { mountPanZoom } from "./panzoom.js";
import { mountSorting } from "./sorting.js";
import { mountSpace } from "./space.js";
import { mountStepper } from "./stepper.js";

const $ = (selector, inside = document) => inside.querySelector(selector);
const $$ = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const dataOf = (id) => JSON.parse(document.getElementById(id).textContent);

// Views --------------------------------------------------------------------------------------------------------------

const views = $$("section.view");
let current = null;

/** Shows a view and hides the others, which the browser still searches in. */
function show(view) {
  if (view === current) return false;
  current = view;
  for (const x of views) {
    if (x === view) x.removeAttribute("hidden");
    else x.setAttribute("hidden", "until-found");
  }
  for (const link of $$("nav a[href^='#']")) {
    const here = link.hash === `#${view.id}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (here) {
      fold(link.closest(".group"), true);
      link.scrollIntoView({ block: "nearest" });
    }
  }
  document.title = `${$("h1, h2", view).textContent.trim()} · ${document.body.dataset.title}`;
  prepare(view);
  return true;
}

/** What the address names: a view, or a place in one. */
function route(first = false) {
  const [id] = decodeURIComponent(location.hash.slice(1)).split("/step/");
  const place = (id && document.getElementById(id)) || views[0];
  const view = place.closest("section.view") ?? views[0];
  const changed = show(view);
  for (let x = place; x && x !== view; x = x.parentElement) if (x.matches("details")) x.open = true;
  if (place === view) {
    if (changed) scrollTo(0, 0);
    if (!first) $("h1, h2", view).focus({ preventScroll: true });
  } else {
    if (place.matches(".run")) mountRun(place);
    place.scrollIntoView({ block: place.matches("tr") ? "center" : "start" });
    if (place.matches(".run")) $(".stepper", place)?.focus({ preventScroll: true });
    else if (!first) place.focus({ preventScroll: true });
    flash(place);
  }
}

function flash(place) {
  for (const x of $$(".flash")) x.classList.remove("flash");
  place.classList.add("flash");
}

// What a view needs once it is seen ----------------------------------------------------------------------------------

function prepare(view) {
  if (view.dataset.ready) return;
  view.dataset.ready = "yes";
  for (const figure of $$("figure.diagram", view)) prepareDiagram(figure);
  for (const element of $$(".space-view", view)) prepareSpace(element);
  for (const run of $$(".run", view)) prepareRun(run);
  for (const box of $$(".rows", view)) prepareRows(box);
  for (const table of $$("table.sortable", view)) mountSorting(table);
}

function prepareSpace(element) {
  mountSpace(element, dataOf(element.dataset.of));
  const svg = $("svg.space", element);
  mountPanZoom($(".space-box", element), svg);
}

/** A stepper, made when it comes in sight: a system may have fifty. */
function prepareRun(run) {
  if (run.open === false) run.addEventListener("toggle", () => mountRun(run));
  else seen.observe(run);
}

const seen = new IntersectionObserver((found) => {
  for (const x of found) if (x.isIntersecting) mountRun(x.target);
}, { rootMargin: "600px" });

function mountRun(run) {
  if (run.dataset.ready) return;
  run.dataset.ready = "yes";
  seen.unobserve(run);
  const trace = dataOf(`${run.id}-steps`);
  const diagrams = {};
  for (const name of new Set(trace.instances.map((x) => x.machine))) {
    const figure = $(`figure.diagram[data-machine="${CSS.escape(name)}"]`);
    const svg = figure && $("svg", figure);
    if (svg) diagrams[name] = { svg, prefix: figure.dataset.prefix };
  }
  const stepper = mountStepper($(".stepper-here", run), trace, { diagrams, sequence: $(".sequence svg", run) });
  printed(stepper, trace.steps.length);
  $(".sequence", run)?.remove();
}

/** On paper a run is shown at its end. */
function printed(stepper, end) {
  let at = 0;
  const toEnd = () => {
    at = stepper.step;
    stepper.go(end, true);
  };
  addEventListener("beforeprint", toEnd);
  addEventListener("afterprint", () => stepper.go(at, true));
  if (printing) toEnd();
}

let printing = false;

// Diagrams -----------------------------------------------------------------------------------------------------------

function prepareDiagram(figure) {
  const svg = $("svg", figure);
  if (!svg) return;
  const zoom = mountPanZoom(figure, svg);
  $(".zoom-bar", figure)?.append(...downloads(svg, figure.dataset.machine));
  prepareStates(figure, svg, zoom);
  const source = document.getElementById(`${figure.id}-overlays`);
  const overlays = source ? JSON.parse(source.textContent) : {};
  for (const choice of $$("input[type=radio]", figure)) {
    choice.addEventListener("change", () => lay(figure, svg, choice.value, overlays[choice.value]));
  }
  const view = figure.closest("section.view");
  for (const row of $$("tr[data-transitions]", view)) {
    const lit = row.dataset.transitions.split(" ").map((n) => `.edge.transition-${n}, #${CSS.escape(`${figure.dataset.prefix}transition-${n}`)}`).join();
    row.addEventListener("pointerenter", () => $$(lit, svg).forEach((x) => x.classList.add("pointed")));
    row.addEventListener("pointerleave", () => $$(".pointed", svg).forEach((x) => x.classList.remove("pointed")));
  }
}

/** A list of states to go to, in a diagram that is too large to be seen at once; it begins at its beginning. */
function prepareStates(figure, svg, zoom) {
  const select = $("select.states", figure);
  if (!select) return;
  const nodes = $$(".node.state, .cluster", svg).filter((x) => x.id);
  const named = nodes.map((x) => [$("text", x)?.textContent ?? x.id, x]).sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }));
  select.append(...named.map(([name], n) => new Option(name, n)));
  select.addEventListener("change", () => {
    for (const x of $$(".sought", svg)) x.classList.remove("sought");
    if (select.value === "") return zoom.all();
    const node = named[Number(select.value)][1];
    node.classList.add("sought");
    return zoom.goTo(node);
  });
  if (figure.matches(".large")) zoom.goTo($(".node.start", svg) ?? nodes[0]);
}

/** Colours what was reached and what never was; wider where often. What a log counts is written behind each label. */
function lay(figure, svg, name, counts) {
  figure.dataset.overlay = name;
  $(".overlay-key", figure).hidden = !counts;
  for (const x of $$(".count", svg)) x.remove();
  for (const x of $$(".seen, .unseen", svg)) {
    x.classList.remove("seen", "unseen");
    x.style.removeProperty("--often");
  }
  const most = Math.max(2, ...Object.values(counts ?? {}));
  for (const [id, count] of Object.entries(counts ?? {})) {
    for (const x of [document.getElementById(id), document.getElementById(`${id}-head`)]) {
      if (!x || !svg.contains(x)) continue;
      x.classList.add(count ? "seen" : "unseen");
      x.style.setProperty("--often", (1.2 + 2.6 * Math.sqrt(count / most)).toFixed(2));
      if (name === "logged" && x.matches(".label")) write(x, `${count.toLocaleString("en")}×`);
    }
  }
}

/** Below a label that is alone on its arrow, else behind it. */
function write(label, text) {
  const last = $$("text", label).at(-1);
  if (!last) return;
  const alone = !label.closest(".node, .cluster") && $$(".label", label.parentElement).length === 1;
  const box = last.getBBox();
  const count = last.cloneNode();
  for (const x of ["textLength", "lengthAdjust"]) count.removeAttribute(x);
  count.setAttribute("class", "count");
  count.setAttribute("x", (alone ? box.x : box.x + box.width + 3).toFixed(1));
  if (alone) count.setAttribute("y", (Number(last.getAttribute("y")) + box.height).toFixed(1));
  count.textContent = text;
  last.after(count);
}

// Tables -------------------------------------------------------------------------------------------------------------

function prepareRows(box) {
  const input = $("input[type=search]", box);
  if (!input) return;
  const rows = $$("tbody tr", box).map((row) => [row, row.textContent.toLowerCase()]);
  const left = $("output", box);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((x) => text.includes(x));
      count += !row.hidden;
    }
    left.textContent = words.length ? `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")}` : "";
  });
}

// The list at the left ----------------------------------------------------------------------------------------------

const groups = $$("nav .group");

function fold(group, open) {
  if (!group) return;
  $("ul", group).hidden = !open;
  $(".fold", group).setAttribute("aria-expanded", String(open));
}

for (const group of groups) {
  $(".fold", group).addEventListener("click", () => fold(group, $("ul", group).hidden));
  if (groups.length > 12) fold(group, false);
}

// Search -------------------------------------------------------------------------------------------------------------

const search = $("#search");
const matches = $("#matches");
const entries = $$("nav li[data-words]").map((item) => [item, `${item.textContent} ${item.dataset.words}`.toLowerCase()]);
let index = null;

/** Places in views that have a name: rows, verdicts, scenarios. */
function places() {
  index ??= $$("[data-name]").map((x) => ({ id: x.id, name: x.dataset.name, text: x.dataset.name.toLowerCase(), view: x.closest("section.view") }));
  return index;
}

function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text) => words.every((x) => text.includes(x));
  for (const [item, text] of entries) item.hidden = !fits(text);
  for (const group of groups) {
    group.hidden = !$$("li[data-words]", group).some((x) => !x.hidden) && !fits($(".group-head", group).textContent.toLowerCase());
    if (words.length) fold(group, true);
  }
  const found = words.length ? places().filter((x) => fits(x.text)) : [];
  matches.replaceChildren(...found.slice(0, 30).map(match));
  $("#found").textContent = words.length ? `${entries.filter(([x]) => !x.hidden).length} machines and systems, ${found.length.toLocaleString("en")} places in them` : "";
}

function match({ id, name, view }) {
  const [item, link, where] = ["li", "a", "small"].map((tag) => document.createElement(tag));
  link.href = `#${id}`;
  where.textContent = $("h1, h2", view).textContent.trim();
  link.append(name, " ", where);
  item.append(link);
  return item;
}

search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    search.value = "";
    find();
  } else if (event.key === "Enter") {
    const first = entries.find(([x]) => !x.hidden && $("a", x))?.[0] ?? $("li", matches);
    if (first && search.value) location.hash = $("a", first).hash;
  }
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  search.focus();
});

// Colours ------------------------------------------------------------------------------------------------------------

/** A browser may forbid to keep anything for a page from disk; then the choice lasts as long as the page. */
const remembered = {
  get: () => { try { return localStorage.getItem("fsm-theme") ?? ""; } catch { return ""; } },
  set: (value) => { try { localStorage.setItem("fsm-theme", value); } catch { /* not kept */ } },
};
const theme = $("#theme");
function paint(value) {
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
}
theme.value = ["light", "dark"].includes(remembered.get()) ? remembered.get() : "";
paint(theme.value);
theme.addEventListener("change", () => {
  paint(theme.value);
  remembered.set(theme.value);
});

// Begin --------------------------------------------------------------------------------------------------------------

for (const more of $$("button.more")) {
  more.addEventListener("click", () => {
    for (const x of $$("li[hidden]", more.parentElement)) x.hidden = false;
    more.remove();
  });
}
for (const x of views) x.addEventListener("beforematch", () => show(x));
addEventListener("afterprint", () => (printing = false));
addEventListener("beforeprint", () => {
  printing = true;
  for (const x of views) prepare(x);
  for (const x of $$(".run:not(details)")) mountRun(x);
  for (const x of $$("details.text, details.fold-list")) x.open = true;
});
addEventListener("hashchange", (event) => {
  const [from, to] = [event.oldURL, event.newURL].map((x) => x.split("#")[1]?.split("/step/")[0]);
  if (from !== to || !location.hash.includes("/step/")) route();
});
document.documentElement.classList.add("scripted");
route(true);
document.documentElement.dataset.ready = String(Math.round(performance.now()));
