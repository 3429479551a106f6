"""Where the order of instances could make a difference, though the members of a symmetric set have none.

A loop over members is run in every order. What a part of them has done must not depend on the order either, so that for
each part all ways to it are compared: with `k` members `k * 2**(k - 1)` turns, where all orders would be `k!`. The rows
that parts lead to are kept in a stack behind the row, for loops may begin inside of loops. Where two of them differ a
doubt is noted, for which the search gives up the reduction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import (
    TRUE,
    ZERO,
    Assign,
    Choice,
    Expr,
    Function,
    Int,
    Not,
    Statement,
    Var,
    all_of,
    any_of,
    call,
)
from fsmdsl.program.queries import constants_of
from fsmdsl.search.layout import awaitable
from fsmdsl.search.lower.context import AT, Context, F, Fail, Scope, T
from fsmdsl.search.lower.fault_codes import CUT, IGNORED
from fsmdsl.search.lower.helpers import of_library
from fsmdsl.search.lower.values import masks
from fsmdsl.search.lower.values.convert import element_of, number_of
from fsmdsl.search.shapes import Shape
from fsmdsl.search.symmetry import SymmetricSet, independent
from fsmdsl.step.describe import words

DEEP = 3
"""There is room for so many loops inside one another, each over as many members as there are or `WIDE`."""

WIDE = 6

OVER, REST, RESULT, DOUBT, FIRST, PLACE, DONE, COUNT, OTHER, J, K, X = (
    Var(name) for name in ("over", "rest", "result", "doubt", "first", "place", "done", "count", "other", "j", "k", "x")
)


def reserve(context: Context) -> None:
    """Places for a doubt, and for the stack of rows."""
    layout = context.layout
    layout.doubt, layout.stack = layout.reserve(1), layout.reserve(1)
    largest = max(x.count for x in context.reduction.sets)
    layout.params[layout.stack] = layout.reserve(DEEP * (layout.copied + 1) << min(largest, WIDE))
    layout.stack_end = layout.end


def members_in(context: Context, t: m.Type) -> tuple[SymmetricSet, ...]:
    """The reduced sets whose members a set can hold, or sets in it; lists have an order of their own."""
    of = t.of if isinstance(t, m.SetType) else None
    inner = of.of if isinstance(of, m.OptionalType | m.SetType) else of
    return context.reduction.of_machine(inner.machine) if isinstance(inner, m.RefType) else ()


def doubt(context: Context, row: Var, names: Sequence[str], why: str) -> Statement:
    """The statement that notes a doubt about symmetric sets."""
    return Assign(row[context.layout.doubt], Int(context.doubt(names, why)))


def mask_of(x: SymmetricSet, of: Shape) -> int:
    """The members of a set among the elements of a shape, as bits."""
    return (1 << x.count) - 1 << of.code(x.first)


# Quantifiers ---------------------------------------------------------------------------------------------------------


@contextmanager
def failing(scope: Scope, e: m.Quantified, visited: s.Expr, over: Expr) -> Iterator[Fail]:
    """Inside, a body without value is a doubt where it could be another member's that is looked at first. What it gives
    is used once the body can be without value: then it must be looked at for all of them."""
    b, before = scope.builder, scope.fail
    several = b.name()

    def write(code: Expr | None) -> None:
        why = f"whether `{words(e)}` has a value depends on the order of the members ({e.span})"
        with b.if_(several):
            b.splice([doubt(scope.context, scope.row, [x.name for x in sets], why)])
        before(code)

    fail = Fail(write)
    sets = members_in(scope.context, visited.type)
    if not sets:
        yield fail
        return
    with b.capture() as body:
        scope.fail = fail
        yield fail
        scope.fail = before
    if fail.used:
        b.set(several, _several(scope, visited, over, sets))
    b.splice(body)


def _several(scope: Scope, e: s.Expr, over: Expr, sets: Sequence[SymmetricSet]) -> Expr:
    """Whether there is more than one member of a set to be visited."""
    if (isinstance(e, s.Apply) and e.function == "subsets") or over == ZERO:
        return TRUE  # no set to be looked at: see `sets.collected`
    members = [over & mask_of(x, element_of(scope, e.type)) for x in sets]
    return any_of([(x & x - 1).differs(0) for x in members])


# Loops ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop that has functions of its own, all with the number of the loop in their names."""

    scope: Scope
    e: m.ForEach
    visited: m.SetType
    """The type of the set that it goes through."""
    number: int
    captured: tuple[Var, ...]
    """What its turns use of the function that it stands in."""

    @property
    def of(self) -> Shape:
        """The elements of that set."""
        return element_of(self.scope, self.visited)

    @property
    def what(self) -> str:
        """The loop, in words."""
        return f"`for {self.e.variable} in {words(self.e.over)}`"

    def function(self, name: str, own: Sequence[Var], b: Builder, doc: str = "") -> Function:
        """One of its functions: of the row, of what is its own, and of what its turns use."""
        parameters = (*rows("t"), *numbers(*(x.name for x in (*own, *self.captured))))
        return function(f"{name}_{self.number}", parameters, b.block, doc)

    def call(self, name: str, *own: Expr | int) -> Expr:
        """A call of one of its functions."""
        return call(f"{name}_{self.number}", T, *own, *self.captured)

    def turn(self, b: Builder, code: Expr) -> None:
        """A turn, with the element of a code: `f` is what it comes to."""
        b.set(F, self.call("turn", number_of(code, self.of)))


def in_every_order(scope: Scope, each: s.Each, e: m.ForEach, over: Expr) -> None:
    """A loop through a set that can hold members of reduced sets, in functions of its own."""
    context, b = scope.context, scope.builder
    number = len(context.loops)
    context.loops.append([])
    turn = b.inner()
    inner = replace(scope, builder=turn, fail=Fail(lambda code: turn.return_(context.code(code))))
    assert isinstance(each.over.type, m.SetType)
    x = turn.name()
    inner.variables = {**scope.variables, each.variable.name: x}
    inner.execute(each.body)
    turn.return_(0)
    shared = constants_of(function("turn", (*rows("t"), *numbers(x.name)), turn.block))
    loop = _Loop(scope, e, each.over.type, number, tuple(map(Var, shared)))
    context.loops[number] = [loop.function("turn", [x], turn), *_turns(loop)]
    code = b.name()
    b.set(code, loop.call("loop", over))
    with b.if_(code.differs(0)):
        b.return_(code)


def _turns(loop: _Loop) -> list[Function]:
    context = loop.scope.context
    if independent(context.universe, loop.scope.machine, loop.e) and not context.cuts:
        return [_independent(loop)]
    return [_orders(loop), _in_any_order(loop)]


def _independent(loop: _Loop) -> Function:
    """`loop`, where no turn has to do with another: all that can make a difference is which of them fails first."""
    context, e, b = loop.scope.context, loop.e, loop.scope.builder.inner()
    names = [x.name for x in members_in(context, loop.visited)]
    why = f"which turn of {loop.what} fails first depends on the order of the members ({e.span})"
    b.set(RESULT, ZERO)
    with b.while_(OVER):
        loop.turn(b, call("lowest", OVER))
        with b.if_(all_of([F.differs(0), RESULT.differs(0), F.differs(RESULT)])):
            b.splice([doubt(context, T, names, why)])
        with b.if_(RESULT.equals(0)):
            b.set(RESULT, F)
        b.update(OVER, "&", OVER - 1)
    b.return_(RESULT)
    return loop.function("loop", [OVER], b, f"Turns of `{e.variable}`, which have nothing to do with one another.")


def _in_any_order(loop: _Loop) -> Function:
    """`loop`: elements one after the other, but members of a symmetric set in every order."""
    context, e, b = loop.scope.context, loop.e, loop.scope.builder.inner()
    parts: dict[int, SymmetricSet | None] = {mask_of(x, loop.of): x for x in members_in(context, loop.visited)}
    parts |= dict.fromkeys(_others(loop.of.codes, list(parts)))
    for mask in sorted(parts):
        b.set(REST, OVER if len(parts) == 1 else OVER & mask)
        x = parts[mask]
        if x is not None:
            first = context.doubt([x.name], f"what {loop.what} comes to depends on the order of the members ({e.span})")
            context.doubt([x.name], f"{loop.what} visits too many members to try every order ({e.span})")
            with b.if_(REST & REST - 1):
                b.set(F, loop.call("orders", REST, first))
                with b.if_(F > 0):
                    b.return_(F)
                with b.if_(F.equals(0)):
                    b.set(REST, ZERO)
        _one_by_one(loop, b)
    return loop.function("loop", [OVER], b, f"Turns of `{e.variable}`, in any order.")


def _others(codes: int, masks: Sequence[int]) -> Iterator[int]:
    """What stands below, between and above the masks, of so many codes."""
    low = 0
    for mask in [*sorted(masks), 1 << codes]:
        between = (mask & -mask) - 1 & ~((1 << low) - 1)
        if between:
            yield between
        low = mask.bit_length()


def _one_by_one(loop: _Loop, b: Builder) -> None:
    with b.while_(REST):
        loop.turn(b, call("lowest", REST))
        with b.if_(F.differs(0)):
            b.return_(F)
        b.update(REST, "&", REST - 1)


def _orders(loop: _Loop) -> Function:
    """`orders`: for every part of the members, and every other that can be the next, a turn and a comparison. -1 if
    there is no room for them, and nothing has been done."""
    layout, b = loop.scope.context.layout, loop.scope.builder.inner()
    size, code = layout.copied + 1, layout.copied
    b.set(K, call("ones", OVER))
    b.set(FIRST, call("begin_orders", T, K, DOUBT))
    with b.if_(FIRST < 0):
        b.return_(-1)
    with b.count(DONE, 1 << K):
        b.set(PLACE, FIRST + DONE * size)
        b.set(REST, OVER)
        with b.count(J, K):
            b.set(X, call("lowest", REST))
            b.update(REST, "&", REST - 1)
            with b.if_((DONE >> J & 1).equals(0)):
                b.do(call("bring", T, PLACE))
                b.set(F, T[PLACE + code])
                with b.if_(F.equals(0)):
                    loop.turn(b, X)
                b.do(call("compare", T, FIRST + (DONE | 1 << J) * size, F, DOUBT))
    b.set(PLACE, FIRST + ((1 << K) - 1) * size)
    b.do(call("bring", T, PLACE))
    b.set(T[layout.stack], FIRST)
    b.return_(T[PLACE + code])
    return loop.function("orders", [OVER, DOUBT], b)


# Rounds and crashes ---------------------------------------------------------------------------------------------------


def rivals(context: Context, machine: m.Machine, would: str) -> list[Function]:
    """`rivals`: could several members of a set go on without an event? Called where the first of them is about to."""
    functions = []
    free = [Not(call("awaits", T, AT))] if awaitable(machine) else []
    touched = masks.test(context.layout, T, context.layout.touched, AT)
    able = all_of([touched, *free, call(would, T, AT).differs(IGNORED)])
    for x in context.reduction.of_machine(machine.qualified):
        b = Builder()
        b.set(COUNT, ZERO)
        with b.count(AT, x.first + x.count, x.first), b.if_(able):
            b.update(COUNT, "+", 1)
        b.return_(COUNT > 1)
        functions.append(
            function(f"rivals_{x.first}", rows("t"), b.block, "Could several of them take a step without an event?")
        )
    return functions


def lost_apart(context: Context, machine: m.Machine, fragile: Sequence[str], b: Builder) -> None:
    """Where a crash finds an instance in a state that does not last: is a member of its set, also struck, in another
    such state?"""
    column = context.column(machine.qualified, "")
    other = T[column + OTHER]
    in_such = any_of([other.equals(machine.leaf_numbers[leaf]) for leaf in fragile])
    struck = masks.test(context.layout, T, context.layout.struck, OTHER)
    for x in context.reduction.of_machine(machine.qualified):
        with (
            b.count(OTHER, Choice(x.first <= AT, Int(x.first + x.count), ZERO), AT + 1),
            b.if_(all_of([in_such, struck, other.differs(T[column + AT])])),
        ):
            b.splice([doubt(context, T, [x.name], "which member is lost first in a crash makes a difference")])


def in_doubt_of_fault(context: Context, machines: Sequence[m.Machine], b: Builder) -> None:
    """A crash fails: whoever comes first."""
    sets = [x for k in machines for x in context.reduction.of_machine(k.qualified)]
    if not sets:
        return
    why = "which member fails first in a crash may make a difference"
    with b.if_(any_of([masks.several(context.layout, T, context.layout.struck, x) for x in sets])):
        b.splice([doubt(context, T, [x.name for x in sets], why)])


def functions(context: Context) -> list[Function]:
    """What all loops share, and the loops."""
    layout = context.layout
    if not context.loops:
        return []
    places = {
        "COPIED": layout.copied, "SIZE": layout.copied + 1, "STACK": layout.stack, "END": layout.stack_end,
        "DOUBT": layout.doubt, "CUT": CUT,
    }  # fmt: skip
    return [*of_library("orders.py", places), *(f for loop in context.loops for f in loop)]
