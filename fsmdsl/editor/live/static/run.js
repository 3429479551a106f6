// A run that is walked through by hand, or along a trace: the stepper of the report, and what can come next.
import { mountStepper } from "../shared/stepper.js";
import { ask, latest } from "./api.js";
import { coded, counted, h, picture } from "./dom.js";

const KINDS = { answer: "answer", timer: "timer", delivery: "message", loss: "message", repetition: "message", crash: "crash", recovery: "recovery" };
const SHOWN = 200;
const USUAL = 0.75; // of the size in which a diagram is drawn, with letters of 13 px
const LEAST = 0.58; // the same, for a diagram that is as wide as its room then

/**
 * `makeRun(element, { file, question, saved, prompted, walked })`: `saved(name)` is called for new files, `prompted` asks for
 * a word, `walked({ run, steps, step })` is called with where the run is: what is walked through, as `system a.B`, the
 * texts of its steps, and how many of them have been taken.
 */
export function makeRun(element, { file: shownNow, question, saved, prompted, walked }) {
  const subject = h("select", { "aria-label": "What to walk through" });
  const begin = h("button", { type: "submit", class: "primary", disabled: true }, "Simulate");
  const form = h("form", { class: "bar" }, subject, begin);
  const undo = h("button", { type: "button", title: "Undo the last step", onclick: () => go(at - 1) }, "Undo");
  const redo = h("button", { type: "button", title: "Take it again", onclick: () => go(at + 1) }, "Redo");
  const keep = h("button", { type: "button", onclick: save }, "Save as scenario …");
  const told = h("p", { class: "progress", role: "status" });
  const tools = h("div", { class: "bar", hidden: true }, undo, redo, keep);
  const since = h("p", { class: "since quiet", hidden: true }, "The text has changed since this run began.");
  const stage = h("div", { class: "walk" });
  const next = makeNext(take, explain);
  const start = h("p", { class: "quiet" }, "Choose a system, or a machine by itself, and take its steps by hand. A run that an exploration has found opens here too.");
  element.append(h("div", { class: "head" }, form, tools, told, since), stage, start);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const [kind, name] = subject.value.split(" ");
    open(kind === "machine" ? { machine: name } : { system: name });
  });
  subject.addEventListener("change", () => (shown = shownNow()));

  let shown = null; // the file whose systems are offered first
  let run = null; // what the server keeps: { id, run, system, … }
  let opening = null; // the run that was asked for last
  let taking = null; // the run in which a step is being taken
  let at = 0;
  let stepper = null;
  let diagrams = {};

  const here = latest(30, (signal) => ask("move", { id: run.id, at }, signal), (answer) => {
    Object.assign(run, answer);
    next.show(run);
  }, fail);

  function fail(error) {
    told.textContent = error.message;
  }

  /** A new run; `known` is a verdict whose run is walked along, `again` are steps of an earlier run and a place in it. */
  async function open(what, known = null, asked = question(), again = { steps: [], step: 0 }) {
    const mine = (opening = {});
    told.textContent = "starting …";
    try {
      const answer = await ask("start", { texts: asked.texts, documented: asked.documented, ...what, ...(known ? { trace: known.trace } : { steps: again.steps }), at: known ? Math.min(1, known.trace.steps.length) : again.step });
      if (opening !== mine) return;
      told.textContent = "";
      if (known) Object.assign(answer.run, { title: known.shown, outcome: known.outcome, why: known.explanation, formula: known.formula });
      answer.documented = asked.documented;
      answer.what = what.machine ? `machine ${what.machine}` : `system ${what.system}`;
      choose(answer.what);
      tools.hidden = false;
      start.hidden = true;
      diagrams = {};
      since.hidden = true;
      show(answer, answer.at);
      draw(asked, answer);
      if (answer.impossible) told.textContent = `It cannot begin as declared: ${answer.impossible}`;
      element.querySelector(known ? ".stepper" : ".next button")?.focus({ preventScroll: true });
    } catch (error) {
      if (opening === mine) fail(error);
    }
  }

  /** The diagrams come when they are drawn; the run does not wait for them. They wait while a button is held down. */
  async function draw(asked, { id, machines }) {
    const drawn = await Promise.all(machines.map((machine) => drawing(asked, machine)));
    while (stage.matches(":active")) await new Promise(requestAnimationFrame);
    if (run.id !== id) return;
    diagrams = Object.fromEntries(drawn.filter(Boolean));
    const inside = stage.contains(document.activeElement) && !next.element.contains(document.activeElement);
    show({}, at);
    if (inside) stage.querySelector(".stepper").focus({ preventScroll: true });
  }

  async function drawing(asked, machine) {
    try {
      const answer = await ask("diagram", { texts: asked.texts, documented: asked.documented, machine, legend: false });
      return answer.svg ? [machine, { svg: readable(picture(answer.svg)) }] : null;
    } catch {
      return null;
    }
  }

  /** Shows the run anew: what is in `answer` is new, the rest is as it was. */
  function show(answer, place) {
    run = { ...run, ...answer };
    let placed = false;
    const focused = next.focused();
    stepper?.destroy();
    const sequence = run.chart ? picture(run.chart) : null;
    stepper = mountStepper(stage, run.run, { diagrams, sequence, links: false, onStep: (n) => placed && onStep(n) });
    stage.querySelector(".stepper-main").prepend(next.element);
    stepper.go(place);
    placed = true;
    onStep(stepper.step);
    if (focused >= 0) next.focus(focused);
    if (!run.chart && run.run.steps.length) told.textContent = "A run as long as this has no sequence diagram.";
  }

  function onStep(n) {
    at = n;
    undo.disabled = at === 0;
    redo.disabled = at === run.run.steps.length;
    keep.disabled = false;
    walked({ run: run.what, steps: run.run.steps.map((x) => x.text), step: at });
    if (run.at !== at) return here.soon();
    here.stop();
    next.show(run);
  }

  const go = (n) => stepper?.go(n);

  /** The choice names what is walked through, however it was begun. */
  function choose(what) {
    if (![...subject.options].some((x) => x.value === what)) return;
    subject.value = what;
    shown = shownNow();
  }

  /** One step at a time: what is shown is the run that the server keeps. */
  async function take(choice) {
    const { id } = run;
    if (taking === id) return;
    taking = id;
    told.textContent = "";
    try {
      const answer = await ask("take", { id, at, number: choice.number, text: choice.text });
      if (run.id !== id) return;
      show(answer, answer.at);
      next.focus();
      const last = answer.run.steps.at(-1);
      if (last.fault) told.textContent = "This step fails: everything is as it was before.";
    } catch (error) {
      if (run.id === id) fail(error);
    } finally {
      if (taking === id) taking = null;
    }
  }

  async function explain(text) {
    const answer = await ask("why", { id: run.id, at, text });
    return answer.told;
  }

  async function save() {
    const name = await prompted({
      title: "Save the run as a scenario",
      text: `A new file beside the spec, with the run up to here (${counted(at, "step")}); \`fsm test\` plays it.`,
      label: "Name", value: "found", pattern: "[A-Za-z_][A-Za-z0-9_]*", accept: "Save",
    });
    if (!name) return;
    try {
      const answer = await ask("save-run", { id: run.id, at, name });
      told.textContent = `Saved as ${answer.name}${run.documented ? "; `fsm test --as-documented` runs it" : ""}${answer.cut ? `. It ends early: ${answer.cut}` : ""}`;
      saved(answer.name);
    } catch (error) {
      fail(error);
    }
  }

  return {
    open,
    changed() {
      since.hidden = run === null;
    },
    /** What there is to walk through; in another file, its first is meant until one is chosen. */
    subjects(file, systems, machines) {
      const before = file === shown ? subject.value : null;
      shown = file;
      const options = (kind, list) => list.map((x) => h("option", { value: `${kind} ${x}` }, x));
      const all = [...systems.map((x) => `system ${x}`), ...machines.map((x) => `machine ${x}`)];
      if (all.join("\n") === [...subject.options].map((x) => x.value).join("\n")) return;
      subject.replaceChildren(
        ...(systems.length ? [h("optgroup", { label: "Systems" }, options("system", systems))] : []),
        ...(machines.length ? [h("optgroup", { label: "A machine by itself" }, options("machine", machines))] : []),
      );
      if ([...subject.options].some((x) => x.value === before)) subject.value = before;
      begin.disabled = subject.options.length === 0;
    },
  };
}

/** A picture whose letters can be read: usually 10 px. They shrink to 8 px where that shows its whole width. */
function readable(svg) {
  const natural = Number.parseFloat(svg.getAttribute("width"));
  if (natural) svg.style.minWidth = `min(${Math.round(natural * USUAL)}pt, max(var(--room), ${Math.round(natural * LEAST)}pt))`;
  return svg;
}

/** What can come next, to be chosen from, and what does not hold here. */
function makeNext(take, explain) {
  const filter = h("input", { type: "search", placeholder: "filter", "aria-label": "Only steps with this text", oninput: () => draw() });
  const list = h("ul", { class: "choices" });
  const problem = h("p", { class: "problem", hidden: true });
  const broken = h("ul", { class: "broken", "aria-label": "Does not hold here" });
  const why = h("form", { class: "ask" }, h("input", { placeholder: "g0.event", "aria-label": "An event that is not possible here" }), h("button", { type: "submit" }, "Why not?"));
  const because = h("ul", { class: "because", "aria-live": "polite" });
  const title = h("h3", { id: "next-title" }, "What can come next");
  const element = h("section", { class: "next", "aria-labelledby": "next-title" }, h("div", { class: "bar" }, title, filter), list, problem, broken, h("details", {}, h("summary", {}, "Something is missing here?"), why, because));
  let found = [];

  why.addEventListener("submit", async (event) => {
    event.preventDefault();
    event.stopPropagation();
    const asked = found;
    const told = await explain(why.elements[0].value).catch((error) => [error.message]);
    if (asked !== found) return;
    because.replaceChildren(...told.map((x) => h("li", {}, coded(x))));
  });
  element.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined || !event.target.matches(".choices button")) return;
    event.preventDefault();
    event.stopPropagation();
    const all = [...list.querySelectorAll("button")];
    all[all.indexOf(event.target) + by]?.focus();
  });

  /** Which choice has the focus; -1: none. */
  const focused = () => [...list.querySelectorAll("button")].indexOf(document.activeElement);
  const focus = (place = 0) => list.querySelectorAll("button")[place]?.focus({ preventScroll: true });

  function draw() {
    const place = focused();
    const wanted = filter.value.trim();
    const fitting = found.filter((x) => x.text.includes(wanted));
    list.replaceChildren(...fitting.slice(0, SHOWN).map((x) => h("li", {}, button(x))));
    if (fitting.length > SHOWN) list.append(h("li", { class: "quiet" }, `and ${counted(fitting.length - SHOWN, "more step", "more steps")}: filter`));
    if (!found.length && problem.hidden) list.append(h("li", { class: "quiet" }, "No step is possible here."));
    filter.hidden = found.length < 12;
    if (place >= 0) focus(place);
  }

  function button(x) {
    const mark = KINDS[x.kind] && !x.text.startsWith(KINDS[x.kind]) ? h("span", { class: "mark note" }, KINDS[x.kind]) : null;
    const fails = x.fault ? h("span", { class: "mark violated", title: x.fault.told.join("\n") }, `fails: ${x.fault.kind}`) : null;
    return h("button", { type: "button", onclick: () => take(x) }, h("code", {}, x.text), " ", mark, fails ?? (x.leads ? h("span", { class: "quiet" }, x.leads) : null));
  }

  return {
    element,
    show(x) {
      if (found === x.choices) return;
      found = x.choices;
      problem.hidden = x.problem === null;
      problem.textContent = x.problem ?? "";
      because.replaceChildren();
      draw();
      const failing = x.asked.filter((a) => a.kind === "invariant" && !a.holds);
      broken.replaceChildren(...failing.map((a) => h("li", {}, h("span", { class: "mark violated" }, "fails"), ` invariant ${a.name}`, h("ul", {}, a.why.map((y) => h("li", {}, coded(y)))))));
      if (x.beyond) broken.append(h("li", { class: "quiet" }, "Beyond the bound of the system: the checker explores no step from here."));
    },
    focused, focus,
  };
}
