"""A run of a system as a scenario: the text of a module of its own, which `fsm test` runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.trace import first_choices
from fsmdsl.search import Entry, Trace
from fsmdsl.step import ChannelStep, CrashStep, EventStep, OutcomeStep, RecoverStep, TimerStep, Value, World
from fsmdsl.step.data import Table
from fsmdsl.step.describe import describe, value_text
from fsmdsl.step.instances import Roster
from fsmdsl.syntax.words import RESERVED

LINE = 100
"""Columns of an `expect`."""

CLOSED = "closed_"
"""What the names of systems begin with that `runs.simulation.closed_system` makes around a machine."""


@dataclass(frozen=True, slots=True)
class Script:
    """The text, and why it does not have all of the run: `step 3, crash after 1 write of m.flip: …`."""

    text: str
    cut: str | None


def as_scenario(trace: Trace, name: str, *, own: bool = False) -> Script:
    """The steps of a run, and at its end what state everything is in.

    `name` becomes the name of the module and of the scenario, as far as it can be one. The scenario ends before a step
    that no scenario can say. It has instances of its own where no text declares the system, or it is not declared in
    the sizes of this run (`own`).
    """
    roster = trace.roster
    system = roster.system
    word = _word(name)
    declared = not own and roster.model.systems.get(system.qualified) is system
    homes = [x.channel.module for x in roster.queues] + ([] if declared else [x.module for x in roster.machines])
    imports = dict.fromkeys([system.module, *homes])
    of = f" of {system.qualified}" if declared else ""
    steps: list[str] = []
    cut: str | None = None
    end = trace.start
    for n, (before, entry) in enumerate(trace.befores()):
        text = describe(roster, entry.step, before)
        step = _step(roster, entry, before)
        if step is None or (not declared and system.recover is not None and step in ("crash", "recover")):
            cut = f"step {n + 1}, {text}: a scenario cannot say this"
            break
        steps.append(step)
        end = entry.world
    lines = [
        f"module {word if word not in imports else f'{word}_run'}",
        "",
        *(f"import {x}" for x in imports),
        "",
        f'scenario {word} "a run of {system.name.removeprefix(CLOSED)}"{of} {{',
        *(_begins(trace) if declared else (f"    {x}" for x in _instances(trace))),
        *(f"    {x}" for x in steps),
        *(f"    expect {x}" for x in _expected(roster, end)),
        *([f"    // the run continues with {cut}"] if cut else []),
        "}",
        "",
    ]
    return Script("\n".join(lines), cut)


def _begins(trace: Trace) -> list[str]:
    """What begins with any value, or in any of several states."""
    choices = first_choices(trace)
    return [f"    start with {', '.join(choices)}"] if choices else []


def _instances(trace: Trace) -> Iterator[str]:
    """Each instance by itself, with the parameters and values that it begins with."""
    roster = trace.roster
    for n, (instance, machine) in enumerate(zip(roster.system.instances, roster.machines, strict=True)):
        values = dict(zip((f.name for f in machine.fields), trace.start.fields[n], strict=True)) | roster.params[n]
        types = {f.name: f.type for f in machine.fields} | {p.name: p.type for p in machine.params}
        names = [*dict(instance.values), *(f.name for f in machine.fields if instance.begins_with_any(f))]
        written = ((name, _written(roster, types[name], values[name])) for name in names)
        assignments = [f"{name} = {text}" for name, text in written if text is not None]
        begun = trace.start.states[n]
        state = f" in {begun}" if begun != machine.initial.name else ""
        inside = f" {{ {', '.join(assignments)} }}" if assignments else ""
        yield f"{instance.name}: {machine.qualified}{state}{inside}"


def _written(roster: Roster, t: m.Type, value: Value) -> str | None:
    """A value to begin with: of a map, what it has for every key."""
    if not isinstance(t, m.MapType) or not isinstance(value, Table):
        return value_text(roster, t, value)
    return value_text(roster, t.of, value.entries[0][1]) if value.entries else None


def _word(name: str) -> str:
    word = re.sub(r"[^A-Za-z0-9_]", "_", name) or "run"
    return f"run_{word}" if word in RESERVED or not (word[0].isalpha() or word[0] == "_") else word


def _step(roster: Roster, entry: Entry, before: World) -> str | None:
    """A line of a scenario; None where there is none that means this step."""
    step, sayable = entry.step, True
    text: str | None = describe(roster, step, before)
    match step:
        case EventStep(instance, event, _):
            parameters = roster.machines[instance].event_named[event].parameters
            sayable = not any(_is_opaque(p.type) for p in parameters)
        case OutcomeStep() | RecoverStep():
            sayable = True
        case TimerStep(instance, index):
            sayable = _only_timer(roster, instance, index, before)
        case ChannelStep():
            text = _transmission(roster, step, before)
        case CrashStep(of=of) if of:
            sayable = True
        case CrashStep(inside, writes):
            text, sayable = "crash", inside is None or writes == 0
        case _:
            assert_never(step)
    if text is None or not sayable:
        return None
    return text if entry.fault is None else f"fails {text} with {entry.fault.kind}"


def _is_opaque(t: m.Type) -> bool:
    """Does a type have values that no text stands for: of hand-written code, or maps with several values?"""
    match t:
        case m.OpaqueType() | m.MapType():
            return True
        case m.SetType(of) | m.ListType(of=of) | m.OptionalType(of):
            return _is_opaque(of)
        case m.RecordType(parts=parts):
            return any(_is_opaque(of) for _, of in parts)
        case _:
            return False


def _only_timer(roster: Roster, instance: int, index: int, before: World) -> bool:
    """Does the label or source of a timer mean this one alone, of those that run?"""
    machine = roster.machines[instance]
    around = set(machine.ancestors(before.states[instance]))
    running = (t for t in machine.transitions if isinstance(t.trigger, m.OnTimer) and t.source in around)
    called = machine.transitions[index].label or machine.transitions[index].source
    return [t.index for t in running if called in t.timer_names] == [index]


def _transmission(roster: Roster, step: ChannelStep, before: World) -> str | None:
    """The first message of its name is meant."""
    messages, channel = before.channels[step.queue], roster.queues[step.queue].channel
    event = messages[step.position].event
    first = next(n for n, x in enumerate(messages) if x.event == event)
    target = f"{channel.qualified}.{event}{roster.whose(step.queue)}"
    return f"{step.kind} {target}" if messages[first] == messages[step.position] else None


def _expected(roster: Roster, world: World) -> Iterator[str]:
    return _joined(f"{roster.name(n)} in {state}" for n, state in enumerate(world.states))


def _joined(parts: Iterable[str]) -> Iterator[str]:
    line = ""
    for part in parts:
        if line and len(line) + len(part) > LINE:
            yield line
            line = ""
        line = f"{line} and {part}" if line else part
    if line:
        yield line
