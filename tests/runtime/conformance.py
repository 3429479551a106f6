"""Every step that the model allows, made by the real allocator, and what both are afterwards.

`python tests/runtime/conformance.py --states 100000` compares at least so many different states.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter, deque
from collections.abc import Collection
from dataclasses import dataclass, field
from multiprocessing import Pool

from conformance_cases import Case, GangCase, Picture, Row, picture, rows, settled
from conformance_moves import Doing, Move, Moves, Policy, Refusal
from conformance_rig import Rig
from invariants import check

from fsmdsl.step import Result, Step, World, enabled, fire, initial


@dataclass(slots=True)
class Compared:
    """What was compared."""

    states: int = 0
    calls: int = 0
    """Of the allocator, each of which made one step of the model or several."""
    refused: Counter[Policy] = field(default_factory=Counter)
    followed: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    """Transitions: machine, label, from where, to where."""

    def add(self, other: Compared) -> None:
        """Both together."""
        self.states += other.states
        self.calls += other.calls
        self.refused += other.refused
        self.followed += other.followed


class Walk:
    """Goes through all that model and allocator have in common, each call from each state once.

    One allocator goes as far as there is something new to do; then another one begins where there still is, built as
    from a journal. `books` says after how many new states all books of the allocator are counted anew.
    """

    def __init__(self, case: Case, books: int) -> None:
        self.case = case
        self.universe = case.universe
        self.moves = Moves(case)
        self.books = books
        self.compared = Compared()
        self._open: deque[World] = deque()
        """Where there may be something to do; those first that were found first, from which the ways are longest."""
        self._left: dict[World, list[Doing]] = {}
        """What is still to be done, by world."""
        self._pictures: dict[World, Picture] = {}
        self._rig = Rig(case)

    @property
    def pictures(self) -> Collection[Picture]:
        """All states that both have."""
        return self._pictures.values()

    def run(self) -> Compared:
        """Everything."""
        world = self._reach(settled(self.universe, initial(self.universe)))
        self._agree(world)
        while True:
            world = self._on(world)
            while self._open and not self._left[self._open[0]]:
                self._open.popleft()
            if not self._open:
                return self.compared
            world = self._open.popleft()
            self._rig.become(self._pictures[world])
            self._agree(world)

    def _on(self, world: World) -> World:
        """As far as there is something to do."""
        while self._left[world]:
            doing = self._left[world].pop()
            try:
                after = self._do(world, doing)
            except BaseException as error:
                error.add_note(f"{self.case.name}: {doing}\nin {self._pictures[world]}")
                raise
            if self._left[world]:
                self._open.append(world)
            world = after
        return world

    def _do(self, world: World, doing: Doing) -> World:
        match doing:
            case Refusal(policy, gang, offered, ask):
                self.compared.refused[policy] += 1
                if ask:
                    self._rig.followed.clear()
                    self._rig.refuse(gang, offered)
                    self._agree(world)
                return world
            case Move():
                return self._move(world, doing)

    def _move(self, world: World, move: Move) -> World:
        expected: list[list[Row]] = []
        for step in move.steps:
            result = fire(self.universe, world, step)
            assert result.fault is None, result.fault
            self._count(step, result)
            world = result.world
            expected.append(rows(self.universe, result.cascade))
        world = settled(self.universe, world)
        self._rig.followed.clear()
        self._call(move)
        self.compared.calls += 1
        new = world not in self._left
        self._agree(self._reach(world))
        if move.does != "restart":
            demotions = len(expected) - 1
            assert sorted(self._rig.followed[:demotions]) == sorted(expected[:demotions])
            assert self._rig.followed[demotions:] == expected[demotions:]
        if new and self.compared.states % self.books == 0:
            check(self._rig.allocator)
        return world

    def _count(self, step: Step, result: Result) -> None:
        for who, label, source, target in rows(self.universe, result.cascade):
            machine = "AffinityGroup" if who.startswith("g") else "Cell"
            self.compared.followed[machine, label, source, target] += 1

    def _call(self, move: Move) -> None:
        rig = self._rig
        match move.does:
            case "schedule":
                rig.schedule(move.gang, move.offered, move.victims)
            case "proceed":
                rig.proceed(move.gang)
            case "end":
                rig.end(move.gang)
            case "call_off":
                rig.call_off(move.gang)
            case _:
                rig.restart()

    def _agree(self, world: World) -> None:
        """Each gang's and leaf cell's state, user, reserver and priority."""
        there, here = self._pictures[world], self._rig.picture()
        assert here == there, f"the allocator has {here}, the model {there}"

    def _reach(self, world: World) -> World:
        if world not in self._left:
            self.compared.states += 1
            self._pictures[world] = picture(self.universe, world)
            doings = [doing for step in enabled(self.universe, world) for doing in self.moves.of(world, step)]
            self._left[world] = doings[::-1]
        return world


# What is compared -----------------------------------------------------------------------------------------------------


def gangs(
    *priorities: int, sizes: tuple[int, ...] = (1,), tenants: str = "A", lazy: tuple[int, ...] = ()
) -> list[GangCase]:
    """Gangs with these priorities; sizes and virtual clusters in turn."""
    return [
        GangCase(sizes[i % len(sizes)], priority, tenants[i % len(tenants)], i in lazy)
        for i, priority in enumerate(priorities)
    ]


def case(name: str, of: list[GangCase], cells: int, states: int, **quotas: int) -> Case:
    """A virtual cluster that is not named does not exist."""
    return Case(name, tuple(of), cells, quotas, states)


SMALL = (
    case("taken over", gangs(0, 1, 2, sizes=(2,)), 4, 416, A=4),
    case("victims of two", gangs(0, 1, 2, 3, sizes=(3, 1, 1, 1)), 3, 567, A=3),
    case("equals", gangs(0, 0, 1, 1, sizes=(1, 2)), 3, 457, A=3),
    case("opportunistic", gangs(-1, -1, 0, 1, sizes=(1, 2)), 3, 523, A=3),
    case("two virtual clusters", gangs(0, 1, 2, -1, tenants="AB"), 3, 520, A=1, B=2),
    case("demoted", gangs(0, 1, 2, sizes=(1, 2, 2), lazy=(0, 1)), 3, 179, A=2),
    case("demoted for others", gangs(0, 1, -1, 2, lazy=(0, 1)), 3, 871, A=1),
)
"""A few seconds."""

LARGE = (
    case(
        "two virtual clusters, six",
        gangs(0, 1, 2, 3, -1, 4, sizes=(1, 2, 1, 1, 1, 1), tenants="ABABAA"),
        4,
        27824,
        A=2,
        B=2,
    ),
    case("six gangs", gangs(0, 1, 2, 3, 4, 5), 3, 19495, A=3),
    case("six equals", gangs(0, 0, 1, 1, 2, 2), 3, 15382, A=3),
    case("five, two of them demoted", gangs(0, 1, -1, 2, 3, sizes=(1, 2, 1, 1, 2), lazy=(0, 1)), 4, 14360, A=3),
    case("five on four", gangs(0, 1, 2, 3, 4, sizes=(1, 2)), 4, 11096, A=4),
    case("all of it", gangs(0, 1, 2, 3, 3, sizes=(1, 1, 2, 2, 1), tenants="ABAAB", lazy=(0, 2)), 4, 8920, A=2, B=1),
    case("six, half opportunistic", gangs(-1, -1, -1, 0, 1, 2, sizes=(1, 2, 1, 1, 2, 1)), 3, 8038, A=3),
    case("six of two sizes", gangs(0, 1, 2, 3, 4, 5, sizes=(1, 2)), 3, 7996, A=3),
)
"""With the small ones, over 100,000 states."""


def compare(of: Case) -> Compared:
    """In a process of its own."""
    compared = Walk(of, books=50).run()
    assert compared.states == of.states, f"{of.name}: {compared.states} states"
    return compared


def main() -> None:
    """Prints what was compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    chosen: list[Case] = []
    for of in (*SMALL, *LARGE):
        if sum(x.states for x in chosen) < arguments.states:
            chosen.append(of)
    begun, whole = time.perf_counter(), Compared()
    with Pool(arguments.workers) as pool:
        for of, compared in zip(chosen, pool.imap(compare, chosen), strict=True):
            whole.add(compared)
            print(f"{of.name}: {compared.states:,} states, {compared.calls:,} calls, all alike", flush=True)
    print(f"{whole.states:,} states, {whole.calls:,} calls in {time.perf_counter() - begun:.0f} s")
    print(f"{len(whole.followed)} kinds of transitions, {sum(whole.followed.values()):,} followed")
    for policy, count in whole.refused.items():
        print(f"{count:,} times the model allows more: {policy.value}")


if __name__ == "__main__":
    main()
