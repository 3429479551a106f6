"""Events and crashes that the environment can offer in several ways: each counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import comb

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import ZERO, Expr, Function, Int, Var, all_of, call
from fsmdsl.search.lower.context import AT, Context, Scope, T
from fsmdsl.search.lower.values.convert import element_of

MAX_REPEATED = 1 << 13
"""Maximum number of different events that can be told apart in a state, where several offers lead to the same event."""

Loops = tuple[s.Each, ...]
"""The loops that an offer stands in, the outermost first."""


class Repeats:
    """Tells steps of one state apart, where that is needed."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.functions: list[Function] = []
        procedures = [x for x in context.core.procedures.values() if x.name.kind == "offer line"]
        self.lines = [line for x in procedures for line in _offers(x.body, ())]
        self.loops: dict[s.Step, Loops] = {x.step: loops for loops, x in self.lines}
        self.kinds = Counter(_kind(x.step) for _, x in self.lines)
        steps = [x.step for _, x in self.lines if isinstance(x.step, s.EventStep | s.CrashStep)]
        self.seen = context.layout.reserve(1) if any(map(self.is_repeated, steps)) else None
        """Where it is counted how often steps were told apart, if they are."""

    def is_repeated(self, step: s.EventStep | s.CrashStep) -> bool:
        """Can the environment come to the same step in two ways?"""
        loops = self.loops.get(step, ())
        direct = {x for x in _told_by(step) if isinstance(x, s.Variable)}
        return (
            self.kinds[_kind(step)] > 1
            or (isinstance(step, s.CrashStep) and len(loops) > 1)
            or not direct.issuperset(x.variable for x in loops)
            or any(isinstance(x.over.type, m.ListType) for x in loops)
        )

    def fresh(self, scope: Scope, step: s.EventStep | s.CrashStep, numbers: Sequence[Expr]) -> Expr:
        """Whether a step is offered for the first time: 0, 1, or 2 where that cannot be said."""
        if not self.functions:
            self.functions.append(self._tell_apart(scope))
        key = [Int([*self.kinds].index(_kind(step))), *numbers]
        return scope.builder.temporary(call("fresh", T, *key, *[ZERO] * (self.width - len(key))))

    @property
    def width(self) -> int:
        """How many numbers tell a step from others."""
        sizes = [2 + len(x.step.arguments) for _, x in self.lines if isinstance(x.step, s.EventStep)]
        return max([1 + self.context.layout.mask_words, *sizes])

    def _tell_apart(self, scope: Scope) -> Function:
        """A table of events: a number that says from which row, and the event."""
        most = sum(_most(scope, loops) for loops, _ in self.lines)
        size = 1 << (2 * min(most, MAX_REPEATED) - 1).bit_length()
        assert self.seen is not None
        table = self.context.layout.reserve(size * (1 + self.width))
        key = [Var(f"k{n}") for n in range(self.width)]
        b, h, turn = Builder(), Var("h"), Var("_")
        mixed: Expr = key[0]
        for k in key[1:]:
            mixed = mixed * 31 + k
        b.set(h, mixed)
        b.update(h, "^", h >> 7)
        with b.count(turn, size):
            b.set(AT, table + (h & size - 1) * (1 + self.width))
            with b.if_(T[AT].differs(T[self.seen])):
                b.set(T[AT], T[self.seen])
                for n, k in enumerate(key):
                    b.set(T[AT + (n + 1)], k)
                b.return_(1)
            with b.if_(all_of([T[AT + (n + 1)].equals(k) for n, k in enumerate(key)])):
                b.return_(0)
            b.update(h, "+", 1)
        b.return_(2)
        signature = (*rows("t"), *numbers(*(k.name for k in key)))
        doc = "Is this event offered for the first time? 2: there is no room to say so."
        return function("fresh", signature, b.block, doc)


def _offers(block: s.Block, loops: Loops) -> Iterator[tuple[Loops, s.Offer]]:
    """All offers, each with the loops that it stands in."""
    for x in block:
        if isinstance(x, s.Offer):
            yield loops, x
        for inside in s.blocks(x):
            yield from _offers(inside, (*loops, x) if isinstance(x, s.Each) else loops)


def _kind(step: s.Step) -> tuple[str, str]:
    """Steps of different kinds are never the same."""
    match step:
        case s.EventStep(instance, event, _):
            assert isinstance(instance.type, m.RefType)
            return instance.type.machine, event
        case _:
            return "", ""


def _told_by(step: s.EventStep | s.CrashStep) -> Sequence[s.Expr]:
    """What tells a step from others; of several instances of one machine, nobody knows which is which."""
    if isinstance(step, s.EventStep):
        return step.instance, *step.arguments
    assert isinstance(step.of, s.Collection)
    types = [x.type for x in step.of.items]
    return [x for x in step.of.items if types.count(x.type) == 1]


def _most(scope: Scope, loops: Loops) -> int:
    """How many steps a line can come to."""
    most = 1
    for over in (x.over for x in loops):
        if isinstance(over, s.Apply) and over.function == "subsets":
            codes = element_of(scope, over.arguments[0].type).codes
            most *= comb(codes, codes // 2)
        elif isinstance(over, s.Collection):
            most *= len(over.items)
        elif isinstance(over.type, m.ListType):
            most *= over.type.bound
        else:
            most *= element_of(scope, over.type).codes
    return min(most, MAX_REPEATED)
