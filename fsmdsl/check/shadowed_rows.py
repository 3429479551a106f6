"""Lines that never come into play, because others are always chosen before them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.phrases import triggered
from fsmdsl.check.subject import Subject
from fsmdsl.core.triggers import trigger_name
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

NEVER_CHOSEN = Rule(
    "FSM211",
    "never-chosen",
    Severity.WARNING,
    "a transition that is never taken, because another one always takes precedence",
    """
In every state from which this transition could be taken, another transition with the same trigger has no guard and
takes precedence. Its source state is more deeply nested, it names its source state while this one uses `*`, or
`priority` ranks it higher.

```fsm
machine Door {
    initial state Busy {
        initial state Opening
        state Shutting
    }
    state Still
    event stop from environment
    event go from environment
    Opening, Shutting -> Still on stop
    Busy -> Busy on stop              // both states inside have their own
    Still -> Opening on go
    Opening -> Shutting on go
    Shutting -> Opening on go
}
```

Add a guard to the other transition, or remove this one.
""",
)

IGNORED_IN_VAIN = Rule(
    "FSM212",
    "ignored-in-vain",
    Severity.WARNING,
    "an `ignore` for an event that is always handled there",
    """
`ignore` declares that an event has no effect in a state. But a transition without a guard handles the same event there,
so the event is never ignored, and a reader cannot tell which of the two is intended.

```fsm
machine Door {
    initial state Open
    state Shut
    event push from environment
    Open -> Shut, Shut -> Open on push
    ignore push in Shut
}
```

Remove either the `ignore` or the transition.
""",
)

_MAX_RIVALS = 50
"""Maximum number of unguarded rivals that are compared. Two unguarded rivals are an overlap already."""

RULES = (NEVER_CHOSEN, IGNORED_IN_VAIN)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """A line is reported if none of its transitions can ever be chosen, in none of their states."""
    for shape in subject.shapes:
        for line in shape.lines:
            yield from _never_chosen(shape, line)
        yield from _ignored_in_vain(shape)


def _never_chosen(shape: Shape, line: tuple[m.Transition, ...]) -> Iterator[Diagnostic]:
    winner: m.Transition | None = None
    for t in line:
        trigger = trigger_name(t.trigger)
        for leaf in shape.hierarchy.inside[t.source]:
            winner = None if trigger is None else _chosen_before(shape, leaf, trigger, t)
            if winner is None:
                return
    if winner is not None:
        diagnostic = NEVER_CHOSEN.at(
            line[0].span, f"`{line[0].name}` is never taken: another transition always takes precedence"
        )
        yield diagnostic.label(winner.span, f"taken {triggered(winner)}, whatever the data")


def _chosen_before(shape: Shape, leaf: str, trigger: str, t: m.Transition) -> m.Transition | None:
    """A transition without a guard that is always chosen before this one in a leaf."""
    for source, wild in shape.selection.sources(leaf):
        sure = shape.selection.unguarded(source, wild, trigger)
        if (source, wild) == (t.source, t.wild):
            return next((x for x in sure[:_MAX_RIVALS] if shape.selection.priority.before(x, t)), None)
        if sure:
            return sure[0]
    return None


def _ignored_in_vain(shape: Shape) -> Iterator[Diagnostic]:
    lines: dict[tuple[int, str], list[m.Ignore]] = defaultdict(list)
    for ignore in shape.machine.ignores:
        lines[(ignore.span.start, ignore.event)].append(ignore)
    for line in lines.values():
        sure = [_handled(shape, i) for i in line]
        last = sure[-1]
        if last is not None and all(sure):
            states = ", ".join(f"`{i.state}`" for i in line)
            diagnostic = IGNORED_IN_VAIN.at(line[0].span, f"`{line[0].event}` is always handled in {states}")
            yield diagnostic.label(last.span, "handled here").help("remove one of the two")


def _handled(shape: Shape, ignore: m.Ignore) -> m.Transition | None:
    return next((t for t in shape.selection.candidates(ignore.state, ignore.event) if t.guard is None), None)
