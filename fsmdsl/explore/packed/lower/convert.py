"""Numbers of one type as numbers of another: sets that count from elsewhere, lists with other room, none elsewhere."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.explore.packed.lower.context import Scope
from fsmdsl.explore.packed.shapes import Shape, element, shape


def shape_of(scope: Scope, t: m.Type) -> Shape:
    """The numbers of a type in this system."""
    return shape(t, scope.context.universe)


def converted(scope: Scope, text: str, have: m.Type, want: m.Type) -> str:
    """A number of one type as one of another that has all its values in common with it.

    Values that the other type has not got stay what they are where that is a number; elements of a set that it has not
    got are dropped: whoever may have such values looks first, see `misfit`.
    """
    if have == want:
        return text
    match have, want:
        case (m.OptionalType(a), m.OptionalType(b)):
            return _optional(scope, text, have, want, a, b)
        case (m.OptionalType(a), _):
            return converted(scope, text, a, want)
        case (_, m.OptionalType(b)) if isinstance(have, m.NoneType):
            return str(shape_of(scope, want).none)
        case (_, m.OptionalType(b)):
            return converted(scope, text, have, b)
        case (m.SetType(a), m.SetType(b)) if not isinstance(a, m.NeverType | m.SetType):
            return _shifted(text, element(a, scope.context.universe).low - element(b, scope.context.universe).low)
        case (m.ListType(a), m.ListType(b)) if not isinstance(a, m.NeverType):
            return _relisted(scope, text, have, want)
        case _:
            return text


def _optional(scope: Scope, text: str, have: m.Type, want: m.Type, a: m.Type, b: m.Type) -> str:
    old, new = shape_of(scope, have).none, shape_of(scope, want).none
    if old == new and not isinstance(a, m.SetType | m.ListType):
        return text
    name = scope.writer.named(text)
    inner = converted(scope, name, a, b)
    return name if inner == name and old == new else f"({new} if {name} == {old} else {inner})"


def _shifted(text: str, up: int) -> str:
    if up == 0:
        return text
    return f"({text} << {up})" if up > 0 else f"({text} >> {-up})"


def _relisted(scope: Scope, text: str, have: m.ListType, want: m.ListType) -> str:
    """Element by element, where the elements stand elsewhere."""
    universe, w = scope.context.universe, scope.writer
    old, new = element(have.of, universe), element(want.of, universe)
    old_at, new_at = have.bound.bit_length(), want.bound.bit_length()
    if old.bits == new.bits and old.low == new.low and old_at == new_at:
        return text
    listed, made = w.named(text), w.name()
    w.line(f"{made} = {listed} & {(1 << old_at) - 1}")
    mask = (1 << old.bits) - 1
    count = w.name()
    with w.block(f"for {count} in range({listed} & {(1 << old_at) - 1}):"):
        code = f"({listed} >> {old_at} + {count} * {old.bits} & {mask})"
        code = f"({code} + {old.low - new.low})" if old.low != new.low else code
        w.line(f"{made} |= {code} << {new_at} + {count} * {new.bits}")
    return made


def misfit(scope: Scope, text: str, have: m.Type, want: m.Type) -> list[tuple[str, str]]:
    """When a place of one type cannot hold a value of another: conditions on its number, and the kind of fault, in the
    order in which they are looked at. Those that can never hold are left out. See `step.values.outside`."""
    universe = scope.context.universe
    match have, want:
        case (m.NoneType(), _):
            return []
        case (m.OptionalType(a), m.OptionalType(b)):
            none = shape_of(scope, have).none
            return [(f"{text} != {none} and ({c})", kind) for c, kind in misfit(scope, text, a, b)]
        case (_, m.OptionalType(b)):
            return misfit(scope, text, have, b)
        case (m.OptionalType(a), _):
            none = shape_of(scope, have).none
            return [(f"{text} == {none}", "none"), *misfit(scope, text, a, want)]
        case (m.RangeType(low, high), m.RangeType(least, most)):
            below, above = [f"{text} < {least}"] * (low < least), [f"{text} > {most}"] * (high > most)
            return [(" or ".join(below + above), "range")] if below or above else []
        case (m.SetType(a), m.SetType(b)) if not isinstance(a, m.NeverType | m.SetType):
            old, new = element(a, universe), element(b, universe)
            if old.low >= new.low and old.high <= new.high:
                return []
            fitting = sum(1 << (x - old.low) for x in range(max(old.low, new.low), min(old.high, new.high) + 1))
            return [(f"{text} & ~{fitting}", "range")]
        case (m.ListType(), m.ListType()):
            return _list_misfit(scope, text, have, want)
        case _:
            return []


def _list_misfit(scope: Scope, text: str, have: m.ListType, want: m.ListType) -> list[tuple[str, str]]:
    universe, w = scope.context.universe, scope.writer
    at = have.bound.bit_length()
    length = f"({text} & {(1 << at) - 1})"
    found = [(f"{length} > {want.bound}", "overflow")] if have.bound > want.bound else []
    if isinstance(have.of, m.NeverType):
        return found
    old, new = element(have.of, universe), element(want.of, universe)
    if old.low >= new.low and old.high <= new.high:
        return found
    wrong, count, x = w.name(), w.name(), w.name()
    w.line(f"{wrong} = False")
    with w.block(f"for {count} in range{length}:"):
        w.line(f"{x} = ({text} >> {at} + {count} * {old.bits} & {(1 << old.bits) - 1}) + {old.low}")
        with w.block(f"if {x} < {new.low} or {x} > {new.high}:"):
            w.line(f"{wrong} = True")
    return [*found, (wrong, "range")]
