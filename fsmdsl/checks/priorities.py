"""Names in `priority` that mean nothing."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.checks.subject import Subject
from fsmdsl.core.priority import names
from fsmdsl.diagnostics import Diagnostic, Rule, Severity, did_you_mean

NOTHING = Rule(
    "FSM220",
    "priority-of-nothing",
    Severity.WARNING,
    "a name in `priority` that no transition answers to",
    """
A chain of `priority` names events, labels, and derived values that are a guard or a part of its
outermost `and`. This name is none of them, so it ranks nothing.

```fsm
machine Door {
    initial state Open
    state Shut
    event push(hard: bool) from environment
    shut: Open -> Shut on push(hard) when hard
    stay: Open -> Open on push
    open: Shut -> Open on push
    priority shutt > stay
}
```

Correct the spelling, or take the name out.
""",
)

RULES = (NOTHING,)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Each name of each chain, `*` aside."""
    for shape in subject.shapes:
        machine = shape.machine
        if not machine.priority:
            continue
        known = frozenset().union(*(names(t) for t in machine.transitions))
        for chain, spans in zip(machine.priority, machine.priority_spans, strict=True):
            for name, span in zip(chain, spans, strict=True):
                if name not in known and name != "*":
                    found = NOTHING.at(span, f"no transition answers to the name `{name}`")
                    advice = did_you_mean(name, known)
                    yield found.help(advice or "name an event, a label, or a derived value that a guard asks for")
