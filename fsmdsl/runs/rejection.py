"""Why a step failed, in full: the message of the fault, and of transitions that were there, why none was enabled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.core.rest import resting_leaves
from fsmdsl.runs.explain import Binding, Reason, free, line, reasons
from fsmdsl.runs.trace import Trace, queues
from fsmdsl.step import Fault, Value
from fsmdsl.step.cascade import bound
from fsmdsl.step.describe import fault_message
from fsmdsl.step.evaluate import Frame
from fsmdsl.step.instances import Roster

SHOWN_PLACES = 3
"""Maximum number of states that the advice about a deadlock names."""


def deadlock_lines(trace: Trace) -> tuple[str, ...]:
    """That nothing can happen at the end of a run, and what to write if that is right."""
    return (_no_way_on(trace), _rest_advice(trace))


def _no_way_on(trace: Trace) -> str:
    where = [f"{trace.roster.name(n)} in {state}" for n, state in enumerate(trace.end.states)]
    where += [
        f"{queue} waits"
        for queue, messages in zip(queues(trace.roster, trace.end), trace.end.channels, strict=True)
        if messages
    ]
    system = trace.roster.system
    may_crash = system.process_crashes or any(x.kind == "anywhere" for x in system.crashes)
    step = "no step other than a crash" if may_crash else "no step"
    return f"{step} is possible here: {', '.join(where)}"


def _rest_advice(trace: Trace) -> str:
    roster, world = trace.roster, trace.end
    if any(world.channels):
        return "a system may not rest while a message waits: let its receiver handle or `ignore` it"
    leaves = resting_leaves(roster.machines)
    states = zip(roster.machines, world.states, strict=True)
    places = list(dict.fromkeys((x.name, state) for x, state in states if state not in leaves[x.qualified]))
    names = [f"`{state}` of `{machine}`" for machine, state in places[:SHOWN_PLACES]]
    more = f" and {len(places) - SHOWN_PLACES} more" if len(places) > SHOWN_PLACES else ""
    modifier = f"`resting` before {', '.join(names)}{more}, or " if names else ""
    return f"if it may rest here, write {modifier}`may rest when …` in `{roster.system.name}`"


def fault_lines(roster: Roster, fault: Fault) -> tuple[str, ...]:
    """The message, then a line for each part of a guard that made it false."""
    return (fault_message(roster, fault), *dict.fromkeys(_lines(roster, fault)))


def _lines(roster: Roster, fault: Fault) -> Iterator[str]:
    for t, reason in refusals(roster, fault):
        text = f"the guard of `{t.name}` does not hold"
        begins = reason.bindings and isinstance(reason.bindings[0], Binding)
        yield f"{text}{'' if begins else ':'} {line(roster, reason)}"


def refusals(roster: Roster, fault: Fault) -> Iterator[tuple[m.Transition, Reason]]:
    """Each part of a guard that made it false, where guards kept an event from being handled."""
    refused, instance = fault.refused, fault.instance
    if refused is None or instance is None:
        return
    for index in refused.transitions:
        machine = roster.machines[instance]
        t = machine.transitions[index]
        if t.guard is not None:
            arguments = bound(t, refused.arguments)
            frame = Frame(roster, refused.world, instance, arguments)
            yield from ((t, x) for x in reasons(frame, t.guard, tuple(_read(machine, t, arguments))))


def _read(machine: m.Machine, t: m.Transition, arguments: Mapping[str, Value]) -> Iterator[Binding]:
    """The arguments that the guard reads: `n = 1`."""
    if isinstance(t.trigger, m.OnEvent) and t.guard is not None:
        used = free(t.guard)
        for name, p in zip(arguments, machine.event_named[t.trigger.event].parameters, strict=False):
            if name in used:
                yield Binding(name, arguments[name], p.type)
