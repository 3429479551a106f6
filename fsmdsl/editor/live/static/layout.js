// Tabs, and the border between the text and what stands beside it.

/**
 * Tabs as the ARIA practices have them: arrows move, the chosen one shows its panel. → `select(name)`;
 * `chosen(name)` is called for each choice. */
export function makeTabs(list, chosen = () => {}) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const panel = (tab) => document.getElementById(tab.getAttribute("aria-controls"));

  function select(tab, focus = false) {
    for (const x of tabs) {
      x.setAttribute("aria-selected", String(x === tab));
      x.tabIndex = x === tab ? 0 : -1;
      panel(x).hidden = x !== tab;
    }
    if (focus) tab.focus();
    chosen(panel(tab).id);
  }

  for (const tab of tabs) {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const to = { Home: 0, End: tabs.length - 1 }[event.key] ?? (by && (tabs.indexOf(tab) + by + tabs.length) % tabs.length);
      if (to === undefined) return;
      event.preventDefault();
      select(tabs[to], true);
    });
  }
  select(tabs[0]);
  return (name) => select(tabs.find((x) => panel(x).id === name));
}

/** A border that the mouse or the arrow keys move; the share of the left side is kept for the next time. */
export function makeDivider(border, main) {
  const KEY = "fsm-divider";
  let share = 50;

  function set(percent) {
    share = Math.round(Math.min(80, Math.max(15, percent)));
    main.style.setProperty("--share", `${share}%`);
    border.setAttribute("aria-valuenow", String(share));
    localStorage.setItem(KEY, String(share));
  }

  border.addEventListener("pointerdown", (event) => {
    border.setPointerCapture(event.pointerId);
    const box = main.getBoundingClientRect();
    const moved = (x) => set(((x.clientX - box.left) / box.width) * 100);
    border.addEventListener("pointermove", moved);
    border.addEventListener("pointerup", () => border.removeEventListener("pointermove", moved), { once: true });
  });
  border.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -4, ArrowRight: 4 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(share + by);
  });
  set(Number(localStorage.getItem(KEY)) || share);
}

/** A button that hides what stands left of the border, and shows it again. */
export function makeHiding(button, main) {
  button.addEventListener("click", () => {
    const hidden = main.classList.toggle("hidden-text");
    button.setAttribute("aria-pressed", String(hidden));
  });
}

/** A button that is pressed or not, as it was the last time; `set(on)` is called with how it is. */
export function makeSwitch(button, key, set) {
  function show(on) {
    button.setAttribute("aria-pressed", String(on));
    set(on);
  }
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    localStorage.setItem(key, on ? "1" : "0");
    show(on);
  });
  show(localStorage.getItem(key) !== "0");
}
