"""States that no run enters, and states that no run can bring to an end.

Guards are taken to hold whenever asked: only exploration (`fsm verify`) knows which of them ever do.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.subject import Subject
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

UNREACHABLE = Rule(
    "FSM201",
    "unreachable-state",
    Severity.WARNING,
    "a state that no transition leads to",
    """
No sequence of transitions leads from the initial state to this state. Transitions of every kind count (events, action
outcomes, timers, eventless transitions, crashes), regardless of their guards. Either the spec lacks a row of the
document's table, or the state should not exist.

```fsm
machine Door {
    initial state Open
    state Shut
    state Locked              // nothing leads here
    event push from environment
    Open -> Shut, Shut -> Open on push
}
```

Add the transition that enters the state, or remove the state:

```fsm
machine Door {
    initial state Open
    state Shut
    event push from environment
    Open -> Shut, Shut -> Open on push
}
```
""",
)

ENDLESS = Rule(
    "FSM202",
    "final-out-of-reach",
    Severity.WARNING,
    "a state from which no final or resting state can be reached",
    """
The machine has final states, so its instances are meant to reach one of them. But an instance that enters this state
can never reach a final or resting state. A state without any way out is reported as FSM203 instead. If all final states
of a machine are `error` states, its instances are meant to run forever, and nothing is reported.

```fsm
machine Task {
    initial state New
    state Running
    state Paused
    state Waiting
    final state Done
    event go, pause, wait_for, finish from environment
    New -> Running on go
    Running -> Done on finish
    New -> Paused on pause
    Paused -> Waiting on wait_for
    Waiting -> Paused on pause        // from these two, `Done` is out of reach
}
```

Add a path from this state to a final state, such as `Paused -> Running on go`, or write `resting` before a state in
which an instance may stay.
""",
)

RULES = (UNREACHABLE, ENDLESS)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """States out of reach, and states out of whose reach the end is."""
    for shape in subject.shapes:
        yield from _unreachable(shape)
        yield from _without_end(shape)


def _unreachable(shape: Shape) -> Iterator[Diagnostic]:
    """A composite that is never entered is reported once, not with all of its children."""
    for state in shape.machine.states:
        lost = state.name not in shape.reachable
        if lost and (state.parent is None or state.parent in shape.reachable):
            diagnostic = UNREACHABLE.at(state.span, f"`{state.name}` can never be entered")
            yield diagnostic.help("add a transition that leads to it, or remove the state")


def _without_end(shape: Shape) -> Iterator[Diagnostic]:
    final = [s for s in shape.machine.leaves if s.final]
    if all(s.error for s in final):
        return
    ending = shape.reaching(s.name for s in shape.machine.leaves if s.permits_rest)
    for state in shape.machine.leaves:
        if state.name in ending or state.name not in shape.reachable:
            continue
        if any(shape.ways_out(state.name)):
            names = " or ".join(f"`{s.name}`" for s in final[:3])
            diagnostic = ENDLESS.at(state.span, f"from `{state.name}` no final state can be reached")
            yield diagnostic.label(final[0].span, "its life is meant to end here").help(f"add a way towards {names}")
