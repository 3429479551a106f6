"""Members of a symmetric set called otherwise: in everything that refers to them, and where their own things stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import ZERO, Choice, Compare, Expr, Function, Int, Var, call
from fsmdsl.search.layout import Layout, QueueLayout, awaitable, kinds
from fsmdsl.search.lower.context import Context, N, T
from fsmdsl.search.lower.machines.channels import put
from fsmdsl.search.lower.values.convert import code_of, number_of
from fsmdsl.search.shapes import Shape, none_of, parts_of, shape
from fsmdsl.search.symmetry import SymmetricSet
from fsmdsl.search.symmetry.sets import mentions

ITEM, J, P, X, Y = (Var(name) for name in "ijpxy")


@dataclass(slots=True)
class Renaming:
    """Builds the function that does it; which member gets which place stands in the row from `new` on."""

    context: Context
    of: SymmetricSet
    new: int
    spare: int
    """As many places that nobody else uses."""
    _values: dict[m.Type, Function] = field(default_factory=dict)
    """By type: the function that renames within a value."""

    @property
    def layout(self) -> Layout:
        return self.context.layout

    def functions(self, name: str) -> list[Function]:
        """`name`, and before it the functions that it needs."""
        b = Builder()
        self._own(b)
        self._referring(b)
        for box in self.layout.boxes:
            self._messages(b, box)
        self._awaited(b)
        return [*self._values.values(), function(name, rows("t"), b.block, "Each member takes its new place.")]

    def _own(self, b: Builder) -> None:
        """The columns of the set's machine, so far as members have them, and the queues of members."""
        for _, place in columns(self.layout, self.of):
            self._exchange(b, place + J)
        for box, apart in queues(self.layout, self.of):
            with b.count(P, box.places):
                self._exchange(b, box.length + P + J * apart)

    def _exchange(self, b: Builder, place: Expr) -> None:
        """What stands in a place of each member `j`."""
        with b.count(J, self.of.count):
            b.set(T[self.spare + T[self.new + J]], T[place])
        with b.count(J, self.of.count):
            b.set(T[place], T[self.spare + J])

    def _referring(self, b: Builder) -> None:
        for t, places in referring(self.layout, self.of, range(len(self.layout.universe.machines))):
            with b.for_each(P, places):
                b.set(T[P], self._renamed(t, T[P]))

    def _messages(self, b: Builder, box: QueueLayout) -> None:
        with b.capture() as changes:
            for n, arguments in enumerate(box.records):
                if mentions(arguments, self.of.machine):
                    with b.if_((X >> box.argument_bits).equals(n)):
                        b.set(X, self._renamed(arguments, X))
        if not changes:
            return
        with b.count(ITEM, box.first + T[box.length], box.first):
            b.set(X, T[ITEM])
            b.splice(changes)
            b.set(T[ITEM], X)
        if box.channel.order == "bag":
            self._in_order(b, box)

    def _in_order(self, b: Builder, box: QueueLayout) -> None:
        """A bag whose messages have changed, filled anew."""
        spare = self.layout.reserve(box.channel.bound)
        b.set(N, T[box.length])
        with b.count(ITEM, N):
            b.set(T[spare + ITEM], T[box.first + ITEM])
        b.set(T[box.length], ZERO)
        with b.count(ITEM, N):
            b.do(call(put(self.context, box), T, box.length, T[spare + ITEM]))

    def _awaited(self, b: Builder) -> None:
        first, actions = awaited(self.layout, self.of)
        if not actions:
            return
        last = first + actions * self.of.count
        with (
            b.count(P, self.layout.pending + self.layout.pending_places, self.layout.pending),
            b.if_(_among(first, T[P], last)),
        ):
            b.set(J, T[P] - first)
            b.set(T[P], first + T[self.new + J // actions] * actions + J % actions)

    # Values

    def _renamed(self, t: m.Type, x: Expr) -> Expr:
        """A value of a type, with other members."""
        if t not in self._values:
            b = Builder()
            self._of_type(b, t)
            name = f"renamed_{self.of.first}_{len(self._values)}"
            self._values[t] = function(name, (*rows("t"), *numbers("x")), b.block)
        return call(self._values[t].name, T, x)

    def _of_type(self, b: Builder, t: m.Type) -> None:
        first, last, universe = self.of.first, self.of.first + self.of.count, self.layout.universe
        match t:
            case m.OptionalType(of):
                b.return_(Choice(X.equals(none_of(t, universe)), X, self._renamed(of, X)))
            case m.SetType(of):
                self._of_set(b, shape(of, universe).code(first))
            case m.RecordType():
                for of, s, at in parts_of(t, universe).values():
                    if mentions(of, self.of.machine):
                        self._of_part(b, of, s, Int(at))
                b.return_(X)
            case m.ListType(of, bound):
                self._of_list(b, of, bound.bit_length())
            case m.MapType():
                self._of_map(b, t)
            case _:
                b.return_(Choice(_among(first, X, last), T[self.new + X - first] + first, X))

    def _of_set(self, b: Builder, low: int) -> None:
        """A set in which the first member has the place `low`."""
        every = (1 << self.of.count) - 1
        b.set(Y, X & ~Int(every << low))
        b.set(X, X >> low & every)
        with b.while_(X):
            b.update(Y, "|", 1 << T[self.new + call("lowest", X)] + low)
            b.update(X, "&", X - 1)
        b.return_(Y)

    def _of_list(self, b: Builder, of: m.Type, at: int) -> None:
        """A list whose items begin at the bit `at`."""
        s = shape(of, self.layout.universe)
        with b.count(ITEM, X & (1 << at) - 1):
            self._of_part(b, of, s, at + ITEM * s.bits)
        b.return_(X)

    def _of_part(self, b: Builder, of: m.Type, s: Shape, place: Expr) -> None:
        """A value whose code begins at a bit."""
        mask = Int((1 << s.bits) - 1)
        b.set(Y, self._renamed(of, number_of(X >> place & mask, s)))
        b.set(X, X & ~(mask << place) | code_of(Y, s) << place)

    def _of_map(self, b: Builder, t: m.MapType) -> None:
        """A map, entry by entry: from the place of its key to that of the key's new name."""
        keys, s = shape(t.key, self.layout.universe), shape(t.of, self.layout.universe)
        low = keys.code(self.of.first)
        place: Expr = ITEM
        if mentions(t.key, self.of.machine):
            moved = T[self.new + ITEM - low] + low
            place = Choice(_among(low, ITEM, low + self.of.count), moved, ITEM)
        b.set(Y, ZERO)
        with b.count(ITEM, keys.codes):
            b.set(P, X >> ITEM * s.bits & (1 << s.bits) - 1)
            if mentions(t.of, self.of.machine):
                b.set(J, self._renamed(t.of, number_of(P, s)))
                b.set(P, code_of(J, s))
            b.update(Y, "|", P << place * s.bits)
        b.return_(Y)


def columns(layout: Layout, of: SymmetricSet) -> list[tuple[str, int]]:
    """The columns of a world that members have, by name: where that of the first member stands."""
    return [(name, at + of.first) for (machine, name), at in layout.columns.items() if machine == of.machine]


def referring(layout: Layout, of: SymmetricSet, among: Iterable[int]) -> Iterator[tuple[m.Type, list[int]]]:
    """The fields of instances that can refer to a member: their type, and where they stand."""
    members = set(among)
    for machine in kinds(layout.universe):
        instances = sorted(members & layout.universe.instances_of(machine.qualified))
        for f in machine.fields:
            if instances and mentions(f.type, of.machine):
                column = layout.columns[machine.qualified, f.name]
                yield f.type, [column + n for n in instances]


def queues(layout: Layout, of: SymmetricSet) -> list[tuple[QueueLayout, int]]:
    """The queues that lead to the first member, and those that lead from it; and how far apart the same ones of two
    members stand."""
    to = [(box, box.senders * box.places) for box in layout.boxes if box.receiver == of.first]
    return to + [(box, box.places) for box in layout.boxes if box.sender == of.first]


def awaited(layout: Layout, of: SymmetricSet) -> tuple[int, int]:
    """The code of the first action awaited by the first member, and how many actions each may await: those of one
    come behind those of the member before."""
    actions = len(awaitable(layout.universe.machines[of.first]))
    codes = [n + 1 for n, p in enumerate(layout.awaited) if p.instance == of.first]
    return min(codes, default=0), actions


def _among(first: int, x: Expr, end: int) -> Expr:
    return Compare(Int(first), (("<=", x), ("<", Int(end))))
