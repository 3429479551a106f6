"""Lock orders that go round in a circle, and operations that do not keep to their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

from fsmdsl import model as m
from fsmdsl.check.phrases import quoted
from fsmdsl.check.subject import Subject
from fsmdsl.text.diagnostics import Diagnostic, Fix, Rule, Severity
from fsmdsl.text.source import Span

CYCLE = Rule(
    "FSM225",
    "lock-cycle",
    Severity.ERROR,
    "a lock order that goes round in a circle",
    """
If one thread may take `Queue` while it holds `Partition`, and another `Partition` while it holds `Queue`, the two can
wait for each other for ever; longer circles do the same to more threads. Whether the locks are taken to read or to
write makes no difference: a waiting writer holds up the readers that come after it. A lock below itself is a circle
as well, unless the one taken is a `child`, one level down.

```fsm
locks Order {
    Partition > Queue > Application
    Application > Partition
}
```

Take one of the pairs out, and change the operations that need it.
""",
)

ORDER = Rule(
    "FSM226",
    "lock-order-broken",
    Severity.ERROR,
    "an operation that takes a lock which the order does not allow there",
    """
While an operation holds a lock, it takes another, and no pair of the lock order says that it may. The last lock taken
counts: `A > B > C` allows `C` under `B`, and not under `A` alone. A pair restricted to `read` or `write` allows that
mode only, on either side.

```fsm
locks Order {
    Partition > Application > Node
    Partition > Queue
    operation drop { write(Partition) { write(Application) { write(Queue) } } }
}
```

Take the lock elsewhere (here beside `Application`, under `Partition`), or add the pair if it makes no circle.
""",
)

RULES = (CYCLE, ORDER)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Each lock order by itself."""
    for module in subject.model.modules:
        for locks in module.locks:
            yield from _cycles(locks)
            for operation in locks.operations:
                for hold in operation.holds:
                    yield from _broken(locks, operation, hold)


# Circles -------------------------------------------------------------------------------------------------------------


def _cycles(locks: m.Locks) -> Iterator[Diagnostic]:
    """Each pair that closes a circle, found depth first: without those pairs, none is left."""
    after: dict[str, dict[str, m.LockPair]] = defaultdict(dict)
    for pair in locks.pairs:
        if pair.held.name == pair.wanted.name:
            yield from _below_itself(pair)
        else:
            after[pair.held.name].setdefault(pair.wanted.name, pair)
    done: set[str] = set()
    for start in list(after):
        yield from _from(after, start, done)


def _below_itself(pair: m.LockPair) -> Iterator[Diagnostic]:
    if not pair.wanted.child:
        name = pair.held.name
        start = Span(pair.wanted.span.source, pair.wanted.span.start, pair.wanted.span.start)
        fix = Fix(start, "child ", f"let the second `{name}` be one level down") if pair.wanted.mode == "any" else None
        message = f"`{name}` may be taken while `{name}` is held: it would wait for itself"
        found = CYCLE.at(pair.wanted.span, message, fix=fix)
        yield found.help(f"write `{name} > child {name}` if the second is one level down")


def _from(after: Mapping[str, Mapping[str, m.LockPair]], start: str, done: set[str]) -> Iterator[Diagnostic]:
    path = dict.fromkeys([start])
    waiting = [iter(after.get(start, {}).values())] if start not in done else []
    while waiting:
        pair = next(waiting[-1], None)
        if pair is None:
            waiting.pop()
            done.add(path.popitem()[0])
        elif pair.wanted.name in path:
            listed = list(path)
            yield _closed(after, pair, listed[listed.index(pair.wanted.name) :])
        elif pair.wanted.name not in done:
            path[pair.wanted.name] = None
            waiting.append(iter(after.get(pair.wanted.name, {}).values()))


def _closed(after: Mapping[str, Mapping[str, m.LockPair]], pair: m.LockPair, circle: list[str]) -> Diagnostic:
    shown = " > ".join([*circle, circle[0]])
    message = f"this closes a circle of locks: {shown}"
    found = CYCLE.at(pair.held.span.to(pair.wanted.span), message)
    for held, wanted in pairwise(circle):
        other = after[held][wanted]
        found = found.label(other.held.span.to(other.wanted.span), f"`{wanted}` while `{held}` is held")
    return found.help("take one of the pairs out")


# Operations ----------------------------------------------------------------------------------------------------------


def _broken(locks: m.Locks, operation: m.Operation, hold: m.Hold) -> Iterator[Diagnostic]:
    for inner in hold.inside:
        if not any(_allows(pair, hold.lock, inner.lock) for pair in locks.pairs):
            message = f"`{operation.name}` takes {_shown(inner.lock)} while it holds {_shown(hold.lock)}"
            found = ORDER.at(inner.lock.span, f"{message}, which the order does not allow")
            found = found.label(hold.lock.span, "held here")
            under = [p.held.name for p in locks.pairs if _is(p.wanted, inner.lock)]
            allowed = f"it may be taken under {quoted(dict.fromkeys(under), 'or')}" if under else "no pair allows it"
            yield found.help(allowed)
        yield from _broken(locks, operation, inner)


def _allows(pair: m.LockPair, held: m.LockUse, wanted: m.LockUse) -> bool:
    below_itself = held.name == wanted.name
    return _is(pair.held, held) and _is(pair.wanted, wanted) and (wanted.child or not below_itself)


def _is(declared: m.LockUse, used: m.LockUse) -> bool:
    return declared.name == used.name and declared.mode in ("any", used.mode)


def _shown(use: m.LockUse) -> str:
    name = f"child {use.name}" if use.child else use.name
    return f"`{name}`" if use.mode == "any" else f"`{use.mode}({name})`"
