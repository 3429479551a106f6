"""What exploration and scenarios have reached of a machine, what a log shows of it, and how often: for tables and for
overlays on diagrams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.draw.graph import Graph, Mark, Overlay
from fsmdsl.draw.text import safe
from fsmdsl.report.counts import Counts
from fsmdsl.search import Exploration, Limits, Means, Played, Tally, explore, play
from fsmdsl.step import Followed
from fsmdsl.text.budget import Budget, LimitError

ALL_STATES = Limits(after_violation=None)
"""A picture that says what is never reached needs all states, whatever is violated in some."""


@dataclass(frozen=True)
class Reach:
    """How often each state was inhabited and each transition (by index) followed; what is missing was not counted."""

    states: Mapping[str, int]
    transitions: Mapping[int, int]
    exact: bool
    """If not, counts are of a part of the states."""
    where: tuple[str, ...]
    """Systems or scenarios that have the machine, or the log."""
    certain: bool = True
    """Does 0 mean never? Not where a limit ended an exploration, or states are beyond its bounds."""

    def text(self, count: int) -> str:
        """`0`, `12`, or where there may be more `12+`."""
        return f"{count:,}{'' if self.exact or (self.certain and not count) else '+'}"

    def of(self, transitions: Iterable[int]) -> int | None:
        """How often these were followed together; None where none of them was counted."""
        counts = [self.transitions[t] for t in transitions if t in self.transitions]
        return sum(counts) if counts else None


# What was explored ---------------------------------------------------------------------------------------------------


def explored(machine: m.Machine, explorations: Iterable[Exploration]) -> Reach:
    """What exploring systems has reached of a machine. Of a search that a limit stopped, what it reached counts."""
    states: Counter[str] = Counter({s.name: 0 for s in machine.states})
    transitions: Counter[int] = Counter({t.index: 0 for t in machine.transitions})
    where: list[str] = []
    exact = certain = True
    for x in explorations:
        instances = [i for i in x.system.instances if i.machine == machine.qualified]
        if not instances:
            continue
        where.append(x.system.qualified)
        exact &= x.tally is not None
        certain &= x.exhaustive
        tally = x.tally or Tally()
        unfollowed = set(x.coverage.unfollowed)
        followed = [t for t in machine.transitions if (machine.qualified, t.index) not in unfollowed]
        for t in followed:
            transitions[t.index] += max(tally.followed[machine.qualified, t.index], 1)
        begun = {i.state for i in instances if not i.states}
        surely = {s for x in begun for s in machine.ancestors(x)} | set(_entered(machine, followed))
        for s in machine.states:
            states[s.name] += max(tally.inhabited[machine.qualified, s.name], s.name in surely)
    return Reach(states, transitions, exact and certain, tuple(where), certain)


def _entered(machine: m.Machine, followed: Iterable[m.Transition]) -> Iterator[str]:
    for t in followed:
        if t.target is not None:
            yield from machine.ancestors(machine.entered(t.target))


# What scenarios cover ------------------------------------------------------------------------------------------------


def covered(machine: m.Machine, played: Iterable[Played]) -> Reach:
    """What scenarios pass through, as far as they came."""
    states: Counter[str] = Counter({s.name: 0 for s in machine.states})
    transitions: Counter[int] = Counter({t.index: 0 for t in machine.transitions})
    where = []
    for x in played:
        roster = x.trace.roster
        own = {n for n, y in enumerate(roster.machines) if y.qualified == machine.qualified}
        if not own:
            continue
        where.append(x.scenario.qualified)
        worlds = [x.trace.start, *(e.world for e in x.trace.entries if e.fault is None)]
        for world in worlds:
            states.update({s for n in own for s in machine.ancestors(world.states[n])})
        for e in x.trace.entries:
            if e.fault is None:
                followed = (h for h in e.cascade if isinstance(h, Followed) and h.instance in own)
                transitions.update(h.transition for h in followed)
    return Reach(states, transitions, True, tuple(where))


# What a log shows ----------------------------------------------------------------------------------------------------


def logged(machine: m.Machine, counts: Counts) -> Reach:
    """What a log shows: rows alone."""
    rows = counts.get(machine.qualified)
    return Reach({}, {}, True, ()) if rows is None else Reach({}, rows, True, ("the log",))


# On diagrams ---------------------------------------------------------------------------------------------------------


def reached(model: m.Model, machines: Iterable[m.Machine], by: str, budget: Budget) -> dict[str, Overlay]:
    """The marks of machines, by qualified name: `by` is `explored` (all systems are explored for it) or `scenarios`.
    Raises `LimitError` where `budget`, which the caller has entered, ends first: of a part, nothing can be said to be
    reached never."""
    if by == "scenarios":
        played = [play(model, x) for module in model.modules for x in module.scenarios]
        return {x.qualified: overlay(covered(x, played)) for x in machines}
    explorations = []
    for x in model.systems.values():
        explorations.append(explore(model, x, ALL_STATES, means=Means(counted=True), budget=budget))
        if budget.reached is not None:
            raise LimitError(budget.reached)
    return {x.qualified: overlay(explored(x, explorations)) for x in machines}


def overlay(reach: Reach) -> Overlay:
    """The marks for a picture that shows one thing, as `fsm draw --overlay` does."""
    return Overlay(
        {s: Mark("seen", f"{reach.text(n)}×") if n else Mark("unseen", "not reached") for s, n in reach.states.items()},
        {t: Mark("seen" if n else "unseen") for t, n in reach.transitions.items()},
    )


def on_diagram(machine: m.Machine, graph: Graph, reach: Reach, prefix: str) -> dict[str, int]:
    """How often what each element of a drawn graph stands for has happened, by the element's id; for a page that
    switches between overlays."""
    counts: dict[str, int | None] = {}
    by_id = {_state_id(prefix, s): n for s, n in reach.states.items()}
    for node in graph.every():
        if node.id in by_id:
            counts[node.id] = by_id[node.id]
        for label in node.inside:
            counts[label.id] = reach.of(label.transitions)
    for edge in graph.edges:
        counts[edge.id] = reach.of(edge.transitions)
        for label in edge.labels:
            counts[label.id] = reach.of(label.transitions)
    return {name: n for name, n in counts.items() if n is not None}


def _state_id(prefix: str, state: str) -> str:
    return f"{prefix}state-{safe(state)}"
