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
    "a cyclic lock order",
    """
If one thread may take `Queue` while it holds `Partition`, and another may take `Partition` while it holds `Queue`, the
two can wait for each other forever. A longer cycle can block more threads in the same way. This applies to read locks
as well as write locks, because a waiting writer blocks later readers. A lock that is ordered below itself is also a
cycle, unless the second one is a `child`, one level down.

```fsm
locks Order {
    Partition > Queue > Application
    Application > Partition
}
```

Remove one of the pairs, and change the operations that need it.
""",
)

ORDER = Rule(
    "FSM226",
    "lock-order-broken",
    Severity.ERROR,
    "an operation that takes a lock in violation of the lock order",
    """
The operation takes a lock while it holds another one, and no pair in the lock order allows this. Only the last lock
taken counts: `A > B > C` allows `C` under `B`, but not directly under `A`. A pair restricted to `read` or `write`
allows only that mode, on either side.

```fsm
locks Order {
    Partition > Application > Node
    Partition > Queue
    operation drop { write(Partition) { write(Application) { write(Queue) } } }
}
```

Take the lock elsewhere (here: beside `Application`, under `Partition`), or add the pair if this does not create a
cycle.
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
        if pair.outer.name == pair.inner.name:
            yield from _below_itself(pair)
        else:
            after[pair.outer.name].setdefault(pair.inner.name, pair)
    done: set[str] = set()
    for start in list(after):
        yield from _from(after, start, done)


def _below_itself(pair: m.LockPair) -> Iterator[Diagnostic]:
    if not pair.inner.child:
        name = pair.outer.name
        start = Span(pair.inner.span.source, pair.inner.span.start, pair.inner.span.start)
        fix = Fix(start, "child ", f"let the second `{name}` be one level down") if pair.inner.mode == "any" else None
        message = f"`{name}` may be taken while `{name}` is held: it would wait for itself"
        diagnostic = CYCLE.at(pair.inner.span, message, fix=fix)
        yield diagnostic.help(f"write `{name} > child {name}` if the second is one level down")


def _from(after: Mapping[str, Mapping[str, m.LockPair]], start: str, done: set[str]) -> Iterator[Diagnostic]:
    path = dict.fromkeys([start])
    waiting = [iter(after.get(start, {}).values())] if start not in done else []
    while waiting:
        pair = next(waiting[-1], None)
        if pair is None:
            waiting.pop()
            done.add(path.popitem()[0])
        elif pair.inner.name in path:
            names = list(path)
            yield _closed(after, pair, names[names.index(pair.inner.name) :])
        elif pair.inner.name not in done:
            path[pair.inner.name] = None
            waiting.append(iter(after.get(pair.inner.name, {}).values()))


def _closed(after: Mapping[str, Mapping[str, m.LockPair]], pair: m.LockPair, circle: list[str]) -> Diagnostic:
    cycle = " > ".join([*circle, circle[0]])
    message = f"this closes a circle of locks: {cycle}"
    diagnostic = CYCLE.at(pair.outer.span.to(pair.inner.span), message)
    for outer, inner in pairwise(circle):
        other = after[outer][inner]
        diagnostic = diagnostic.label(other.outer.span.to(other.inner.span), f"`{inner}` while `{outer}` is held")
    return diagnostic.help("remove one of the pairs")


# Operations ----------------------------------------------------------------------------------------------------------


def _broken(locks: m.Locks, operation: m.Operation, hold: m.Hold) -> Iterator[Diagnostic]:
    for inner in hold.inside:
        if not any(_allows(pair, hold.lock, inner.lock) for pair in locks.pairs):
            message = f"`{operation.name}` takes {_lock_text(inner.lock)} while it holds {_lock_text(hold.lock)}"
            diagnostic = ORDER.at(inner.lock.span, f"{message}, which the order does not allow")
            diagnostic = diagnostic.label(hold.lock.span, "held here")
            under = [p.outer.name for p in locks.pairs if _is(p.inner, inner.lock)]
            allowed = f"it may be taken under {quoted(dict.fromkeys(under), 'or')}" if under else "no pair allows it"
            yield diagnostic.help(allowed)
        yield from _broken(locks, operation, inner)


def _allows(pair: m.LockPair, outer: m.LockUse, inner: m.LockUse) -> bool:
    below_itself = outer.name == inner.name
    return _is(pair.outer, outer) and _is(pair.inner, inner) and (inner.child or not below_itself)


def _is(declared: m.LockUse, used: m.LockUse) -> bool:
    return declared.name == used.name and declared.mode in ("any", used.mode)


def _lock_text(use: m.LockUse) -> str:
    name = f"child {use.name}" if use.child else use.name
    return f"`{name}`" if use.mode == "any" else f"`{use.mode}({name})`"
