"""What the fairness of a property asks, of which instances.

A name is an event's, an `action.outcome` or a label of transitions, alone or behind a machine's name. Every instance
that knows it has an obligation of its own, or one for each value of the parameters behind `for each`. Of each queue of
a channel, every message that it can carry has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod

from fsmdsl import model as m
from fsmdsl.runs.liveness.graph import BITS
from fsmdsl.runs.liveness.plan import Crashes, Delivery, FairnessConstraint, MessageWaits, Obligation, UncheckedError
from fsmdsl.step import Message, Universe, Value
from fsmdsl.step.evaluate import cardinality, domains
from fsmdsl.step.universe import trigger_name


class FairnessConstraints:
    """The obligations of a system's properties, each once."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.obligations: list[FairnessConstraint] = []

    def of(self, p: m.Property) -> tuple[int, int, int, tuple[str, ...]]:
        """What a property relies on, as bits: the weak ones, the strong ones, and what happens finitely often; and the
        names that no instance has."""
        weak = strong = 0
        unanswered: list[str] = []
        for fairness in p.under:
            promised = [(name, *self._bits(name, fairness.each)) for name in fairness.names]
            promised += [(f"deliver {words(d)}", *self._delivered(d)) for d in fairness.deliveries]
            for name, bits, is_known in promised:
                if not is_known:
                    unanswered.append(name)
                if fairness.strength == "weak":
                    weak |= bits
                else:
                    strong |= bits
        finite = 1 << self._number(Crashes()) if p.finite else 0
        return weak & ~strong, strong, finite, tuple(unanswered)

    def _bits(self, name: str, each: Sequence[str]) -> tuple[int, bool]:
        """The obligations under a name, and whether some instance knows it at all."""
        bits, is_known = 0, False
        for instance, machine in enumerate(self.universe.machines):
            names = _aliases(machine, name)
            is_known = is_known or bool(names & _names(machine))
            followed = [t for t in machine.transitions if {*t.labels, trigger_name(t.trigger)} & names]
            ignored = {i.event for i in machine.ignores if i.event in names}
            events = dict.fromkeys([*(trigger_name(t.trigger) for t in followed), *sorted(ignored)])
            parameters = {e: _parameters(machine, e, each) for e in events}
            for kind in dict.fromkeys(parameters.values()):
                follows = frozenset(t.index for t in followed if parameters[trigger_name(t.trigger)] == kind)
                ignores = frozenset(e for e in ignored if parameters[e] == kind)
                for arguments in self._values(name, kind):
                    bits |= 1 << self._number(Obligation(instance, name, follows, ignores, arguments))
        return bits, is_known

    def _values(self, name: str, parameters: Sequence[m.Variable]) -> Iterator[tuple[tuple[m.Variable, Value], ...]]:
        """All values that they can have together."""
        types = [p.type for p in parameters]
        if prod(cardinality(t, self.universe) for t in types) > BITS:
            raise UncheckedError(f"`{name}` has more than {BITS} values to be fair to, behind `for each`")
        for values in domains(types, self.universe):
            yield tuple(zip(parameters, values, strict=True))

    def _delivered(self, d: m.Delivery) -> tuple[int, bool]:
        """The obligations for the messages of a channel, and whether it leads to an instance of the system."""
        queues = [n for n, x in enumerate(self.universe.queues) if x.channel.qualified == d.channel]
        receiver = self.universe.model.machines[self.universe.model.channels[d.channel].receiver]
        events = [e for e in receiver.events if d.event in (None, e.name) and _carries(d.channel, e)]
        messages = sum(prod(cardinality(p.type, self.universe) for p in e.parameters) for e in events)
        if messages * len(queues) > BITS // 2:
            raise UncheckedError(f"`{d.channel}` carries more than {BITS // 2} messages that fairness would refer to")
        bits = 0
        for event in events:
            for arguments in domains((p.type for p in event.parameters), self.universe):
                for n in queues:
                    bits |= 1 << self._pair(Delivery(n, Message(event.name, arguments)))
        return bits, bool(events and queues)

    def _pair(self, o: Delivery) -> int:
        """The number of a delivery; that behind it is of the message that waits."""
        number = self._number(o)
        self._number(MessageWaits(o.queue, o.message))
        return number

    def any_move(self, instance: int, transitions: frozenset[int]) -> int:
        """The number of what an instance fulfils with any of these transitions."""
        return self._number(Obligation(instance, "", transitions, frozenset()))

    def note_crashes(self) -> None:
        """Which steps are crashes is asked, too, if there is a bit left for it."""
        with suppress(UncheckedError):
            self._number(Crashes())

    def _number(self, o: FairnessConstraint) -> int:
        if o not in self.obligations:
            if len(self.obligations) == BITS:
                what = "one for each instance, name and value behind `for each`, two for each message"
                raise UncheckedError(f"fairness has more than {BITS} obligations here, {what}")
            self.obligations.append(o)
        return self.obligations.index(o)


def _parameters(machine: m.Machine, trigger: str | None, names: Sequence[str]) -> tuple[m.Variable, ...]:
    """The parameters of an event that have these names."""
    event = machine.event_named.get(trigger or "")
    return () if event is None else tuple(p for p in event.parameters if p.name in names)


def _carries(channel: str, event: m.Event) -> bool:
    return not event.senders or channel in event.senders


def words(d: m.Delivery) -> str:
    """What the author calls the messages."""
    return d.span.quote or d.channel


def _aliases(machine: m.Machine, name: str) -> frozenset[str | None]:
    """The name, and what is behind the machine's own name in it."""
    fronts = (f"{x}." for x in (machine.name, machine.qualified))
    return frozenset({name, *(name.removeprefix(x) for x in fronts if name.startswith(x))})


def _names(machine: m.Machine) -> set[str]:
    """All that fairness can name in a machine."""
    outcomes = {f"{a.name}.{o}" for a in machine.actions for o in a.outcomes}
    return {*(e.name for e in machine.events), *(x for t in machine.transitions for x in t.labels), *outcomes}
