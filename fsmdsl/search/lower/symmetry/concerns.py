"""What concerns a member of a symmetric set: what stands in its own columns, and where something refers to it.

Each piece is an expression about the member `j`, worth a number from 0 on in so many bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import reduce
from itertools import zip_longest
from operator import add

from fsmdsl import model as m
from fsmdsl.program.builder import Builder, function, numbers
from fsmdsl.program.nodes import ONE, ZERO, Choice, Expr, Function, Int, Statement, Var, all_of, call
from fsmdsl.search.layout import Layout, QueueLayout
from fsmdsl.search.lower.context import T
from fsmdsl.search.lower.symmetry.renaming import J, X, awaited, columns, queues, referring
from fsmdsl.search.lower.values.convert import code_of, number_of
from fsmdsl.search.shapes import none_of, parts_of, shape
from fsmdsl.search.symmetry import Reduction, SymmetricSet
from fsmdsl.search.symmetry.sets import is_reference, mentions

Piece = tuple[Expr, int]


def everything(layout: Layout, x: SymmetricSet) -> Iterator[Piece]:
    """All of it. No piece is about two members, and other sets stand in an order that is not changed any more."""
    for _, place in columns(layout, x):
        s = layout.shapes[place]
        yield code_of(T[place + J], s), s.bits
    for box, apart in queues(layout, x):
        for place in range(box.length, box.length + box.places):
            yield T[place + J * apart], layout.shapes[place].bits
    for t, places in referring(layout, x, range(len(layout.universe.machines))):
        for place in places:
            yield from _refers(layout, x, t, T[place])
    for box in layout.boxes:
        yield from _in_bag(layout, x, box) if box.channel.order == "bag" else _in_line(layout, x, box)
    yield from _awaiting(layout, x)


def outline(layout: Layout, x: SymmetricSet, reduction: Reduction) -> Iterator[Piece]:
    """What can be said of a member without saying who any other member is, of this set or another."""
    types = {f.name: f.type for f in layout.universe.machines[x.first].fields}
    for name, place in columns(layout, x):
        s, t = layout.shapes[place], types.get(name, m.BOOL)
        if any(mentions(t, y.machine) for y in reduction.sets):
            yield from _size(layout, t, T[place + J])
        else:
            yield code_of(T[place + J], s), s.bits
    for y in reduction.sets:
        for t, places in referring(layout, x, y.numbers):
            if isinstance(t, m.SetType) or is_reference(t):
                parts = [part for place in places for part, _ in _refers(layout, x, t, T[place])]
                yield _sum(parts), len(parts).bit_length()
    members = {n for y in reduction.sets for n in y.numbers}
    others = [n for n in range(len(layout.universe.machines)) if n not in members]
    for t, places in referring(layout, x, others):
        for place in places:
            yield from _refers(layout, x, t, T[place])
    for box, apart in queues(layout, x):
        if box.sender is None or not {box.sender, box.receiver} <= members:
            yield from _waiting(layout, box, apart, [y.machine for y in reduction.sets])
    yield from _between(layout, x, members)
    for box in layout.boxes:
        if box.channel.order != "bag" and not {box.sender, box.receiver} & members:
            yield from _in_line(layout, x, box)
    yield from _awaiting(layout, x)


def _between(layout: Layout, x: SymmetricSet, members: Set[int]) -> Iterator[Piece]:
    """How many messages wait in all queues of a channel between a member and members of the same or another set."""
    by_channel: dict[tuple[str, int], list[tuple[Expr, int]]] = {}
    for box, apart in queues(layout, x):
        if box.sender is not None and {box.sender, box.receiver} <= members:
            lengths = by_channel.setdefault((box.channel.qualified, apart), [])
            lengths.append((T[box.length + J * apart], box.channel.bound))
    for lengths_of in by_channel.values():
        yield _sum([length for length, _ in lengths_of]), sum(bound for _, bound in lengths_of).bit_length()


def _waiting(layout: Layout, box: QueueLayout, apart: int, machines: Sequence[str]) -> Iterator[Piece]:
    """The queue of a member: how many messages wait and, where they have an order, which; whoever of these machines
    they are about."""
    yield T[box.length + J * apart], layout.shapes[box.length].bits
    if box.channel.order == "bag":
        return
    actions = list(_about(layout, box, machines))
    for place in range(box.first, box.first + box.channel.bound):
        message = T[place + J * apart]
        about = [Choice((message >> box.argument_bits).equals(n), Int(x), ZERO) for n, x in actions if x]
        yield (message & ~_sum(about) if about else message), box.shape.bits


def _about(layout: Layout, box: QueueLayout, machines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """By event: the bits of a message that refer to instances of these machines."""
    for n, arguments in enumerate(box.records):
        parts = parts_of(arguments, layout.universe).values()
        yield n, sum((1 << s.bits) - 1 << at for t, s, at in parts if any(mentions(t, x) for x in machines))


def _size(layout: Layout, t: m.Type, value: Expr) -> Iterator[Piece]:
    """How many instances a value refers to."""
    match t:
        case m.OptionalType(of=m.RefType()):
            yield Choice(value.equals(none_of(t, layout.universe)), ZERO, ONE), 1
        case m.SetType(of):
            yield call("ones", value), shape(of, layout.universe).codes.bit_length()
        case m.ListType(bound=bound):
            yield value & (1 << bound.bit_length()) - 1, bound.bit_length()
        case _:
            return


def _sum(parts: Sequence[Expr]) -> Expr:
    return reduce(add, parts)


def _bit(condition: Expr) -> Expr:
    return Choice(condition, ONE, ZERO)


# Fields --------------------------------------------------------------------------------------------------------------


def _refers(layout: Layout, x: SymmetricSet, t: m.Type, value: Expr) -> Iterator[Piece]:
    """Whether a value refers to the member, and in a list where."""
    universe = layout.universe
    match t:
        case m.RefType() | m.OptionalType(of=m.RefType()):
            yield _bit(value.equals(x.first + J)), 1
        case m.OptionalType(of):
            for inner, bits in _refers(layout, x, of, value):
                yield Choice(value.equals(none_of(t, layout.universe)), ZERO, inner), bits
        case m.SetType(of):
            yield value >> shape(of, universe).code(x.first) + J & 1, 1
        case m.RecordType():
            for of, s, at in parts_of(t, universe).values():
                if mentions(of, x.machine):
                    yield from _refers(layout, x, of, number_of(value >> at & (1 << s.bits) - 1, s))
        case m.ListType(of, bound):
            s, at = shape(of, universe), bound.bit_length()
            for n in range(bound):
                item = number_of(value >> at + n * s.bits & (1 << s.bits) - 1, s)
                there = (value & (1 << at) - 1) > n
                for inner, bits in _refers(layout, x, of, item):
                    yield Choice(there, inner, ZERO), bits
        case m.MapType(key, of):
            yield from _mapped(layout, x, key, of, value)
        case _:
            return


def _mapped(layout: Layout, x: SymmetricSet, key: m.Type, of: m.Type, value: Expr) -> Iterator[Piece]:
    """What a map has for the member; where members are values, which keys have this one."""
    at, s = shape(key, layout.universe), shape(of, layout.universe)
    mask = (1 << s.bits) - 1
    if mentions(key, x.machine):
        yield value >> (at.code(x.first) + J) * s.bits & mask, s.bits
        return
    for n in range(at.codes):
        yield from _refers(layout, x, of, number_of(value >> n * s.bits & mask, s))


# Channels and answers ------------------------------------------------------------------------------------------------


def _in_line(layout: Layout, x: SymmetricSet, box: QueueLayout) -> Iterator[Piece]:
    """Where messages have an order: whether the member is an argument of this one."""
    for place in range(box.first, box.first + box.channel.bound):
        event = T[place] >> box.argument_bits
        by_event = [list(_refers(layout, x, arguments, T[place])) for arguments in box.records]
        for same in zip_longest(*by_event, fillvalue=(ZERO, 0)):
            parts = [Choice(event.equals(n), part, ZERO) for n, (part, bits) in enumerate(same) if bits]
            there = Int(place - box.first) < T[box.length]
            yield Choice(there, _sum(parts), ZERO), max(bits for _, bits in same)


def _in_bag(layout: Layout, x: SymmetricSet, box: QueueLayout) -> Iterator[Piece]:
    """Where messages have none: in how many messages of each rank the member is the argument. See `ranks`."""
    each = box.channel.bound.bit_length()
    parts = []
    for i, place in enumerate(range(box.first, box.first + box.channel.bound)):
        event = T[place] >> box.argument_bits
        for n, arguments in enumerate(box.records):
            for part, _ in _refers(layout, x, arguments, T[place]):
                there = all_of([Int(i) < T[box.length], event.equals(n), part])
                parts.append(Choice(there, 1 << _rank(box, i) * each, ZERO))
    if parts:
        yield _sum(parts), box.channel.bound * each


def _rank(box: QueueLayout, i: int) -> Var:
    """The rank of a message, by its place in a bag."""
    return Var(f"rank_{box.length}_{i}")


def ranks(layout: Layout, x: SymmetricSet) -> tuple[list[Function], list[Statement]]:
    """Functions, and statements that compute the rank of each message of a bag: how many others are less, whoever of
    the set they are about."""
    functions: list[Function] = []
    b = Builder()
    for box in layout.boxes:
        if box.channel.order != "bag" or not list(_in_bag(layout, x, box)):
            continue
        functions.append(_bare(layout, x, box))
        bare = [Var(f"bare_{i}") for i in range(box.channel.bound)]
        for i, message in enumerate(bare):
            b.set(message, call(functions[-1].name, T[box.first + i]))
        for i, message in enumerate(bare):
            less = [_bit(other < message) for k, other in enumerate(bare) if k != i]
            b.set(_rank(box, i), _sum(less) if less else ZERO)
    return functions, b.statements


def _bare(layout: Layout, x: SymmetricSet, box: QueueLayout) -> Function:
    """A message of a bag, with nothing where the member stands."""
    b = Builder()
    for n, bits in _about(layout, box, [x.machine]):
        if bits:
            with b.if_((X >> box.argument_bits).equals(n)):
                b.return_(X & ~Int(bits))
    b.return_(X)
    name = f"bare_{x.first}_{box.length}"
    return function(name, numbers("x"), b.block, "A message, whoever of them it is about.")


def _awaiting(layout: Layout, x: SymmetricSet) -> Iterator[Piece]:
    """Which of the answers awaited are the member's."""
    first, actions = awaited(layout, x)
    for place in range(layout.pending, layout.pending + layout.pending_places):
        for action in range(actions):
            yield _bit(T[place].equals(J * actions + (first + action))), 1
