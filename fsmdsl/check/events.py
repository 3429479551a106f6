"""Events that are declared, and never sent or never handled."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.check.phrases import quoted
from fsmdsl.check.subject import Subject
from fsmdsl.model.walk import effects_of
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

NEVER_SENT = Rule(
    "FSM213",
    "event-never-sent",
    Severity.WARNING,
    "an event that its declared sender never sends",
    """
`event free from Group` declares that a group sends the event, but no effect of that machine sends it (for an event from
a channel: no effect of any machine). Either a send is missing there, or the declaration names the wrong sender.

```fsm
machine Cell {
    initial state Free
    state Used
    event take, free from Group
    Free -> Used on take
    Used -> Free on free              // no group ever sends `free`
}
machine Group {
    param cell: Cell
    initial state Idle
    state Busy
    event go, stop from environment
    Idle -> Busy on go do cell.take
    Busy -> Idle on stop
}
```

Send the event, here with `Busy -> Idle on stop do cell.free`, or correct the `from` clause.
""",
)

NEVER_HANDLED = Rule(
    "FSM214",
    "event-never-handled",
    Severity.WARNING,
    "an event that no transition handles",
    """
The machine declares the event, but no transition is triggered by it, and no state ignores it. Sending it is always a
fault.

```fsm
machine Door {
    initial state Open
    state Shut
    event push, pull from environment
    Open -> Shut, Shut -> Open on push
}
```

Add a transition, ignore the event explicitly, or remove its declaration.
""",
)

RULES = (NEVER_SENT, NEVER_HANDLED)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """An event without a `from` may come from any sender, so no sender is reported as missing."""
    sent = frozenset(_sent(subject.model))
    for shape in subject.shapes:
        machine = shape.machine
        handled = {t.trigger.event for t in machine.transitions if isinstance(t.trigger, m.OnEvent)}
        handled |= {i.event for i in machine.ignores}
        for event in machine.events:
            if event.name not in handled:
                diagnostic = NEVER_HANDLED.at(event.span, f"nothing handles `{event.name}`")
                yield diagnostic.help(f"add a transition `on {event.name}`, or `ignore {event.name} in *`")
            yield from _never_sent(machine, event, sent)


_Dispatch = tuple[str, str, str]
"""The sender (a machine or channel), the receiver and the event; the first two by their full names."""


def _sent(model: m.Model) -> Iterator[_Dispatch]:
    """Everything that machines send, to one another and through channels."""
    for machine in model.machines.values():
        for x in effects_of(machine):
            match x:
                case m.Send(machine=receiver, event=event):
                    yield machine.qualified, receiver, event
                case m.Post(channel=channel, event=event):
                    yield channel, model.channels[channel].receiver, event
                case _:
                    pass


def _never_sent(machine: m.Machine, event: m.Event, sent: frozenset[_Dispatch]) -> Iterator[Diagnostic]:
    silent = [s for s in event.senders if s != "environment" and (s, machine.qualified, event.name) not in sent]
    if silent:
        names = quoted((s.rpartition(".")[2] for s in silent), "or")
        diagnostic = NEVER_SENT.at(event.span, f"`{event.name}` is never sent by {names}, contrary to this declaration")
        yield diagnostic.help("send it there, or correct its `from`")
