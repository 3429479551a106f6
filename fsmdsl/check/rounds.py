"""Rounds that go on for ever: circles of eventless transitions that nothing holds up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.phrases import quoted
from fsmdsl.check.subject import Subject
from fsmdsl.core.triggers import EVENTLESS
from fsmdsl.model.walk import effects
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

CIRCLE = Rule(
    "FSM218",
    "endless-round",
    Severity.ERROR,
    "a cycle of eventless transitions without a guard",
    """
An eventless transition is taken as soon as its state is entered. If a cycle of them contains no guard and no call to an
action with outcomes, the round never ends, and the step fails with the fault `endless`.

```fsm
machine Retry {
    initial state Idle
    state Trying
    state Failed
    event go from environment
    Idle -> Trying on go
    Trying -> Failed
    Failed -> Trying
}
```

Add a guard to one of the transitions. `when wait` allows the transition to be taken only at the beginning of a round,
that is, once for each event.
""",
)

RULES = (CIRCLE,)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """A state with several eventless transitions may escape by another, and is left to exploration."""
    for shape in subject.shapes:
        leaves = [x.name for x in shape.machine.leaves]
        steps = {leaf: t for leaf in leaves if (t := _only_step(subject, shape, leaf)) is not None}
        seen: set[str] = set()
        for leaf in steps:
            circle = _circle(shape, steps, leaf, seen)
            if circle:
                first = steps[circle[0]]
                message = f"the round never ends: nothing stops the eventless transitions through {quoted(circle)}"
                diagnostic = CIRCLE.at(first.span, message)
                for other in circle[1:]:
                    diagnostic = diagnostic.label(steps[other].span, f"and on from `{other}`")
                yield diagnostic.help("give one of them a guard, such as `when wait`")


def _only_step(subject: Subject, shape: Shape, leaf: str) -> m.Transition | None:
    """The eventless transition that is always followed from a leaf, if it is the only one and goes on at once."""
    candidates = shape.selection.candidates(leaf, EVENTLESS)
    if len(candidates) != 1 or leaf not in shape.reachable:
        return None
    (t,) = candidates
    if t.guard is not None:
        opposite = subject.normal(m.Not(t.guard))
        if subject.together(shape.machine, [leaf], [opposite]) is not None:
            return None
    return None if _calls_action(shape, t, leaf) else t


def _calls_action(shape: Shape, t: m.Transition, leaf: str) -> bool:
    """Does it call an action with outcomes, whose answer has to be waited for?"""
    called = (x.action for x in effects(shape.selection.move(leaf, t).effects) if isinstance(x, m.Request))
    return any(shape.machine.action_named[a].outcomes for a in called)


def _circle(shape: Shape, steps: Mapping[str, m.Transition], leaf: str, seen: set[str]) -> list[str]:
    """The circle that the only steps from a leaf lead into, if they do and it was not seen before."""
    path: list[str] = []
    at: str | None = leaf
    while at is not None and at in steps and at not in seen:
        seen.add(at)
        path.append(at)
        at = shape.hierarchy.arrival(steps[at]) or at
    return path[path.index(at) :] if at in path else []
