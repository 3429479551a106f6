"""What concerns a member of a symmetric set: what stands in its own columns, and where something refers to it.

Each piece is a text about the member `j`, worth a number from 0 on in so many bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import Box, Layout, kinds
from fsmdsl.explore.packed.lower.renaming import awaited, code_of, columns, number_of
from fsmdsl.explore.packed.shapes import element, shape
from fsmdsl.explore.symmetry import Reduction, SymmetricSet
from fsmdsl.explore.symmetry.sets import is_reference, mentions

Piece = tuple[str, int]


def everything(layout: Layout, x: SymmetricSet) -> Iterator[Piece]:
    """All of it. No piece is about two members, and other sets stand in an order that is not changed any more."""
    for _, place in columns(layout, x):
        s = layout.shapes[place]
        yield code_of(f"t[{place} + j]", s), s.bits
    for t, places in _fields_referring(layout, x, range(len(layout.universe.machines))):
        for place in places:
            yield from _refers(layout, x, t, f"t[{place}]")
    for box in layout.boxes:
        yield from _in_bag(layout, x, box) if box.channel.order == "bag" else _in_line(layout, x, box)
    yield from _awaiting(layout, x)


def outline(layout: Layout, x: SymmetricSet, reduction: Reduction) -> Iterator[Piece]:
    """What can be said of a member without saying who any other member is, of this set or another."""
    types = {f.name: f.type for f in layout.universe.machines[x.first].fields}
    for name, place in columns(layout, x):
        s, t = layout.shapes[place], types.get(name, m.BOOL)
        if any(mentions(t, y.machine) for y in reduction.sets):
            yield from _size(layout, t, f"t[{place} + j]")
        else:
            yield code_of(f"t[{place} + j]", s), s.bits
    for y in reduction.sets:
        for t, places in _fields_referring(layout, x, y.numbers):
            if isinstance(t, m.SetType) or is_reference(t):
                texts = [text for place in places for text, _ in _refers(layout, x, t, f"t[{place}]")]
                yield f"({' + '.join(texts)})", len(texts).bit_length()
    members = {n for y in reduction.sets for n in y.numbers}
    others = [n for n in range(len(layout.universe.machines)) if n not in members]
    for t, places in _fields_referring(layout, x, others):
        for place in places:
            yield from _refers(layout, x, t, f"t[{place}]")
    for box in layout.boxes:
        if box.channel.order != "bag":
            yield from _in_line(layout, x, box)
    yield from _awaiting(layout, x)


def _size(layout: Layout, t: m.Type, text: str) -> Iterator[Piece]:
    """How many instances a value refers to."""
    match t:
        case m.OptionalType(of=m.RefType()):
            yield f"(0 if {text} == {shape(t, layout.universe).none} else 1)", 1
        case m.SetType(of):
            yield f"ones({text})", element(of, layout.universe).codes.bit_length()
        case m.ListType(bound=bound):
            yield f"({text} & {(1 << bound.bit_length()) - 1})", bound.bit_length()
        case _:
            return


# Fields --------------------------------------------------------------------------------------------------------------


def _fields_referring(layout: Layout, x: SymmetricSet, among: Iterable[int]) -> Iterator[tuple[m.Type, list[int]]]:
    """The fields of instances that can refer to a member: their type, and where they stand."""
    listed = set(among)
    for machine in kinds(layout.universe):
        of = sorted(listed & layout.universe.instances_of(machine.qualified))
        for f in machine.fields:
            if of and mentions(f.type, x.machine):
                column = layout.columns[machine.qualified, f.name]
                yield f.type, [column + n for n in of]


def _refers(layout: Layout, x: SymmetricSet, t: m.Type, text: str) -> Iterator[Piece]:
    """Whether a value refers to the member, and in a list where."""
    universe = layout.universe
    match t:
        case m.RefType() | m.OptionalType(of=m.RefType()):
            yield f"(1 if {text} == {x.first} + j else 0)", 1
        case m.OptionalType(of):
            for inner, bits in _refers(layout, x, of, text):
                yield f"(0 if {text} == {shape(t, universe).none} else {inner})", bits
        case m.SetType(of):
            yield f"({text} >> {element(of, universe).code(x.first)} + j & 1)", 1
        case m.ListType(of, bound):
            s, at = element(of, universe), bound.bit_length()
            for n in range(bound):
                item = f"{text} >> {at + n * s.bits} & {(1 << s.bits) - 1}"
                there = f"{text} & {(1 << at) - 1} > {n}"
                yield f"(1 if {there} and {item} == {s.code(x.first)} + j else 0)", 1
        case _:
            return


# Channels and answers ------------------------------------------------------------------------------------------------


def _in_line(layout: Layout, x: SymmetricSet, box: Box) -> Iterator[Piece]:
    """Where messages have an order: whether the member is an argument of this one."""
    for place in range(box.first, box.first + box.channel.bound):
        by_event = [list(_argument(layout, x, box, n, f"t[{place}]")) for n in range(len(box.events))]
        for same in zip_longest(*by_event, fillvalue=("0", 0)):
            texts = [
                f"({text} if t[{place}] >> {box.argument_bits} == {n} else 0)"
                for n, (text, bits) in enumerate(same)
                if bits
            ]
            there = f"{place - box.first} < t[{box.length}]"
            yield f"({' + '.join(texts)} if {there} else 0)", max(bits for _, bits in same)


def _argument(layout: Layout, x: SymmetricSet, box: Box, n: int, message: str) -> Iterator[Piece]:
    for p, s, at in zip(box.events[n].parameters, box.shapes[n], box.offsets(n), strict=True):
        if mentions(p.type, x.machine):
            yield from _refers(layout, x, p.type, number_of(f"({message} >> {at} & {(1 << s.bits) - 1})", s))


def _in_bag(layout: Layout, x: SymmetricSet, box: Box) -> Iterator[Piece]:
    """Where messages have none: in how many messages of each rank the member is the argument. See `ranks`."""
    each = box.channel.bound.bit_length()
    texts = []
    for i, place in enumerate(range(box.first, box.first + box.channel.bound)):
        for n in range(len(box.events)):
            for text, _ in _argument(layout, x, box, n, f"t[{place}]"):
                there = f"{i} < t[{box.length}] and t[{place}] >> {box.argument_bits} == {n} and {text}"
                texts.append(f"(1 << rank_{box.length}_{i} * {each} if {there} else 0)")
    if texts:
        yield f"({' + '.join(texts)})", box.channel.bound * each


def ranks(layout: Layout, x: SymmetricSet) -> tuple[list[str], list[str]]:
    """Functions, and lines that name the rank of each message of a bag: how many others are less, whoever of the set
    they are about."""
    functions: list[str] = []
    lines: list[str] = []
    for box in layout.boxes:
        if box.channel.order != "bag" or not list(_in_bag(layout, x, box)):
            continue
        name = f"bare_{x.first}_{box.length}"
        functions += [f"def {name}(x):", '    """A message, whoever of them it is about."""']
        for n, event in enumerate(box.events):
            for p, s, at in zip(event.parameters, box.shapes[n], box.offsets(n), strict=True):
                if mentions(p.type, x.machine):
                    mask = ((1 << s.bits) - 1) << at
                    functions += [f"    if x >> {box.argument_bits} == {n}:", f"        return x & ~{mask}"]
        functions += ["    return x", ""]
        every = range(box.channel.bound)
        lines += [f"    bare_{i} = {name}(t[{box.first + i}])" for i in every]
        for i in every:
            less = [f"(1 if bare_{k} < bare_{i} else 0)" for k in every if k != i]
            lines.append(f"    rank_{box.length}_{i} = {' + '.join(less) or '0'}")
    return functions, lines


def _awaiting(layout: Layout, x: SymmetricSet) -> Iterator[Piece]:
    """Which of the answers awaited are the member's."""
    first, actions = awaited(layout, x)
    for place in range(layout.pending, layout.pending + layout.pending_places):
        for action in range(actions):
            yield f"(1 if t[{place}] == j * {actions} + {first + action} else 0)", 1
