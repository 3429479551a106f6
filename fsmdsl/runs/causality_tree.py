"""What a step causes as a tree: who sent what to whom, and which transition it led to there.

The happenings of a step stand in the order in which they came. An event is handled before its sender goes on, so the
order and the actors say what happened because of what.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, assert_never

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.step.describe import describe, done, shown_arguments
from fsmdsl.step.instances import Roster
from fsmdsl.step.world import (
    Assigned,
    ChannelStep,
    Crashed,
    CrashStep,
    EventStep,
    Followed,
    Ignored,
    OutcomeStep,
    Posted,
    RecoverStep,
    Requested,
    Sent,
    Step,
    TimerStep,
    TraceEvent,
    World,
)


@dataclass(slots=True)
class Node:
    """Something that happened, what it led to (`e2 Used → Reserving`, `ignored`), and what that caused."""

    what: str
    of: int | None = None
    """The instance at which it happened, or whose doing it was."""
    event: str = ""
    """What the instance got."""
    then: str = ""
    inside: list[Node] = field(default_factory=list)

    def data(self) -> dict[str, Any]:
        """As values that JSON knows."""
        return {"what": self.what, "then": self.then or None, "inside": [x.data() for x in self.inside]}

    def add(self, what: str, of: int | None = None, event: str = "") -> Node:
        """Something that it caused."""
        self.inside.append(Node(what, of, event))
        return self.inside[-1]


CUT_SHORT = " (cut short)"
"""Behind a transition whose change of state a crash has prevented."""


def cut_short(cascade: Sequence[TraceEvent], after: World) -> frozenset[int]:
    """The places of transitions that a crash within the step has cut short before their change of state. `after`: the
    world after the crash."""
    crash = next((n for n, happening in enumerate(cascade) if isinstance(happening, Crashed)), 0)
    at_crash = dict(enumerate(after.states))
    at_crash |= {x.instance: x.before for x in cascade[crash:] if isinstance(x, Followed)}
    last = {x.instance: (n, x) for n, x in enumerate(cascade[:crash]) if isinstance(x, Followed)}
    return frozenset(n for n, x in last.values() if x.after != at_crash[x.instance])


def caused(
    roster: Roster, step: Step, cascade: Iterable[TraceEvent], before: World, unfinished: Container[int] = ()
) -> Node:
    """A step with what happened in it. Assignments are left out, for they show in the world, and so is work for
    hand-written code that needs no answer. `unfinished`: see `cut_short`."""
    grower = _Grower(roster, step, before)
    for n, happening in enumerate(cascade):
        grower.take(happening, is_cut_short=n in unfinished)
    return grower.root


class _Grower:
    """The tree so far; `open` has the instances in the middle of a transition, each with its node."""

    def __init__(self, roster: Roster, step: Step, before: World) -> None:
        self.roster = roster
        self.root = of_step(roster, step, before)
        self.base = self.root
        if isinstance(step, CrashStep) and step.inside is not None and step.writes > 0:
            self.base = of_step(roster, step.inside, before)
            self.root.inside.append(self.base)
            step = step.inside
        self.open: list[tuple[int | None, Node]] = []
        self.handling: tuple[int, Node] | None = None
        """The instance that has just received something, and the node of that."""
        receiver = receiver_of(roster, step)
        if receiver is not None:
            self.handling = (receiver, self.base)

    def take(self, happening: TraceEvent, *, is_cut_short: bool) -> None:
        """The next happening."""
        match happening:
            case Followed(instance, index, before, after):
                node = self._handled(instance)
                node.then = _arrow(self.roster, instance, index, before, after) + CUT_SHORT * is_cut_short
                self.open.append((instance, node))
            case Ignored(instance, _):
                self._handled(instance).then = "ignored"
            case Sent(sender, receiver, event, arguments):
                parameters = self.roster.machines[receiver].event_named[event].parameters
                label = f"{self.roster.name(receiver)}.{event}{shown_arguments(self.roster, parameters, arguments)}"
                self.handling = (receiver, self._frame(sender).add(label, receiver, event))
            case Posted(sender):
                # Without the actor's name: it stands under what the actor is doing.
                self._frame(sender).add(done(self.roster, happening), sender)
            case Requested(instance, action):
                if self.roster.machines[instance].action_named[action].outcomes:
                    self._frame(instance).add(f"{done(self.roster, happening)}, and waits for the answer", instance)
            case Crashed():
                self.open.clear()
                self.base = self.root if self.base is self.root else self.root.add("crash")
            case Assigned():
                pass
            case _:
                assert_never(happening)

    def _handled(self, instance: int) -> Node:
        """Where the handling of what an instance has got stands; what nothing was sent for stands for itself."""
        if self.handling is not None and self.handling[0] == instance:
            node = self.handling[1]
        else:
            self.open.clear()
            node = self.base.add(self.roster.name(instance), instance)
        self.handling = None
        return node

    def _frame(self, instance: int | None) -> Node:
        """The transition that an instance is in the middle of; all begun since have ended."""
        while self.open and self.open[-1][0] != instance:
            self.open.pop()
        return self.open[-1][1] if self.open else self.base


def of_step(roster: Roster, step: Step, before: World) -> Node:
    """A step by itself."""
    of: int | None = None
    got = ""
    match step:
        case EventStep(of, got):
            pass
        case ChannelStep(_, queue, position):
            of, got = roster.queues[queue].receiver, before.channels[queue][position].event
        case OutcomeStep(of) | TimerStep(of):
            pass
        case CrashStep() | RecoverStep():
            pass
        case _:
            assert_never(step)
    return Node(describe(roster, step, before), of, got)


def receiver_of(roster: Roster, step: Step) -> int | None:
    """The instance at which a step happens, if it happens at one."""
    match step:
        case EventStep(instance) | OutcomeStep(instance) | TimerStep(instance):
            return instance
        case ChannelStep("deliver", queue):
            return roster.queues[queue].receiver
        case CrashStep(inside) if inside is not None:
            return receiver_of(roster, inside)
        case CrashStep(of=(instance,)):
            return instance
        case ChannelStep() | CrashStep() | RecoverStep():
            return None
        case _:
            assert_never(step)


def _arrow(roster: Roster, instance: int, index: int, before: str, after: str) -> str:
    t = roster.machines[instance].transitions[index]
    arrow = f"in {before}" if t.target is None else f"{before} → {after}"
    return f"{t.label} {arrow}" if t.label else arrow
