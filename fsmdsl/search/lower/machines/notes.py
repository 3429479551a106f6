"""What the search wants to know of what happens: transitions followed, guards evaluated, what fairness asks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.program.nodes import Choice, Expr, Int, all_of
from fsmdsl.search.lower import tally
from fsmdsl.search.lower.context import AT, Bits, Scope, T


def guard_seen(scope: Scope, x: s.GuardSeen) -> None:
    """Whether a guard was false or true."""
    context, key = scope.context, (x.machine, x.transition)
    if key not in context.guards:
        context.guards[key] = context.layout.reserve(2)
    seen = context.guards[key]
    scope.builder.set(T[Choice(scope.value(x.value), Int(seen + 1), Int(seen))], 1)


def followed(scope: Scope, x: s.Followed) -> None:
    """A transition is followed, and the instance fulfils something with it."""
    context, b, (_, machine) = scope.context, scope.builder, scope.own
    t = machine.transitions[x.transition]
    key = machine.qualified, t.index
    b.comment(_label(t))
    if key not in context.followed:
        context.followed[key] = context.layout.reserve(1)
    b.set(T[context.followed[key]], 1)
    tally.follow(context.layout, key, b)
    _mark(scope, context.followed_bits(machine, t), x.arguments)


def ignored(scope: Scope, x: s.Ignored) -> None:
    """An instance ignores an event, and fulfils something with that."""
    _, machine = scope.own
    _mark(scope, scope.context.ignored_bits(machine, x.trigger), x.arguments)


def _mark(scope: Scope, bits: Bits, arguments: Sequence[s.Expr]) -> None:
    """Note in the step's mark what an instance fulfils."""
    b, values = scope.builder, [scope.value(x) for x in arguments] if bits else list[Expr]()
    for n, by_arguments in bits.items():
        with b.if_(AT.equals(n)):
            for conditions, bit in by_arguments.items():
                with b.if_(all_of([values[k].equals(x) for k, x in conditions])) if conditions else nullcontext():
                    b.update(T[scope.context.layout.mark], "|", bit)


def _label(t: m.Transition) -> str:
    """The transition, in words that are the author's names alone."""
    return f"{t.label or t.index}: {t.source} -> {t.target or t.source}"
