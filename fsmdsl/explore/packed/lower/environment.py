"""Events that the environment sends: as the system says, or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from math import comb
from typing import TYPE_CHECKING

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import awaitable, leaf_number
from fsmdsl.explore.packed.lower.context import Context
from fsmdsl.explore.packed.lower.convert import coded, converted, element_of, misfit
from fsmdsl.explore.packed.lower.expressions import common, is_one_of, joined, reference, value
from fsmdsl.explore.packed.lower.handlers import numbers, refuser, stretches
from fsmdsl.explore.packed.lower.loops import loop
from fsmdsl.explore.packed.lower.sets import bit, collected
from fsmdsl.explore.packed.lower.sites import FULL, IGNORED
from fsmdsl.explore.packed.lower.widen import Types, widened, within
from fsmdsl.explore.packed.shapes import UnpackableError, shape, to_number
from fsmdsl.step.evaluate import TooManyValuesError, domain
from fsmdsl.walk import expressions

if TYPE_CHECKING:
    from fsmdsl.explore.packed.lower.offers import Offers

MOST_REPEATED = 1 << 13
"""So many different events can be told apart in one state where the environment may come to one in two ways."""


class Environment:
    """Writes the part of `expand` that sends events."""

    def __init__(self, context: Context, offers: Offers) -> None:
        self.context = context
        self.offers = offers
        self.functions: list[str] = []
        self.seen: int | None = None
        """Where it is counted how often events were told apart, if they are."""
        self.width = 0
        self.tables: dict[m.Type, tuple[int, int]] = {}
        """Where all values of a type stand, and how many there are."""

    def begin(self) -> None:
        """Before the first event."""
        if self.seen is not None:
            self.offers.w.line(f"t[{self.seen}] += 1")

    def events(self) -> None:
        """As the system's `environment` says; without one, every event, with all arguments."""
        offers = self.context.universe.system.offers
        if offers is None:
            self._unrestricted()
            return
        for o in offers:
            self._offer(o, 0, {}, [] if o.guard is None else conjuncts(o.guard))

    # As the system says

    def _offer(self, o: m.Offer, depth: int, types: Types, conditions: Sequence[m.Expr]) -> None:
        """The loops of one line of the environment. As soon as the receiver is known, so is whether it listens."""
        w, scope, universe = self.offers.w, self.offers.scope, self.context.universe
        if depth == len(o.variables):
            wide = [(widened(universe, x, types), False) for x in conditions]
            if not wide:
                self._send(o, types)
                return
            with w.block(f"if {joined(scope, wide, 'and')}:"):
                self._send(o, types)
            return
        name, over = o.variables[depth]
        later = {x for x, _ in o.variables[depth + 1 :]}
        over = widened(universe, over, types)
        of = over.type.of if isinstance(over.type, m.SetType | m.ListType) else m.ERROR
        text = collected(scope, over)
        narrowed = None if name in later else self._narrowed(name, over, text, conditions, later, types)
        text, conditions = (narrowed, conditions[1:]) if narrowed else (text, conditions)
        inner = {**types, name: of}
        with loop(scope, over.type, text, over) as x, scope.binding(name, x, of):
            direct = isinstance(o.target, m.Local) and o.target.name == name and name not in later
            if direct and isinstance(of, m.RefType):
                with w.block(f"if {self._listens(o.machine, o.event, x)}:"):
                    self._offer(o, depth + 1, inner, conditions)
            else:
                self._offer(o, depth + 1, inner, conditions)

    def _narrowed(
        self, name: str, over: m.Expr, text: str, conditions: Sequence[m.Expr], later: set[str], types: Types
    ) -> str | None:
        """Of `some p in subsets(all, n)` with `all x in p: …`: those of `all` for which that holds, if it always has a
        value and speaks of nothing that is bound later. Then subsets need to be taken of these alone."""
        match over, conditions:
            case (
                m.Apply(function="subsets", arguments=(whole, _)),
                [m.Quantified(kind="all", variable=x, over=m.Local(name=quantified), body=body), *_],
            ) if quantified == name and not _mentions(body, {*later, name} - {x}):
                return self._those(whole, text, x, body, types)
            case _:
                return None

    def _those(self, whole: m.Expr, text: str, x: str, body: m.Expr, types: Types) -> str | None:
        assert isinstance(whole.type, m.SetType)
        w, of = self.offers.w, whole.type.of
        failing: list[str] = []
        scope = replace(self.offers.scope, fail=failing.append)
        with w.aside() as lines:
            found = w.name()
            w.line(f"{found} = 0")
            with loop(scope, whole.type, text) as item, scope.binding(x, item, of):
                condition = value(scope, widened(self.context.universe, body, {**types, x: of}))
                with w.block(f"if {condition}:"):
                    w.line(f"{found} |= {bit(coded(scope, item, element_of(scope, whole.type)))}")
        if failing:
            return None
        w.put(lines)
        return found

    def _listens(self, machine: str, event: str, at: str) -> str:
        """Is an instance in a state in which it has a transition for an event, and free to take it?"""
        context = self.context
        kind = context.universe.model.machines[machine]
        instance = min(context.universe.instances_of(machine), default=None)
        if instance is None:
            return "False"
        leaves = [s.name for s in kind.leaves if context.universe.candidates(instance, s.name, event)]
        if not leaves:
            return "False"
        state = self.offers.scope.at(context.column(machine, ""), at)
        text = is_one_of(state, [leaf_number(kind, s) for s in leaves], len(kind.leaves))
        return f"{text} and not awaits(s, {at})" if awaitable(kind) else text

    def _send(self, o: m.Offer, types: Types) -> None:
        scope, w, universe = self.offers.scope, self.offers.w, self.context.universe
        machine = universe.model.machines[o.machine]
        event = machine.event_named[o.event]
        receiver = reference(scope, widened(universe, o.target, types))
        arguments = [widened(universe, a, types) for a in o.arguments]
        texts = [w.named(value(scope, a)) for a in arguments]
        with w.block(f"if {self._listens(o.machine, o.event, receiver)}:"):
            wrong = self._wrong(event, arguments, texts)
            pairs = list(zip(texts, arguments, event.parameters, strict=True))
            given = [converted(scope, x, a.type, p.type) for x, a, p in pairs]
            call = f"{self.context.handler(machine, o.event)}({', '.join(['t', receiver, *given])})"
            if wrong is not None:
                of = [p if within(a.type, p.type) else replace(p, type=a.type) for _, a, p in pairs]
                wide = [converted(scope, x, a.type, p.type) for (x, a, _), p in zip(pairs, of, strict=True)]
                name = f"wrong_{len(self.functions)}"
                self.functions += [*refuser(self.context, machine, o.event, of, name), ""]
                call = f"({name}({', '.join(['t', receiver, wrong, *wide])}) if {wrong} else {call})"
            if self._repeats(o):
                call = self._once(o, receiver, arguments, texts, call)
            self.offers.take(call, skips=True)

    def _wrong(self, event: m.Event, arguments: Sequence[m.Expr], texts: Sequence[str]) -> str | None:
        """The code of the fault, in a name, if an argument is not one that its parameter can hold; if that can be."""
        scope, w = self.offers.scope, self.offers.w
        found: list[tuple[str, str]] = []
        for text, a, p in zip(texts, arguments, event.parameters, strict=True):
            found += misfit(scope, text, a.type, p.type)
        if not found:
            return None
        sites = {kind: self.context.sites.one() for _, kind in found}
        name = w.name()
        w.line(f"{name} = 0")
        for condition, kind in reversed(found):
            with w.block(f"if {condition}:"):
                w.line(f"{name} = {sites[kind]}")
        return name

    # Each event once

    def _repeats(self, o: m.Offer) -> bool:
        """Can the environment come to the same event in two ways? Then it counts once."""
        direct = {x.name for x in (o.target, *o.arguments) if isinstance(x, m.Local)}
        names = [name for name, _ in o.variables]
        return (
            len(self._of_same(o)) > 1
            or not direct.issuperset(names)
            or len(set(names)) < len(names)
            or any(isinstance(over.type, m.ListType) for _, over in o.variables)
        )

    def _of_same(self, o: m.Offer) -> list[m.Offer]:
        offers = self.context.universe.system.offers or ()
        return [x for x in offers if x.machine == o.machine and x.event == o.event]

    def _types(self, o: m.Offer) -> list[m.Type]:
        """Of the arguments in a line."""
        types: dict[str, m.Type] = {}
        for name, over in o.variables:
            t = widened(self.context.universe, over, types).type
            types[name] = t.of if isinstance(t, m.SetType | m.ListType) else m.ERROR
        return [widened(self.context.universe, a, types).type for a in o.arguments]

    def _once(self, o: m.Offer, receiver: str, arguments: Sequence[m.Expr], texts: Sequence[str], call: str) -> str:
        """The call, if it is the first such from this row."""
        w, scope, offers = self.offers.w, self.offers.scope, self.context.universe.system.offers or ()
        if self.seen is None:
            self.width = 2 + max(len(x.arguments) for x in offers)
            self._tell_apart(offers)
        number = [(x.machine, x.event) for x in offers].index((o.machine, o.event))
        key = [str(number), receiver]
        types = [self._types(x) for x in self._of_same(o)]
        for text, a, of in zip(texts, arguments, zip(*types, strict=True), strict=True):
            key.append(converted(scope, text, a.type, reduce(common, of)))
        new = w.named(f"fresh(t, {', '.join(key + ['0'] * (self.width - len(key)))})")
        return f"({call} if {new} == 1 else {FULL} if {new} > 1 else {IGNORED})"

    def _tell_apart(self, offers: Sequence[m.Offer]) -> None:
        """A table of events: a number that says from which row, and the event."""
        most = sum(self._most(o) for o in offers)
        size = 1 << (2 * min(most, MOST_REPEATED) - 1).bit_length()
        self.seen = self.context.layout.reserve(1 + size * (1 + self.width))
        names = [f"k{n}" for n in range(self.width)]
        same = " and ".join(f"t[at + {n + 1}] == {name}" for n, name in enumerate(names))
        mixed = reduce(lambda h, name: f"({h} * 31 + {name})", names[1:], names[0])
        self.functions += [
            f"def fresh(t, {', '.join(names)}):",
            '    """Is this event offered for the first time? 2: there is no room to say so."""',
            f"    h = {mixed}",
            "    h ^= h >> 7",
            f"    for _ in range({size}):",
            f"        at = {self.seen + 1} + (h & {size - 1}) * {1 + self.width}",
            f"        if t[at] != t[{self.seen}]:",
            f"            t[at] = t[{self.seen}]",
            *[f"            t[at + {n + 1}] = {name}" for n, name in enumerate(names)],
            "            return 1",
            f"        if {same}:",
            "            return 0",
            "        h += 1",
            "    return 2",
            "",
        ]

    def _most(self, o: m.Offer) -> int:
        """How many events a line can come to."""
        found = 1
        for _, over in o.variables:
            if isinstance(over, m.Apply) and over.function == "subsets":
                codes = element_of(self.offers.scope, over.arguments[0].type).codes
                found *= comb(codes, codes // 2)
            elif isinstance(over, m.Collection):
                found *= len(over.items)
            elif isinstance(over.type, m.ListType):
                found *= over.type.bound
            else:
                found *= element_of(self.offers.scope, over.type).codes
        return min(found, MOST_REPEATED)

    # All of them

    def _unrestricted(self) -> None:
        universe = self.context.universe
        try:
            offered = universe.unrestricted
        except TooManyValuesError as error:
            raise UnpackableError(f"the environment would have to choose among {error}") from error
        for machine, stretch in stretches(self.context, universe.machines):
            events = [e for e in machine.events if e.from_environment]
            possible = {e for n, e, combinations in offered if combinations and universe.machines[n] is machine}
            with self.offers.w.block(f"for at in {stretch}:"):
                for e in events:
                    if e.name in possible:
                        with self.offers.w.block(f"if {self._listens(machine.qualified, e.name, 'at')}:"):
                            self._arguments(machine, e, [])

    def _arguments(self, machine: m.Machine, event: m.Event, given: list[str]) -> None:
        if len(given) == len(event.parameters):
            call = f"{self.context.handler(machine, event.name)}({', '.join(['t', 'at', *given])})"
            self.offers.take(call, skips=True)
            return
        with self._each(event.parameters[len(given)].type) as x:
            self._arguments(machine, event, [*given, x])

    @contextmanager
    def _each(self, t: m.Type) -> Iterator[str]:
        """A loop through all values of a type, in order."""
        w, x = self.offers.w, self.offers.w.name()
        text = self._range(t)
        if text is not None:
            with w.block(f"for {x} in {text}:"):
                yield x
            return
        first, count = self._table(t)
        n = w.name()
        with w.block(f"for {n} in range({first}, {first + count}):"):
            w.line(f"{x} = t[{n}]")
            yield x

    def _range(self, t: m.Type) -> str | None:
        """The numbers of a type, where they have no gaps."""
        universe = self.context.universe
        match t:
            case m.RefType(machine):
                return numbers(self.context, universe.model.machines[machine])
            case m.DurationType() | m.OpaqueType() | m.NoneType():
                return "range(1)"
            case m.BoolType() | m.RangeType() | m.EnumType():
                s = shape(t, universe)
                return f"range({s.low}, {s.high + 1})"
            case _:
                return None

    def _table(self, t: m.Type) -> tuple[int, int]:
        """Others are written down once and for all."""
        layout, universe = self.context.layout, self.context.universe
        if t not in self.tables:
            values = [to_number(t, x, universe) for x in domain(t, universe)]
            first = layout.reserve(len(values))
            layout.params.update(enumerate(values, first))
            self.tables[t] = first, len(values)
        return self.tables[t]


def conjuncts(e: m.Expr) -> list[m.Expr]:
    """What must hold, one after the other, for a condition to hold."""
    if isinstance(e, m.Logic) and e.operator == "and":
        return [x for operand in e.operands for x in conjuncts(operand)]
    return [e]


def _mentions(e: m.Expr, names: set[str]) -> bool:
    return any(isinstance(x, m.Local) and x.name in names for x in expressions(e))
