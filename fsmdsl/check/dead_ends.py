"""States that are never left and should be, and states that are left and should not be."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.subject import Subject
from fsmdsl.text.diagnostics import Diagnostic, Fix, Rule, Severity
from fsmdsl.text.source import Span

DEAD_END = Rule(
    "FSM203",
    "dead-end",
    Severity.WARNING,
    "a state that is neither final nor resting and has no way out",
    """
No transition leads from this state to another one. Either this is intended and must be declared, or a transition is
missing. A machine with a single state is not reported.

```fsm
machine Task {
    initial state New
    state Done                // meant to be the end?
    event finish from environment
    New -> Done on finish
}
```

Write `resting state Done` if an instance may stay there, write `final state Done` if each instance must end there, or
add a transition that leaves the state. `resting` only allows an instance to stay; it never causes a deadlock to be
reported. With `final`, it is a deadlock (FSM302) if nothing more can happen while a task is still `New`.
""",
)

STAYS = Rule(
    "FSM204",
    "transient-stays",
    Severity.ERROR,
    "a transient state that is not left within its round",
    """
A `transient` state must be left in the round in which it is entered, either by an eventless transition or on the
outcome of the action that is called on entry. A state in which an instance waits for an external event, or for nothing
at all, is not transient.

```fsm
machine Task {
    initial state New
    transient state Checking
    final state Done
    event submit, accept from environment
    New -> Checking on submit
    Checking -> Done on accept        // this may be much later
}
```

Remove `transient`, or leave the state with an eventless transition or on an action outcome.
""",
)

LEFT = Rule(
    "FSM205",
    "final-state-left",
    Severity.ERROR,
    "a final state with a transition that leaves it",
    """
A `final` state ends the life of an instance. Events may still be ignored there, or handled by internal transitions,
which do not leave the state. But no transition may leave the state, not even on a crash, and none may leave a composite
state that contains it.

```fsm
machine Task {
    initial state New
    final state Done
    event finish, again from environment
    New -> Done on finish
    Done -> New on again
}
```

Remove `final`, or remove the transition.
""",
)

RULES = (DEAD_END, STAYS, LEFT)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Ways out that are missing, and ways out that should be."""
    for shape in subject.shapes:
        for state in shape.machine.leaves:
            if state.final:
                yield from _left(shape, state)
            elif state.resting:
                continue
            elif state.transient:
                yield from _stays(shape, state)
            elif _stuck(shape, state):
                yield _dead_end(shape, state)


def _dead_end(shape: Shape, state: m.State) -> Diagnostic:
    """To be followed without harm, the advice must add no deadlock (only a machine that has final states gets another)
    and take no row away (`*` is no final state)."""
    handles = any(t.wild and t.source == state.name for t in shape.machine.transitions)
    word = "final" if shape.machine.has_final and not handles else "resting"
    start = Span(state.span.source, state.span.start, state.span.start)
    fix = Fix(start, f"{word} ", f"make `{state.name}` {word}")
    message = f"`{state.name}` has no way out, and it is neither final nor resting"
    advice = f"write `{word} state {state.name}`"
    if not shape.machine.has_final:
        advice += f" if an instance may stay there, `final state {state.name}` if each has to end"
    return DEAD_END.at(state.span, message, fix=fix).help(f"{advice}, or add a transition that leaves it")


def _stuck(shape: Shape, state: m.State) -> bool:
    return len(shape.machine.leaves) > 1 and state.name in shape.reachable and not any(shape.ways_out(state.name))


def _left(shape: Shape, state: m.State) -> Iterator[Diagnostic]:
    for t in shape.ways_out(state.name):
        through = "" if t.source == state.name else f", as part of `{t.source}`"
        diagnostic = LEFT.at(t.span, f"`{t.name}` leaves `{state.name}`{through}, which is final")
        yield diagnostic.label(state.span, "declared final here").help("remove `final`, or remove this transition")


def _stays(shape: Shape, state: m.State) -> Iterator[Diagnostic]:
    ways = list(shape.ways_out(state.name))
    if any(isinstance(t.trigger, m.Eventless | m.OnOutcome) for t in ways):
        return
    diagnostic = STAYS.at(state.span, f"the transient state `{state.name}` has no way out within its round")
    if ways:
        diagnostic = diagnostic.label(ways[0].span, f"this waits for {_awaited(ways[0])}")
    yield diagnostic.help("add an eventless transition or one on an action's outcome, or remove `transient`")


def _awaited(t: m.Transition) -> str:
    match t.trigger:
        case m.OnTimer():
            return "a timer"
        case m.OnCrash():
            return "a crash"
        case _:
            return "an event"
