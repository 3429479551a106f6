"""What the C functions of one system share: names, descriptions of types, places in the source, functions of `let`s."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.core.elaborate import Body
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.export.escape import c_comment
from fsmdsl.interop.export.runs import Promise
from fsmdsl.interop.export.scope import Scope, identifier
from fsmdsl.interop.export.values import Values, type_shown

SUBSETS = 4096
"""Maximum number of subsets that a loop visits."""


def local(name: str) -> str:
    """A variable of the source; the sign at its end keeps it apart from words of C."""
    return f"{identifier(name)}_"


@dataclass(slots=True)
class CScope(Scope):
    """One system on its way to C. Functions are added as they are met, in an order in which C can read them."""

    FIRST = 0

    types: dict[m.Type, int] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    lets: dict[tuple[str, str, int], tuple[str, Body]] = field(default_factory=dict)
    promises: list[Promise] = field(default_factory=list)
    """What fairness asks about; steps take note of it."""

    @property
    def values(self) -> Values:
        """Numbers of the values."""
        return Values(len(self.universe.system.instances), self.universe.system.span)

    @property
    def arguments(self) -> int:
        """How many arguments the longest event has, at least 1: ARGUMENTS. Actions may have more."""
        return max([1, *(len(e.parameters) for x in self.machines for e in x.events)])

    def fresh(self) -> int:
        """A number that no other variable has."""
        self.used += 1
        return self.used

    # Types

    def type(self, t: m.Type) -> str:
        """The description of a type, as a C expression."""
        if t not in self.types:
            for inner in _parts(t):
                self.type(inner)
            self.types[t] = len(self.types)
        return f"&T{self.types[t]}"

    def descriptions(self) -> Iterator[str]:
        """Of all types that were asked for."""
        for t, n in self.types.items():
            kind, of, low, high, size, head, bits = self._description(t)
            yield (
                f"static const Type T{n} = {{{kind}, {of}, {low}LL, {high}LL, {size}LL, {head}, {bits}}}; "
                f"{c_comment(type_shown(t))}"
            )

    def _description(self, t: m.Type) -> tuple[str, str, int, int, int, int, int]:
        match t:
            case m.RangeType(low, high):
                return "RANGE_", "0", low, high, self.values.size(t), 0, 0
            case m.OptionalType(of):
                return "OPTIONAL_", self.type(of), 0, 0, self._size(t), 0, 0
            case m.NoneType():
                return "OPTIONAL_", self.type(m.NEVER), 0, 0, 1, 0, 0
            case m.SetType(of):
                return "SET_", self.type(of), 0, 0, self.values.size(t), 0, 0
            case m.ListType(of, bound):
                head, bits = self.values.length_bits(bound), self.values.item_bits(of)
                return "LIST_", self.type(of), 0, bound, self.values.size(t), head, bits
            case m.RefType():
                return "INSTANCE_", "0", 0, 0, self.values.size(t), 0, 0
            case _:
                return "NUMBER_", "0", 0, 0, self._size(t), 0, 0

    def _size(self, t: m.Type) -> int:
        return 0 if m.DurationType() in (t, *_parts(t)) else self.values.size(t)

    def cast(self, text: str, source: m.Type, target: m.Type) -> str:
        """A value as one of another type, which holds it."""
        if self._form(source) == self._form(target):
            return text
        return f"convert({self.type(source)}, {self.type(target)}, {text})"

    def _form(self, t: m.Type, inside: bool = False) -> object:
        """What tells apart how values of types are written."""
        match t:
            case m.SetType(of):
                self.values.size(t)
                return "set", self._form(of, True)
            case m.ListType(of, bound):
                self.values.size(t)
                return "list", self.values.length_bits(bound), self.values.item_bits(of), self._form(of, True)
            case m.OptionalType(of):
                return ("?", self._form(of, True)) if inside else self._form(of)
            case m.RangeType(low):
                return low if inside else None
            case m.NeverType() | m.NoneType():
                return t if inside else None
            case _:
                return None


def _parts(t: m.Type) -> tuple[m.Type, ...]:
    match t:
        case m.OptionalType(of) | m.SetType(of) | m.ListType(of):
            return (of,)
        case m.NoneType():
            return (m.NEVER,)
        case _:
            return ()
