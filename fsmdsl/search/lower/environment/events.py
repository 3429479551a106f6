"""Events that the environment sends, as the system says, or all of them; and the crashes of some instances alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import reduce
from math import comb

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core import translate
from fsmdsl.core.guards import conjuncts
from fsmdsl.core.translate.context import NONE
from fsmdsl.core.translate.fitting import arguments_fit
from fsmdsl.dataclasses import replace
from fsmdsl.model.typing import common, holds
from fsmdsl.model.walk import expressions
from fsmdsl.program.builder import Builder, function, rows
from fsmdsl.program.builder import numbers as parameters
from fsmdsl.program.nodes import (
    FALSE,
    ZERO,
    Choice,
    Expr,
    Function,
    Int,
    Not,
    Var,
    all_of,
    call,
)
from fsmdsl.search.layout import awaitable
from fsmdsl.search.lower.context import AT, Fail, S, T
from fsmdsl.search.lower.environment.refusals import Line, Refusals
from fsmdsl.search.lower.environment.steps import Steps
from fsmdsl.search.lower.fault_codes import FULL, IGNORED
from fsmdsl.search.lower.machines.handlers import refuser, stretches
from fsmdsl.search.lower.values import masks
from fsmdsl.search.lower.values.convert import code_of, element_of
from fsmdsl.search.lower.values.expressions import in_leaves, instance_of
from fsmdsl.search.lower.values.loops import loop
from fsmdsl.search.lower.values.sets import bit, collected
from fsmdsl.search.shapes import UnpackableError, to_number
from fsmdsl.step.evaluate import TooManyValuesError, domain

MAX_REPEATED = 1 << 13
"""So many different events can be told apart in one state where the environment may come to one in two ways."""


class Environment:
    """Writes the part of `expand` that sends events."""

    def __init__(self, steps: Steps, refusals: Refusals) -> None:
        self.context = steps.context
        self.steps = steps
        self.refusals = refusals
        self.functions: list[Function] = []
        self.seen: int | None = None
        """Where it is counted how often events were told apart, if they are."""
        self.width = 0

    def begin(self) -> None:
        """Before the first event."""
        if self.seen is not None:
            self.steps.builder.update(T[self.seen], "+", 1)

    def events(self) -> None:
        """As the system's `environment` says; without one, every event, with all arguments."""
        offers = self.context.universe.system.offers
        if offers is None:
            self._unrestricted()
            return
        for o in offers:
            self._line(o)

    def crashes(self) -> None:
        """Of some instances alone."""
        for o in self.context.universe.system.process_crashes:
            self._line(o)

    # As the system says

    def _line(self, o: Line) -> None:
        """A line of the environment. What may have no value in it is asked first, for all values of its variables."""
        names = self.refusals.of_line(o)
        self._offer(o, 0, conjuncts(o.guard), names if any(names) else [])

    def _offer(self, o: Line, depth: int, conditions: Sequence[m.Expr], refusing: Sequence[str | None]) -> None:
        """The loops of one line, from a variable on, where that has a value. `refusing` are the functions that say so
        (see `Refusals.of_line`), if there are any."""
        b, scope = self.steps.builder, self.steps.scope
        refuses = refusing[depth] if refusing else None
        bound = [scope.value(scope.locals[name]) for name in dict(o.variables[:depth])]
        with nullcontext() if refuses is None else b.if_(call(refuses, S, T, *bound)):
            self._through(o, depth, conditions, refusing)

    def _through(self, o: Line, depth: int, conditions: Sequence[m.Expr], refusing: Sequence[str | None]) -> None:
        """The same. As soon as the receiver is known, so is whether it listens."""
        b, scope = self.steps.builder, self.steps.scope
        if depth == len(o.variables):
            with b.if_(scope.evaluate(_all(conditions))) if conditions else nullcontext():
                if isinstance(o, m.Offer):
                    self._send(o)
                else:
                    self._strike(o)
            return
        name, over = o.variables[depth]
        later = {x for x, _ in o.variables[depth + 1 :]}
        visited = scope.sure(over)
        of = m.element_of(visited.type)
        members = collected(scope, visited)
        narrowed = None if name in later else self._narrowed(name, over, visited, members, conditions, later)
        if narrowed is not None:
            members, conditions = narrowed, conditions[1:]
        with loop(scope, visited, members) as x, scope.binding(name, x, of):
            listens: list[Expr] = []
            if isinstance(o, m.Offer) and isinstance(o.target, m.Local) and isinstance(of, m.RefType):
                listens += [self._listens(o.machine, o.event, x)] if o.target.name == name and name not in later else []
            with b.if_(listens[0]) if listens and not refusing else nullcontext():
                self._offer(o, depth + 1, conditions, refusing)

    def _narrowed(
        self, name: str, over: m.Expr, visited: s.Expr, members: Expr, conditions: Sequence[m.Expr], later: set[str]
    ) -> Expr | None:
        """Of `some p in subsets(all, n)` with `all x in p: …`: those of `all` for which that holds, if it always has a
        value and speaks of nothing that is bound later. Then subsets need to be taken of these alone."""
        match over, visited, conditions:
            case (
                m.Apply(function="subsets"),
                s.Apply(arguments=(whole, _)),
                [m.Quantified(kind="all", variable=x, over=m.Local(name=quantified), body=body), *_],
            ) if quantified == name and not _mentions(body, {*later, name} - {x}):
                return self._those(whole, members, x, body)
            case _:
                return None

    def _those(self, whole: s.Expr, members: Expr, x: str, body: m.Expr) -> Expr | None:
        assert isinstance(whole.type, m.SetType)
        b, of = self.steps.builder, whole.type.of
        scope = replace(self.steps.scope, fail=Fail(lambda _: None))
        with b.capture() as statements:
            those = b.name()
            b.set(those, 0)
            with loop(scope, whole, members) as item, scope.binding(x, item, of), b.if_(scope.evaluate(body)):
                b.update(those, "|", bit(code_of(item, element_of(scope, whole.type))))
        if scope.fail.used:
            return None
        b.splice(statements)
        return those

    def _listens(self, machine: str, event: str, at: Expr) -> Expr:
        """Is an instance in a state in which it has a transition for an event, and free to take it?"""
        context = self.context
        kind = context.universe.model.machines[machine]
        leaves = [leaf for group in context.selection(kind).groups(event) for leaf in group.leaves]
        if not leaves or not context.universe.instances_of(machine):
            return FALSE
        state = self.steps.scope.at(context.column(machine, ""), at)
        there = in_leaves(state, kind, leaves)
        return all_of([there, Not(call("awaits", S, at))]) if awaitable(kind) else there

    def _send(self, o: m.Offer) -> None:
        scope, b, universe = self.steps.scope, self.steps.builder, self.context.universe
        machine = universe.model.machines[o.machine]
        event = machine.event_named[o.event]
        receiver = instance_of(scope, scope.sure(o.target))
        sure_arguments = [scope.sure(x) for x in o.arguments]
        arguments = [scope.standing_for(scope.variable(x), x.type) for x in sure_arguments]
        with b.if_(self._listens(o.machine, o.event, receiver)):
            wrong = self._wrong(event, arguments)
            pairs = list(zip(arguments, event.parameters, strict=True))
            values = [scope.value(x, p.type) for x, p in pairs]
            handled: Expr = call(self.context.handler(machine, o.event), T, receiver, *values)
            if wrong is not None:
                types = [p.type if holds(p.type, x.type) else x.type for x, p in pairs]
                wide = [scope.value(x, t) for x, t in zip(arguments, types, strict=True)]
                name = f"wrong_{len(self.functions)}"
                self.functions.append(refuser(self.context, machine, o.event, types, name))
                handled = Choice(wrong, call(name, T, receiver, wrong, *wide), handled)
            if self._repeats(o):
                handled = self._once(o, receiver, arguments, handled)
            self.steps.take(handled)

    def _wrong(self, event: m.Event, arguments: Sequence[s.Expr]) -> Expr | None:
        """The code of the fault, in a variable, if an argument is not one that its parameter can hold; if that can
        be."""
        scope, b = self.steps.scope, self.steps.builder
        place = translate.Scope(self.context.core, scope.names, None, NONE, {})
        with scope.names.aside() as needed:
            arguments_fit(place, event.name, event.parameters, arguments, NONE, s.Location(event.span))
        if not needed:
            return None
        code = b.name()

        def write(_: Expr | None) -> None:
            with b.if_(code.equals(0)):
                b.set(code, self.context.site())

        b.set(code, 0)
        replace(scope, fail=Fail(write)).execute(tuple(needed))
        return code

    def _strike(self, o: m.ProcessCrash) -> None:
        """Some instances crash: they are written into a mask."""
        scope, b, layout = self.steps.scope, self.steps.builder, self.context.layout
        struck = [instance_of(scope, scope.sure(x)) for x in o.targets]
        words = [T[layout.struck + k] for k in range(layout.mask_words)]
        for word in words:
            b.set(word, 0)
        for x in struck:
            masks.add_to(layout, b, T, layout.struck, x)
        if self._strikes_again(o):
            new = self._fresh([Int(len(self.context.universe.system.offers or ())), *words])
            with b.if_(new):
                self.steps.arrive(Choice(new > 1, Int(FULL), call("crash", T, 0)))
        else:
            self.steps.arrive(call("crash", T, 0))

    # Each event once, and each crash

    def _strikes_again(self, o: m.ProcessCrash) -> bool:
        """Can the environment come to the same crash in two ways?"""
        if len(self.context.universe.system.process_crashes) > 1 or len(o.variables) > 1:
            return True
        alone = [x for x, machine in zip(o.targets, o.machines, strict=True) if o.machines.count(machine) == 1]
        direct = {x.name for x in alone if isinstance(x, m.Local)}
        return any(name not in direct or isinstance(over.type, m.ListType) for name, over in o.variables)

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
            t = self.context.core.elaboration.expression(over, types).type
            types[name] = m.element_of(t)
        return [self.context.core.elaboration.expression(a, types).type for a in o.arguments]

    def _once(self, o: m.Offer, receiver: Expr, arguments: Sequence[s.Expr], handled: Expr) -> Expr:
        """The call, if it is the first such from this row."""
        scope, offers = self.steps.scope, self.context.universe.system.offers or ()
        number = [(x.machine, x.event) for x in offers].index((o.machine, o.event))
        key: list[Expr] = [Int(number), receiver]
        types = [self._types(x) for x in self._of_same(o)]
        key += [scope.value(x, reduce(common, of)) for x, of in zip(arguments, zip(*types, strict=True), strict=True)]
        new = self._fresh(key)
        return Choice(new.equals(1), handled, Choice(new > 1, Int(FULL), Int(IGNORED)))

    def _fresh(self, key: Sequence[Expr]) -> Expr:
        """Whether something is offered for the first time: 0, 1, or 2 where that cannot be said."""
        system = self.context.universe.system
        if self.seen is None:
            self.width = max([1 + self.context.layout.mask_words, *(2 + len(x.arguments) for x in system.offers or ())])
            self._tell_apart([*(system.offers or ()), *system.process_crashes])
        padding = [ZERO] * (self.width - len(key))
        return self.steps.builder.temporary(call("fresh", T, *key, *padding))

    def _tell_apart(self, offers: Sequence[Line]) -> None:
        """A table of events: a number that says from which row, and the event."""
        most = sum(self._most(o) for o in offers)
        size = 1 << (2 * min(most, MAX_REPEATED) - 1).bit_length()
        self.seen = self.context.layout.reserve(1 + size * (1 + self.width))
        key = [Var(f"k{n}") for n in range(self.width)]
        b, h, turn = Builder(), Var("h"), Var("_")
        mixed: Expr = key[0]
        for k in key[1:]:
            mixed = mixed * 31 + k
        b.set(h, mixed)
        b.update(h, "^", h >> 7)
        with b.count(turn, size):
            b.set(AT, self.seen + 1 + (h & size - 1) * (1 + self.width))
            with b.if_(T[AT].differs(T[self.seen])):
                b.set(T[AT], T[self.seen])
                for n, k in enumerate(key):
                    b.set(T[AT + (n + 1)], k)
                b.return_(1)
            with b.if_(all_of([T[AT + (n + 1)].equals(k) for n, k in enumerate(key)])):
                b.return_(0)
            b.update(h, "+", 1)
        b.return_(2)
        signature = (*rows("t"), *parameters(*(k.name for k in key)))
        doc = "Is this event offered for the first time? 2: there is no room to say so."
        self.functions.append(function("fresh", signature, b.block, doc))

    def _most(self, o: Line) -> int:
        """How many events a line can come to."""
        most = 1
        for _, over in o.variables:
            if isinstance(over, m.Apply) and over.function == "subsets":
                codes = element_of(self.steps.scope, over.arguments[0].type).codes
                most *= comb(codes, codes // 2)
            elif isinstance(over, m.Collection):
                most *= len(over.items)
            elif isinstance(over.type, m.ListType):
                most *= over.type.bound
            else:
                most *= element_of(self.steps.scope, over.type).codes
        return min(most, MAX_REPEATED)

    # All of them

    def _unrestricted(self) -> None:
        universe = self.context.universe
        try:
            offered = universe.unrestricted
        except TooManyValuesError as error:
            raise UnpackableError(f"the environment would have to choose among {error}") from error
        b = self.steps.builder
        for machine, stretch in stretches(self.context, universe.machines):
            events = [e for e in machine.events if e.from_environment]
            possible = {e for n, e, combinations in offered if combinations and universe.machines[n] is machine}
            with b.for_each(AT, stretch):
                for e in events:
                    if e.name in possible:
                        with b.if_(self._listens(machine.qualified, e.name, AT)):
                            self._arguments(machine, e, [])

    def _arguments(self, machine: m.Machine, event: m.Event, arguments: list[Expr]) -> None:
        if len(arguments) == len(event.parameters):
            self.steps.take(call(self.context.handler(machine, event.name), T, AT, *arguments))
            return
        with self._each(event.parameters[len(arguments)].type) as x:
            self._arguments(machine, event, [*arguments, x])

    @contextmanager
    def _each(self, t: m.Type) -> Iterator[Var]:
        """A loop through all values of a type, in order."""
        b, x, n = self.steps.builder, self.steps.builder.name(), self.steps.builder.name()
        values = [to_number(t, x, self.context.universe) for x in domain(t, self.context.universe)]
        if values == [*range(values[0], values[0] + len(values))]:
            with b.for_each(x, values):
                yield x
            return
        # Others are written down once and for all.
        first = self.context.layout.reserve(len(values))
        self.context.layout.params.update(enumerate(values, first))
        with b.count(n, first + len(values), first):
            b.set(x, T[n])
            yield x


def _all(conditions: Sequence[m.Expr]) -> m.Expr:
    return conditions[0] if len(conditions) == 1 else m.Logic("and", tuple(conditions))


def _mentions(e: m.Expr, names: set[str]) -> bool:
    return any(isinstance(x, m.Local) and x.name in names for x in expressions(e))
