"""Guards and invariants that say nothing: they hold always, or never.

One that may have no value does not hold always: then a guard is a fault, and an invariant is violated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.subject import Subject, arguments
from fsmdsl.core.lets import surely_has_value
from fsmdsl.model.walk import expressions
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

ALWAYS = Rule(
    "FSM208",
    "guard-always-true",
    Severity.WARNING,
    "a guard that is always true",
    """
The guard is true for all values of the data that it reads. A reader will assume that the guard is a real condition. The
usual cause is a wrong assumption about a range or a state.

```fsm
machine Door {
    force: 0..9
    initial state Open
    state Shut
    event push from environment
    Open -> Shut on push when force >= 0
    Shut -> Open on push
}
```

Remove the guard, or correct it.
""",
)

NEVER = Rule(
    "FSM209",
    "guard-never-true",
    Severity.WARNING,
    "a guard that is never true",
    """
The guard is false for all values of the data that it reads, so the transition is never taken.

```fsm
machine Door {
    force: 0..9
    initial state Open
    state Shut
    event push from environment
    Open -> Shut on push when force > 9
    Open -> Shut on push when force == 0
    Shut -> Open on push
}
```

Correct the guard, or remove the transition.
""",
)

EMPTY = Rule(
    "FSM210",
    "constant-invariant",
    Severity.WARNING,
    "an invariant that is always true or always false",
    """
An invariant that is true for all values states nothing: no error in the spec can violate it. One that is false for all
values is violated from the beginning. An invariant about a derived value is not reported even if it is always true,
because it checks the definition of that value.

```fsm
machine Door {
    force: 0..9
    initial state Open
    state Shut
    event push from environment
    Open -> Shut, Shut -> Open on push do force = 3
    invariant force >= 0 or Open
}
```

Write a condition that can be violated, or remove the invariant.
""",
)

RULES = (ALWAYS, NEVER, EMPTY)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Guards and invariants of machines, and those of systems."""
    for shape in subject.shapes:
        for line in shape.lines:
            yield from _guard(subject, shape, line)
        machine = shape.machine
        yield from _invariants(subject, machine.invariants, machine, None)
    for system in subject.model.systems.values():
        yield from _invariants(subject, system.invariants, None, system)


def _guard(subject: Subject, shape: Shape, line: tuple[m.Transition, ...]) -> Iterator[Diagnostic]:
    """The guard of a line, in all the states that the line starts from."""
    first, machine = line[0], shape.machine
    if first.guard is None:
        return
    leaves = tuple(dict.fromkeys(leaf for t in line for leaf in shape.hierarchy.inside[t.source]))
    guard = subject.guard(machine, first)
    if subject.together(machine, leaves, [guard]) is None:
        diagnostic = NEVER.at(first.guard.span, f"the guard of `{first.name}` is never true")
        yield diagnostic.help("correct it, or remove the transition")
        return
    if not surely_has_value(subject.model, first.guard):
        return
    opposite = subject.normal(m.Not(first.guard), arguments(machine, first))
    if subject.together(machine, leaves, [opposite]) is None:
        diagnostic = ALWAYS.at(first.guard.span, f"the guard of `{first.name}` is always true")
        yield diagnostic.help("leave it out, or correct it")


def _invariants(
    subject: Subject, invariants: Iterable[m.Invariant], machine: m.Machine | None, system: m.System | None
) -> Iterator[Diagnostic]:
    leaves = () if machine is None else tuple(s.name for s in machine.leaves)
    for invariant in invariants:
        condition, opposite = invariant.condition, m.Not(invariant.condition)
        name = f"`{invariant.name}`" if invariant.is_named else "the invariant"
        if subject.together(machine, leaves, [subject.normal(condition, system=system)]) is None:
            diagnostic = EMPTY.at(condition.span, f"{name} can never hold")
            yield diagnostic.help("correct it")
        elif not surely_has_value(subject.model, condition, system) or _speaks_of_a_let(condition):
            continue
        elif subject.together(machine, leaves, [subject.normal(opposite, system=system)]) is None:
            diagnostic = EMPTY.at(condition.span, f"{name} is always true: nothing can violate it")
            yield diagnostic.help("write a condition that can be violated, or remove it")


def _speaks_of_a_let(condition: m.Expr) -> bool:
    return any(isinstance(e, m.Derived) for e in expressions(condition))
