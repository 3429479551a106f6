// Questions to the person, one at a time.
import { coded, h } from "./dom.js";

const dialog = document.getElementById("dialog");

let before = Promise.resolve();

/** Elements under a title, when those asked before have been answered. */
export function shown(title, ...inside) {
  return (before = before.then(() => answered(title, ...inside)));
}

function answered(title, ...inside) {
  return new Promise((resolve) => {
    dialog.replaceChildren(h("h2", { id: "dialog-title" }, title), ...inside);
    dialog.onclose = () => resolve(dialog.returnValue || null);
    dialog.returnValue = "";
    dialog.showModal();
  });
}

/** One of several answers: `{ title, text, answers: [[value, label], …] }`; null when the dialog is left. */
export function choose({ title, text, answers }) {
  const buttons = answers.map(([value, label], n) => h("button", { type: "button", class: n === 0 ? "primary" : null, onclick: () => dialog.close(value) }, label));
  return shown(title, h("p", {}, coded(text)), h("div", { class: "bar" }, buttons));
}

/** A word: `{ title, text, label, value, pattern, accept }`; null when the dialog is left. */
export async function prompted({ title, text, label, value, pattern, accept }) {
  const input = h("input", { value, pattern, required: true, autocomplete: "off", autofocus: true });
  const form = h("form", { method: "dialog" }, h("label", {}, `${label} `, input),
    h("div", { class: "bar" }, h("button", { type: "submit", class: "primary" }, accept), h("button", { type: "button", onclick: () => dialog.close() }, "Cancel")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close(input.value);
  });
  return shown(title, h("p", {}, coded(text)), form);
}
