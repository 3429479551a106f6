// The files served, with what is wrong in them and whether they are changed.
import { h } from "./dom.js";

/** `makeFiles(element, open, begin)`; `open(name)` shows a file, `begin()` makes a new one. */
export function makeFiles(element, open, begin) {
  const list = h("ul");
  const more = h("button", { type: "button", class: "more", onclick: begin }, "New file …");
  element.append(h("h2", {}, "Files"), list);
  let buttons = new Map();

  return {
    show(names, current) {
      const folder = common(names);
      buttons = new Map(names.map((name) => [name, h("button", { type: "button", title: name, onclick: () => open(name) }, name.slice(folder.length))]));
      if (names.length) element.append(more);
      else more.remove(); // there is nothing that it could stand beside
      list.replaceChildren(...[...buttons.values()].map((x) => h("li", {}, x)));
      buttons.get(current)?.setAttribute("aria-current", "true");
    },
    /** `told(name)` → { changed, errors, warnings }. */
    mark(told) {
      for (const [name, button] of buttons) {
        const { changed, errors, warnings } = told(name);
        button.querySelectorAll(".badge").forEach((x) => x.remove());
        if (changed) button.append(h("span", { class: "badge", title: "not saved", role: "img", "aria-label": "not saved" }, "●"));
        if (errors) button.append(h("span", { class: "badge error", title: `${errors} errors` }, String(errors)));
        else if (warnings) button.append(h("span", { class: "badge warning", title: `${warnings} warnings` }, String(warnings)));
      }
    },
  };
}

/** The folder that all are in. */
function common(names) {
  let found = names[0]?.slice(0, names[0].lastIndexOf("/") + 1) ?? "";
  while (found && !names.every((x) => x.startsWith(found))) found = found.slice(0, found.lastIndexOf("/", found.length - 2) + 1);
  return found;
}
