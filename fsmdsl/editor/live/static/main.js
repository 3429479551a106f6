// The page: puts the parts together, and asks again when the text has changed.
import { ask, autosave, latest } from "./api.js";
import { makeChecks } from "./checks.js";
import { makeDiagram } from "./diagram.js";
import { prompted } from "./dialog.js";
import { makeEditor } from "./editor.js";
import { makeFiles } from "./files.js";
import { makeDivider, makeHiding, makeSwitch, makeTabs } from "./layout.js";
import { flush, note, noted } from "./place.js";
import { makeRun } from "./run.js";
import { makeTexts } from "./texts.js";
import { begin, format, showKeys } from "./tools.js";
import { makeVerify } from "./verify.js";

const $ = (id) => document.getElementById(id);
const LOOK_AGAIN = 3000; // milliseconds between two looks at the disk
const LONGEST = 3000; // characters of a run in the address; a longer one is not kept there

let outline = [];
let outlined = null; // the file that it is of
let found = [];
let listed = [];
let around = null; // the system that the cursor stands in
let disk = null; // all files with their versions, when last looked at
let looking = null; // the look that is under way

const question = () => ({ texts: texts.typed(), documented: $("documented").checked });

const said = {};

/** What the banner says, by what it is about; an empty message takes back the last one about that. */
function tell(about, message) {
  said[about] = message;
  const all = [...new Set(Object.values(said).filter(Boolean))].join(" ");
  if ($("banner").textContent !== all) $("banner").textContent = all;
  $("banner").hidden = !all;
}

const editor = makeEditor($("editor"), {
  changed: () => {
    analysis.soon();
    if (autosave()) saving.soon();
    tell("format", "");
    titles();
    verify.changed();
    run.changed();
  },
  moved: () => moved(),
  complete: (at) => ask("complete", { ...question(), file: texts.current, at }),
  hover: (at) => ask("hover", { ...question(), file: texts.current, at }),
});
const texts = makeTexts(editor, { told: (message) => tell("text", message), changed: () => (titles(), analysis.now()) });
const saving = latest(400, async () => void (await texts.saveAll()), () => {}, (error) => tell("text", error.message));
const files = makeFiles($("files"), open, started);
const checks = makeChecks($("checks"), async (x) => {
  await open(x.file);
  if (texts.current === x.file) editor.goto(x.from, x.from);
});
const wanted = Object.fromEntries(["file", "tab", "machine", "system", "run", "steps", "step"].map((x) => [x, noted(x)]));
const select = makeTabs(document.querySelector("[role=tablist]"), (tab) => note({ tab: tab === "diagram" ? null : tab }));
const run = makeRun($("run"), {
  file: () => texts.current,
  question,
  saved: async () => {
    await looking;
    refresh();
  },
  prompted,
  walked({ run, steps, step }) {
    const text = JSON.stringify(steps);
    const short = text.length <= LONGEST;
    note({ run, steps: short && steps.length ? text : null, step: short ? step : null });
  },
});
const diagram = makeDiagram($("diagram"), {
  question,
  go: (from, to) => outlined === texts.current && editor.goto(from, to),
  simulate: (machine) => {
    select("run");
    run.open({ machine });
  },
  missed,
  first: wanted.machine,
  selected: (machine) => note({ machine }),
});
const verify = makeVerify($("verify"), {
  file: () => texts.current,
  question,
  walk: (system, verdict, asked) => {
    select("run");
    run.open({ system }, verdict, asked);
  },
  first: wanted.system,
  chosen: (system) => note({ system }),
});

const analysis = latest(120, (signal) => {
  if (!texts.current) return undefined;
  return ask("analysis", { ...question(), file: texts.current }, signal);
}, analysed, (error) => {
  checks.stale(error.message);
  missed();
});

/** A question has had no answer: the next look at the disk asks again. */
function missed() {
  disk = null;
}

function analysed(answer) {
  found = answer.findings;
  editor.mark(found.filter((x) => x.file === texts.current));
  checks.show(found);
  files.mark(marks);
  if (answer.outline === null) {
    diagram.stale();
    return;
  }
  [outline, outlined] = [answer.outline, texts.current];
  const declared = (kind) => outline.filter((x) => x.kind === kind).map((x) => x.qualified);
  const own = declared("system");
  const others = answer.systems.filter((x) => !own.includes(x));
  diagram.outlined(outline);
  verify.systems(texts.current, own, others);
  run.subjects(texts.current, [...own, ...others], declared("machine"));
  moved();
  again();
}

/** Goes on with the run that the address names, once. */
function again() {
  const [kind, name] = (wanted.run ?? "").split(" ");
  wanted.run = null;
  if ((kind !== "machine" && kind !== "system") || !name) return;
  let steps = [];
  try {
    steps = [JSON.parse(wanted.steps ?? "[]")].flat().map(String);
  } catch {
    // a link that somebody has cut short
  }
  run.open({ [kind]: name }, null, question(), { steps, step: Math.trunc(Number(wanted.step)) || 0 });
}

function marks(name) {
  const count = (severity) => found.filter((x) => x.file === name && x.severity === severity).length;
  return { changed: texts.isChanged(name), errors: count("error"), warnings: count("warning") };
}

function moved() {
  if (outlined !== texts.current) return;
  const at = editor.cursor();
  diagram.moved(at);
  const system = outline.find((x) => x.kind === "system" && x.from <= at && at <= x.to);
  if (system && system.qualified !== around) verify.prefer(system.qualified);
  around = system?.qualified ?? null;
}

function titles() {
  const changed = texts.current !== null && texts.isChanged(texts.current);
  $("place").textContent = texts.current ?? "";
  $("saved").textContent = texts.current === null ? "" : changed ? "not saved" : "saved";
  $("save").disabled = !changed;
  $("format").disabled = texts.current === null;
  document.title = `${changed ? "● " : ""}${texts.current?.split("/").at(-1) ?? "fsm"} – fsm`;
  files.mark(marks);
}

async function open(name) {
  try {
    await texts.show(name);
    note({ file: texts.current });
    tell("open", "");
    files.show(listed, texts.current);
    files.mark(marks);
  } catch (error) {
    tell("open", error.message);
  }
}

/** A new file, which is shown. */
async function started() {
  try {
    const name = await begin(texts.current ?? listed[0], prompted);
    if (name === null) return;
    await looking;
    await refresh();
    await open(name);
    editor.view.focus();
  } catch (error) {
    tell("open", error.message);
  }
}

function formatted() {
  if (texts.current !== null) format(editor, (message) => tell("format", message)).catch((error) => tell("format", error.message));
}

/** What files there are, and whether somebody else has written to them; one look at a time. */
function refresh() {
  return (looking ??= look().finally(() => (looking = null)));
}

async function look() {
  const before = texts.versions();
  try {
    const answer = await ask("files");
    const names = answer.files.map((x) => x.name);
    if (names.join("\n") !== listed.join("\n")) {
      listed = names;
      files.show(listed, texts.current);
      files.mark(marks);
    }
    // Also of a file that is not open: others may import it.
    const now = JSON.stringify(answer.files);
    if (now !== disk && texts.current) analysis.soon();
    disk = now;
    tell("disk", names.length ? "" : "There is no `.fsm` file here.");
    await texts.compare(answer.files, before);
  } catch (error) {
    missed();
    tell("disk", error.message);
  }
  if (listed.length && texts.wanted === null) await open(listed.includes(wanted.file) ? wanted.file : listed[0]);
}

/** Saves what is typed in any file. */
export const saveAll = () => texts.saveAll();

makeDivider($("divider"), document.querySelector("main"));
makeHiding($("hide"), document.querySelector("main"));
makeSwitch($("wrap"), "fsm-wrap", (on) => editor.wrap(on));
$("save").addEventListener("click", () => texts.save());
$("format").addEventListener("click", formatted);
$("keys").addEventListener("click", showKeys);
$("documented").checked = noted("documented") !== null;
$("documented").addEventListener("change", () => {
  note({ documented: $("documented").checked ? 1 : null });
  flush(); // at once: a reload may follow
  analysis.now();
});
addEventListener("keydown", (event) => {
  const tab = { Digit1: "diagram", Digit2: "verify", Digit3: "run" }[event.code];
  const does = (event.ctrlKey || event.metaKey) && event.key === "s" ? () => texts.save()
    : event.altKey && event.shiftKey && event.code === "KeyF" ? formatted
    : event.altKey && !event.ctrlKey && !event.metaKey && tab ? () => (select(tab), $(`tab-${tab}`).focus()) : null;
  if (does === null) return;
  event.preventDefault();
  if (!$("dialog").open) does();
});
if (["verify", "run"].includes(wanted.tab)) select(wanted.tab);
await refresh();
setInterval(() => document.hidden || refresh(), LOOK_AGAIN);
