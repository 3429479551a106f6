"""A trace as a sequence diagram: who sent what to whom, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from fsmdsl.draw.sequence import (
    Change,
    Failure,
    Item,
    LoopBegins,
    LoopEnds,
    Message,
    Note,
    Participant,
    Sequence,
    without,
)
from fsmdsl.draw.sequence import Step as Heading
from fsmdsl.runs.hiding import NOTHING, Hidden
from fsmdsl.runs.trace import for_ever
from fsmdsl.search import Entry, Trace, Verdict
from fsmdsl.step import (
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
)
from fsmdsl.step.describe import fault_message, shown_arguments, value_text
from fsmdsl.step.instances import Roster
from fsmdsl.step.world import Value, World


def violation(title: str, v: Verdict, hidden: Hidden = NOTHING) -> Sequence:
    """The run of a verdict. Where no step of it fails, what is wrong in the end stands below it. The columns of
    instances that are hidden, and of their queues, are left out."""
    assert v.trace is not None
    explanation = v.explanation if v.outcome == "violated" and v.trace.fault is None else ()
    explanation = explanation[: 2 if v.kind == "property" else 1]
    what = v.kind if v.kind == "deadlock" else v.label if v.kind == "refinement" else v.text or v.name
    whole, roster = (
        chart(title, v.trace, f"{what} violated: {'; '.join(explanation)}" if explanation else ""),
        v.trace.roster,
    )
    instances = {n for n in range(len(roster.machines)) if hidden.instance(roster, n)}
    queues = {_queue(roster, n) for n, x in enumerate(roster.queues) if x.receiver in instances}
    return without(whole, frozenset({*map(_instance, instances), *queues}))


def chart(title: str, trace: Trace, conclusion: str = "") -> Sequence:
    """Instances in the order of the system, then queues; the environment stands at the left."""
    roster = trace.roster
    instances = [Participant(roster.name(n), state=state) for n, state in enumerate(trace.start.states)]
    channels = [Participant(roster.queue_name(n), "channel") for n in range(len(roster.queues))]
    items: list[Item] = []
    for n, ((before, entry), text) in enumerate(zip(trace.befores(), trace.steps(), strict=True)):
        if n == trace.loop:
            items.append(LoopBegins("forever"))
        items.extend(_step(roster, before, entry, text))
    if trace.loop is not None:
        items.append(LoopEnds() if trace.loop < len(trace.entries) else Note(None, for_ever(trace)))
    if conclusion:
        items.append(Failure(None, conclusion))
    return Sequence(title, (Participant("environment", "environment"), *instances, *channels), tuple(items))


def _instance(n: int) -> int:
    return n + 1


def _queue(roster: Roster, n: int) -> int:
    return 1 + len(roster.machines) + n


def _step(roster: Roster, before: World, entry: Entry, text: str) -> Iterator[Item]:
    yield Heading(text)
    opening = _opening(roster, entry.step)
    if opening is not None:
        yield opening
    happened = _effective(roster, before, entry.cascade)
    yield from _joined_notes(item for happening in happened for item in _items(roster, happening))
    if entry.fault is not None:
        where = None if entry.fault.instance is None else _instance(entry.fault.instance)
        yield Failure(where, f"{entry.fault.kind}: {fault_message(roster, entry.fault)}")


def _effective(roster: Roster, before: World, cascade: Iterable[TraceEvent]) -> Iterator[TraceEvent]:
    """What happened, without assignments of the value that the field has already. A crash changes fields silently:
    behind it every assignment counts."""
    values: dict[tuple[int, str], Value] = {}
    crashed = False
    for happening in cascade:
        crashed = crashed or isinstance(happening, Crashed)
        if isinstance(happening, Assigned) and not crashed:
            instance, name, value = happening.instance, happening.field, happening.value
            at = next(i for i, f in enumerate(roster.machines[instance].fields) if f.name == name)
            if values.get((instance, name), before.fields[instance][at]) == value:
                continue
            values[instance, name] = value
        yield happening


def _joined_notes(items: Iterable[Item]) -> Iterator[Item]:
    """Notes on the same participant that follow one another are one note."""
    last: Note | None = None
    for item in items:
        if isinstance(item, Note) and last is not None and last.participant == item.participant:
            last = Note(item.participant, f"{last.text}; {item.text}")
            continue
        if last is not None:
            yield last
        last = item if isinstance(item, Note) else None
        if last is None:
            yield item
    if last is not None:
        yield last


def _opening(roster: Roster, step: Step) -> Item | None:
    """What begins the step."""
    match step:
        case EventStep(instance, event, arguments):
            parameters = roster.machines[instance].event_named[event].parameters
            return Message(0, _instance(instance), f"{event}{shown_arguments(roster, parameters, arguments)}")
        case OutcomeStep(instance, action, outcome):
            return Message(0, _instance(instance), f"{action}.{outcome}")
        case TimerStep(instance, transition):
            return Message(0, _instance(instance), roster.machines[instance].transitions[transition].shown_trigger)
        case ChannelStep(kind, queue):
            source, receiver = _queue(roster, queue), _instance(roster.queues[queue].receiver)
            return Message(source, receiver, kind) if kind == "deliver" else Note(source, kind)
        case CrashStep() | RecoverStep():
            return None
        case _:
            assert_never(step)


def _items(roster: Roster, happening: TraceEvent) -> list[Item]:
    """What is drawn of a happening; a crash of some is noted on each of them."""
    if isinstance(happening, Crashed) and happening.of:
        return [Note(_instance(n), "crash") for n in happening.of]
    return [_item(roster, happening)]


def _item(roster: Roster, happening: TraceEvent) -> Item:
    match happening:
        case Followed(instance, transition, before, after):
            t = roster.machines[instance].transitions[transition]
            return Change(_instance(instance), before, after, t.name, internal=t.target is None)
        case Sent(sender, receiver, event, arguments):
            parameters = roster.machines[receiver].event_named[event].parameters
            text = f"{event}{shown_arguments(roster, parameters, arguments)}"
            return Message(None if sender is None else _instance(sender), _instance(receiver), text)
        case Posted(sender, channel, queue, event, arguments):
            parameters = roster.model.machines[roster.model.channels[channel].receiver].event_named[event].parameters
            text = f"{event}{shown_arguments(roster, parameters, arguments)}"
            source = None if sender is None else _instance(sender)
            return Message(source, None if queue is None else _queue(roster, queue), text, posted=True)
        case Requested(instance, action, _):
            return Note(_instance(instance), f"calls {action}")
        case Assigned(instance, name, value):
            field = next(f for f in roster.machines[instance].fields if f.name == name)
            return Note(_instance(instance), f"{name} = {value_text(roster, field.type, value)}")
        case Ignored(instance, event):
            return Note(_instance(instance), f"ignores {event}")
        case Crashed():
            return Note(None, "crash")
        case _:
            assert_never(happening)
