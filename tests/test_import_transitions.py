"""Machines of `transitions`: source and object have one table, and the library follows the row whose guard holds."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import unittest
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_import import _BLOCK, GOLDEN, loaded
from tiers import share

from fsmdsl.interop.imports import Table, from_transitions, spec_text
from fsmdsl.interop.imports.formats import format_of, read
from fsmdsl.interop.imports.guards import Guard, guarded
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import Source

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
        assert_listed(machine)


def assert_listed(machine: Any) -> None:
    """The rows of the import are the library's, without those to states that are not there, which never work."""
    every = [t for t in machine.get_transitions() if t.dest is None or not _automatic(machine, t)]
    listed = {(t.source, t.dest) for t in every if t.dest is None or _there(machine, t.dest)}
    found = {(r.source, r.target) for r in from_transitions(machine).tables[0].rows}
    separator = getattr(machine.state_cls, "separator", "_")
    assert {(a.rpartition(separator)[2], b and b.rpartition(separator)[2]) for a, b in found} == {
        (a.rpartition(separator)[2], b and b.rpartition(separator)[2]) for a, b in listed
    }


def _names(machine: Any) -> list[str]:
    nested = getattr(machine, "get_nested_state_names", None)
    return list(machine.states if nested is None else nested())


def _last(machine: Any, name: str) -> str:
    return str(name).rpartition(getattr(machine.state_cls, "separator", "_"))[2]


def _there(machine: Any, name: str) -> bool:
    return _last(machine, name) in {_last(machine, x) for x in _names(machine)}


def _automatic(machine: Any, t: Any) -> bool:
    """Is it in an event `to_STATE` that the library has added, and in no other?"""
    prefix = "to_" if machine.model_attribute == "state" else f"to_{machine.model_attribute}_"
    added = {f"{prefix}{x}" for x in _names(machine)} if machine.auto_transitions else set()
    events = [name for name, e in machine.events.items() for group in e.transitions.values() if t in group]
    return bool(events) and added.issuperset(events)


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
@settings(max_examples=share(60), suppress_health_check=list(HealthCheck))
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


# The library's own tests ---------------------------------------------------------------------------------------------

SUITE = os.environ.get("FSM_TRANSITIONS_SOURCES", "")
MODULES = ("core", "nesting", "parallel", "enum", "reuse", "states", "add_remove", "factory", "threading")


def made_by_the_suite() -> list[Any]:
    """The machines that the library's own tests make, as they are when their constructor is done."""
    made: list[Any] = []
    begin = transitions.Machine.__init__

    def noted(self: Any, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        if type(self).__init__ is noted or type(self).__module__.startswith("transitions"):
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SUITE)
        patch.setattr(transitions.Machine, "__init__", noted)
        for name in [x for x in sys.modules if x == "tests" or x.startswith("tests.")]:
            patch.delitem(sys.modules, name)
        suite = unittest.defaultTestLoader.loadTestsFromNames([f"tests.test_{x}" for x in MODULES])
        with contextlib.redirect_stdout(io.StringIO()):
            unittest.TextTestRunner(io.StringIO()).run(suite)
    return made


@pytest.mark.skipif(not SUITE, reason="SKIPPED: set FSM_TRANSITIONS_SOURCES to a checkout of pytransitions/transitions")
def test_the_machines_of_the_librarys_tests() -> None:
    """Each is imported, its spec has no errors, and its rows are those that the library lists."""
    done: set[str] = set()
    for machine in made_by_the_suite():
        imported = from_transitions(machine)
        if str(imported) in done or not imported.tables:
            continue
        done.add(str(imported))
        _, found = loaded(spec_text(imported, "a.py")[0])
        assert [x.message for x in found if x.severity is Severity.ERROR] == []
        assert_listed(machine)
    assert len(done) > 100


def test_an_event_that_looks_like_one_of_the_librarys_is_a_row() -> None:
    machine = transitions.Machine(states=["A", "B"], initial="A")
    machine.add_transition("to_state_B", "A", "B")
    assert [r.event for r in from_transitions(machine).tables[0].rows] == ["to_state_B"]
    other = transitions.Machine(states=["A", "B"], initial="A", model_attribute="phase")
    assert from_transitions(other).tables[0].rows == ()
