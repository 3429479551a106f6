"""Machines of `python-statemachine`: the source, read, says what the library makes of it when it is run.

`FSM_STATEMACHINE_SOURCES` names folders with sources of the library's users, parted like a `PATH`; they are run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import types
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_import import _BLOCK, GOLDEN
from tiers import share

from fsmdsl.interop.imports import Imported, ImportFailedError, Table, spec_text
from fsmdsl.interop.imports.formats import format_of, read
from fsmdsl.interop.imports.guards import Guard, guarded
from fsmdsl.text.source import Source

statemachine = pytest.importorskip("statemachine", reason="SKIPPED: `python-statemachine` is not installed")

OWN = (GOLDEN / "parcel.md").read_text("utf-8")
SOURCE = next(content for _, _, name, content in _BLOCK.findall(OWN) if name == "parcel.py")
FOLDERS = [Path(x) for x in os.environ.get("FSM_STATEMACHINE_SOURCES", "").split(os.pathsep) if x]
FILES = [p for folder in FOLDERS for p in sorted(folder.rglob("*.py")) if p.name != "__init__.py"]

Found = set[tuple[str, str | None, str | None]]


def run(code: str, name: str) -> dict[str, Any]:
    """The machines that a source declares, by name, as classes of the library."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        exec(compile(code, f"{name}.py", "exec"), module.__dict__)
    made = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, statemachine.StateChart)]
    return {x.__name__: x for x in made if x.__module__ == name and x.states}


def every(states: Any) -> Iterator[Any]:
    for s in states:
        yield s
        yield from every(s.states)


def rows_of_class(machine: Any) -> Found:
    """The library's rows as a spec has them: no histories, timers for their events, ends of composites as moves."""
    found: Found = set()
    states = list(every(machine.states))
    histories = {id(h): h for s in states for h in s.history}
    for s in states:
        for t in s.transitions:
            if t.initial:
                continue
            target = t.target
            if id(target) in histories:
                defaults = [x.target for x in target.transitions]
                target = defaults[0] if defaults else target.parent
            to = None if target is None or (t.internal and t.is_self) else target.id
            names = [str(e) for e in t.events]
            own = [e for e in names if "." not in e or e.replace(".", "_") not in names]
            for event in own or [None]:
                found |= set(_as_row(s, to, event))
    return found


def _as_row(s: Any, to: str | None, event: str | None) -> Iterator[tuple[str, str | None, str | None]]:
    services = [getattr(x.func, "_invoke_handler", None) for x in s._specs]
    timers = {x.on or f"done_invoke_{s.id}": x.duration for x in services if type(x).__name__ == "_Timeout"}
    if event in timers:
        yield s.id, to, f"after {timers[event]} s"
    elif event is not None and event.replace(".", "_") == f"done_state_{s.id}" and not s.parallel:
        yield from ((x.id, to, None) for x in s.states if x.final)
    else:
        yield s.id, to, event


def rows_of_table(table: Table) -> Found:
    title = {s.name: s.title for s in table.states}
    seconds = {"s": 1, "min": 60, "h": 3600}
    return {
        (
            title[r.source],
            r.target and title[r.target],
            r.event if r.after is None else f"after {_seconds(r.after, seconds)} s",
        )
        for r in table.rows
    }


def _seconds(after: str, units: dict[str, int]) -> int:
    found = re.fullmatch(r"(\d+)(\w+)", after)
    assert found is not None
    return int(found[1]) * units[found[2]]


def shape_of_class(machine: Any) -> set[tuple[str, str | None, bool, bool]]:
    return {
        (s.id, s.parent and s.parent.id, bool(s.parallel), bool(s.initial) and not (s.parent and s.parent.parallel))
        for s in every(machine.states)
    }


def shape_of_table(table: Table) -> set[tuple[str, str | None, bool, bool]]:
    title: dict[str | None, str | None] = {None: None} | {s.name: s.title for s in table.states}
    parallel = {s.name for s in table.states if s.parallel}
    return {
        (s.title, title[s.parent], s.parallel, s.name == table.initial or (s.initial and s.parent not in parallel))
        for s in table.states
    }


@pytest.mark.parametrize("path", [None, *FILES], ids=lambda p: "own" if p is None else p.stem)
def test_the_table_is_that_of_the_library(path: Path | None) -> None:
    code = SOURCE if path is None else path.read_text("utf-8")
    try:
        imported = read(Source("sample.py", code), "python-statemachine")
    except ImportFailedError:
        imported = Imported(())
    tables = {t.name: t for t in imported.tables}
    whole = not any("only at run time" in x.text for x in imported.left_out)
    made = run(code, "sample" if path is None else f"sample_{path.stem}")
    assert set(made) <= set(tables)
    assert path is not None or len(made) == 4
    for name, machine in made.items():
        assert shape_of_table(tables[name]) == shape_of_class(machine)
        ours, theirs = rows_of_table(tables[name]), rows_of_class(machine)
        assert ours == theirs if whole else ours < theirs


def test_conditions_and_actions_are_those_of_the_library() -> None:
    parcel = run(SOURCE, "sample")["Parcel"]
    table = read(Source("parcel.py", SOURCE), "python-statemachine").tables[0]
    send = next(r for r in table.rows if r.event == "send")
    (spec,) = (t for s in parcel.states for t in s.transitions if "send" in [str(e) for e in t.events])
    assert {c.text for c in send.conditions} == {"stamped", "heavy", "torn"}
    assert {c.text: c.holds for c in send.conditions} == {"stamped": True, "heavy": False, "torn": False}
    assert [(x.attr_name, x.expected_value) for x in spec.cond] == [("stamped and !heavy", True), ("torn", False)]
    assert send.actions == ("load", "on_send")
    assert table.state_by_name["waiting"].entry == ("weigh",)
    assert (table.state_by_name["moving"].entry, table.state_by_name["moving"].exit) == (
        ("on_enter_moving",),
        ("unload",),
    )


def test_the_format_is_told_by_the_library_that_is_imported() -> None:
    assert format_of("a.py", SOURCE) == "python-statemachine"
    assert format_of("a.py", "from transitions import Machine\n") == "transitions"
    assert read(Source("a.py", SOURCE)).tables[0].name == "Parcel"


NAMES = ("hot", "full", "ready")
_CONDITIONS = st.sampled_from(["hot", "!full", "hot and !ready", "full or ready", "not (hot and full)", "hot ^ full"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from("abc"),
            st.none() | _CONDITIONS,
            st.none() | _CONDITIONS,
        ).filter(lambda x: x[2] is None or x[2] != x[3]),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=share(40), suppress_health_check=list(HealthCheck), deadline=None)
def test_the_library_follows_the_row_whose_guard_holds(listed: list[tuple[str, str, str | None, str | None]]) -> None:
    """For every state and all values of the conditions, the machine itself goes where the guard of the spec says.

    Of a condition that must hold and must not, the library sees the first alone, so there is none here.
    """
    rows = [f"{a}.to({b}, cond={c!r}, unless={u!r})" for a, b, c, u in listed]
    code = (
        "from statemachine import State, StateChart\n"
        "class M(StateChart):\n"
        "    validate_disconnected_states = validate_trap_states = validate_final_reachability = False\n"
        "    a = State(initial=True)\n    b = State()\n    c = State()\n"
        "    hot = full = ready = False\n"
        f"    go = {' | '.join(rows)}\n"
    )
    made = run(code, "sample")["M"]
    kept, _ = guarded(read(Source("m.py", code), "python-statemachine").tables[0].rows)
    for state, values in product("abc", product((False, True), repeat=3)):
        truth = dict(zip(NAMES, values, strict=True))
        machine = made()
        for name, value in truth.items():
            setattr(machine, name, value)
        machine.current_state_value = state
        machine.go()
        enabled = [x.row.target for x in kept if x.row.source == state and holds(x.guard, truth)]
        assert (enabled or [state]) == [machine.current_state_value]


def holds(guard: Guard, truth: dict[str, bool]) -> bool:
    def one(text: str) -> bool:
        return bool(eval(text, {}, dict(truth)))

    every_one = all(one(c.text) == c.holds for c in guard.conditions)
    return every_one and not any(all(one(c.text) == c.holds for c in group) for group in guard.excluded)


def test_what_cannot_be_carried_over_is_listed() -> None:
    _, left_out = spec_text(read(Source("parcel.py", SOURCE), "python-statemachine"), "parcel.py")
    texts = [x.text for x in left_out]
    assert "callbacks for every row: `after_transition`" in texts
    assert "validators, which refuse an event: `readable`" in texts
    assert "the history `last` of `on`: what leads there always enters the same state" in texts
