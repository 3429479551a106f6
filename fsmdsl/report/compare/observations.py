"""What is looked at when two versions run side by side: what steps are called, and what worlds have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.report.compare.source_text import Names
from fsmdsl.step import ChannelStep, CrashStep, Message, Step, TimerStep, Universe, World
from fsmdsl.step.describe import value_text

Version = Literal["old", "new"]


@dataclass(frozen=True, slots=True)
class Other:
    """Something of a world that is not the same in both versions."""

    what: str
    old: str
    new: str

    def describe(self, version: Version) -> str:
        """The difference, as a reader of that version's run sees it."""
        here, there = (self.old, self.new) if version == "old" else (self.new, self.old)
        return f"{self.what} `{there}` there, not `{here}`"


class Observed:
    """Two versions of a system, with the same instances in the same order."""

    def __init__(self, old: Universe, new: Universe, states: Mapping[str, Names]) -> None:
        self.old, self.new = old, new
        self.names = tuple(states.get(x.qualified, {}) for x in old.machines)
        self.fields = tuple(_common(a, b) for a, b in zip(old.machines, new.machines, strict=True))
        number_of = {(x.channel.qualified, *x[1:]): n for n, x in enumerate(new.queues)}
        same = ((n, number_of.get((x.channel.qualified, *x[1:]))) for n, x in enumerate(old.queues))
        self.queues = tuple((p, q) for p, q in same if q is not None)

    def label(self, step: Step, after: World, version: Version) -> Any:
        """What both versions call a step. Instances have the same numbers in both, queues and transitions do not: a
        timer goes by what can be seen of the world after it."""
        match step:
            case TimerStep(instance):
                return "timer", instance, self.view(after, version)
            case ChannelStep(kind, queue, position):
                channel, *ends = (self.old if version == "old" else self.new).queues[queue]
                return kind, channel.qualified, *ends, position
            case CrashStep(inside, writes) if inside is not None:
                return "crash", self.label(inside, after, version), writes
            case _:
                return step

    def view(self, world: World, version: Version) -> Any:
        """All of a world that is looked at: the same value for worlds without `differences`."""
        old = version == "old"
        states = world.states
        if old:
            states = tuple(self.names[n].get(state, state) for n, state in enumerate(states))
        fields = tuple(world.fields[n][p if old else q] for n, places in enumerate(self.fields) for p, q in places)
        channels = tuple(world.channels[p if old else q] for p, q in self.queues)
        return states, fields, channels, world.pending, world.down

    def differences(self, a: World, b: World) -> list[Other]:
        """Of a world of the old version and one of the new, in what both have."""
        differences = [*self._states(a, b), *self._fields(a, b), *self._messages(a, b)]
        if a.pending != b.pending:
            differences.append(
                Other("the answers awaited are", *(_awaited(u, w) for u, w in ((self.old, a), (self.new, b))))
            )
        if a.down != b.down:
            differences.append(Other("the system is", *("down" if w.down else "up" for w in (a, b))))
        return differences

    def _states(self, a: World, b: World) -> Iterator[Other]:
        for n, (old, new) in enumerate(zip(a.states, b.states, strict=True)):
            if self.names[n].get(old, old) != new:
                yield Other(f"{self.new.name(n)} is in", old, new)

    def _fields(self, a: World, b: World) -> Iterator[Other]:
        for n, places in enumerate(self.fields):
            for p, q in places:
                old, new = a.fields[n][p], b.fields[n][q]
                if old != new:
                    f, g = self.old.machines[n].fields[p], self.new.machines[n].fields[q]
                    texts = value_text(self.old, f.type, old), value_text(self.new, g.type, new)
                    yield Other(f"{self.new.name(n)}.{f.name} is", *texts)

    def _messages(self, a: World, b: World) -> Iterator[Other]:
        for p, q in self.queues:
            if a.channels[p] != b.channels[q]:
                contents = _contents(a.channels[p]), _contents(b.channels[q])
                yield Other(f"channel {self.new.queue_name(q)} holds", *contents)


def _common(old: m.Machine, new: m.Machine) -> tuple[tuple[int, int], ...]:
    """The places of the fields that both have, by name."""
    places = {f.name: n for n, f in enumerate(new.fields)}
    return tuple((n, places[f.name]) for n, f in enumerate(old.fields) if f.name in places)


def _contents(messages: tuple[Message, ...]) -> str:
    return ", ".join(x.event for x in messages) or "nothing"


def _awaited(universe: Universe, world: World) -> str:
    return ", ".join(f"{universe.name(p.instance)}.{p.action}" for p in world.pending) or "none"
