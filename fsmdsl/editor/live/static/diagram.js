// The diagram of the machine at the cursor; what the cursor stands in is marked, and a click leads to the text.
import { mountPanZoom } from "../shared/panzoom.js";
import { ask, latest } from "./api.js";
import { coded, h, picture, safe } from "./dom.js";
import { FORMATS, download } from "./tools.js";

/**
 * `makeDiagram(element, { question, go, simulate, missed, first, selected })`: `question()` is what to ask with,
 * `go(from, to)` shows a place, `missed()` is called when there was no answer, `first` is the machine to begin with,
 * `selected(machine)` is called with the one that is shown.
 */
export function makeDiagram(element, { question, go, simulate, missed, first, selected }) {
  const choice = h("select", { "aria-label": "Machine", onchange: () => select(choice.value, true) });
  const told = h("span", { class: "quiet", role: "status" });
  const start = h("button", { type: "button", disabled: true, onclick: () => simulate(machine) }, "Simulate this machine");
  const figure = h("figure", { class: "drawing" });
  const form = h("select", { "aria-label": "Download the diagram", disabled: true, onchange: () => exported() },
    h("option", { value: "" }, "Download …"), FORMATS.map(({ name, label }) => h("option", { value: name }, label)));
  element.append(h("div", { class: "bar" }, choice, told, h("span", { class: "grow" }), form, start), figure);

  let outline = [];
  let machine = first;
  let at = 0;
  const shown = { machine: null, key: null, image: null, note: "" };

  const drawing = latest(60, (signal) => {
    if (machine === null) return undefined;
    told.textContent = shown.machine === machine ? told.textContent : "drawing …";
    const known = shown.machine === machine && shown.image ? shown.key : null;
    return ask("diagram", { ...question(), machine, known }, signal);
  }, show, (error) => {
    told.textContent = shown.image && shown.machine === machine ? "the last good diagram" : error.message;
    missed();
  });

  async function exported() {
    const wanted = form.value;
    form.value = "";
    await download(question(), machine, wanted).catch((error) => (told.textContent = error.message));
  }

  function show(answer) {
    const stays = answer.same || (!answer.svg && !shown.image && shown.machine === answer.machine && figure.querySelector("pre")?.textContent === answer.mermaid);
    if (!stays) {
      Object.assign(shown, { machine: answer.machine, key: answer.key, image: answer.svg ? picture(answer.svg) : null, note: answer.note ?? "" });
      figure.replaceChildren();
      if (shown.image) {
        figure.append(shown.image);
        shown.image.addEventListener("click", clicked);
        mountPanZoom(figure, shown.image);
      } else {
        figure.append(h("p", {}, coded(answer.message), answer.help ? [" – ", ...coded(answer.help)] : null), h("pre", { tabindex: "0" }, answer.mermaid));
      }
    }
    told.textContent = shown.note;
    mark();
  }

  const declared = () => outline.find((x) => x.kind === "machine" && x.qualified === machine);

  /** The state or row that the cursor stands in. */
  function mark() {
    if (!shown.image) return;
    for (const x of shown.image.querySelectorAll(".here")) x.classList.remove("here");
    const around = shown.machine === machine ? declared() : null;
    if (!around) return;
    const inside = (x) => x.from <= at && at <= x.to;
    const rows = around.transitions.filter(inside);
    const narrow = Math.min(...rows.map((x) => x.to - x.from));
    for (const row of rows.filter((x) => x.to - x.from === narrow)) {
      for (const x of shown.image.querySelectorAll(`.edge.transition-${row.index}, [data-id="transition-${row.index}"]`)) x.classList.add("here");
    }
    if (rows.length) return;
    const states = around.states.filter(inside).sort((a, b) => a.to - a.from - (b.to - b.from));
    if (states.length) shown.image.querySelector(`[data-id="state-${CSS.escape(safe(states[0].name))}"]`)?.classList.add("here");
  }

  function clicked(event) {
    const around = shown.machine === machine ? declared() : null;
    if (!around) return;
    for (let x = event.target.closest("[data-id]"); x; x = x.parentElement?.closest("[data-id]")) {
      const id = x.getAttribute("data-id");
      const index = id.match(/^transition-(\d+)/)?.[1] ?? x.getAttribute("class")?.match(/transition-(\d+)/)?.[1];
      const found = index !== undefined ? around.transitions.find((y) => y.index === Number(index)) : around.states.find((y) => `state-${safe(y.name)}` === id);
      if (found) return go(found.from, found.to);
    }
  }

  function select(qualified, jump = false) {
    machine = qualified;
    choice.value = qualified ?? "";
    start.disabled = form.disabled = qualified === null;
    selected(qualified);
    drawing.now();
    if (jump && declared()) go(declared().from);
  }

  function follow() {
    const around = outline.find((x) => x.kind === "machine" && x.from <= at && at <= x.to);
    const machines = outline.filter((x) => x.kind === "machine");
    const wanted = around ?? machines.find((x) => x.qualified === machine) ?? machines[0];
    start.disabled = form.disabled = !wanted;
    if (wanted && wanted.qualified !== machine) select(wanted.qualified);
    else if (!wanted) select(null);
  }

  return {
    /** The text has changed, and can be read. */
    outlined(next) {
      outline = next;
      const machines = next.filter((x) => x.kind === "machine");
      choice.replaceChildren(...machines.map((x) => h("option", { value: x.qualified }, x.name)));
      if (!machines.length) {
        Object.assign(shown, { machine: null, key: null, image: null, note: "" });
        figure.replaceChildren(h("p", { class: "quiet" }, "This file declares no machine."));
      }
      const before = machine;
      follow();
      choice.value = machine ?? "";
      if (before === machine) drawing.soon();
    },
    /** The text has errors: what is shown is what it was. */
    stale() {
      told.textContent = shown.image ? "the last good diagram: the text has errors" : "";
    },
    moved(place) {
      at = place;
      follow();
      mark();
    },
  };
}
