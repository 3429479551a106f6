"""A step of the model, as a call of the implementation beside it."""

from __future__ import annotations

from typing import Any, assert_never

from fsmdsl.step import ChannelStep, CrashStep, EventStep, OutcomeStep, RecoverStep, Step, TimerStep, Universe
from fsmdsl.testing.implementation import Implementation
from fsmdsl.testing.plain_values import arguments_by_name


def kind(step: Step) -> str:
    """What `Implementation.without` calls it."""
    match step:
        case EventStep():
            return "event"
        case OutcomeStep():
            return "answer"
        case TimerStep():
            return "timeout"
        case ChannelStep(kind=kind):
            return kind
        case CrashStep():
            return "crash"
        case RecoverStep():
            return "recover"
        case _:
            assert_never(step)


def drivable(twin: Implementation, step: Step) -> bool:
    """Is a step one that the implementation takes? None can be made to crash in the middle of a step."""
    inside = isinstance(step, CrashStep) and step.inside is not None
    return not inside and kind(step) not in twin.without


def drive(twin: Implementation, universe: Universe, step: Step) -> Any:
    """Take a step. Where the implementation is asynchronous, returns what has to be awaited."""
    match step:
        case EventStep(n, event, arguments):
            parameters = universe.machines[n].event_named[event].parameters
            return twin.event(universe.name(n), event, arguments_by_name(universe, parameters, arguments))
        case OutcomeStep(n, action, outcome):
            return twin.answer(universe.name(n), action, outcome)
        case TimerStep(n, transition):
            return twin.timeout(universe.name(n), universe.machines[n].transitions[transition].name)
        case ChannelStep("deliver", queue, position):
            return twin.deliver(universe.queue_name(queue), position)
        case ChannelStep("lose", queue, position):
            return twin.lose(universe.queue_name(queue), position)
        case ChannelStep(_, queue, position):
            return twin.duplicate(universe.queue_name(queue), position)
        case CrashStep(of=of):
            return twin.crash_of([universe.name(n) for n in of]) if of else twin.crash()
        case RecoverStep():
            return twin.recover()
        case _:
            assert_never(step)
