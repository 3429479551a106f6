"""A run of a system, step by step, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.runs.causality_tree import CUT_SHORT, caused, cut_short
from fsmdsl.runs.hiding import NOTHING, Hidden
from fsmdsl.step import Universe, fire
from fsmdsl.step.data import RecordValue, Table
from fsmdsl.step.describe import describe, fault_message, shown_arguments, value_text
from fsmdsl.step.instances import Roster
from fsmdsl.step.values import elements
from fsmdsl.step.world import (
    Crashed,
    Fault,
    Followed,
    Ignored,
    Message,
    Pending,
    Posted,
    Requested,
    Step,
    TraceEvent,
    Value,
    World,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A step, what happened in it, and the world after it (with a fault: still the world before)."""

    step: Step
    cascade: tuple[TraceEvent, ...]
    world: World
    fault: Fault | None = None

    @property
    def cut_short(self) -> frozenset[int]:
        """The places in the cascade of transitions that a crash within the step has cut short. Where the crash itself
        fails, the world after it is not known."""
        return cut_short(self.cascade, self.world) if self.fault is None else frozenset()


@dataclass(frozen=True, slots=True)
class Trace:
    """From the first world on; with a `loop`, a run without an end.

    `loop` is the place in `entries` of the first step of those that are repeated for ever: the last world is the one
    that this step begins in. Where it is the number of entries, nothing happens any more.
    """

    roster: Roster = field(repr=False, compare=False)
    start: World
    entries: tuple[Entry, ...] = ()
    loop: int | None = None

    @property
    def end(self) -> World:
        """The last world."""
        return self.entries[-1].world if self.entries else self.start

    @property
    def length(self) -> str:
        """`3 steps`."""
        count = len(self.entries)
        return f"{count} step{'s' * (count != 1)}"

    @property
    def fault(self) -> Fault | None:
        """Why the last step failed, if it did."""
        return self.entries[-1].fault if self.entries else None

    def extended(self, entry: Entry) -> Trace:
        """The trace with one step more. Copies what there is: for many steps there is `run`."""
        return Trace(self.roster, self.start, (*self.entries, entry))

    def befores(self) -> Iterator[tuple[World, Entry]]:
        """Each entry, with the world that its step begins in."""
        before = self.start
        for entry in self.entries:
            yield before, entry
            before = entry.world

    def steps(self) -> list[str]:
        """The steps as the author would write them."""
        return [describe(self.roster, e.step, before) for before, e in self.befores()]


def run(universe: Universe, steps: Iterable[Step], loop: int | None = None, start: World | None = None) -> Trace:
    """The trace of steps taken from the beginning, or from the first world given, up to the first that fails. Takes
    time in proportion to them."""
    entries: list[Entry] = []
    world = start = start or universe.start
    for step in steps:
        entries.append(taken(universe, world, step))
        if entries[-1].fault is not None:
            break
        world = entries[-1].world
    return Trace(universe, start, tuple(entries), loop)


def taken(universe: Universe, world: World, step: Step) -> Entry:
    """A step from a world."""
    result = fire(universe, world, step)
    return Entry(step, result.cascade, result.world, result.fault)


# Text ----------------------------------------------------------------------------------------------------------------


def lines(trace: Trace) -> list[str]:
    """A line for each step: its number, the step, the transitions followed, and the fields that have changed."""
    rows = [("start", "; ".join([*_states(trace.roster, trace.start), *first_values(trace)]))]
    for before, entry in trace.befores():
        step = describe(trace.roster, entry.step, before)
        rows.append((step, "; ".join(_entry_texts(trace.roster, entry, before))))
    width = min(max(len(step) for step, _ in rows), 48)
    digits = len(str(len(trace.entries)))
    out = [f"{n:>{digits}}  {step:<{width}}   {text}".rstrip() for n, (step, text) in enumerate(rows)]
    if trace.loop is not None:
        out.insert(trace.loop + 1, f"{'':>{digits}}  {for_ever(trace)}")
    return out


def for_ever(trace: Trace) -> str:
    """What stands before the steps that are repeated."""
    return "repeated forever from here:" if trace.loop != len(trace.entries) else "then nothing more happens"


def _states(roster: Roster, world: World) -> list[str]:
    return [f"{roster.name(n)}: {state}" for n, state in enumerate(world.states)]


def first_values(trace: Trace, hidden: Hidden = NOTHING) -> list[str]:
    """`r0.s = 2`: what the fields that begin with any value begin with in this run."""
    roster = trace.roster
    return [
        f"{x.name}.{f.name} = {value_text(roster, f.type, value)}"
        for n, x in enumerate(roster.system.instances)
        if not hidden.instance(roster, n)
        for f, value in zip(roster.machines[n].fields, trace.start.fields[n], strict=True)
        if x.begins_with_any(f)
    ]


def first_choices(trace: Trace) -> list[str]:
    """`r0 in Busy`, `r0.s = 2`: what is one of several possibilities in the beginning of this run."""
    instances = zip(trace.roster.system.instances, trace.start.states, strict=True)
    return [*(f"{x.name} in {state}" for x, state in instances if x.states), *first_values(trace)]


def _entry_texts(roster: Roster, entry: Entry, before: World) -> Iterator[str]:
    unfinished = entry.cut_short
    for n, happening in enumerate(entry.cascade):
        if _notable(roster, happening):
            yield describe(roster, happening) + CUT_SHORT * (n in unfinished)
    if entry.fault is not None:
        yield f"fails: {fault_message(roster, entry.fault)} ({entry.fault.kind})"
    else:
        yield from (f"{name} = {new}" for name, _, new in changed_fields(roster, before, entry.world))


def _notable(roster: Roster, happening: TraceEvent) -> bool:
    """Assignments show in the fields, events sent in the transitions that they cause, outputs in the data."""
    if isinstance(happening, Requested):
        return bool(roster.machines[happening.instance].action_named[happening.action].outcomes)
    return isinstance(happening, Followed | Ignored | Posted | Crashed)


def changed_fields(
    roster: Roster, before: World, after: World, hidden: Hidden = NOTHING
) -> Iterator[tuple[str, str, str]]:
    """Each field that differs, or the only entry of a map that does, then each queue: its name, its value before and
    after."""
    for n, machine in enumerate(roster.machines):
        if hidden.instance(roster, n):
            continue
        for f, old, new in zip(machine.fields, before.fields[n], after.fields[n], strict=True):
            if old != new:
                yield _change(roster, f"{roster.name(n)}.{f.name}", f.type, old, new)
    yield from changed_channels(roster, before, after, hidden)


def _change(roster: Roster, name: str, t: m.Type, old: Value, new: Value) -> tuple[str, str, str]:
    if isinstance(t, m.MapType) and isinstance(old, Table) and isinstance(new, Table):
        apart = [(k, a, b) for (k, a), (_, b) in zip(old.entries, new.entries, strict=True) if a != b]
        if len(apart) == 1:
            key, a, b = apart[0]
            return f"{name}[{value_text(roster, t.key, key)}]", value_text(roster, t.of, a), value_text(roster, t.of, b)
    return name, value_text(roster, t, old), value_text(roster, t, new)


def changed_channels(
    roster: Roster, before: World, after: World, hidden: Hidden = NOTHING
) -> Iterator[tuple[str, str, str]]:
    """Each queue that holds something else: its name, what it held and holds."""
    for n, (old, new) in enumerate(zip(before.channels, after.channels, strict=True)):
        if old != new and not hidden.instance(roster, roster.queues[n].receiver):
            yield roster.queue_name(n), _contents(roster, n, old), _contents(roster, n, new)


def queues(roster: Roster, world: World) -> list[str]:
    """What each queue holds: `inbox of p0 = [arrive(1)]`."""
    return [f"{roster.queue_name(n)} = {_contents(roster, n, messages)}" for n, messages in enumerate(world.channels)]


def _contents(roster: Roster, queue: int, messages: tuple[Message, ...]) -> str:
    return f"[{', '.join(_message(roster, queue, x) for x in messages)}]"


def _message(roster: Roster, queue: int, message: Message) -> str:
    parameters = roster.machines[roster.queues[queue].receiver].event_named[message.event].parameters
    return f"{message.event}{shown_arguments(roster, parameters, message.arguments)}"


def world_lines(roster: Roster, world: World) -> list[str]:
    """A line for each instance: its state, and its fields; then what else there is."""
    wide = max((len(roster.name(n)) for n in range(len(world.states))), default=0)
    state = max(map(len, world.states), default=0)
    out = []
    for n, machine in enumerate(roster.machines):
        fields = zip(machine.fields, world.fields[n], strict=True)
        values = ", ".join(f"{f.name} = {value_text(roster, f.type, x)}" for f, x in fields)
        out.append(f"{roster.name(n):<{wide}}  {world.states[n]:<{state}}  {values}".rstrip())
    out += queues(roster, world)
    out += [f"{_pending(roster, p)} waits for its answer" for p in world.pending]
    return [*out, *(["the system is down"] if world.down else [])]


# Data ----------------------------------------------------------------------------------------------------------------


def data(trace: Trace) -> dict[str, Any]:
    """The same as values that JSON knows: all that happened, what has changed, and every world."""
    steps = [_entry_data(trace.roster, entry, before) for before, entry in trace.befores()]
    return {"start": world_data(trace.roster, trace.start), "steps": steps, "loop": trace.loop}


def _entry_data(roster: Roster, entry: Entry, before: World) -> dict[str, Any]:
    changed = changed_fields(roster, before, entry.world)
    moved = (
        (roster.name(n), old, new)
        for n, (old, new) in enumerate(zip(before.states, entry.world.states, strict=True))
        if old != new
    )
    return {
        "step": describe(roster, entry.step, before),
        "happenings": [describe(roster, h) for h in entry.cascade],
        "cascade": caused(roster, entry.step, entry.cascade, before, entry.cut_short).data(),
        "changes": {name: {"before": old, "after": new} for name, old, new in [*moved, *changed]},
        "world": world_data(roster, entry.world),
        "fault": None if entry.fault is None else _fault_data(roster, entry.fault),
    }


def _fault_data(roster: Roster, fault: Fault) -> dict[str, Any]:
    instance = None if fault.instance is None else roster.name(fault.instance)
    return {"kind": fault.kind, "instance": instance, "message": fault_message(roster, fault), "at": str(fault.span)}


def world_data(roster: Roster, world: World) -> dict[str, Any]:
    """A world as values that JSON knows."""
    return {
        "instances": {roster.name(n): _instance_data(roster, world, n) for n in range(len(world.states))},
        "channels": {
            roster.queue_name(n): [_message(roster, n, x) for x in messages]
            for n, messages in enumerate(world.channels)
        },
        "pending": [_pending(roster, p) for p in world.pending],
        "down": world.down,
    }


def _instance_data(roster: Roster, world: World, n: int) -> dict[str, Any]:
    machine = roster.machines[n]
    params = {p.name: plain(roster, p.type, roster.params[n][p.name]) for p in machine.params}
    fields = {f.name: plain(roster, f.type, v) for f, v in zip(machine.fields, world.fields[n], strict=True)}
    return {"machine": machine.name, "state": world.states[n], "params": params, "fields": fields}


def _pending(roster: Roster, p: Pending) -> str:
    return f"{roster.name(p.instance)}.{p.action}"


def plain(roster: Roster, t: m.Type, value: Value) -> Any:
    """A value as JSON has it: instances by name, records as objects, sets and lists as lists."""
    match t, value:
        case m.OptionalType(of), _:
            return None if value is None else plain(roster, of, value)
        case m.RefType(), int():
            return roster.name(value)
        case m.OpaqueType(), str():
            return value.rpartition(".")[2]
        case m.RecordType(parts=parts), RecordValue(values):
            return {name: plain(roster, of, x) for (name, of), x in zip(parts, values, strict=True)}
        case ((m.SetType(of) | m.ListType(of)), (frozenset() | tuple())):
            return [plain(roster, of, x) for x in elements(t, value)]
        case m.MapType(key, of), Table(entries):
            return {value_text(roster, key, k): plain(roster, of, x) for k, x in entries}
        case _:
            return value
