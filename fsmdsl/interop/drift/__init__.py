"""The table of code against the table of a spec: rows that one has and the other lacks, changed, renamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from fsmdsl import model as m
from fsmdsl.interop.drift.changes import Drift, Side, differences
from fsmdsl.interop.drift.moves import Moves, of_machine, of_table
from fsmdsl.interop.drift.name_matching import key
from fsmdsl.interop.imports.regions import split
from fsmdsl.interop.imports.table import Imported
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity, ordered
from fsmdsl.text.source import NOWHERE, Span

__all__ = ["RULES", "Drift", "Leads", "drift", "report"]

Leads = Literal["code", "spec"]
"""Which of the two is right, so that the other has to follow."""

DRIFT = Rule(
    "FSM531",
    "drift",
    Severity.ERROR,
    "code and spec do not have the same table",
    """
`fsm drift` reads the table of a state machine from code (see `docs/import.md`) and compares it with a machine of a
spec: states, the initial state, and what each event does in each state. Conditions and actions are not compared.

```console
$ fsm drift specs/task.fsm pkg/cache --machine Task
```

Where the code leads, change the spec, or write down as an amendment why it differs. Where the spec leads, change the
code. `--rename OLD=NEW` says that a name of the code is another one in the spec.
""",
)

RULES = (DRIFT,)


def drift(model: m.Model, imported: Imported, pairs: Mapping[str, str], names: Mapping[str, str]) -> list[Drift]:
    """Every difference between the machines of a spec and those of the code.

    `pairs`: machines of the spec by name, each with the name of its table in the code; without any, they are found by
    name, or by their states. `names`: names of the spec by those of the code. Quadratic in the names that differ.
    Raises KeyError for a name in `pairs` that there is no machine or table of.
    """
    specs = {x.name: of_machine(x) for x in model.machines.values()}
    tables = {y.name: of_table(y) for x in imported.tables for y in split(x)[0]}
    chosen = [(specs[a], tables[b]) for a, b in pairs.items()] if pairs else list(_paired(specs, tables))
    changes = [x for spec, code in chosen for x in differences(spec, code, names)]
    alone = [] if pairs else [x for x in tables.values() if all(x is not code for _, code in chosen)]
    return [*changes, *(Drift("added", "machine", x.name, x.name, Side(NOWHERE), Side(x.place, x.name)) for x in alone)]


def _paired(specs: Mapping[str, Moves], tables: Mapping[str, Moves]) -> Iterator[tuple[Moves, Moves]]:
    """Machines and tables of one name, then those whose states are called alike."""
    left = dict(specs)
    rest: list[Moves] = []
    for code in tables.values():
        same = [x for x in left.values() if key(x.name) == key(code.name)]
        if len(same) == 1:
            yield left.pop(same[0].name), code
        else:
            rest.append(code)
    for code in rest:
        best = max(left.values(), key=lambda spec: _alike(spec, code), default=None)
        if best is not None and _alike(best, code) >= 0.5:
            yield left.pop(best.name), code


def _alike(spec: Moves, code: Moves) -> float:
    """How many of all their states both have."""
    ours, theirs = ({key(x) for x in side.states} for side in (spec, code))
    return len(ours & theirs) / max(len(ours | theirs), 1)


def report(changes: Sequence[Drift], spec: Span, leads: Leads) -> list[Diagnostic]:
    """A finding for each difference, at the place that has to change; the other place is its label."""
    return ordered(_finding(x, spec, leads) for x in changes)


def _finding(x: Drift, spec: Span, leads: Leads) -> Diagnostic:
    ours = spec if x.spec.place is NOWHERE else x.spec.place
    theirs = x.code.place
    primary, other = (ours, theirs) if leads == "code" else (theirs, ours)
    side = "code" if leads == "code" else "spec"
    if primary.source is NOWHERE.source:
        primary, other = other, primary
    diagnostic = DRIFT.at(primary, x.message)
    if other.source is not NOWHERE.source:
        text = x.code.text if other is theirs else x.spec.text
        diagnostic = diagnostic.label(
            other, f"the {'code' if other is theirs else 'spec'}: {text or 'nothing like it'}"
        )
    return diagnostic.help(x.advice(side))
