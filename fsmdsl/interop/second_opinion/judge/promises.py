"""What fairness promises, as bits of a graph's arrows and states.

There is a promise for each instance and name, for each value behind `for each`, and for each message of a queue. It
exists only if some step of the graph fulfils it: what no step does is possible nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.second_opinion.judge.fair_runs import Edge
from fsmdsl.interop.second_opinion.judge.state_graph import Arrow, Delivered, Event, StateGraph
from fsmdsl.step import Followed, Ignored, Message, Universe
from fsmdsl.step.universe import trigger_name


@dataclass(frozen=True, slots=True)
class Steps:
    """The edges of each state, for a whole run (`stem`) and for the part that is repeated (`loop`); the promises that
    are possible in each state, and those that are made."""

    stem: list[frozenset[Edge]]
    loop: list[frozenset[Edge]]
    possible: list[int]
    weak: int
    strong: int


class Promises:
    """The promises of one property."""

    def __init__(self, graph: StateGraph, p: m.Property, *, stutters: bool) -> None:
        self.graph, self.property, self.stutters = graph, p, stutters
        self._bits: dict[object, int] = {}
        self.strength = {"weak": 0, "strong": 0}
        self._events = list(graph.events)
        self._fulfils = [self._of(x) for x in self._events]

    def _of(self, x: Event) -> int:
        """The promises that an event fulfils, as bits."""
        bits = 0
        for fairness in self.property.under:
            for promise in _promises(self.graph.universe, fairness, x):
                bit = 1 << self._bits.setdefault(promise, len(self._bits))
                self.strength[fairness.strength] |= bit
                bits |= bit
        return bits

    def fulfils(self, arrow: Arrow) -> int:
        """The promises that a step fulfils, as bits."""
        bits = 0
        for n in arrow.events:
            bits |= self._fulfils[n]
        return bits

    def steps(self) -> Steps:
        """In runs with finitely many crashes, the part that is repeated has none."""
        calm = [[a for a in arrows if self.may_repeat(a)] for arrows in self.graph.arrows]
        possible = [self._possible(n, arrows) for n, arrows in enumerate(calm)]
        stem = self._edges(self.graph.arrows)
        loop = self._edges(calm) if self.property.finite else stem
        return Steps(stem, loop, possible, self.strength["weak"], self.strength["strong"])

    def _edges(self, states: Sequence[Collection[Arrow]]) -> list[frozenset[Edge]]:
        edges = [frozenset((a.target, self.fulfils(a)) for a in arrows) for arrows in states]
        return [x | {(n, 0)} if self.may_stay(n, bool(x)) else x for n, x in enumerate(edges)]

    def may_repeat(self, arrow: Arrow) -> bool:
        """Can a run of the property take a step for ever?"""
        return not (self.property.finite and arrow.crash)

    def may_stay(self, state: int, leaves: bool) -> bool:
        """May a run stay in a state for ever? If nothing `leaves` it, or if the run may stutter. No run is followed
        beyond the bound."""
        return state not in self.graph.open and (self.stutters or not leaves)

    def _possible(self, state: int, arrows: list[Arrow]) -> int:
        bits = 0
        for arrow in arrows:
            bits |= self.fulfils(arrow)
        delivering = {x.queue for a in arrows for x in self._deliveries(a)}
        for key, number in self._bits.items():
            if not isinstance(key, Delivered) or self.graph.universe.queues[key.queue].channel.chooses:
                continue
            waits = key.message in self.graph.worlds[state].channels[key.queue]
            bits |= (waits and key.queue in delivering) << number
        return bits

    def _deliveries(self, arrow: Arrow) -> Iterator[Delivered]:
        return (x for x in map(self._events.__getitem__, arrow.events) if isinstance(x, Delivered))


def _promises(universe: Universe, fairness: m.Fairness, x: Event) -> Iterator[object]:
    """The promises of one `fair …` that an event fulfils."""
    match x:
        case Delivered(queue, Message(event, _)):
            channel = universe.queues[queue].channel.qualified
            if any(d.channel == channel and d.event in (None, event) for d in fairness.deliveries):
                yield x
        case Followed(instance, transition):
            t = universe.machines[instance].transitions[transition]
            trigger = trigger_name(t.trigger)
            yield from _by_name(universe, fairness, instance, {*t.labels, trigger}, trigger, x.arguments)
        case Ignored(instance, event):
            yield from _by_name(universe, fairness, instance, {event}, event, x.arguments)


def _by_name(
    universe: Universe, fairness: m.Fairness, instance: int, names: set[str | None], trigger: str | None,
    arguments: tuple[object, ...],
) -> Iterator[object]:  # fmt: skip
    machine = universe.machines[instance]
    event = machine.event_named.get(trigger or "")
    parameters = () if event is None else event.parameters
    values = [(p, x) for p, x in zip(parameters, arguments, strict=False) if p.name in fairness.each]
    for name in fairness.names:
        prefixes = (f"{machine.name}.", f"{machine.qualified}.")
        if {name, *(name.removeprefix(x) for x in prefixes if name.startswith(x))} & names:
            yield instance, name, tuple(values)
