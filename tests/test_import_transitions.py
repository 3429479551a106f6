"""Machines of `transitions`: source and object have one table, and the library follows the row whose guard holds."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_import import _BLOCK, GOLDEN

from fsmdsl.imports import Table, from_transitions
from fsmdsl.imports.formats import format_of, read
from fsmdsl.imports.guards import Guard, guarded
from fsmdsl.source import Source

transitions = pytest.importorskip("transitions")

SOURCES = [
    content
    for path in sorted(GOLDEN.glob("*.md"))
    for _, kind, name, content in _BLOCK.findall(path.read_text("utf-8"))
    if kind == "python" and format_of(name, content) == "transitions"
]


def rows(table: Table) -> set[tuple[object, ...]]:
    """The rows without places; callbacks by the last part of what they are called."""
    return {
        (
            r.source,
            r.target,
            r.event,
            tuple((c.text.rpartition(".")[2], c.holds) for c in r.conditions),
            tuple(x.rpartition(".")[2] for x in r.actions),
        )
        for r in table.rows
    }


def machines(code: str) -> list[Any]:
    """The machines that a source of ours makes when it is run."""
    made: list[Any] = []
    begin = transitions.Machine.__init__

    def noted(self: Any, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        made.append(self)

    names: dict[str, Any] = {"__name__": "sample"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transitions.Machine, "__init__", noted)
        exec(compile(code, "sample.py", "exec"), names)
        for made_here in [x for x in names.values() if isinstance(x, type) and x.__module__ == "sample"]:
            if any(base.__name__ in ("Machine", "object") for base in made_here.__bases__):
                made_here()
    return made


@pytest.mark.parametrize("code", SOURCES)
def test_the_source_says_what_the_object_is(code: str) -> None:
    parsed = read(Source("sample.py", code), "transitions").tables
    live = [from_transitions(x).tables[0] for x in machines(code)]
    assert len(live) == len(parsed) > 0
    for one, other in zip(parsed, live, strict=True):
        assert rows(one) == rows(other)
        assert [(s.name, s.parent, s.initial, s.parallel) for s in one.states] == [
            (s.name, s.parent, s.initial, s.parallel) for s in other.states
        ]
        assert one.initial == other.initial
        called = {s.name: [[x.rpartition(".")[2] for x in y] for y in (s.entry, s.exit)] for s in one.states}
        assert called == {s.name: [list(s.entry), list(s.exit)] for s in other.states}


@pytest.mark.parametrize("code", SOURCES)
def test_the_rows_are_those_that_the_library_lists(code: str) -> None:
    """`get_transitions` is the library's own reading of its table."""
    for machine in machines(code):
        listed = {(t.source, t.dest) for t in machine.get_transitions() if t.dest is None or not _automatic(machine, t)}
        found = {(r.source, r.target) for r in from_transitions(machine).tables[0].rows}
        separator = getattr(machine.state_cls, "separator", "_")
        assert {(a.rpartition(separator)[2], b and b.rpartition(separator)[2]) for a, b in found} == {
            (a.rpartition(separator)[2], b and b.rpartition(separator)[2]) for a, b in listed
        }


def _automatic(machine: Any, t: Any) -> bool:
    """Is it in the event `to_STATE` alone?"""
    return not any(
        t in group
        for name, e in machine.events.items()
        if not name.startswith("to_")
        for group in e.transitions.values()
    ) and any(
        t in group for name, e in machine.events.items() if name.startswith("to_") for group in e.transitions.values()
    )


NAMES = ("hot", "full", "ready")


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ABC"),
            st.sampled_from("ABC"),
            st.lists(st.sampled_from(NAMES), max_size=2),
            st.lists(st.sampled_from(NAMES), max_size=1),
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_the_library_follows_the_row_whose_guard_holds(listed: list[tuple[str, str, list[str], list[str]]]) -> None:
    """For every state and all values of the conditions, the machine itself goes where the guard of the spec says."""

    class Model:
        hot = full = ready = False

    model = Model()
    machine = transitions.Machine(
        model, states=list("ABC"), initial="A", auto_transitions=False, ignore_invalid_triggers=True
    )
    for source, dest, conditions, unless in listed:
        machine.add_transition("go", source, dest, conditions=conditions, unless=unless)
    kept, _ = guarded(from_transitions(machine).tables[0].rows)
    for state, values in product("ABC", product((False, True), repeat=3)):
        truth = dict(zip(NAMES, values, strict=True))
        for name, value in truth.items():
            setattr(model, name, value)
        machine.set_state(state)
        followed = model.go()  # type: ignore[attr-defined]
        enabled = [x.row.target for x in kept if x.row.source == state and _holds(x.guard, truth)]
        assert enabled == ([model.state] if followed else [])  # type: ignore[attr-defined]


def _holds(guard: Guard, truth: dict[str, bool]) -> bool:
    every = all(truth[c.text] == c.holds for c in guard.conditions)
    return every and not any(all(truth[c.text] == c.holds for c in group) for group in guard.excluded)
