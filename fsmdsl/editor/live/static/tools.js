// What a person does with a file as a whole: begin one, lay it out, take a diagram along; and the keys for it.
import { ask } from "./api.js";
import { shown } from "./dialog.js";
import { h } from "./dom.js";

const KEYS = [
  ["Ctrl-S", "Save"],
  ["Shift-Alt-F", "Format the text as `fsm fmt` does"],
  ["Ctrl-Space", "What could stand here"],
  ["Ctrl-F", "Search and replace"],
  ["Ctrl-Z, Ctrl-Y", "Undo, redo"],
  ["Ctrl-/", "Comment out"],
  ["F8", "Next finding"],
  ["Escape, then Tab", "Leave the editor"],
  ["← →", "In a run: one step; at a border: move it; at the tabs: the next one"],
  ["↑ ↓", "In the list of what can come next"],
  ["+ − 0", "In a diagram: zoom, show all"],
  ["Alt-1, Alt-2, Alt-3", "Diagram, Verify, Run"],
];

/** All keys, in a dialog. */
export function showKeys() {
  const rows = KEYS.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, what.replaceAll("`", ""))));
  return shown("Keys", h("table", { class: "keys" }, h("tbody", {}, rows)), closing());
}

/** A button that ends a dialog. */
export function closing() {
  return h("div", { class: "bar" }, h("button", { type: "button", class: "primary", onclick: (x) => x.target.closest("dialog").close() }, "Close"));
}

/** Lays the text out; `told(message)` where it has errors. */
export async function format(editor, told) {
  const before = editor.text();
  const { text } = await ask("format", { text: before });
  if (text === null) told("The text has errors; it can be formatted when they are fixed.");
  else if (editor.text() === before) {
    editor.become(text);
    told("");
  }
}

/** A new file beside another; → its name, or null. */
export async function begin(beside, prompted) {
  const name = await prompted({
    title: "New file", text: `A module in a new file beside \`${beside}\`.`, label: "Name", value: "",
    pattern: "[A-Za-z_][A-Za-z0-9_]*", accept: "Create",
  });
  if (!name) return null;
  return (await ask("create", { beside, name, text: `module ${name}\n` })).name;
}

/** The formats in which a diagram can be saved. */
export const FORMATS = [ // made by `python -m fsmdsl.editor.word_lists`, from fsmdsl/draw/formats.py
  { name: "svg", label: "SVG", ending: "svg" },
  { name: "mermaid", label: "Mermaid", ending: "mmd" },
  { name: "plantuml", label: "PlantUML", ending: "puml" },
  { name: "dot", label: "DOT", ending: "dot" },
]; // end of what is made

/** A diagram as a file of the person. Throws where there is none. */
export async function download(question, machine, form) {
  const answer = form === "svg" ? await ask("diagram", { ...question, machine, whole: true }) : await ask("export", { ...question, machine, form });
  const text = answer.svg ?? answer.text;
  if (text === undefined) throw new Error(answer.message);
  save(new Blob([text], { type: form === "svg" ? "image/svg+xml" : "text/plain" }), `${machine}.${FORMATS.find((x) => x.name === form).ending}`);
}

/** Hands a file to the person. */
export function save(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
