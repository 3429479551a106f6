"""Why a step failed, in full: the message of the fault, and of transitions that were there, why none was enabled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.explore.explain import explain, free
from fsmdsl.step import Fault, Value
from fsmdsl.step.cascade import bound
from fsmdsl.step.describe import shown
from fsmdsl.step.evaluate import Frame
from fsmdsl.step.roster import Roster


def fault_told(roster: Roster, fault: Fault) -> tuple[str, ...]:
    """The message, then a line for each part of a guard that made it false."""
    return (fault.message, *_guards(roster, fault))


def _guards(roster: Roster, fault: Fault) -> Iterator[str]:
    refused, instance = fault.refused, fault.instance
    if refused is None or instance is None:
        return
    for index in refused.transitions:
        machine = roster.machines[instance]
        t = machine.transitions[index]
        if t.guard is not None:
            given = bound(t, refused.arguments)
            frame = Frame(roster, refused.world, instance, given)
            lines = explain(frame, t.guard, tuple(_told(roster, machine, t, given)))
            said = f"the guard of `{t.name}` does not hold"
            yield from (f"{said} {line}" if line.startswith("for ") else f"{said}: {line}" for line in lines)


def _told(roster: Roster, machine: m.Machine, t: m.Transition, given: Mapping[str, Value]) -> Iterator[str]:
    """The arguments that the guard reads: `n = 1`."""
    if isinstance(t.trigger, m.OnEvent) and t.guard is not None:
        used = free(t.guard)
        for name, p in zip(given, machine.event_named[t.trigger.event].parameters, strict=False):
            if name in used:
                yield f"{name} = {shown(roster, p.type, given[name])}"
