"""A graph, written down while a system is explored step by step."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core.triggers import trigger_name
from fsmdsl.runs.liveness.graph import BITS, Graph
from fsmdsl.runs.liveness.plan import Crashes, Delivery, MessageWaits, Obligation, Plan
from fsmdsl.step import ChannelStep, CrashStep, Message, Step, Value, World
from fsmdsl.step.world import Crashed, Followed, Ignored, TraceEvent


class Marks:
    """Which obligations of a plan a step fulfils, by what has happened in it."""

    def __init__(self, plan: Plan) -> None:
        self._channels = [x.channel for x in plan.universe.queues]
        self._followed: dict[tuple[int, int], list[_Match]] = {}
        self._ignored: dict[tuple[int, str], list[_Match]] = {}
        self._delivered: dict[tuple[int, Message], int] = {}
        self._waiting: dict[tuple[int, Message], int] = {}
        self._crash = 0
        for n, o in enumerate(plan.obligations):
            match o:
                case Delivery(queue, message):
                    self._delivered[queue, message] = 1 << n
                case MessageWaits(queue, message):
                    self._waiting[queue, message] = 1 << n
                case Crashes():
                    self._crash = 1 << n
                case Obligation():
                    machine = plan.universe.machines[o.instance]
                    for t in o.transitions:
                        places = o.places(machine, trigger_name(machine.transitions[t].trigger))
                        self._followed.setdefault((o.instance, t), []).append((places, 1 << n))
                    for name in o.ignored:
                        self._ignored.setdefault((o.instance, name), []).append((o.places(machine, name), 1 << n))
                case _:
                    assert_never(o)

    def of(self, world: World, step: Step, cascade: Sequence[TraceEvent]) -> int:
        """As bits: of a step from a world. What a crash has cut short does not count."""
        bits = 0
        if isinstance(step, ChannelStep) and step.kind == "deliver":
            messages, channel = world.channels[step.queue], self._channels[step.queue]
            message = messages[step.position]
            bits |= self._delivered.get((step.queue, message), 0)
            for x in {message} if channel.chooses else messages:
                bits |= self._waiting.get((step.queue, x), 0)
        for happening in cascade:
            match happening:
                case Followed(instance, transition, arguments=arguments):
                    bits |= _bits(self._followed.get((instance, transition), ()), arguments)
                case Ignored(instance, event, arguments):
                    bits |= _bits(self._ignored.get((instance, event), ()), arguments)
                case Crashed():
                    bits = 0
                case _:
                    pass
        return bits | self._crash if isinstance(step, CrashStep) else bits


_Match = tuple[list[tuple[int, m.Type, Value]], int]
"""Where which arguments have to be, and the bit of what is fulfilled then."""


def _bits(matches: Iterable[_Match], arguments: tuple[Value, ...]) -> int:
    """What is fulfilled with these arguments."""
    bits = 0
    for places, bit in matches:
        bits |= bit if all(arguments[n] == x for n, _, x in places) else 0
    return bits


def atoms(plan: Plan, world: World) -> list[int]:
    """Which atoms of a plan are true in a world, as bits, in columns of at most `BITS`."""
    columns = (plan.atoms[at : at + BITS] for at in range(0, len(plan.atoms), BITS))
    return [sum(1 << n for n, a in enumerate(column) if a.true(plan.universe, world)) for column in columns]


class Recorder:
    """Call `state` for each world that is found, in that order; then, for each in the same order, `edge` for each step
    that leads on, and `expanded`."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.marks_of = Marks(plan)
        self._columns = [array("q") for _ in range(0, len(plan.atoms), BITS)]
        self._states = 0
        self._offsets = array("q", [0])
        self._targets = array("q")
        self._marks = array("q")

    def state(self, world: World) -> None:
        """A world is found: note its atoms."""
        self._states += 1
        for values, value in zip(self._columns, atoms(self.plan, world), strict=True):
            values.append(value)

    def edge(self, target: int, world: World, step: Step, cascade: Sequence[TraceEvent]) -> None:
        """A step leads from the state at hand, a world, to another, by its number."""
        self._targets.append(target)
        self._marks.append(self.marks_of.of(world, step, cascade))

    def expanded(self) -> None:
        """All steps from the state at hand are recorded; the next state is at hand."""
        self._offsets.append(len(self._targets))

    def cut(self, most: int) -> int:
        """Forget all but the first states, and those that are not noted whole: how many are left, at most so many."""
        count = min([most, self._states, *map(len, self._columns)])
        self._states = count
        for column in self._columns:
            del column[count:]
        end = self._offsets[-1]
        del self._targets[end:], self._marks[end:]
        return count

    def graph(self, firsts: int) -> Graph:
        """What is known so far, with so many states that a run begins in. The edges of a state that is not expanded are
        left out."""
        done = len(self._offsets) - 1
        end = self._offsets[-1]
        offsets = self._offsets + array("q", [end] * (self._states - done))
        return Graph(
            offsets,
            self._targets[:end],
            self._marks[:end],
            tuple(self._columns),
            None if done == self._states else done,
            firsts,
        )
