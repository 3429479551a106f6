"""Lock orders."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve.names.scope import ModuleNames


def locks(module: ModuleNames, decl: s.LocksDecl, as_documented: bool) -> m.Locks:
    """A lock order and the operations that take locks."""
    members = list(_opened(decl, as_documented))
    for used in (u for x, _ in members for u in _uses(x)):
        module.program.note(used.name.span, "lock", module.name, used.name.text)
    return m.Locks(
        decl.name.text if decl.name is not None else "locks",
        module.name,
        tuple(p for x, why in members if isinstance(x, s.LockOrder) for p in _pairs(x, why)),
        tuple(
            m.Operation(x.name.text, tuple(_hold(h) for h in x.holds), x.doc, why, x.span)
            for x, why in members
            if isinstance(x, s.OperationDecl)
        ),
        decl.doc,
        decl.span,
    )


def _opened(decl: s.LocksDecl, as_documented: bool) -> Iterator[tuple[s.LockOrder | s.OperationDecl, str | None]]:
    for x in decl.members:
        if not isinstance(x, s.LockAmendment):
            yield x, None
        elif not as_documented:
            yield from ((inner, x.reason.text) for inner in x.members)


def _uses(x: s.LockOrder | s.OperationDecl) -> Iterator[s.LockUse]:
    if isinstance(x, s.LockOrder):
        yield from x.locks
    else:
        waiting = list(x.holds)
        while waiting:
            hold = waiting.pop()
            yield hold.lock
            waiting.extend(hold.inside)


def _pairs(order: s.LockOrder, why: str | None) -> Iterator[m.LockPair]:
    uses = [_use(u) for u in order.locks]
    for outer, inner in pairwise(uses):
        yield m.LockPair(outer, inner, why, order.span)


def _use(u: s.LockUse) -> m.LockUse:
    return m.LockUse(u.name.text, u.mode, u.child, u.span)


def _hold(h: s.Hold) -> m.Hold:
    return m.Hold(_use(h.lock), tuple(_hold(i) for i in h.inside), h.span)
