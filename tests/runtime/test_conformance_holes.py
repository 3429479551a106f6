"""Where the document goes wrong, the allocator does not: it makes each run in which the checker finds a hole.

`specs/hived/holes` has a small system for each hole. Taken as documented, each has runs that end badly; here the
allocator is made to do what happens in them, and must be as the repaired model is after each step, and able to go on.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance_cases import SPEC, Case, GangCase, allowed, picture, value_of
from conformance_rig import Rig
from invariants import check

from fsmdsl.model.workspace import load
from fsmdsl.search import explore
from fsmdsl.step import ChannelStep, CrashStep, EventStep, Step, Universe, fire, initial

HOLES = sorted((SPEC.parent / "holes").glob("*.fsm"))

DONE = {
    "h01_pod_by_pod": 3,
    "h02_pod_gone_before": 2,
    "h04_preempted_twice": 2,
    "h05_no_way_back": 1,
    "h06_overwritten_by_e8": 3,
    "h07_one_kind_after_the_other": 2,
    "h08_whose_priority": 1,
    "h09_equals": 1,
    "h10_messages": 1,
    "h11_restarts_apart": 3,
}
"""How many runs go wrong in each file."""


class Replay:
    """The allocator and the repaired model, side by side."""

    def __init__(self, documented: Universe) -> None:
        instances = documented.system.instances
        groups = [number for number, x in enumerate(instances) if x.group == "groups"]
        gangs = []
        for number in groups:
            size, priority = documented.params[number].get("size", 1), documented.params[number]["priority"]
            assert isinstance(size, int)
            assert isinstance(priority, int)
            gangs.append(GangCase(size, priority))
        cells = len(instances) - len(groups)
        self.first = len(groups)
        self.rig = Rig(Case("hole", tuple(gangs), cells, {"A": cells}), every=True)
        self.universe = self.rig.case.universe
        self.world = initial(self.universe)

    def follow(self, step: Step) -> None:
        """What the document says comes next; what the repaired model does not let happen, the allocator does not do."""
        match step:
            case EventStep(_, "restart") | CrashStep():
                self.rig.restart()
                assert self._fire(CrashStep())
            case EventStep(gang, "schedule", (choice,)):
                cells = choice if isinstance(choice, frozenset) else {choice}
                self._schedule(gang, frozenset(x for x in cells if isinstance(x, int)))
            case EventStep(gang, "proceed"):
                self.proceed(gang)
            case EventStep(gang, "pods_deleted"):
                self.end(gang)
            case EventStep(cell, "pod_deleted"):
                self._end_pod(cell - self.first)
            case ChannelStep():
                pass  # what was sent has arrived at once
            case _:
                raise AssertionError(step)
        self.agree()

    def _fire(self, step: Step) -> bool:
        result = fire(self.universe, self.world, step)
        self.world = result.world
        return result.fault is None

    def _schedule(self, gang: int, choice: frozenset[int]) -> None:
        cells = sorted(x - self.first for x in choice)
        users = {value_of(self.universe, self.world, x, "user") for x in choice} - {None}
        pending = self.world.states[gang] == "Pending"
        if pending and allowed(self.universe, self.world, gang, choice):
            assert self._fire(EventStep(gang, "schedule", (choice,)))
            self.rig.schedule(gang, cells, [f"g{x}" for x in users])
            return
        self.rig.followed.clear()
        if pending:
            self.rig.refuse(gang, cells)
        else:
            self.rig.ask(gang, cells)  # whatever it is told, it has its places, or waits for them
            assert self.rig.followed == []

    def proceed(self, gang: int) -> None:
        """A preempting gang asks again."""
        if self._fire(EventStep(gang, "proceed")):
            self.rig.proceed(gang)

    def end(self, gang: int) -> None:
        """A gang is gone, if it is not gone with its last pod already."""
        if self.world.states[gang] != "Deleted":
            assert self._fire(EventStep(gang, "pods_deleted"))
            self.rig.end(gang)

    def _end_pod(self, cell: int) -> None:
        """A pod is gone, which is nothing to the model as long as there are others."""
        pod = self.rig.pod_on(cell)
        gang = int(pod.spec.gang.name[1:])
        self.rig.delete(pod)
        if not self.rig.pods(gang):
            assert self._fire(EventStep(gang, "pods_deleted"))

    def agree(self) -> None:
        """They are alike, and all books are right."""
        assert self.rig.picture() == picture(self.universe, self.world)
        check(self.rig.allocator)

    def finish(self) -> None:
        """Whoever waits gets its leaf cells when its victims are gone."""
        for gang in range(self.first):
            if self.world.states[gang] == "Preempting":
                cells = [self.first + x for x in self.rig.cells_of(gang)]
                for user in sorted({value_of(self.universe, self.world, x, "user") for x in cells} - {None}):  # type: ignore[type-var]
                    assert isinstance(user, int)
                    self.end(user)
                    self.agree()
                self.proceed(gang)
                self.agree()
                assert self.world.states[gang] == "Allocated"


@pytest.mark.parametrize("path", HOLES, ids=lambda x: x.stem)
def test_the_allocator_does_not_fall_into(path: Path) -> None:
    model = load([path], as_documented=True).model
    assert model is not None
    done = 0
    for system in model.systems.values():
        for violation in explore(model, system).violations:
            assert violation.trace is not None
            replay = Replay(Universe(model, system))
            for entry in violation.trace.entries:
                replay.follow(entry.step)
            replay.finish()
            done += 1
    assert done == DONE[path.stem]
