"""Locks that refuse to be taken in an undeclared order."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.classes.context import Context
from fsmdsl.classes.declarations import apart
from fsmdsl.classes.files import File, Written
from fsmdsl.classes.machines.members import Member, class_, method
from fsmdsl.classes.names import RESERVED_IN_CLASSES, Namespace, snake
from fsmdsl.classes.statements.text import literal, rows, sentence, tuple_of


def locks_file(context: Context, module: m.Module) -> Written:
    """The lock orders of a module."""
    file = File(context, module.name, "locks")
    classes = apart(_class(file, locks) for locks in module.locks)
    return file.text(f"The lock orders of {module.name}.", classes)


def _class(file: File, locks: m.Locks) -> list[str]:
    name = file.define(file.context.packages[file.module].locks[locks.name])
    pairs = f"super().__init__({tuple_of([_pair(p) for p in locks.pairs])})"
    lock = file.machinery("Lock")
    members = [["__slots__ = ()"], method("def __init__(self) -> None:", "", [pairs]), *_kinds(lock, locks)]
    return class_(f"{name}({file.machinery('LockOrder')})", _doc(locks), members)


def _pair(p: m.LockPair) -> str:
    words = ", ".join(map(literal, (p.outer.name, p.outer.mode, p.inner.name, p.inner.mode)))
    return f"({words}, {p.inner.child})"


def _kinds(lock: str, locks: m.Locks) -> list[Member]:
    """A method for each kind of lock."""
    space = Namespace([*RESERVED_IN_CLASSES, "pairs", "held", "check"])
    uses = [u for p in locks.pairs for u in (p.outer, p.inner)]
    kinds = list(dict.fromkeys([*(u.name for u in uses), *(x for o in locks.operations for x in _taken(o.holds))]))
    nested = {p.inner.name for p in locks.pairs if p.inner.child}
    out: list[Member] = []
    for kind in kinds:
        name = space.claim(snake(kind))
        parent = f"parent: {lock} | None = None" if kind in nested else ""
        doc = f"A lock of the kind {kind}{', one level below its parent where it has one' if parent else ''}."
        parameters = f"self{', ' + parent if parent else ''}"
        body = [f"return {lock}(self, {literal(kind)}{', parent' if parent else ''})"]
        out.append(method(f"def {name}({parameters}) -> {lock}:", doc, body))
    return out


def _taken(holds: Sequence[m.Hold]) -> list[str]:
    return [name for h in holds for name in (h.lock.name, *_taken(h.inside))]


def _doc(locks: m.Locks) -> str:
    lines = [f"{o.name}: {' '.join(map(_hold_text, o.holds))}" for o in locks.operations]
    first = sentence(locks.doc) or f"The lock order `{locks.name}`."
    return f"{first}\n\nOperations take their locks so:\n\n{rows(lines)}" if lines else first


def _hold_text(hold: m.Hold) -> str:
    name = f"child {hold.lock.name}" if hold.lock.child else hold.lock.name
    use = name if hold.lock.mode == "any" else f"{hold.lock.mode}({name})"
    return f"{use} {{ {' '.join(map(_hold_text, hold.inside))} }}" if hold.inside else use
