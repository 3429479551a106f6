"""How often each row of machines has happened, as a file: `fsm explain` counts, `fsm draw` and `fsm report` show it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from fsmdsl import model as m
from fsmdsl.draw.graph import Mark, Overlay
from fsmdsl.text.terminal import printable_json


class CountsError(Exception):
    """A text is not such a file; the message says why."""


def write_counts(machines: Iterable[m.Machine], count: Callable[[m.Machine, m.Transition], int]) -> str:
    """The text of the file: for each machine, by qualified name, its rows with from where they lead to where."""
    counts = {
        machine.qualified: [
            {"row": t.name, "from": t.source, "to": t.target, "count": count(machine, t)} for t in machine.transitions
        ]
        for machine in machines
    }
    return printable_json(json.dumps({"counts": counts}, indent=2, ensure_ascii=False)) + "\n"


Counts: TypeAlias = Mapping[str, Mapping[int, int]]
"""Of machines, by qualified name: how often each row has happened, by index. A row that was not counted has none."""


def read_counts(text: str, machines: Iterable[m.Machine]) -> Counts:
    """What a file counts of these machines. Raises `CountsError`."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CountsError(f"it is not JSON: {error}") from error
    rows = _field(data, "counts", dict, "it has no `counts`")
    return {x.qualified: _counted(x, rows[x.qualified]) for x in machines if x.qualified in rows}


def marks(counts: Counts) -> dict[str, Overlay]:
    """The marks for pictures, by qualified name of their machines."""
    return {x: Overlay(transitions={n: _mark(count) for n, count in rows.items()}) for x, rows in counts.items()}


def _counted(machine: m.Machine, rows: object) -> dict[int, int]:
    if not isinstance(rows, list):
        raise CountsError(f"what it has for `{machine.qualified}` is not a list of rows")
    counts: dict[tuple[object, ...], int] = {}
    for x in rows:
        count = _field(x, "count", int, f"a row of `{machine.qualified}` has no `count`, a number")
        key = x.get("row"), x.get("from"), x.get("to")
        if all(isinstance(k, str | None) for k in key):
            counts[key] = counts.get(key, 0) + count
    by_index = {t.index: counts.get((t.name, t.source, t.target)) for t in machine.transitions}
    return {n: count for n, count in by_index.items() if count is not None}


def _mark(count: int) -> Mark:
    return Mark("seen", f"{count:,}×") if count > 0 else Mark("unseen")


def _field(data: object, name: str, kind: type, wrong: str) -> Any:
    value = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CountsError(wrong)
    return value
