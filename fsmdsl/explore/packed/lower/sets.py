"""Sets and lists in expressions, and what is asked of them."""

from __future__ import annotations

from functools import reduce
from math import comb

from fsmdsl import model as m
from fsmdsl.explore.packed.lower import expressions
from fsmdsl.explore.packed.lower.context import Scope
from fsmdsl.explore.packed.lower.convert import coded, converted, decoded, element_of, item_of, placed, shape_of
from fsmdsl.explore.packed.lower.loops import constants, loop
from fsmdsl.explore.packed.lower.orders import failing
from fsmdsl.explore.packed.shapes import UnpackableError
from fsmdsl.step.values import MOST

# Made ----------------------------------------------------------------------------------------------------------------


def collection(scope: Scope, e: m.Collection, want: m.Type) -> str:
    """`{a, b}` or `[a, b]`, as one of the type wanted."""
    inner = want.of if isinstance(want, m.OptionalType) else want
    if isinstance(inner, m.SetType):
        return _set(scope, e, inner)
    if not isinstance(inner, m.ListType):
        raise UnpackableError("a collection of no known kind")
    own = e.type if isinstance(e.type, m.ListType) and e.items else inner
    if not e.items:
        return "0"
    of, at = element_of(scope, own), own.bound.bit_length()
    texts = _in_order(scope, [(x, own.of) for x in e.items])
    parts = [f"{coded(scope, x, of)} << {at + n * of.bits}" for n, x in enumerate(texts)]
    return converted(scope, f"({' | '.join([str(len(parts)), *parts])})", own, inner)


def _set(scope: Scope, e: m.Collection, want: m.SetType) -> str:
    if not e.items:
        return "0"
    own = e.type if isinstance(e.type, m.SetType) else want
    of = element_of(scope, own)
    texts = _in_order(scope, [(x, own.of) for x in e.items])
    bits = [bit(coded(scope, x, of)) for x in texts]
    return converted(scope, f"({' | '.join(bits)})", own, want)


def bit(code: str) -> str:
    """A set of one element."""
    return str(1 << int(code)) if code.isdigit() else f"1 << {code}"


def _in_order(scope: Scope, items: list[tuple[m.Expr, m.Type]]) -> list[str]:
    """Values, each in a name where one behind it needs lines."""
    texts: list[str] = []
    for x, t in items:
        with scope.writer.aside() as lines:
            text = expressions.value(scope, x, t)
        if lines:
            texts = [scope.writer.named(x) for x in texts]
            scope.writer.put(lines)
        texts.append(text)
    return texts


# Gone through --------------------------------------------------------------------------------------------------------


def quantified(scope: Scope, e: m.Quantified) -> str:
    """`all`, `some` and `count`, as a loop that ends as soon as it can."""
    w = scope.writer
    over = collected(scope, e.over)
    found = w.name()
    w.line(f"{found} = {'0' if e.kind == 'count' else str(e.kind == 'all')}")
    of = e.over.type.of if isinstance(e.over.type, m.SetType | m.ListType) else m.ERROR
    with (
        failing(scope, e, over) as asked_of_all,
        loop(scope, e.over.type, over, e.over) as x,
        scope.binding(e.variable, x, of),
    ):
        text = expressions.value(scope, e.body)
        if e.kind == "count":
            with w.block(f"if {text}:"):
                w.line(f"{found} += 1")
        else:
            with w.block(f"if not {text}:" if e.kind == "all" else f"if {text}:"):
                w.line(f"{found} = {e.kind == 'some'}")
                if not asked_of_all:
                    w.line("break")
    return found


def collected(scope: Scope, over: m.Expr) -> str:
    """What a loop goes through, in a name; for subsets, what they are taken from."""
    if isinstance(over, m.Apply) and over.function == "subsets":
        _check_subsets(scope, over)
        return scope.writer.named(expressions.value(scope, over.arguments[0]))
    if constants(scope, over):
        return "0"
    if isinstance(over.type, m.SetType) and isinstance(over.type.of, m.SetType | m.ListType):
        raise UnpackableError("a set of sets or lists")
    return scope.writer.named(expressions.value(scope, over))


def _check_subsets(scope: Scope, over: m.Apply) -> None:
    """There are never too many, by the sizes that are asked for."""
    whole, size = over.arguments
    codes = element_of(scope, whole.type).codes
    most = max((comb(codes, k) for k in _sizes(scope, size) if 0 <= k <= codes), default=0)
    if most > MOST:
        raise UnpackableError(f"subsets of a set of up to {codes} elements: {most}, more than {MOST}")


def _sizes(scope: Scope, e: m.Expr) -> list[int]:
    """What a size can be: that of a parameter has a value for each instance."""
    if isinstance(e, m.Read) and e.kind == "param":
        t = e.target.type if e.target is not None else None
        machine = t.of if isinstance(t, m.OptionalType) else t
        name = machine.machine if isinstance(machine, m.RefType) else scope.machine.qualified if scope.machine else ""
        universe = scope.context.universe
        values = [universe.params[n][e.name] for n in universe.instances_of(name)]
        return [x for x in values if isinstance(x, int)]
    if isinstance(e.type, m.RangeType):
        return list(range(max(e.type.low, 0), min(e.type.high, 64) + 1))
    return list(range(64))


# Asked ---------------------------------------------------------------------------------------------------------------


def contained(scope: Scope, e: m.Binary) -> str:
    """`x in set`, `x in list`."""
    w = scope.writer
    over = e.right.type
    if isinstance(over, m.SetType) and isinstance(over.of, m.SetType | m.ListType):
        raise UnpackableError("a set of sets or lists")
    if isinstance(e.right, m.Collection) and not _packable(scope, over):
        return _one_of(scope, e.left, e.right)
    item = w.named(expressions.value(scope, e.left))
    assert isinstance(over, m.SetType | m.ListType)
    if isinstance(over.of, m.NeverType):
        expressions.value(scope, e.right)
        return "False"
    held = expressions.value(scope, e.right)
    if isinstance(over, m.ListType):
        return _listed(scope, item, e.left.type, w.named(held), over)
    conditions, place = placed(scope, item, e.left.type, over.of)
    return f"({' and '.join([*conditions, f'{held} >> {place} & 1 == 1'])})"


def _packable(scope: Scope, t: m.Type) -> bool:
    """Does a value of a type fit in a word?"""
    try:
        shape_of(scope, t)
    except UnpackableError:
        return False
    return True


def _one_of(scope: Scope, item: m.Expr, these: m.Collection) -> str:
    """`n in {100, 200}`, where there would be too many places."""
    t = reduce(expressions.common, [x.type for x in these.items], item.type)
    first, *others = [scope.writer.named(x) for x in _in_order(scope, [(x, t) for x in (item, *these.items)])]
    return f"({' or '.join(f'{first} == {x}' for x in others)})"


def _listed(scope: Scope, item: str, have: m.Type, held: str, over: m.ListType) -> str:
    w, found = scope.writer, scope.writer.name()
    w.line(f"{found} = False")
    t = expressions.common(have, over.of)
    wanted = w.named(converted(scope, item, have, t))
    with loop(scope, over, held) as x, w.block(f"if {converted(scope, x, over.of, t)} == {wanted}:"):
        w.line(f"{found} = True")
    return found


def first(scope: Scope, listed: m.Expr) -> str:
    """The first item; a fault where there is none."""
    text = scope.writer.named(expressions.value(scope, listed))
    with scope.writer.block(f"if {text} == 0:"):
        scope.fail("none")
    if isinstance(listed.type, m.ListType):
        return item_of(scope, text, listed.type, "0")
    return decoded(scope, f"lowest({text})", element_of(scope, listed.type))


def rest(scope: Scope, listed: m.Expr, t: m.Type) -> str:
    """A list without its first item."""
    assert isinstance(listed.type, m.ListType)
    of, at = element_of(scope, listed.type), listed.type.bound.bit_length()
    text = scope.writer.named(expressions.value(scope, listed))
    length = f"({text} & {(1 << at) - 1})"
    shorter = f"({length} - 1 | {text} >> {at + of.bits} << {at} if {length} > 1 else 0)"
    return converted(scope, shorter, listed.type, t)


def size(scope: Scope, e: m.Expr) -> str:
    """How many a set, a list or a channel holds."""
    if isinstance(e, m.ChannelRef):
        place = scope.context.universe.channel_place.get(e.name)
        return "0" if place is None else f"{scope.row}[{scope.context.layout.boxes[place].length}]"
    text = expressions.value(scope, e)
    if isinstance(e.type, m.ListType):
        return f"({text} & {(1 << e.type.bound.bit_length()) - 1})"
    return f"ones({text})"
