"""States that a crash must move on, and does not."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.checks.shape import Shape
from fsmdsl.checks.subject import Subject
from fsmdsl.core.hierarchy import Endurance
from fsmdsl.core.triggers import CRASH
from fsmdsl.diagnostics import Diagnostic, Rule, Severity

LOST = Rule(
    "FSM219",
    "lost-in-crash",
    Severity.WARNING,
    "a volatile state that a crash does not move on",
    """
A `volatile` state does not survive a crash, so a transition `on crash` must say where an instance is afterwards. The
same is asked of a `transient` state, if a system lets crashes happen: an instance is in it while an action is under
way.

```fsm
machine Group {
    initial persistent state Pending
    volatile state Preempting
    final persistent state Gone
    event go, stop from environment
    Pending -> Preempting on go
    Preempting, Pending -> Gone on stop
}
```

Add `Preempting -> Pending on crash`, or make the state `persistent`.
""",
)

RULES = (LOST,)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Guards are not looked at: one transition is enough."""
    struck = {i.machine for s in subject.model.systems.values() if s.crashes for i in s.instances}
    for shape in subject.shapes:
        flags: tuple[Endurance, ...] = ("volatile", "transient") if shape.machine.qualified in struck else ("volatile",)
        for state in shape.machine.leaves:
            kind = shape.hierarchy.endurance(state.name)
            followed = shape.selection.candidates(state.name, CRASH)
            if kind is not None and kind in flags and state.name in shape.reachable and not followed:
                yield _lost(shape, state, kind)


def _lost(shape: Shape, state: m.State, kind: Endurance) -> Diagnostic:
    found = LOST.at(
        state.span, f"a crash leaves `{state.name}` nowhere: it is {kind}, and has no transition `on crash`"
    )
    goal = shape.machine.initial.name
    return found.help(f"say where it is afterwards, such as `{state.name} -> {goal} on crash`")
