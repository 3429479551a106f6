/**
 * Tables that are sorted by a click on a head: `mountSorting(table)`. The first click sorts upwards (numbers downwards, for
 * one looks for the largest), the second the other way round, the third brings back the order of the page.
 */
export function mountSorting(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  if (rows.length < 3) return;
  const heads = [...table.tHead.rows[0].cells];
  const buttons = heads.map((head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    return button;
  });
  buttons.forEach((button, column) => {
    button.addEventListener("click", () => sort(column));
  });

  function sort(column) {
    const keys = new Map(rows.map((row) => [row, keyOf(row.cells[column])]));
    const first = [...keys.values()].some((x) => typeof x === "number") ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const now = heads[column].getAttribute("aria-sort");
    const next = now === first ? other : now === other ? null : first;
    for (const head of heads) head.removeAttribute("aria-sort");
    if (next) heads[column].setAttribute("aria-sort", next);
    const sign = next === "descending" ? -1 : 1;
    body.append(...(next ? [...rows].sort((a, b) => sign * compared(keys.get(a), keys.get(b))) : rows));
  }
}

/** What a cell is sorted by: its number, if it begins with one, else its text. */
function keyOf(cell) {
  const text = cell?.textContent.trim() ?? "";
  const number = /^[\d,]+(\.\d+)?/.exec(text);
  return number ? Number(number[0].replaceAll(",", "")) : text;
}

/** Numbers before texts; an empty cell is last among them. */
function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? 1 : -1;
  return a.localeCompare(b, "en", { numeric: true });
}
