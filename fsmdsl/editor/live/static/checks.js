// What `fsm check` finds, as a list that leads to the place.
import { counted, coded, h } from "./dom.js";

const SIGNS = { error: "✗", warning: "▲", note: "·" };
const SHOWN = 300;

/** `makeChecks(element, go)`; `go(finding)` shows its place. */
export function makeChecks(element, go) {
  const list = h("ul", { class: "findings" });
  const title = h("h2", { id: "checks-title" }, "Checks");
  const told = h("span", { class: "quiet", role: "status" });
  const notes = h("input", { type: "checkbox", onchange: () => draw() });
  let found = [];
  element.append(h("div", { class: "bar" }, title, told, h("span", { class: "grow" }), h("label", { class: "switch" }, notes, " notes")), list);

  function draw() {
    const shown = found.filter((x) => notes.checked || x.severity !== "note");
    list.replaceChildren(...shown.slice(0, SHOWN).map((x) => row(x)));
    if (shown.length > SHOWN) list.append(h("li", { class: "quiet" }, `and ${shown.length - SHOWN} more`));
    if (!shown.length) list.append(h("li", { class: "quiet" }, "No problems."));
    told.textContent = summary(found);
  }

  function row(x) {
    const place = `${x.file.split("/").at(-1)}:${x.line}`;
    const what = h("button", { type: "button", onclick: () => go(x) },
      h("span", { class: `sign ${x.severity}`, title: x.severity, "aria-label": x.severity, role: "img" }, SIGNS[x.severity]),
      h("span", { class: "what" }, coded(x.message), x.help ? h("span", { class: "quiet" }, " – ", coded(x.help)) : null),
      h("span", { class: "where quiet" }, `${place} ${x.code}`));
    return h("li", {}, what);
  }

  return {
    show(findings) {
      found = findings;
      draw();
    },
    /** Why the findings shown may be of another text. */
    stale(message) {
      told.textContent = message;
    },
  };
}

function summary(found) {
  const count = (severity) => found.filter((x) => x.severity === severity).length;
  const [errors, warnings, notes] = ["error", "warning", "note"].map(count);
  const parts = [errors && counted(errors, "error"), warnings && counted(warnings, "warning"), notes && counted(notes, "note")];
  return parts.filter(Boolean).join(", ") || "clean";
}
