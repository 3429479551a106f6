"""Grove's spec says what its notes say: the rows of the phases, of termination and of the update, and their holes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fsmdsl import model as m
from fsmdsl.model.workspace import load
from fsmdsl.report.data import listing
from fsmdsl.search import Exploration, explore, play
from fsmdsl.step import Universe, World, enabled, fire, holds, initial
from fsmdsl.step.describe import describe

SPEC = Path(__file__).parent.parent / "specs" / "grove" / "grove.fsm"

# The tables, row by row: label, source, target, trigger. Absent stands for "no object", Unset for "phase not set".

Row = tuple[str, str, str, str]

PHASES: tuple[Row, ...] = (
    ("F0", "Absent", "Unset", "create"),
    ("F1", "Unset", "Pending", "ungated"),
    ("F2", "Pending", "Binding", "permit"),
    ("F3", "Binding", "Scheduled", "pod_bound"),
    ("F4", "Scheduled", "Pending", "preempted"),
)
"""What the notes give."""

PHASES_AMENDED: tuple[Row, ...] = (
    ("F2", "Pending", "Binding", "permit"),
    ("F3", "Binding", "Scheduled", "pod_bound"),
    ("F5", "Binding", "Pending", "bind_failed"),
    ("F5", "Binding", "Pending", "preempted"),
    ("F6", "Pending", "Unset", "terminated"),
    ("F6", "Binding", "Unset", "terminated"),
    ("F6", "Scheduled", "Unset", "terminated"),
    ("F7", "Unset", "Absent", "delete"),
    ("F7", "Pending", "Absent", "delete"),
    ("F7", "Binding", "Absent", "delete"),
    ("F7", "Scheduled", "Absent", "delete"),
)
"""What they lack; of F2 and F3 only the guards differ."""

CLIQUE: tuple[Row, ...] = (
    ("T1", "Healthy", "Breached", "pods_changed"),
    ("T2", "Breached", "Healthy", "pods_changed"),
    ("T3", "Breached", "Breached", "after gang.termination_delay"),
)

TERMINATION: tuple[Row, ...] = (
    ("T3", "Alive", "Terminating", "delay_over"),
    ("T4", "Terminating", "Recreating", "recreate"),
)

ROLLOUT: tuple[Row, ...] = (
    ("U1", "Begun", "PodsCreated", "create_pods"),
    ("U2", "PodsCreated", "GangCreated", "create_gang"),
    ("U3", "GangCreated", "ReuseSet", "set_reuse"),
    ("U4", "GangCreated", "GatesRemoved", "remove_gates"),
    ("U4", "ReuseSet", "GatesRemoved", "remove_gates"),
)

DOCUMENTED = {"PodGang": PHASES, "Clique": CLIQUE, "Termination": TERMINATION, "Rollout": ROLLOUT}

AMENDED: dict[str, tuple[Row, ...]] = {
    "PodGang": PHASES_AMENDED,
    "Clique": (("T1", "Healthy", "Breached", "pods_changed"),),
    "Termination": (("T3", "Alive", "Terminating", "delay_over"), ("T5", "Recreating", "Alive", "ungated")),
    "Rollout": (),
}

STAGES = ("Absent", "Gated", "Queued", "Waiting", "Permitted", "Bound", "Running", "Terminating")


@cache
def model(*, as_documented: bool = False) -> m.Model:
    loaded = load([SPEC], as_documented=as_documented)
    assert loaded.diagnostics == ()
    assert loaded.model is not None
    return loaded.model


def rows(machine: str, *, as_documented: bool = False) -> list[tuple[Row, bool]]:
    """The labelled rows of a machine as `fsm list --format json` prints them, and whether they are amended."""
    modules = listing(model(as_documented=as_documented), frozenset({"grove"}))["modules"]
    found = next(x for x in modules[0]["machines"] if x["name"] == machine)
    every = [((t["label"], t["source"], t["target"], t["trigger"]), t["amended"]) for t in found["transitions"]]
    return [(row, amended) for row, amended in every if row[0][0] in "FTU" and row[0][1:].isdigit()]


@pytest.mark.parametrize("machine", DOCUMENTED)
def test_as_documented_the_rows_are_those_of_the_notes(machine: str) -> None:
    found = rows(machine, as_documented=True)
    assert sorted(row for row, _ in found) == sorted(DOCUMENTED[machine])
    assert not any(amended for _, amended in found)


@pytest.mark.parametrize("machine", DOCUMENTED)
def test_amendments_add_what_they_say_and_take_nothing_away(machine: str) -> None:
    found = rows(machine)
    assert sorted(row for row, amended in found if amended) == sorted(AMENDED[machine])
    assert {row for row, _ in found} == {*DOCUMENTED[machine], *AMENDED[machine]}


def test_the_stages_of_a_pod_are_in_order() -> None:
    assert tuple(s.name for s in model().machines["grove.Pod"].leaves) == STAGES


def test_the_gang_begins_without_a_phase_and_has_no_last_one() -> None:
    gang = model().machines["grove.PodGang"]
    assert [s.name for s in gang.states] == ["Absent", "Unset", "Pending", "Binding", "Scheduled"]
    assert gang.initial.name == "Absent"
    assert not any(s.final for s in gang.states)


# Exploration ----------------------------------------------------------------------------------------------------------


@cache
def explored(system: str, *, as_documented: bool = False) -> Exploration:
    found = model(as_documented=as_documented)
    return explore(found, found.systems[f"grove.{system}"])


SYSTEMS = [("Gang", 530), ("TightGang", 47), ("NeverFits", 6), ("HoldAndWait", 2337), ("RollingUpdate", 120)]


@pytest.mark.parametrize(("system", "states"), SYSTEMS)
def test_the_systems_are_sound(system: str, states: int) -> None:
    found = explored(system)
    assert [v.name for v in found.violations] == []
    assert (found.complete, found.states) == (True, states)


HOLES = [
    ("Gang", "q2"),  # a phase without a pod after gang termination
    ("Gang", "q11"),  # a gang is terminated that never had its minimum
    ("TightGang", "scheduled"),  # a gang with room for its guaranteed pods is never Scheduled
    ("NeverFits", "untouched"),  # a gang that does not fit is terminated and created again
    ("HoldAndWait", "deadlock"),  # two gangs hold half of the room each
]


@pytest.mark.parametrize(("system", "name"), HOLES)
def test_as_documented_the_holes_show(system: str, name: str) -> None:
    found = explored(system, as_documented=True).violations
    assert any(name in (v.kind, v.name.rpartition(": ")[2]) for v in found), [v.name for v in found]


def test_as_documented_two_gangs_block_each_other_in_two_steps() -> None:
    found = next(v for v in explored("HoldAndWait", as_documented=True).violations if v.kind == "deadlock")
    assert found.trace is not None
    assert [describe(found.trace.roster, e.step) for e in found.trace.entries] == ["s0.place", "s2.place"]


@pytest.mark.parametrize(("system", "phase"), [("Gang", "gang"), ("TightGang", "gang"), ("HoldAndWait", "g0")])
def test_scheduled_can_be_reached_from_everywhere(system: str, phase: str) -> None:
    """V1, V3, V4 and V6 in the weak form that needs no fairness."""
    universe = Universe(model(), model().systems[f"grove.{system}"])
    place = next(i for i, x in enumerate(universe.system.instances) if x.name == phase)
    before = _predecessors(universe)
    reached = [world for world in before if world.states[place] == "Scheduled"]
    known = set(reached)
    for world in reached:
        new = before[world] - known
        known |= new
        reached.extend(new)
    assert known == set(before)


def _predecessors(universe: Universe) -> dict[World, set[World]]:
    before: dict[World, set[World]] = {initial(universe): set()}
    queue = [initial(universe)]
    for world in queue:
        for step in enabled(universe, world):
            after = fire(universe, world, step).world
            if after not in before:
                before[after] = set()
                queue.append(after)
            before[after].add(world)
    return before


def test_a_loss_above_the_minimum_never_starts_the_delay() -> None:
    """Q12, on the worlds in which the worker clique has only its best-effort pod running."""
    universe = Universe(model(), model().systems["grove.Gang"])
    spared = next(x for x in universe.system.reachables if x.name == "spared")
    worlds = [w for w in _predecessors(universe) if holds(universe, w, spared.condition)]
    names = [x.name for x in universe.system.instances]
    assert worlds
    assert all(w.states[names.index("worker")] == "Healthy" for w in worlds)


@pytest.mark.parametrize("name", sorted(x.name for x in model().modules[0].scenarios))
def test_the_worked_examples_go_as_they_say(name: str) -> None:
    assert play(model(), model().scenarios[f"grove.{name}"]).passed


def test_every_worked_example_of_the_notes_is_there() -> None:
    assert {f"G{i}" for i in range(1, 12)} < {x.name for x in model().modules[0].scenarios}
    assert {"G12Full", "G12Spare", "G12Replaced"} < {x.name for x in model().modules[0].scenarios}
