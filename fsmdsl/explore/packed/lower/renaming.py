"""Members of a symmetric set called otherwise: in everything that refers to them, and where their own things stand."""

from __future__ import annotations

from dataclasses import dataclass, field

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import Box, Layout, awaitable, kinds
from fsmdsl.explore.packed.lower.channels import put
from fsmdsl.explore.packed.lower.context import Context
from fsmdsl.explore.packed.shapes import Shape, element, shape
from fsmdsl.explore.symmetry import SymmetricSet
from fsmdsl.explore.symmetry.sets import mentions


@dataclass(slots=True)
class Renaming:
    """Writes the function that does it; which member gets which place stands in the row from `new` on."""

    context: Context
    of: SymmetricSet
    new: int
    spare: int
    """As many places that nobody else uses."""
    functions: list[str] = field(default_factory=list)
    _known: dict[m.Type, str] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        return self.context.layout

    def lines(self, name: str) -> list[str]:
        """`name`, and before it the functions that it needs."""
        body = [*self._own(), *self._referring(), *self._messages(), *self._awaited()]
        return [
            *self.functions,
            f"def {name}(t):",
            '    """Each member takes its new place."""',
            *body,
            "    return 0",
            "",
        ]

    def _own(self) -> list[str]:
        """The columns of the set's machine, so far as members have them."""
        lines = []
        for _, place in columns(self.layout, self.of):
            lines += [
                f"    for j in range({self.of.count}):",
                f"        t[{self.spare} + t[{self.new} + j]] = t[{place} + j]",
                f"    for j in range({self.of.count}):",
                f"        t[{place} + j] = t[{self.spare} + j]",
            ]
        return lines

    def _referring(self) -> list[str]:
        lines = []
        for machine in kinds(self.layout.universe):
            of = sorted(self.layout.universe.instances_of(machine.qualified))
            for f in machine.fields:
                if mentions(f.type, self.of.machine):
                    column = self.layout.columns[machine.qualified, f.name]
                    gapless = of[-1] - of[0] + 1 == len(of)
                    places = f"range({column + of[0]}, {column + of[-1] + 1})" if gapless else _tuple(column, of)
                    lines += [f"    for p in {places}:", f"        t[p] = {self._value(f.type)}(t, t[p])"]
        return lines

    def _messages(self) -> list[str]:
        lines = []
        for box in self.layout.boxes:
            inner = []
            for n, event in enumerate(box.events):
                changes = self._arguments(box, n, event)
                if changes:
                    inner += [f"        if x >> {box.argument_bits} == {n}:", *changes]
            if inner:
                head = [f"    for i in range({box.first}, {box.first} + t[{box.length}]):", "        x = t[i]"]
                lines += [*head, *inner, "        t[i] = x"]
                lines += self._in_order(box) if box.channel.order == "bag" else []
        return lines

    def _in_order(self, box: Box) -> list[str]:
        """A bag whose messages have changed, filled anew."""
        spare = self.layout.reserve(box.channel.bound)
        return [
            f"    n = t[{box.length}]",
            "    for i in range(n):",
            f"        t[{spare} + i] = t[{box.first} + i]",
            f"    t[{box.length}] = 0",
            "    for i in range(n):",
            f"        {put(self.context, box)}(t, {box.length}, t[{spare} + i])",
        ]

    def _arguments(self, box: Box, n: int, event: m.Event) -> list[str]:
        lines = []
        for p, s, at in zip(event.parameters, box.shapes[n], box.offsets(n), strict=True):
            if mentions(p.type, self.of.machine):
                mask = (1 << s.bits) - 1
                lines += [
                    f"            y = {number_of(f'(x >> {at} & {mask})', s)}",
                    f"            y = {self._value(p.type)}(t, y)",
                    f"            x = x & ~({mask} << {at}) | {code_of('y', s)} << {at}",
                ]
        return lines

    def _awaited(self) -> list[str]:
        first, actions = awaited(self.layout, self.of)
        if not actions:
            return []
        last = first + actions * self.of.count
        return [
            f"    for p in range({self.layout.pending}, {self.layout.pending + self.layout.pending_places}):",
            f"        if {first} <= t[p] < {last}:",
            f"            j = t[p] - {first}",
            f"            t[p] = {first} + t[{self.new} + j // {actions}] * {actions} + j % {actions}",
        ]

    # Values

    def _value(self, t: m.Type) -> str:
        """The function that renames within a value of a type."""
        if t not in self._known:
            lines = self._of_type(t)
            name = f"renamed_{self.of.first}_{len(self._known)}"
            self._known[t] = name
            self.functions += [f"def {name}(t, x):", *lines, ""]
        return self._known[t]

    def _of_type(self, t: m.Type) -> list[str]:
        first, last, universe = self.of.first, self.of.first + self.of.count, self.layout.universe
        match t:
            case m.OptionalType(of):
                inner, none = self._value(of), shape(t, universe).none
                return [f"    return x if x == {none} else {inner}(t, x)"]
            case m.SetType(of):
                low, every = element(of, universe).code(first), (1 << self.of.count) - 1
                return [
                    f"    y = x & ~{every << low}",
                    f"    x = x >> {low} & {every}",
                    "    while x:",
                    f"        y |= 1 << t[{self.new} + lowest(x)] + {low}",
                    "        x &= x - 1",
                    "    return y",
                ]
            case m.ListType(of, bound):
                inner, s, at = self._value(of), element(of, universe), bound.bit_length()
                mask = (1 << s.bits) - 1
                number = number_of(f"(x >> {at} + i * {s.bits} & {mask})", s)
                return [
                    f"    for i in range(x & {(1 << at) - 1}):",
                    f"        y = {inner}(t, {number})",
                    f"        x = x & ~({mask} << {at} + i * {s.bits}) | {code_of('y', s)} << {at} + i * {s.bits}",
                    "    return x",
                ]
            case _:
                return [f"    return t[{self.new} + x - {first}] + {first} if {first} <= x < {last} else x"]


def columns(layout: Layout, of: SymmetricSet) -> list[tuple[str, int]]:
    """The columns of a world that members have, by name: where that of the first member stands."""
    found = ((name, at + of.first) for (machine, name), at in layout.columns.items() if machine == of.machine)
    return [(name, place) for name, place in found if place < layout.row]


def awaited(layout: Layout, of: SymmetricSet) -> tuple[int, int]:
    """The code of the first action awaited by the first member, and how many actions each may await: those of one
    come behind those of the member before."""
    actions = len(awaitable(layout.universe.machines[of.first]))
    codes = [n + 1 for n, p in enumerate(layout.awaited) if p.instance == of.first]
    return min(codes, default=0), actions


def number_of(code: str, s: Shape) -> str:
    """The number of a code, as text."""
    if s.none is None:
        return f"({code} + {s.low})" if s.low else code
    return f"({code} + {s.none})" if s.none == s.low - 1 else f"({s.none} if {code} == 0 else {code} + {s.low - 1})"


def code_of(number: str, s: Shape) -> str:
    """The code of a number, as text."""
    if s.none is None:
        return f"({number} - {s.low})" if s.low else number
    return (
        f"({number} - {s.none})" if s.none == s.low - 1 else f"(0 if {number} == {s.none} else {number} - {s.low - 1})"
    )


def _tuple(column: int, of: list[int]) -> str:
    return f"({', '.join(str(column + n) for n in of)},)"
