"""What the definition of the language says of states that a packed search has found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsmdsl.explore.search_result import Finding, Question, explained, fault_key
from fsmdsl.step import FaultError, enabled, fire, stuck
from fsmdsl.step.evaluate import Frame, truth
from fsmdsl.step.world import Followed

if TYPE_CHECKING:
    from fsmdsl.explore.packed.search import PackedSearch


def go_on(search: PackedSearch, at: int) -> None:
    """Take the steps from a state one by one, as far as they lead to states that there are."""
    universe = search.universe
    world = search.trace(Finding(at)).end
    steps = enabled(universe, world, search.guards_seen)
    if search.deadlock is None and stuck(universe, world, steps):
        search.deadlock = Finding(at)
    for step in steps:
        result = fire(universe, world, step, search.guards_seen)
        search.transitions += 1
        followed = (h for h in result.cascade if isinstance(h, Followed))
        search.followed.update((universe.system.instances[h.instance].machine, h.transition) for h in followed)
        if result.fault is not None:
            search.faults.setdefault(fault_key(result.fault), Finding(at, step, result.fault))
        elif search.number(result.world) is None:
            break


def told_why(search: PackedSearch, asked: Sequence[Question], finding: Finding) -> tuple[str, ...]:
    """For the first instance whose invariant is broken."""
    world = search.trace(finding).end
    for q in asked:
        frame = Frame(search.universe, world, q.instance)
        try:
            broken = not truth(frame, q.asked.condition)
        except FaultError:
            broken = True
        if broken:
            return explained(frame, q)
    raise ValueError(f"`{asked[0].name}` holds in the state that is said to break it")
