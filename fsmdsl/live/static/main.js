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
let found = [];
let listed = [];

const question = () => ({ texts: texts.typed(), documented: $("documented").checked });

function tell(message) {
  $("banner").textContent = message;
  $("banner").hidden = !message;
}

const editor = makeEditor($("editor"), {
  changed: () => {
    analysis.soon();
    titles();
    verify.changed();
    run.changed();
  },
  moved: () => moved(),
  save: () => texts.save(),
  complete: (at) => ask("complete", { ...question(), file: texts.current, at }),
  hover: (at) => ask("hover", { ...question(), file: texts.current, at }),
});
const texts = makeTexts(editor, { told: tell, changed: () => (titles(), analysis.now()) });
const files = makeFiles($("files"), open);
const checks = makeChecks($("checks"), async (x) => {
  await open(x.file);
  editor.goto(x.from, x.from);
});
const select = makeTabs(document.querySelector("[role=tablist]"));
const run = makeRun($("run"), {
  question,
  saved: () => refresh(),
  prompted,
});
const diagram = makeDiagram($("diagram"), {
  question,
  go: (from, to) => editor.goto(from, to),
  simulate: (machine) => {
    select("run");
    run.open({ machine });
  },
});
const verify = makeVerify($("verify"), {
  question,
  walk: (system, verdict, asked) => {
    select("run");
    run.open({ system }, verdict, asked);
  },
});

const analysis = latest(120, (signal) => {
  if (!texts.current) return undefined;
  return ask("analysis", { ...question(), file: texts.current }, signal);
}, analysed, (error) => checks.stale(error.message));

function analysed(answer) {
  tell("");
  found = answer.findings;
  editor.mark(found.filter((x) => x.file === texts.current));
  checks.show(found);
  files.mark(marks);
  if (answer.outline === null) {
    diagram.stale();
    return;
  }
  outline = answer.outline;
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
  const at = editor.cursor();
  diagram.moved(at);
  const system = outline.find((x) => x.kind === "system" && x.from <= at && at <= x.to);
  if (system) verify.prefer(system.qualified);
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
    files.show(listed, name);
    files.mark(marks);
  } catch (error) {
    tell(error.message);
  }
}

/** What files there are, and whether somebody else has written to them. */
async function refresh() {
  try {
    const answer = await ask("files");
    const names = answer.files.map((x) => x.name);
    if (names.join("\n") !== listed.join("\n")) {
      listed = names;
      files.show(listed, texts.current);
      files.mark(marks);
      if (texts.current) analysis.soon();
    }
    await texts.compare(answer.files);
  } catch (error) {
    tell(error.message);
  }
}

makeDivider($("divider"), document.querySelector("main"));
makeHiding($("hide"), document.querySelector("main"));
$("save").addEventListener("click", () => texts.save());
$("documented").addEventListener("change", () => analysis.now());
addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    texts.save();
  }
});
await refresh();
if (listed.length) await open(listed[0]);
else if (!$("banner").textContent) tell("There is no `.fsm` file here.");
setInterval(() => document.hidden || refresh(), LOOK_AGAIN);
