"""Where the order of instances could make a difference, though the members of a symmetric set have none.

A loop over members is run in every order. What a part of them has done must not depend on the order either, so that for
each part all ways to it are compared: with `k` members `k * 2**(k - 1)` turns, where all orders would be `k!`. The rows
that parts lead to are kept in a stack behind the row, for loops may begin inside of loops. Where two of them differ a
doubt is noted, for which the search gives up the reduction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from fsmdsl import model as m
from fsmdsl.describe import words
from fsmdsl.explore.packed.layout import awaitable
from fsmdsl.explore.packed.lower.context import Context, Scope
from fsmdsl.explore.packed.lower.convert import decoded, element_of
from fsmdsl.explore.packed.lower.sites import CUT, IGNORED
from fsmdsl.explore.packed.lower.writer import Writer
from fsmdsl.explore.packed.shapes import Shape
from fsmdsl.explore.symmetry import SymmetricSet, independent

DEEP = 3
"""There is room for so many loops inside one another, each over as many members as there are or `WIDE`."""

WIDE = 6

Perform = Callable[[Scope, Sequence[m.Effect]], None]


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


def doubt(context: Context, row: str, names: Sequence[str], why: str) -> str:
    """The line that notes a doubt about symmetric sets."""
    return f"{row}[{context.layout.doubt}] = {context.doubt(names, why)}"


def mask_of(x: SymmetricSet, of: Shape) -> int:
    """The members of a set among the elements of a shape, as bits."""
    return (1 << x.count) - 1 << of.code(x.first)


# Quantifiers ---------------------------------------------------------------------------------------------------------


@contextmanager
def failing(scope: Scope, e: m.Quantified, over: str) -> Iterator[list[str]]:
    """Inside, a body without value is a doubt where it could be another member's that is looked at first. The list is
    no longer empty once the body can be without value: then it must be looked at for all of them."""
    sets = members_in(scope.context, e.over.type)
    found: list[str] = []
    if not sets:
        yield found
        return
    w, before = scope.writer, scope.fail
    several = w.name()

    def fail(kind: str) -> None:
        found.append(kind)
        why = f"whether `{words(e)}` has a value depends on their order ({e.span})"
        w.line(f"if {several}:")
        w.line("    " + doubt(scope.context, scope.row, [x.name for x in sets], why))
        before(kind)

    with w.aside() as lines:
        scope.fail = fail
        yield found
        scope.fail = before
    if found:
        w.line(f"{several} = {_several(scope, e.over, over, sets)}")
    w.put(lines)


def _several(scope: Scope, e: m.Expr, over: str, sets: Sequence[SymmetricSet]) -> str:
    """Whether there is more than one member of a set to be visited."""
    if isinstance(e, m.Apply) and e.function == "subsets":
        return "True"
    masks = [mask_of(x, element_of(scope, e.type)) for x in sets]
    return " or ".join(f"{over} & {x} & ({over} & {x}) - 1 != 0" for x in masks)


# Loops ---------------------------------------------------------------------------------------------------------------


def in_every_order(scope: Scope, e: m.ForEach, over: str, perform: Perform) -> None:
    """A loop through a set that can hold members of reduced sets, in functions of its own."""
    context, w = scope.context, scope.writer
    number = len(context.loops)
    context.loops.append([])
    turn = w.beside()
    inner = replace(scope, writer=turn, fail=lambda _: turn.line(f"return {context.sites.one()}"))
    assert isinstance(e.over.type, m.SetType)
    x = turn.name()
    with inner.binding(e.variable, x, e.over.type.of):
        perform(inner, e.body)
    given = "".join(f", {name}" for name in _shared(turn.lines, w))
    of = element_of(scope, e.over.type)
    context.loops[number] = [f"def turn_{number}(t, {x}{given}):", *turn.lines, "    return 0", ""]
    if independent(context.universe, scope.machine, e) and not context.cuts:
        context.loops[number] += _independent(scope, e, number, given)
    else:
        context.loops[number] += [*_orders(scope, number, given, of), *_loop(scope, e, number, given, of)]
    code = w.name()
    w.line(f"{code} = loop_{number}(t, {over}{given})")
    with w.block(f"if {code} != 0:"):
        w.line(f"return {code}")


def _shared(lines: Sequence[str], outer: Writer) -> list[str]:
    """The names of a function that a part of it uses."""
    used = dict.fromkeys(name for line in lines for name in re.findall(r"\b(?:v\d+|a\d+|at)\b", line))
    return [name for name in used if not name.startswith("v") or outer.knows(name)]


def _independent(scope: Scope, e: m.ForEach, number: int, given: str) -> list[str]:
    """`loop`, where no turn has to do with another: all that can make a difference is which of them fails first."""
    names = [x.name for x in members_in(scope.context, e.over.type)]
    why = f"which turn of `for {e.variable} in {words(e.over)}` fails first depends on their order ({e.span})"
    item = decoded(replace(scope, writer=Writer()), "lowest(over)", element_of(scope, e.over.type))
    return [
        f"def loop_{number}(t, over{given}):",
        f'    """Turns of `{e.variable}`, which have nothing to do with one another."""',
        "    found = 0",
        "    while over:",
        f"        f = turn_{number}(t, {item}{given})",
        "        if f != 0 and found != 0 and f != found:",
        f"            {doubt(scope.context, 't', names, why)}",
        "        if found == 0:",
        "            found = f",
        "        over &= over - 1",
        "    return found",
        "",
    ]


def _loop(scope: Scope, e: m.ForEach, number: int, given: str, of: Shape) -> list[str]:
    """`loop`: elements one after the other, but members of a symmetric set in every order."""
    context = scope.context
    what = f"`for {e.variable} in {words(e.over)}`"
    parts: dict[int, SymmetricSet | None] = {mask_of(x, of): x for x in members_in(context, e.over.type)}
    parts |= dict.fromkeys(_others((1 << of.codes) - 1, list(parts)))
    w = Writer()
    for mask in sorted(parts):
        w.line("rest = over" if len(parts) == 1 else f"rest = over & {mask}")
        x = parts[mask]
        if x is not None:
            first = context.doubt([x.name], f"what {what} comes to depends on their order ({e.span})")
            context.doubt([x.name], f"{what} has too many of them to try every order ({e.span})")
            with w.block("if rest & rest - 1:"):
                w.line(f"f = orders_{number}(t, rest, {first}{given})")
                with w.block("if f > 0:"):
                    w.line("return f")
                with w.block("if f == 0:"):
                    w.line("rest = 0")
        _one_by_one(scope, w, number, given, of)
    return [
        f"def loop_{number}(t, over{given}):",
        f'    """Turns of `{e.variable}`, in any order."""',
        *w.lines,
        "    return 0",
        "",
    ]


def _others(all_of_them: int, masks: Sequence[int]) -> Iterator[int]:
    """What stands below, between and above the masks."""
    low = 0
    for mask in [*sorted(masks), 1 << all_of_them.bit_length()]:
        between = (mask & -mask) - 1 & ~((1 << low) - 1)
        if between:
            yield between
        low = mask.bit_length()


def _one_by_one(scope: Scope, w: Writer, number: int, given: str, of: Shape) -> None:
    with w.block("while rest:"):
        item = decoded(replace(scope, writer=w), "lowest(rest)", of)
        w.line(f"f = turn_{number}(t, {item}{given})")
        with w.block("if f != 0:"):
            w.line("return f")
        w.line("rest &= rest - 1")


def _orders(scope: Scope, number: int, given: str, of: Shape) -> list[str]:
    """`orders`: for every part of the members, and every other that can be the next, a turn and a comparison. -1 if
    there is no room for them, and nothing has been done."""
    layout = scope.context.layout
    size, code = layout.copied + 1, layout.copied
    w = Writer()
    w.line("k = ones(over)")
    w.line("first = begin_orders(t, k, doubt)")
    with w.block("if first < 0:"):
        w.line("return -1")
    with w.block("for done in range(1 << k):"):
        w.line(f"place = first + done * {size}")
        w.line("rest = over")
        with w.block("for j in range(k):"):
            w.line("x = lowest(rest)")
            w.line("rest &= rest - 1")
            with w.block("if done >> j & 1 == 0:"):
                w.line("bring(t, place)")
                w.line(f"f = t[place + {code}]")
                with w.block("if f == 0:"):
                    item = decoded(replace(scope, writer=w), "x", of)
                    w.line(f"f = turn_{number}(t, {item}{given})")
                w.line(f"compare(t, first + (done | 1 << j) * {size}, f, doubt)")
    w.line(f"place = first + ((1 << k) - 1) * {size}")
    w.line("bring(t, place)")
    w.line(f"t[{layout.stack}] = first")
    w.line(f"return t[place + {code}]")
    return [f"def orders_{number}(t, over, doubt{given}):", *w.lines, ""]


# Rounds and crashes ---------------------------------------------------------------------------------------------------


def rivals(context: Context, machine: m.Machine, would: str) -> list[str]:
    """`rivals`: could several members of a set go on without an event? Asked where the first of them is about to."""
    lines: list[str] = []
    free = " and not awaits(t, at)" if awaitable(machine) else ""
    for x in context.reduction.of_machine(machine.qualified):
        lines += [
            f"def rivals_{x.first}(t):",
            '    """Could several of them go on without an event?"""',
            "    count = 0",
            f"    for at in range({x.first}, {x.first + x.count}):",
            f"        if t[{context.layout.touched}] >> at & 1{free} and {would}(t, at) != {IGNORED}:",
            "            count += 1",
            "    return count > 1",
            "",
        ]
    return lines


def lost_apart(context: Context, machine: m.Machine, fragile: Sequence[int], w: Writer) -> None:
    """Where a crash finds an instance in a state that does not last: is a member of its set in another such state?"""
    column = context.column(machine.qualified, "")
    for x in context.reduction.of_machine(machine.qualified):
        other = f"t[{column} + other]"
        with (
            w.block(f"for other in range(at + 1, {x.first + x.count} if at >= {x.first} else 0):"),
            w.block(f"if {sum(1 << leaf for leaf in fragile)} >> {other} & 1 and {other} != t[{column} + at]:"),
        ):
            w.line(doubt(context, "t", [x.name], "which of them is lost first in a crash makes a difference"))


def in_doubt_of_fault(context: Context, machines: Sequence[m.Machine], w: Writer) -> None:
    """A crash fails: whoever comes first."""
    names = [x.name for k in machines for x in context.reduction.of_machine(k.qualified)]
    if names:
        w.line(doubt(context, "t", names, "which of them fails first in a crash may make a difference"))


@contextmanager
def apart_where_symmetric(context: Context, machines: Sequence[m.Machine], w: Writer) -> Iterator[list[str]]:
    """Crash transitions, one after the other: where members follow some, in a function of its own, whose faults are
    in doubt."""
    found: list[str] = []
    if not any(context.reduction.of_machine(x.qualified) for x in machines):
        yield found
        return
    depth, w.depth = w.depth, 1
    with w.aside() as lines:
        yield found
    w.depth = depth
    found += ["def crash_effects(t):", '    """Each takes its crash transition."""', *lines, "    return 0", ""]
    w.line("f = crash_effects(t)")
    with w.block("if f != 0:"):
        in_doubt_of_fault(context, machines, w)
        w.line("return f")


def functions(context: Context) -> list[str]:
    """What all loops share, and the loops."""
    layout = context.layout
    if not context.loops:
        return []
    numbers = {
        "COPIED": layout.copied, "SIZE": layout.copied + 1, "STACK": layout.stack, "END": layout.stack_end,
        "DOUBT": layout.doubt, "CUT": CUT,
    }  # fmt: skip
    text = re.sub(rf"\b({'|'.join(numbers)})\b", lambda found: str(numbers[found[0]]), TEXT)
    return [*text.splitlines(), "", *(line for lines in context.loops for line in lines)]


TEXT = '''
def keep(t, at):
    """A copy of the row."""
    for i in range(COPIED):
        t[at + i] = t[i]
    return 0


def bring(t, at):
    """The row as it was."""
    for i in range(COPIED):
        t[i] = t[at + i]
    return 0


def same(t, at):
    """Is the row as it was?"""
    for i in range(COPIED):
        if t[i] != t[at + i]:
            return False
    return True


def begin_orders(t, k, doubt):
    """Where the rows of all parts of so many members are kept, this one the first; below 0: nowhere."""
    first = t[STACK]
    if t[DOUBT] == 0 and (k > 16 or first + (SIZE << k) > END):
        t[DOUBT] = doubt + 1
    if t[DOUBT] != 0:
        return -1
    t[STACK] = first + (SIZE << k)
    keep(t, first)
    t[first + COPIED] = 0
    for part in range(1, 1 << k):
        t[first + part * SIZE + COPIED] = -1
    return first


def compare(t, at, f, doubt):
    """What a part has come to: the same as before? After a fault the row means nothing."""
    if t[at + COPIED] == -1:
        t[at + COPIED] = f
        keep(t, at)
    elif t[DOUBT] == 0 and (t[at + COPIED] != f or (f == 0 or f == CUT) and not same(t, at)):
        t[DOUBT] = doubt
    return 0
'''
