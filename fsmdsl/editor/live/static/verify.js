// Exploring a system: how far it is, and what it has found.
import { listen } from "./api.js";
import { coded, counted, h } from "./dom.js";

const WORDS = { holds: "holds", violated: "violated", unknown: "unknown", "not checked": "not-checked" };

/**
 * `makeVerify(element, { file, question, walk, first, chosen })`: `file()` is shown, `walk(system, verdict, question)`
 * steps through a run, `first` is the system to begin with, `chosen(system)` is called with the one that is.
 */
export function makeVerify(element, { file: shownNow, question, walk, first, chosen }) {
  const system = h("select", { "aria-label": "System" });
  const seconds = h("input", { type: "number", min: "1", max: "3600", value: "60", "aria-label": "Seconds at most" });
  const start = h("button", { type: "submit", class: "primary", disabled: true }, "Verify");
  const stop = h("button", { type: "button", disabled: true, onclick: () => running?.abort() }, "Cancel");
  const told = h("p", { class: "progress", role: "status" });
  const result = h("div", { class: "result" });
  const form = h("form", { class: "bar" }, system, h("label", { class: "switch" }, "at most ", seconds, " s"), start, stop);
  const since = h("p", { class: "since quiet", hidden: true }, "The text has changed since.");
  element.append(form, told, since, result);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });

  let running = null;
  let picked = first;
  let shown = null;
  system.addEventListener("change", () => {
    [shown, picked] = [shownNow(), system.value];
    chosen(picked);
  });

  async function run() {
    if (!system.value || running) return;
    const asked = { ...question(), system: system.value, seconds: Number(seconds.value) || 60 };
    const mine = (running = new AbortController());
    const rate = speed();
    start.disabled = true;
    stop.disabled = false;
    result.replaceChildren();
    since.hidden = true;
    element.setAttribute("aria-busy", "true");
    told.textContent = "starting …";
    try {
      await listen("verify", asked, mine.signal, (event, x) => {
        if (event === "progress") told.textContent = progress(x, rate(x));
        else if (event === "phase") told.textContent = x.text;
        else if (event === "failed") told.textContent = x.message;
        else if (event === "result") show(x, asked);
      });
    } catch (error) {
      told.textContent = error.name === "AbortError" ? "cancelled: nothing is decided" : error.message;
    } finally {
      running = null;
      start.disabled = !system.options.length;
      stop.disabled = true;
      element.removeAttribute("aria-busy");
    }
  }

  function show(x, asked) {
    const reached = x.beyond ? `every state within the bound, ${x.beyond} of them beyond it` : "every reachable state";
    const fails = x.verdicts.some((v) => v.kind === "fault" && v.outcome === "violated");
    const basis = x.stopped ? `${x.stopped}: explored ${x.explored}` : `${reached}${fails ? ", but some steps fail" : ""}`;
    told.replaceChildren(h("span", { class: `mark ${x.verdict}` }, x.verdict), ` ${x.module}.${x.name}: `,
      `${counted(x.states, "state")}, ${counted(x.transitions, "transition")}, depth ${x.depth}, ${x.seconds.toFixed(2)} s (${basis})`,
      asked.documented ? " – as documented" : "");
    const rows = (outcome) => x.verdicts.filter((v) => v.outcome === outcome).map((v) => verdict(x, v, asked));
    const open = [...x.groups.map((g) => group(x, g, asked)), ...rows("unknown"), ...rows("not checked")];
    const held = rows("holds");
    const list = (label, rows) => h("ul", { class: "verdicts", "aria-label": label }, rows);
    result.replaceChildren();
    if (open.length) result.append(list("Verdicts", open));
    if (held.length) result.append(h("details", { open: !open.length }, h("summary", {}, `${held.length} hold`), list("What holds", held)));
    if (x.note) result.append(h("p", { class: "quiet" }, coded(x.note)));
    if (x.never_followed.length && !x.stopped) {
      const rows = unfollowed(x.never_followed);
      const label = `${counted(rows.length, "row")} never followed${x.beyond ? " within the bound" : ""}`;
      result.append(h("details", { open: rows.length < 5 }, h("summary", {}, label), h("ul", {}, rows.map((row) => h("li", {}, row)))));
    }
  }

  /** Violations that are one thing to repair: the one with the shortest run, the others folded. */
  function group(x, g, asked) {
    const [first, ...others] = g.verdicts.map((n) => x.verdicts[n]);
    const row = verdict(x, first, asked, g.title);
    const states = g.states.length > 1 ? [`in ${g.states.join(", ")}`] : [];
    const library = g.led_by && g.rows.length ? [`in the library: \`${g.rows[0].row}\` of ${g.rows[0].machine}`] : [];
    const faults = g.ends_in.map((n) => x.groups[n].title);
    const [what, them] = faults.length > 1 ? [`${faults.length} faults`, "them"] : ["a fault", "it"];
    const more = faults.length > 3 ? ` and ${faults.length - 3} more` : "";
    const ends = faults.length ? [`its run goes no further because of ${what}; repair ${them} first: ${faults.slice(0, 3).join("; ")}${more}`] : [];
    const lines = [...states, ...library, ...ends];
    if (lines.length) row.append(h("ul", { class: "why" }, lines.map((line) => h("li", {}, coded(line)))));
    if (others.length) {
      const more = others.map((v) => verdict(x, v, asked));
      row.append(h("details", {}, h("summary", {}, `${others.length} more`), h("ul", { class: "why" }, more)));
    }
    return row;
  }

  function verdict(x, v, asked, title = v.title) {
    const steps = v.trace ? v.trace.steps.length : 0;
    const label = v.outcome === "violated" ? `Step through (${counted(steps, "step")})` : `Show a run (${counted(steps, "step")})`;
    const button = v.trace ? h("button", { type: "button", "aria-label": `${label}: ${title}`, onclick: () => walk(`${x.module}.${x.name}`, v, asked) }, label) : null;
    return h("li", {},
      h("div", {}, h("span", { class: `mark ${WORDS[v.outcome]}` }, v.outcome), " ", h("b", {}, coded(title)), " ", h("span", { class: "quiet" }, v.basis), " ", button),
      v.explanation.length ? h("ul", { class: "why" }, v.explanation.map((line) => h("li", {}, coded(line)))) : null);
  }

  return {
    /** The systems there are, those of this file first. In another file, its first is meant until one is chosen. */
    systems(file, own, others) {
      const listed = [...own, ...others];
      if (file !== shown && !(shown === null && listed.includes(picked))) picked = own[0] ?? null;
      shown = file;
      if (listed.join() !== [...system.options].map((x) => x.value).join()) system.replaceChildren(...listed.map((x) => h("option", { value: x }, x)));
      if (listed.includes(picked)) system.value = picked;
      start.disabled = running !== null || !listed.length;
    },
    /** The system that the cursor stands in. */
    prefer(name) {
      if (running || ![...system.options].some((x) => x.value === name)) return;
      system.value = picked = name;
      chosen(name);
    },
    changed() {
      since.hidden = !result.hasChildNodes();
    },
    run,
  };
}

/** Rows that no run follows, each once, with the sources from which none does, and its place. */
function unfollowed(transitions) {
  const rows = new Map();
  for (const t of transitions) {
    const place = `${t.file}:${t.line}:${t.column}`;
    const row = rows.get(`${t.machine} ${place}`) ?? { name: `${t.machine.split(".").at(-1)} ${t.transition}`, sources: [], place };
    row.sources.push(t.source);
    rows.set(`${t.machine} ${place}`, row);
  }
  return [...rows.values()].map((row) => `${row.name} from ${row.sources.join(", ")} (${row.place})`);
}

function progress(x, rate) {
  const parts = [counted(x.states, "state"), `depth ${x.depth}`, `${x.waiting.toLocaleString("en")} waiting`];
  if (rate) parts.push(`${Math.round(rate).toLocaleString("en")} states/s`);
  parts.push(`${x.seconds.toFixed(0)} s`);
  if (x.memory) parts.push(x.memory > 2 ** 30 ? `${(x.memory / 2 ** 30).toFixed(1)} GiB` : `${Math.round(x.memory / 2 ** 20)} MiB`);
  return parts.join(" · ");
}

/** States a second since the last time. */
function speed() {
  let last = { states: 0, seconds: 0 };
  return (x) => {
    const found = x.seconds > last.seconds ? (x.states - last.states) / (x.seconds - last.seconds) : 0;
    last = x;
    return found;
  };
}
