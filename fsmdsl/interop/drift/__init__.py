"""The table of code against the table of a spec: rows that one has and the other lacks, changed, renamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.drift.changes import Drift, Side, differences
from fsmdsl.interop.drift.moves import Moves, of_machine, of_table
from fsmdsl.interop.drift.name_matching import key
from fsmdsl.interop.imports.rules import UNREAD
from fsmdsl.interop.imports.table import Imported, LeftOut, Unread
from fsmdsl.interop.imports.write import Written, written_machines
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity, ordered
from fsmdsl.text.source import NOWHERE, Span

__all__ = ["RULES", "Comparison", "Drift", "Leads", "drift", "report", "table_names", "without_effect"]

Leads = Literal["code", "spec"]
"""Which of the two is right, so that the other has to follow."""

DRIFT = Rule(
    "FSM531",
    "drift",
    Severity.ERROR,
    "the code and the spec have different tables",
    """
`fsm drift` reads the table of a state machine from code (see `docs/import.md`) and compares it with a machine in a
spec: the states, the initial state, and how each state handles each event. Conditions and actions are not compared.

```console
$ fsm drift specs/task.fsm pkg/cache --machine Task
```

If the code is right, change the spec, or document the difference as an amendment. If the spec is right, change the
code. `--rename OLD=NEW` maps a name in the code to a different name in the spec.
""",
)

RULES = (DRIFT,)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared, and what differs."""

    changes: tuple[Drift, ...]
    """Differences that are certain."""
    uncertain: tuple[Drift, ...]
    """What the spec has and the code lacks, unless it is in a part that was not read."""
    unread: tuple[Unread, ...]
    ineffective: tuple[LeftOut, ...]
    """Dead states and rows of the code that are never followed. They are no difference."""
    alone: tuple[str, ...]
    """The machines of the spec that no table was compared with."""

    @property
    def same(self) -> bool:
        """Was everything read, and does nothing differ?"""
        return not (self.changes or self.uncertain or self.unread)


def drift(model: m.Model, imported: Imported, pairs: Mapping[str, str], names: Mapping[str, str]) -> Comparison:
    """Every difference between the machines of a spec and those of the code.

    `pairs`: machines of the spec by name, each with the name of its table in the code, or of the machine that an import
    makes of it; without any, they are found by name, or by their states. `names`: names of the spec by those of the
    code. Quadratic in the names that differ. Raises KeyError for a name in `pairs` without a machine or a table.
    """
    specs = {x.name: of_machine(x) for x in model.machines.values()}
    tables = list(written_machines(imported))
    by_name = _by_name(tables)
    chosen = [(specs[a], by_name[b]) for a, b in pairs.items()] if pairs else list(_paired(specs, tables))
    certain: list[Drift] = []
    uncertain: list[Drift] = []
    for spec, code in chosen:
        for x in _differences(spec, code, names):
            doubtful = x.kind == "removed" or x.what == "initial state"
            (uncertain if doubtful and code.source.unread else certain).append(x)
    alone = [] if pairs else [x.source for x in tables if all(x is not code for _, code in chosen)]
    certain += (Drift("added", "machine", x.name, x.name, Side(NOWHERE), Side(x.place, x.name)) for x in alone)
    unread = imported.missing
    compared = tables
    if pairs:
        compared = [code for _, code in chosen]
        unread = Imported(tuple(code.source for code in compared)).missing
    left_out = [*(() if pairs else imported.left_out), *(x for code in compared for x in code.left_out)]
    ineffective = tuple(x for x in left_out if x.rule is not None)
    without = [] if pairs else [name for name in specs if all(spec.name != name for spec, _ in chosen)]
    return Comparison(tuple(certain), tuple(uncertain), unread, ineffective, tuple(without))


def table_names(imported: Imported) -> list[str]:
    """What `pairs` may call the tables."""
    return list(_by_name(list(written_machines(imported))))


def _by_name(tables: Sequence[Written]) -> dict[str, Written]:
    """The tables by their names in the code, where only one has it, and by those that an import gives them."""
    sources = Counter(x.source.name for x in tables)
    return {x.source.name: x for x in tables if sources[x.source.name] == 1} | {x.name: x for x in tables}


def _differences(spec: Moves, code: Written, names: Mapping[str, str]) -> list[Drift]:
    """The differences from the table as it was read, or as an import writes it, if those are fewer.

    An import leaves out states that nothing leads to, and adds a beginning where the source has one.
    """
    machine_of_code = code.machine
    read = list(differences(spec, of_table(code.source), names))
    written = list(
        differences(
            spec, of_table(machine_of_code.table, {**machine_of_code.states}, {**machine_of_code.events}), names
        )
    )
    return written if len(written) < len(read) else read


def _paired(specs: Mapping[str, Moves], tables: Sequence[Written]) -> Iterator[tuple[Moves, Written]]:
    """Machines and tables of one name, then those whose states are called alike, the most alike first."""
    left = dict(specs)
    rest: list[Written] = []
    keys = Counter(key(x.source.name) for x in tables)
    # Tables of one name are told apart by the names of an import, if the spec has all of those.
    ambiguous = {key(x.source.name) for x in tables if keys[key(x.source.name)] > 1 and x.name not in specs}
    for code in tables:
        name = key(code.source.name)
        if (not name or (keys[name] > 1 and name not in ambiguous)) and code.name in left:
            yield left.pop(code.name), code
            continue
        same = [x for x in left.values() if key(x.name) == name]
        if len(same) == 1 and keys[name] == 1:
            yield left.pop(same[0].name), code
        else:
            rest.append(code)
    scores = [(_alike(spec, code), -n, spec.name) for spec in left.values() for n, code in enumerate(rest)]
    open_tables = dict(enumerate(rest))
    for score, n, name in sorted(scores, key=lambda x: x[:2], reverse=True):
        if score >= 0.5 and name in left and -n in open_tables:
            yield left.pop(name), open_tables.pop(-n)


def _alike(spec: Moves, code: Written) -> float:
    """How many of all their states both have."""
    ours = {key(x) for x in spec.states}
    theirs = {key(s.title) for s in code.source.states if s.name not in code.source.children}
    return len(ours & theirs) / max(len(ours | theirs), 1)


def report(comparison: Comparison, spec: Span, leads: Leads) -> list[Diagnostic]:
    """A finding for each difference, at the place that has to change; the other place is its label. One for each part
    that was not read."""
    unread = [UNREAD.at(x.place, f"not read: {x.text}") for x in comparison.unread]
    return ordered([*(_finding(x, spec, leads) for x in comparison.changes), *unread])


def without_effect(comparison: Comparison) -> list[Diagnostic]:
    """A finding for each state and row of the code without effect: about the code alone, so no difference."""
    return ordered(x.rule.at(x.place, x.text) for x in comparison.ineffective if x.rule is not None)


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
