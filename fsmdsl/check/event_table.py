"""The state × event table: each event is handled, ignored, left in its channel, or a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.phrases import quoted
from fsmdsl.check.subject import Subject
from fsmdsl.dataclasses import dataclass
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

INCOMPLETE = Rule(
    "FSM215",
    "not-every-event",
    Severity.NOTE,
    "states in which an event from another machine would cause a fault",
    """
An event that arrives in a state in which it is neither handled nor ignored causes a fault. For events that other
machines send, this note lists the states in which such a fault would occur. Most of these faults never occur, because
senders check the state before they send. `fsm verify` reports those that occur as violations. If it explores every
state of the systems that contain the machine, the others cannot occur, and editors remove the note. The report shows
the same information in a table.

```fsm
machine Cell {
    initial state Free
    state Used
    event take, free from Group
    Free -> Used on take              // and `take` in `Used`?
    Used -> Free on free
}
machine Group {
    param cell: Cell
    initial state Idle
    state Busy
    event go, stop from environment
    Idle -> Busy on go do cell.take
    Busy -> Idle on stop do cell.free
}
```

If the event may arrive and should have no effect, ignore it: `ignore take in Used`.
""",
)

RULES = (INCOMPLETE,)

Cell = Literal["handled", "if", "ignored", "waits", "fault"]
"""`if`: handled when a guard holds, and not ignored otherwise. `waits`: it stays in a channel that waits."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """A table of events (of the machine, and outcomes of its actions) and leaves."""

    machine: str
    events: tuple[str, ...]
    states: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    """By event and state."""


def completeness(model: m.Model, machine: m.Machine) -> Completeness:
    """The event table of the leaves of a machine."""
    return _table(model, Shape(machine))


def _table(model: m.Model, shape: Shape) -> Completeness:
    machine = shape.machine
    outcomes = (f"{a.name}.{o}" for a in machine.actions for o in a.outcomes)
    events = (*(e.name for e in machine.events), *outcomes)
    states = tuple(s.name for s in machine.leaves)
    ignored = {(i.event, i.state) for i in machine.ignores}
    waiting = {e.name for e in machine.events if e.senders and all(_waits(model, s) for s in e.senders)}
    cells = {(e, s): _cell(shape, e, s, (e, s) in ignored, e in waiting) for e in events for s in states}
    return Completeness(machine.qualified, events, states, cells)


def _waits(model: m.Model, sender: str) -> bool:
    return sender in model.channels and model.channels[sender].waiting


def _cell(shape: Shape, event: str, state: str, ignored: bool, waits: bool) -> Cell:
    candidates = shape.selection.candidates(state, event)
    if any(t.guard is None for t in candidates):
        return "handled"
    if ignored:
        return "handled" if candidates else "ignored"
    if candidates:
        return "if"
    return "waits" if waits else "fault"


def check(subject: Subject) -> Iterator[Diagnostic]:
    """One note for each machine that others send events to."""
    for shape in subject.shapes:
        machine = shape.machine
        events = [e for e in machine.events if any(_may_be_a_fault(subject.model, s) for s in e.senders)]
        parts = list(_faults(subject.model, shape, events))
        if parts:
            diagnostic = INCOMPLETE.at(machine.span, f"`{machine.name}` does not take every event in every state")
            for part in parts:
                diagnostic = diagnostic.note(part)
            yield diagnostic.help(
                "`fsm verify` reports those that arrive; if they should have no effect, `ignore` them"
            )


def _may_be_a_fault(model: m.Model, sender: str) -> bool:
    """Does a sender not look whether the event is handled, as the environment and a channel that waits do?"""
    return sender != "environment" and not _waits(model, sender)


def _faults(model: m.Model, shape: Shape, events: Sequence[m.Event]) -> Iterator[str]:
    table = _table(model, shape)
    for event in events:
        states = [s for s in table.states if s in shape.reachable and table.cells[event.name, s] == "fault"]
        if states:
            yield f"`{event.name}` would be a fault in {quoted(states)}"
