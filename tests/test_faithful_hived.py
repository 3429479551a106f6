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
from fsmdsl.cli.parser import cli
from fsmdsl.model.resolve import resolve
from fsmdsl.report.data import listing
from fsmdsl.report.exploration import never_followed
from fsmdsl.search import explore, play
from fsmdsl.step import CrashStep, FaultError, Step, Universe, World, enabled, fire, holds, initial, stuck
from fsmdsl.step.describe import describe
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

SPEC = Path(__file__).parent.parent / "specs" / "hived" / "hived.fsm"
TEXT = re.sub(" +", " ", SPEC.read_text("utf-8"))
"""Without its columns, so that the variants below do not depend on them."""

UNMENTIONED = re.sub(" +", " ", (SPEC.parent / "unmentioned.fsm").read_text("utf-8"))
"""What the document does not mention: another file, which imports the spec."""

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


@pytest.mark.full(reason="size; `test_packed` meets the same counts")
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


# What the document does not mention -----------------------------------------------------------------------------------


def unmentioned(text: str = TEXT, more: str = UNMENTIONED, *, as_documented: bool = False) -> m.Model:
    """Both files, or variants of them."""
    parsed = [parse(Source("hived.fsm", text)), parse(Source("unmentioned.fsm", more))]
    resolved = resolve([x.module for x in parsed], as_documented=as_documented)
    assert (*(d for x in parsed for d in x.diagnostics), *resolved.diagnostics) == ()
    assert resolved.model is not None
    return resolved.model


def wrong(of: m.Model, name: str) -> set[str]:
    """What does not hold of a system."""
    return {v.label for v in explore(of, of.systems[f"hived.unmentioned.{name}"]).verdicts if v.outcome != "holds"}


@pytest.mark.full(reason="whole specs")
@pytest.mark.parametrize(("name", "states", "transitions"), [("LazyPreemption", 232, 984), ("CallingOff", 497, 2896)])
def test_what_the_document_does_not_mention_is_sound(name: str, states: int, transitions: int) -> None:
    seen = explored(unmentioned(), f"unmentioned.{name}")
    assert (seen.violated, seen.first) == (frozenset(), ())
    assert (len(seen.worlds), len(seen.steps)) == (states, transitions)
    assert wrong(unmentioned(), name) == set()


@pytest.mark.full(reason="whole specs")
def test_every_row_is_followed_in_some_system() -> None:
    of = unmentioned()
    assert set.intersection(*({*never_followed(explore(of, x), of)} for x in of.systems.values())) == set()


def test_as_documented_there_are_no_such_systems() -> None:
    of = unmentioned(as_documented=True)
    assert [x.name for x in of.systems.values()] == ["PreemptionSmall", "Takeover", "Settling"]
    assert [x.name for module in of.modules for x in module.systems_left_out] == ["LazyPreemption", "CallingOff"]


RESTORED = "again: Pending, Allocated on reinstate when demoted do { demoted = false; for c in cells { c.revalued } }"
CALLED_OFF = "off: Preempting -> Pending on call_off do { for c in cells { c.cancel }; cells = {} }"

UNMENTIONED_BITES = [
    (
        "LazyPreemption",
        "a demoted group is as strong as before",
        ("if demoted then -1 else priority", "priority"),
        {"reachable claimed", "reachable runs_on"},
    ),
    (
        "LazyPreemption",
        "the guarantee comes back though others have it",
        ("g.reinstate when room(g)", "g.reinstate"),
        {"invariant safe", "invariant served"},
    ),
    (
        "LazyPreemption",
        "the guarantee never comes back",
        (RESTORED, "ignore reinstate in *"),
        {"property restored"},
    ),
    (
        "LazyPreemption",
        "a stronger group takes what another virtual cluster is promised",
        ("(counts(c) => ours(g, c))", "true"),
        {"invariant tenants"},
    ),
    (
        "LazyPreemption",
        "a victim is demoted, cells and all",
        ("lazy: Pending, Allocated on demote", "lazy: Pending, Allocated, BeingPreempted on demote"),
        {"fault unhandled"},
    ),
    (
        "LazyPreemption",
        "a restart gives all guarantees back, and leaves it at that",
        ("some g in groups: g.reinstate when room(g)", "some g in groups: g.reinstate when room(g) crash"),
        {"invariant safe", "invariant served"},
    ),
    (
        "CallingOff",
        "no preemption is called off",
        (CALLED_OFF, "ignore call_off in *"),
        {"property ended", "property settled"},
    ),
    (
        "CallingOff",
        "what is called off keeps the cells that nobody uses",
        (CALLED_OFF, CALLED_OFF.replace("{ c.cancel }", "{ if c in Reserving { c.cancel } }")),
        {
            "fault unhandled",
            "invariant Cell: s3",
            "invariant books",
            "invariant s11",
            "invariant s8",
            "property freed",
            "property settled",
        },
    ),
    (
        "CallingOff",
        "a victim is not told that it is none any more",
        ("when all c in cells - {cell}: c in Used", "when false"),
        {"invariant AffinityGroup: s9"},
    ),
]


def varied(old: str, new: str) -> m.Model:
    """Both files, one of them changed in one place."""
    assert TEXT.count(old) + UNMENTIONED.count(old) == 1, old
    return unmentioned(TEXT.replace(old, new), UNMENTIONED.replace(old, new))


@pytest.mark.full(reason="many searches; `test_a_mistake_is_found` has fewer")
@pytest.mark.parametrize(
    ("name", "what", "change", "expected"), UNMENTIONED_BITES, ids=[x[1] for x in UNMENTIONED_BITES]
)
def test_a_mistake_in_what_is_not_mentioned_is_found(
    name: str, what: str, change: tuple[str, str], expected: set[str]
) -> None:
    assert wrong(varied(*change), name) == expected, what


RECOVERY = "recover { for g in groups { if g in Allocated and spent(g) > promised(g) { g.demote } } }"


@pytest.mark.full(reason="whole specs")
@pytest.mark.parametrize(("recovery", "holds"), [(RECOVERY, True), ("", False)], ids=["demoted anew", "left at that"])
def test_demotions_do_not_outlive_a_restart_and_have_to_be_found_anew(recovery: str, *, holds: bool) -> None:
    """H18: they are not written down. Until the scheduler has demoted again, there may be more guarantees than room."""
    old = "some g in groups: g.reinstate when room(g)\n }"
    of = varied(old, f"{old[:-1]} crash }} {recovery} property again: recovers on cells, user, demoted")
    (verdict,) = [v for v in explore(of, of.systems["hived.unmentioned.LazyPreemption"]).verdicts if v.name == "again"]
    assert (verdict.outcome == "holds") is holds


NOT_PROMISED = [
    ("l5", "eventually always (c.reserver == g => next (c.reserver in {none, g}))", "all c in cells, g in groups"),
    ("l3", "g in BeingPreempted ~> g in {Allocated, Deleted} under fair call_off", "all g in groups"),
]


@pytest.mark.parametrize(("name", "formula", "of_each"), NOT_PROMISED, ids=["takeovers end", "victims are relieved"])
def test_what_cannot_be_promised_where_preemptions_are_called_off(name: str, formula: str, of_each: str) -> None:
    """Without restarts, too."""
    old = " some g in groups: g.reinstate\n crash\n }"
    of = varied(old, f"{old.replace('crash', '')} property {name}: {of_each}: {formula}")
    assert wrong(of, "CallingOff") == {f"property {name}"}


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
