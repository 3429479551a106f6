// The page: puts the parts together, and asks again when the text has changed.
import { ask, latest } from "./api.js";
import { makeChecks } from "./checks.js";
import { makeDiagram } from "./diagram.js";
import { prompted } from "./dialog.js";
import { makeEditor } from "./editor.js";
import { makeFiles } from "./files.js";
import { makeDivider, makeHiding, makeTabs } from "./layout.js";
import { makeRun } from "./run.js";
import { makeTexts } from "./texts.js";
import { makeVerify } from "./verify.js";

const $ = (id) => document.getElementById(id);
const LOOK_AGAIN = 3000; // milliseconds between two looks at the disk

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
    titles();
    verify.changed();
    run.changed();
  },
  moved: () => moved(),
  complete: (at) => ask("complete", { ...question(), file: texts.current, at }),
  hover: (at) => ask("hover", { ...question(), file: texts.current, at }),
});
const texts = makeTexts(editor, { told: (message) => tell("text", message), changed: () => (titles(), analysis.now()) });
const files = makeFiles($("files"), open);
const checks = makeChecks($("checks"), async (x) => {
  await open(x.file);
  if (texts.current === x.file) editor.goto(x.from, x.from);
});
const select = makeTabs(document.querySelector("[role=tablist]"));
const run = makeRun($("run"), {
  file: () => texts.current,
  question,
  saved: async () => {
    await looking;
    refresh();
  },
  prompted,
});
const diagram = makeDiagram($("diagram"), {
  question,
  go: (from, to) => outlined === texts.current && editor.goto(from, to),
  simulate: (machine) => {
    select("run");
    run.open({ machine });
  },
  missed,
});
const verify = makeVerify($("verify"), {
  file: () => texts.current,
  question,
  walk: (system, verdict, asked) => {
    select("run");
    run.open({ system }, verdict, asked);
  },
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
  document.title = `${changed ? "● " : ""}${texts.current?.split("/").at(-1) ?? "fsm"} – fsm`;
  files.mark(marks);
}

async function open(name) {
  try {
    await texts.show(name);
    tell("open", "");
    files.show(listed, texts.current);
    files.mark(marks);
  } catch (error) {
    tell("open", error.message);
  }
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
  if (listed.length && texts.wanted === null) await open(listed[0]);
}

makeDivider($("divider"), document.querySelector("main"));
makeHiding($("hide"), document.querySelector("main"));
$("save").addEventListener("click", () => texts.save());
$("documented").addEventListener("change", () => analysis.now());
addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    if (!$("dialog").open) texts.save();
  }
});
await refresh();
setInterval(() => document.hidden || refresh(), LOOK_AGAIN);
