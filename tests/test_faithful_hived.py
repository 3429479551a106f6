"""HiveD's spec says what its document says: the rows of both machines, the holes, and counts known from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from fsmdsl import model as m
from fsmdsl.cli import cli
from fsmdsl.explore import play
from fsmdsl.parse import parse
from fsmdsl.report.data import listing
from fsmdsl.resolve import resolve
from fsmdsl.source import Source
from fsmdsl.step import CrashStep, FaultError, Step, Universe, World, describe, enabled, fire, holds, initial, stuck

SPEC = Path(__file__).parent.parent / "specs" / "hived" / "hived.fsm"
TEXT = re.sub(" +", " ", SPEC.read_text("utf-8"))
"""Without its columns, so that the variants below do not depend on them."""

GROUP_STATES = ("Pending", "Preempting", "Allocated", "BeingPreempted", "Deleted")
CELL_STATES = ("Free", "Used", "Reserving", "Reserved")

# The document's tables, row by row: label, source, target, trigger.

GROUP = (
    ("e0", "Pending", "Allocated", "schedule"),
    ("e1", "Pending", "Preempting", "schedule"),
    ("e2", "Preempting", "Allocated", "proceed"),
    ("e3", "Allocated", "Deleted", "pods_deleted"),
    ("e4", "BeingPreempted", "Deleted", "pods_deleted"),
    ("e5", "Preempting", "Pending", "overwritten"),
    ("e6", "Allocated", "BeingPreempted", "preempted"),
    ("e7", "Preempting", "Deleted", "pods_deleted"),
    ("e8", "Pending", "Deleted", "pods_deleted"),
    ("ec", "Preempting", "Pending", "crash"),
    ("ec", "BeingPreempted", "Allocated", "crash"),
)

CELL = (
    ("e0", "Free", "Used", "take"),
    ("e1", "Used", "Free", "free"),
    ("e2", "Used", "Reserving", "reserve"),
    ("e3", "Reserving", "Reserving", "reserve"),
    ("e4", "Reserving", "Used", "cancel"),
    ("e5", "Free", "Reserved", "reserve"),
    ("e6", "Reserved", "Reserved", "reserve"),
    ("e7", "Reserved", "Free", "cancel"),
    ("e8", "Reserved", "Used", "take"),
    ("e9", "Reserving", "Reserved", "pod_deleted"),
    ("ec", "Reserving", "Used", "crash"),
    ("ec", "Reserved", "Free", "crash"),
)

AMENDED = {
    "AffinityGroup": {
        ("e4", "BeingPreempted", "Deleted", "pods_deleted"),
        ("e6", "BeingPreempted", "BeingPreempted", "preempted"),
        ("back", "BeingPreempted", "Allocated", "given_back"),
        ("off", "Preempting", "Pending", "call_off"),
        ("lazy", "Pending", "Pending", "demote"),
        ("lazy", "Allocated", "Allocated", "demote"),
        ("again", "Pending", "Pending", "reinstate"),
        ("again", "Allocated", "Allocated", "reinstate"),
    },
    "Cell": {("e4", "Reserving", "Used", "cancel"), ("lazy", "Used", "Used", "revalued")},
}

Row = tuple[str, str, str, str]


@cache
def model(text: str = TEXT, *, as_documented: bool = False) -> m.Model:
    """The spec, or a variant of it."""
    parsed = parse(Source("hived.fsm", text))
    resolved = resolve([parsed.module], as_documented=as_documented)
    assert parsed.diagnostics == ()
    assert resolved.diagnostics == ()
    assert resolved.model is not None
    return resolved.model


def rows(of: m.Model, machine: str) -> list[tuple[Row, bool]]:
    """The rows that `fsm list --format json` prints for a machine, and whether they are amended."""
    modules = listing(of, frozenset({"hived"}))["modules"]
    found = next(x for x in modules[0]["machines"] if x["name"] == machine)
    return [((t["label"], t["source"], t["target"], t["trigger"]), t["amended"]) for t in found["transitions"]]


@pytest.mark.parametrize(("machine", "table"), [("AffinityGroup", GROUP), ("Cell", CELL)])
def test_as_documented_the_rows_are_those_of_the_document(machine: str, table: tuple[Row, ...]) -> None:
    found = rows(model(as_documented=True), machine)
    assert sorted(row for row, _ in found) == sorted(table)
    assert not any(amended for _, amended in found)


@pytest.mark.parametrize(("machine", "table"), [("AffinityGroup", GROUP), ("Cell", CELL)])
def test_amendments_add_what_they_say_and_take_nothing_away(machine: str, table: tuple[Row, ...]) -> None:
    found = rows(model(), machine)
    assert {row for row, amended in found if amended} == AMENDED[machine]
    assert {row for row, amended in found if not amended} == set(table) - AMENDED[machine]
    assert len(found) == len(set(found))


def test_the_command_prints_these_rows() -> None:
    printed = CliRunner().invoke(cli, ["list", str(SPEC), "--format", "json"])
    assert printed.exit_code == 0
    assert json.loads(printed.output)["modules"] == listing(model(), frozenset({"hived"}))["modules"]


def test_states_are_those_of_the_document() -> None:
    group, cell = (model().machines[f"hived.{x}"] for x in ("AffinityGroup", "Cell"))
    assert tuple(s.name for s in group.states) == GROUP_STATES
    assert tuple(s.name for s in cell.states) == CELL_STATES
    assert group.state_named["BeingPreempted"].display == "Being preempted"
    assert (group.initial.name, cell.initial.name) == ("Pending", "Free")
    assert [s.name for s in group.states if s.final] == ["Deleted"]
    assert [s.name for s in group.states if s.persistent] == ["Pending", "Allocated", "Deleted"]
    assert [s.name for s in group.states if s.volatile] == ["Preempting", "BeingPreempted"]


@pytest.mark.parametrize("name", sorted(x.name for x in model().modules[0].scenarios))
def test_the_worked_examples_go_as_they_say(name: str) -> None:
    assert play(model(), model().scenarios[f"hived.{name}"]).passed


# Exploration ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """All worlds of a system, and the names of what is violated in them."""

    universe: Universe
    worlds: dict[World, tuple[World, Step] | None]
    steps: list[tuple[World, Step, World]]
    violated: frozenset[str]
    first: tuple[str, ...]
    """The steps to the first violation."""

    def number(self, name: str) -> int:
        return next(i for i, x in enumerate(self.universe.system.instances) if x.name == name)


def explored(of: m.Model, system: str) -> Seen:
    """A plain breadth-first search on the definition of the language."""
    universe = Universe(of, of.systems[f"hived.{system}"])
    begin = initial(universe)
    worlds: dict[World, tuple[World, Step] | None] = {begin: None}
    steps, violated, first = [], set(), None
    queue = [begin]
    for world in queue:
        broken = set(_broken(universe, world))
        offered = enabled(universe, world)
        if stuck(universe, world, offered):
            broken.add("deadlock")
        if broken and first is None:
            first = _path(universe, worlds, world)
        for step in offered:
            result = fire(universe, world, step)
            if result.fault is not None:
                broken.add(result.fault.kind)
                first = first if first is not None else (*_path(universe, worlds, world), describe(universe, step))
                continue
            steps.append((world, step, result.world))
            if result.world not in worlds:
                worlds[result.world] = (world, step)
                queue.append(result.world)
        violated |= broken
    return Seen(universe, worlds, steps, frozenset(violated), first or ())


def _broken(universe: Universe, world: World) -> Iterator[str]:
    """The names of the invariants that do not hold in a world."""
    asked: list[tuple[m.Invariant, int | None]] = [(x, None) for x in universe.system.invariants]
    asked += [(x, i) for i, machine in enumerate(universe.machines) for x in machine.invariants]
    for invariant, instance in asked:
        try:
            if not holds(universe, world, invariant.condition, instance=instance):
                yield invariant.name
        except FaultError:
            yield invariant.name


def _path(universe: Universe, worlds: dict[World, tuple[World, Step] | None], world: World) -> tuple[str, ...]:
    came = worlds[world]
    return () if came is None else (*_path(universe, worlds, came[0]), describe(universe, came[1]))


def test_as_documented_the_missing_self_loop_is_found_in_two_steps() -> None:
    seen = explored(model(as_documented=True), "PreemptionSmall")
    assert seen.violated == {"unhandled"}
    assert seen.first == ("g0.schedule({c0, c1})", "g1.schedule({c0, c1})")


@pytest.mark.parametrize(("system", "count"), [("PreemptionSmall", 10), ("Takeover", 416), ("Settling", 62)])
def test_the_systems_are_sound(system: str, count: int) -> None:
    seen = explored(model(), system)
    assert (seen.violated, seen.first) == (frozenset(), ())
    assert len(seen.worlds) == count
    for wanted in seen.universe.system.reachables:
        assert any(holds(seen.universe, world, wanted.condition) for world in seen.worlds), wanted.name


PROCEED = "some g in groups: g.proceed"


def sized(needs: tuple[int, ...], cells: int) -> str:
    """A system `Sized` with a group for each need, the stronger the later."""
    size = str(needs[-1])
    for i in reversed(range(len(needs) - 1)):
        size = f"if index == {i} then {needs[i]} else {size}"
    return f"""
        system Sized {{
            groups: AffinityGroup[{len(needs)}] {{ priority = index, size = {size} }}
            cells:  Cell[{cells}]
            environment {{
                some g in groups, p in subsets(cells, g.size): g.schedule(p) when all c in p: may_take(g, c)
                {PROCEED}
                some g in groups: g.pods_deleted
                crash
            }}
            invariant s8: all g in groups: g in {{Pending, Deleted}} => all c in cells: c.user != g and c.reserver != g
            invariant s11: all g in groups: not ((some c in cells: c.user == g) and some c in cells: c.reserver == g)
            invariant books: all g in groups, c in cells: (g.cells has c) == (c.user == g or c.reserver == g)
        }}
    """


def without_way_back() -> str:
    """The document with the self-loop and with e9 in its place, and nothing else: Being preempted has no way back."""
    row = next(line for line in TEXT.splitlines() if line.strip().startswith("back:"))
    return TEXT.replace(row, "")


REFERENCE = [
    ((1, 1), 1, 17, 15),
    ((2, 1), 2, 34, 30),
    ((2, 1, 1), 2, 160, 140),
    ((2, 2, 2), 2, 105, 85),
    ((2, 1, 2), 3, 620, 500),
    ((3, 1, 1, 1), 3, 2161, 1865),
    ((1, 2, 1, 3), 3, 2049, 1257),
]
"""Needs, cells, and the number of states without and with the way back. Each state there says for each cell in use
whether its pod is still present, which the spec leaves out."""


def with_pods(seen: Seen) -> int:
    """The number of states if each used cell's pod were either there or gone."""
    place = [x.name for x in seen.universe.machines[seen.number("c0")].fields].index("user")
    cells = [i for i, x in enumerate(seen.universe.system.instances) if x.group == "cells"]
    return sum(2 ** sum(world.fields[c][place] is not None for c in cells) for world in seen.worlds)


@pytest.mark.parametrize(("needs", "cells", "literal", "repaired"), REFERENCE)
def test_the_counts_are_those_of_the_reference(needs: tuple[int, ...], cells: int, literal: int, repaired: int) -> None:
    seen = explored(model(TEXT + sized(needs, cells)), "Sized")
    assert seen.violated == frozenset()
    assert with_pods(seen) == repaired
    seen = explored(model(without_way_back() + sized(needs, cells)), "Sized")
    assert seen.violated == {"s9"}
    assert with_pods(seen) == literal


@pytest.mark.parametrize(("needs", "cells"), [((2, 1, 1), 2), ((2, 1, 2), 3)])
def test_what_a_step_may_change(needs: tuple[int, ...], cells: int) -> None:
    """S12, S13 and S14: a reservation goes only to a stronger group, a user only to nobody; a crash keeps users."""
    seen = explored(model(TEXT + sized(needs, cells)), "Sized")
    assert _bad_changes(seen) == set()


def _bad_changes(seen: Seen) -> set[str]:
    cells = [i for i, x in enumerate(seen.universe.system.instances) if x.group == "cells"]
    user, reserver = (
        [x.name for x in seen.universe.machines[cells[0]].fields].index(name) for name in ("user", "reserver")
    )
    bad = set()
    for before, step, after in seen.steps:
        for c in cells:
            old, new = before.fields[c], after.fields[c]
            if None not in (old[reserver], new[reserver]) and new[reserver] < old[reserver]:  # type: ignore[operator]
                bad.add("s12")
            if None not in (old[user], new[user]) and new[user] != old[user]:
                bad.add("s13")
            if isinstance(step, CrashStep) and new[user] != old[user]:
                bad.add("s14")
    return bad


# A checker that never complains proves nothing ------------------------------------------------------------------------

BITES = [
    ("the self-loop is dropped", "e6: BeingPreempted -> BeingPreempted on preempted", "", {"unhandled"}),
    (
        "awaited cells are forgotten when a victim ends",
        "if c in Used { c.free } else { c.pod_deleted }",
        "if c in Used { c.free }",
        {"s4", "s8", "books"},
    ),
    (
        "a user is compared with, and not the reserver",
        "let holder(c: Cell) = if c.reserver != none then c.reserver else c.user",
        "let holder(c: Cell) = if c.user != none then c.user else c.reserver",
        {"s12"},
    ),
    (
        "a reserver is not told that another group is allocated its cell",
        "if by != reserver { reserver.overwritten(self); release; allocate(by) }",
        "if by != reserver { release; allocate(by) }",
        {"s7", "books"},
    ),
    (
        "the cells restart without their reservers",
        "ec: Preempting -> Pending on crash do cells = {}",
        "",
        {"lost"},
    ),
    (
        "the cells of a preemption called off are given to nobody",
        "e4: Reserving -> Used on cancel do { release; allocate(user); reserver = none; user.given_back(self) }",
        "e4: Reserving -> Free on cancel do { release; user.given_back(self); reserver = none; user = none }",
        {"s6", "books"},
    ),
    (
        "cells go pod by pod",
        PROCEED,
        f"{PROCEED} some c in cells: c.pod_deleted",
        {"s10", "books"},
    ),
]


@pytest.mark.parametrize(("what", "old", "new", "expected"), BITES, ids=[x[0] for x in BITES])
def test_a_mistake_is_found(what: str, old: str, new: str, expected: set[str]) -> None:
    text = TEXT + sized((2, 1, 2), 3)
    assert old in text
    seen = explored(model(text.replace(old, new)), "Sized")
    assert expected <= seen.violated | _bad_changes(seen), what
