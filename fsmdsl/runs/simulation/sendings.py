"""The ways in which the environment could send an event, also those that its `when` rules out now."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.explain import Binding, lines, reasons
from fsmdsl.step import FaultError, TooManyValuesError, Universe, Value, World
from fsmdsl.step.describe import fault_message, words
from fsmdsl.step.evaluate import Frame, evaluate, iterate, reference, truth

MAX_WAYS = 2000
"""More ways than this are not gone through."""


class TooManyError(Exception):
    """A set is too large to be gone through."""


@dataclass(frozen=True, slots=True)
class Sending:
    """Arguments, and why the environment does not send the event with them, if it does not."""

    arguments: tuple[Value, ...]
    refused: str | None = None


def sendings(universe: Universe, world: World, instance: int, event: str) -> list[Sending]:
    """Every way to send an event to an instance, at most `MAX_WAYS`. Raises `TooManyError`."""
    try:
        return list(islice(_ways(universe, world, instance, event), MAX_WAYS))
    except TooManyValuesError as error:
        raise TooManyError(str(error)) from error


def _ways(universe: Universe, world: World, instance: int, event: str) -> Iterator[Sending]:
    lines = universe.system.offers
    if lines is None:
        for n, name, combinations in universe.unrestricted:
            if (n, name) == (instance, event):
                yield from map(Sending, combinations)
        return
    machine = universe.system.instances[instance].machine
    for line in lines:
        if line.machine == machine and line.event == event:
            yield from _line(universe, line, Frame(universe, world), instance, 0)


def _line(universe: Universe, line: m.Offer, frame: Frame, instance: int, depth: int) -> Iterator[Sending]:
    """One line of the environment, for all values of its variables from the given one on."""
    if depth < len(line.variables):
        name, over = line.variables[depth]
        try:
            values = iterate(frame, over)
        except FaultError:
            return
        for x in values:
            frame.locals[name] = x
            yield from _line(universe, line, frame, instance, depth + 1)
        return
    try:
        if reference(frame, line.target) == instance:
            arguments = tuple(evaluate(frame, a) for a in line.arguments)
            yield Sending(arguments, _refusal(universe, line, frame))
    except FaultError:
        return


def _refusal(universe: Universe, line: m.Offer, frame: Frame) -> str | None:
    if line.guard is None:
        return None
    try:
        if truth(frame, line.guard):
            return None
    except FaultError as error:
        return f"`{words(line.guard)}`: {fault_message(universe, error.fault)}"
    why = lines(universe, reasons(frame, line.guard, tuple(_values(line, frame))))
    return f"`{words(line.guard)}`: {'; '.join(why)}"


def _values(line: m.Offer, frame: Frame) -> Iterator[Binding]:
    for name, over in line.variables:
        if isinstance(over.type, m.SetType | m.ListType):
            yield Binding(name, frame.locals[name], over.type.of)
