"""Transitions that can be enabled at once, with nothing to decide between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.check.logic import Solution
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.phrases import assignment, triggered
from fsmdsl.check.subject import Subject
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

OVERLAP = Rule(
    "FSM206",
    "overlap",
    Severity.ERROR,
    "two transitions that are enabled at once",
    """
Two transitions from the same state have the same trigger and guards that can both be true. Neither is more deeply
nested, and neither has priority. A run that reaches this situation stops with the fault `overlap`, because a spec is
deterministic. The message gives values for which both guards are true. They are chosen from all possible values of the
machine's own fields, its parameters and the event arguments.

```fsm
machine Door {
    force: 0..9
    initial state Shut
    state Ajar
    state Open
    event push(how: 0..9) from environment
    a: Shut -> Ajar on push(how) when how < 5
    b: Shut -> Open on push(how) when how > 3       // 4 is both
    c: Ajar, Open -> Shut on push(how) when how > force
}
```

Make the guards exclude each other, or rank the transitions: `priority a > b`.
""",
)

POSSIBLE = Rule(
    "FSM207",
    "possible-overlap",
    Severity.NOTE,
    "two transitions that may be enabled at once",
    """
The guards of two transitions from the same state refer to other instances, to sets, or to too many values, so this
check cannot decide whether both can be true at once. Exploring a system (`fsm verify`) decides it for that system. This
check does recognize some guards that exclude each other: opposite conditions, tests for disjoint sets of states, and
`all x in s: p` with `some x in s: q` if `p` and `q` exclude each other.

```fsm
machine Door {
    width: 0..9
    initial state Open
    state Shut
    event push(by: Door, other: Door) from environment
    a: Open -> Shut on push(by, other) when by.width > 3
    b: Open -> Open on push(by, other) when other.width > 3
    c: Shut -> Open on push
    event widen(to: 0..9) from environment
    Open on widen(to) do width = to
    ignore widen in Shut
}
```

No change is required, but `priority a > b` would resolve the overlap.
""",
)

RULES = (OVERLAP, POSSIBLE)

_MAX_PAIRS = 20_000
"""Maximum number of pairs of transitions of one source and trigger that are compared."""


def check(subject: Subject) -> Iterator[Diagnostic]:
    """A line is reported once, with a line before it that competes with it, whatever states they share."""
    for shape in subject.shapes:
        reported: dict[int, Diagnostic] = {}
        for group in shape.selection.rivals():
            if len(group) ** 2 > 2 * _MAX_PAIRS:
                yield _too_many(group)
                continue
            for n, t in enumerate(group):
                earlier = reported.get(t.span.start)
                if earlier is not None and earlier.rule is OVERLAP:
                    continue
                diagnostic = _first(subject, shape, group[:n], t)
                if diagnostic is not None and (earlier is None or diagnostic.rule is OVERLAP):
                    reported[t.span.start] = diagnostic
        yield from reported.values()


def _first(subject: Subject, shape: Shape, others: Sequence[m.Transition], t: m.Transition) -> Diagnostic | None:
    """The first that surely competes, else the first that may."""
    possible: Diagnostic | None = None
    for other in others:
        if shape.selection.priority.ranked(other, t):
            continue
        guards = [subject.guard(shape.machine, other), subject.guard(shape.machine, t)]
        common = subject.together(shape.machine, shape.hierarchy.inside[t.source], guards)
        if common is not None and common.exact:
            return _definite(other, t, common)
        if common is not None:
            possible = possible or _possible(other, t)
    return possible


def _definite(a: m.Transition, b: m.Transition, common: Solution) -> Diagnostic:
    message = f"from `{a.source}` {triggered(a)}, {_both(a, b)} are enabled at once{assignment(common, ' when ')}"
    return OVERLAP.at(b.span, message).label(a.span, "this is the other one").help(_advice(a, b))


def _possible(a: m.Transition, b: m.Transition) -> Diagnostic:
    message = f"from `{a.source}` {triggered(a)}, {_both(a, b)} may be enabled at once: their guards cannot be compared"
    diagnostic = POSSIBLE.at(b.span, message).label(a.span, "this is the other one")
    return diagnostic.note("exploring a system decides it: `fsm verify`")


def _both(a: m.Transition, b: m.Transition) -> str:
    return f"`{a.label}` and `{b.label}`" if a.label and b.label and a.label != b.label else "two transitions"


def _advice(a: m.Transition, b: m.Transition) -> str:
    if a.label and b.label and a.label != b.label:
        return f"make their guards exclude each other, or rank them: `priority {a.label} > {b.label}`"
    return "make their guards exclude each other, or label them and rank them with `priority`"


def _too_many(group: tuple[m.Transition, ...]) -> Diagnostic:
    message = f"{len(group)} transitions leave `{group[0].source}` {triggered(group[0])}: too many to compare"
    return POSSIBLE.at(group[0].span, message)
