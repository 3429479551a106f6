"""What the allocator does in a world of the model: each of its calls as the steps of the model that it comes to.

The model lets every group take what a weaker one has, and lets groups be demoted at any time. The allocator does less,
by policy; here is how much less, exactly. Nothing else that the model allows may be refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import TypeAlias

from conformance_cases import Case, value_of

from fsmdsl.step import CrashStep, EventStep, Step, World


class Policy(Enum):
    """Why the allocator does not do what the model allows."""

    QUOTA = "a virtual cluster has at most the guaranteed leaf cells that it is promised, even if more are free"
    TENANT = "a gang is displaced only by guaranteed gangs of its own virtual cluster, unless it is opportunistic"
    LAZY = "a gang that allows it is demoted before another gang of its virtual cluster takes its leaf cells"
    NOBODY = "a gang is demoted only for another gang that needs its promised cells, or at a restart"


@dataclass(frozen=True, slots=True)
class Move:
    """What the allocator does, and the steps of the model that it comes to."""

    does: str
    gang: int
    steps: tuple[Step, ...]
    offered: tuple[int, ...] = ()
    victims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A step that the model allows, and the allocator does not make: it is asked to, and nothing happens."""

    policy: Policy
    gang: int
    offered: tuple[int, ...] = ()
    ask: bool = True


Doing: TypeAlias = Move | Refusal

SIMPLE = {"proceed": "proceed", "pods_deleted": "end", "call_off": "call_off"}


class Moves:
    """For the worlds of a case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.universe = case.universe
        self.first = len(case.gangs)
        """The number of the first cell."""

    def of(self, world: World, step: Step) -> Iterator[Doing]:
        """What the allocator does of a step that is possible in a world."""
        match step:
            case CrashStep():
                yield Move("restart", -1, self.restart(world))
            case EventStep(gang, "schedule", (frozenset() as choice,)):
                yield from self._schedule(world, step, gang, tuple(sorted(x - self.first for x in choice)))
            case EventStep(gang, "demote"):
                yield self._demote(world, gang)
            case EventStep(gang, event):
                yield Move(SIMPLE[event], gang, (step,))
            case _:
                raise AssertionError(step)

    # Who has what

    def user(self, world: World, cell: int) -> int | None:
        """Who uses a leaf cell."""
        return value_of(self.universe, world, self.first + cell, "user")  # type: ignore[return-value]

    def holder(self, world: World, cell: int) -> int | None:
        """Who has reserved it, or else uses it."""
        waiting = value_of(self.universe, world, self.first + cell, "reserver")
        return self.user(world, cell) if waiting is None else waiting  # type: ignore[return-value]

    def guaranteed(self, world: World, gang: int | None) -> bool:
        """Whether a gang counts for its virtual cluster."""
        return gang is not None and self.case.gangs[gang].priority >= 0 and not self._demoted(world, gang)

    def _demoted(self, world: World, gang: int) -> bool:
        return bool(value_of(self.universe, world, gang, "demoted"))

    def _has(self, world: World, cell: int, tenant: str) -> bool:
        """Whether a leaf cell counts for a virtual cluster."""
        gang = self.holder(world, cell)
        return gang is not None and self.guaranteed(world, gang) and self.case.gangs[gang].tenant == tenant

    def spare(self, world: World, tenant: str) -> int:
        """How many leaf cells a virtual cluster can have besides those that it has."""
        return self.case.quotas[tenant] - sum(self._has(world, x, tenant) for x in range(self.case.cells))

    def demotable_gangs(self, world: World, gang: int, cells: tuple[int, ...]) -> tuple[int, ...]:
        """Who would rather be demoted than lose one of these leaf cells to a gang of its virtual cluster."""
        users = {self.user(world, x) for x in cells if world.states[self.first + x] == "Used"}
        tenant = self.case.gangs[gang].tenant
        found = [x for x in users if x is not None and self.guaranteed(world, x)]
        return tuple(sorted(x for x in found if self.case.gangs[x].lazy and self.case.gangs[x].tenant == tenant))

    # What comes of a step

    def _schedule(self, world: World, step: EventStep, gang: int, cells: tuple[int, ...]) -> Iterator[Doing]:
        own = self.case.gangs[gang]
        demoted: tuple[int, ...] = ()
        if own.priority >= 0:
            others = [x for x in cells if self.guaranteed(world, self.holder(world, x))]
            if not all(self._has(world, x, own.tenant) for x in others):
                yield Refusal(Policy.TENANT, gang, cells)
                return
            if len(cells) - len(others) > self.spare(world, own.tenant):
                yield Refusal(Policy.QUOTA, gang, cells)
                return
            demoted = self.demotable_gangs(world, gang, cells)
        if demoted:
            yield Refusal(Policy.LAZY, gang, cells, ask=False)
        users = {self.user(world, x) for x in cells} - {None}
        yield self._move(demoted, step, cells, tuple(f"g{x}" for x in sorted(users)))  # type: ignore[type-var]

    def _move(
        self, demoted: tuple[int, ...], step: EventStep, offered: tuple[int, ...], victims: tuple[str, ...] = ()
    ) -> Move:
        first = tuple(EventStep(x, "demote") for x in demoted)
        return Move("schedule", step.instance, (*first, step), offered, victims)

    def _demote(self, world: World, victim: int) -> Doing:
        """A gang is demoted for one that then takes leaf cells that nobody has."""
        tenant, size = self.case.gangs[victim].tenant, self.case.gangs[victim].size
        free = [x for x in range(self.case.cells) if world.states[self.first + x] == "Free"]
        its = tuple(x for x in range(self.case.cells) if self.user(world, x) == victim)
        if self.case.gangs[victim].lazy and self.guaranteed(world, victim):
            for gang, own in enumerate(self.case.gangs):
                lacking = own.size - self.spare(world, tenant)
                stronger = own.tenant == tenant and own.priority > self.case.gangs[victim].priority
                if world.states[gang] == "Pending" and stronger and 0 < lacking <= size:
                    for choice in combinations(free, own.size):
                        step = EventStep(gang, "schedule", (frozenset(x + self.first for x in choice),))
                        return self._move((victim,), step, (*choice, *its))
        return Refusal(Policy.NOBODY, victim, ask=False)

    def restart(self, world: World) -> tuple[Step, ...]:
        """All demoted gangs have their guarantee back, as far as there is room; the strongest come first."""
        room = dict(self.case.quotas)
        demoted: list[Step] = []
        bound = [x for x, own in enumerate(self.case.gangs) if world.states[x] in ("Allocated", "BeingPreempted")]
        for gang in sorted(bound, key=lambda x: (-self.case.gangs[x].priority, f"g{x}")):
            own = self.case.gangs[gang]
            if own.priority < 0:
                continue
            if own.size <= room[own.tenant]:
                room[own.tenant] -= own.size
            else:
                demoted.append(EventStep(gang, "demote"))
        return (CrashStep(), *demoted)
