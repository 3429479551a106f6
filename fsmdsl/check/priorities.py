"""Names in `priority` that mean nothing, and chains that contradict one another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.subject import Subject
from fsmdsl.core.guards import exclusive
from fsmdsl.core.priority import names
from fsmdsl.core.selection import Level
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity, did_you_mean
from fsmdsl.text.source import Span

NOTHING = Rule(
    "FSM220",
    "priority-of-nothing",
    Severity.WARNING,
    "a name in `priority` that matches no transition",
    """
A `priority` chain names events, labels, and derived values that form a whole guard or an operand of a guard's outermost
`and`. This name matches none of them, so it ranks nothing.

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

Correct the spelling, or remove the name.
""",
)

CIRCULAR = Rule(
    "FSM231",
    "circular-priority",
    Severity.ERROR,
    "`priority` chains that contradict one another",
    """
A transition yields if any `priority` chain ranks another enabled transition higher. Here, several transitions yield to
one another in a cycle. If all of them are enabled, all of them yield, which causes the fault `overlap`.

```fsm
machine Door {
    force: 0..9
    initial state Shut
    state Ajar
    state Open
    event push(how: 0..9) from environment
    a: Shut -> Ajar on push(how) when how > force
    b: Shut -> Open on push(how) when how > 3
    c: Ajar, Open -> Shut on push(how) when how > force
    priority a > b
    priority b > a
}
```

Remove a name from one of the chains, or write a single chain.
""",
)

RULES = (NOTHING, CIRCULAR)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Each name of each chain, `*` aside; then what chains say together."""
    yield from _names(subject)
    for shape in subject.shapes:
        reported: set[tuple[Span, ...]] = set()
        for level in shape.selection.rivals():
            circle = _circle(shape, level)
            key = tuple(t.span for t in circle)
            if circle and key not in reported:
                reported.add(key)
                yield _contradiction(shape, circle)


def _circle(shape: Shape, level: Level) -> list[m.Transition]:
    """Some transitions, each of which goes before the next, and the last before the first, if they can be enabled
    together as far as a look at their guards tells."""
    priority, lets = shape.selection.priority, shape.machine.let_named
    circular = priority.circular(level)
    after = {t.index: [u for u in circular if priority.before(t, u) and not exclusive(t, u, lets)] for t in circular}
    for start in circular:
        path = _path(start, after)
        if path:
            return path
    return []


def _path(start: m.Transition, after: Mapping[int, Sequence[m.Transition]]) -> list[m.Transition]:
    """A shortest way from a transition back to itself, without its end."""
    came: dict[int, m.Transition] = {}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for u in after[at.index]:
            if u.index == start.index:
                path = [at]
                while path[0].index != start.index:
                    path.insert(0, came[path[0].index])
                return path
            if u.index not in came:
                came[u.index] = at
                waiting.append(u)
    return []


def _contradiction(shape: Shape, circle: Sequence[m.Transition]) -> Diagnostic:
    """At the name in a chain that comes last in the text; the others are labels."""
    machine = shape.machine
    pairs = list(zip(circle, (*circle[1:], circle[0]), strict=True))
    places = [(_span(machine, shape.selection.priority.before_in(a, b)), a, b) for a, b in pairs]
    (last, a, b), *others = sorted(places, key=lambda x: x[0].start, reverse=True)
    diagnostic = CIRCULAR.at(last, f"`priority` is circular: {' > '.join(f'`{t.name}`' for t in (*circle, circle[0]))}")
    for span, before, behind in reversed(others):
        diagnostic = diagnostic.label(span, f"this puts `{before.name}` before `{behind.name}`")
    return diagnostic.help(f"this puts `{a.name}` before `{b.name}`: remove that, or write a single chain")


def _span(machine: m.Machine, place: tuple[int, int]) -> Span:
    chain, name = place
    return machine.priority_spans[chain][name]


def _names(subject: Subject) -> Iterator[Diagnostic]:
    for shape in subject.shapes:
        machine = shape.machine
        if not machine.priority:
            continue
        candidates = frozenset().union(*(names(t) for t in machine.transitions))
        for chain, spans in zip(machine.priority, machine.priority_spans, strict=True):
            for name, span in zip(chain, spans, strict=True):
                if name not in candidates and name != "*":
                    diagnostic = NOTHING.at(span, f"`{name}` matches no transition")
                    advice = did_you_mean(name, candidates)
                    yield diagnostic.help(advice or "name an event, a label, or a derived value that a guard asks for")
