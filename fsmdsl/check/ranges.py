"""Values that leave the range of the place they go to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from fsmdsl import model as m
from fsmdsl.check.machine_graph import Shape
from fsmdsl.check.phrases import assignment
from fsmdsl.check.subject import Subject, arguments
from fsmdsl.core.guards import conjuncts
from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.model.typing import bare, holds
from fsmdsl.model.walk import effects, effects_of, expressions
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

LEAVES = Rule(
    "FSM221",
    "leaves-range",
    Severity.ERROR,
    "a value that is always outside the declared range",
    """
For all values of the data, the result is outside the range of the field or parameter that receives it. The step would
always end in the fault `range`.

```fsm
machine Door {
    opened: 0..9
    initial state Shut
    state Open
    event push, pull from environment
    Shut -> Open on push when opened == 9 do opened = opened + 1
    Open -> Shut on pull do opened = 0
}
```

Correct the value or the guard, or widen the range.
""",
)

MAY_LEAVE = Rule(
    "FSM222",
    "may-leave-range",
    Severity.NOTE,
    "a value that may be outside the declared range",
    """
For some values of the data that the expression reads, the result is outside the range of the field or parameter that
receives it. Exploring a system (`fsm verify`) decides whether a run ever reaches such a value, which would cause the
fault `range`. The guard and the enclosing conditions are taken into account.

```fsm
machine Door {
    opened: 0..9
    initial state Shut
    state Open
    event push, pull from environment
    Shut -> Open on push do opened = opened + 1
    Open -> Shut on pull
    invariant Open => opened > 0
}
```

- If the step cannot happen at the end of the range, add a guard that excludes such values: `when opened < 9`.
- If the real counter stops at the end, limit it (a saturating counter): `opened = min(opened + 1, 9)`.
- If the real counter only grows and has no end, such as an epoch, bound the exploration in the system instead:
  `explore while all x in Door: x.opened <= 8`. Verdicts then hold within the bound (`fsm explain bound`).
""",
)

RULES = (LEAVES, MAY_LEAVE)

EXCLUDE = "exclude such values with a guard, or limit the value with `min` or `max`"


def check(subject: Subject) -> Iterator[Diagnostic]:
    """First values of data, then effects, each line's once for all its sources."""
    for shape in subject.shapes:
        yield from _first_values(subject, shape.machine)
        counters = _counters(shape.machine)
        for line in shape.lines:
            if line[0].effects:
                yield from _line(subject, shape, line, counters)
        for hook in shape.machine.hooks:
            walk = _Walk(subject, shape.machine, shape.hierarchy.inside[hook.state], counters)
            yield from walk.run(hook.effects, _Now())
    for system in subject.model.systems.values():
        yield from _instances(subject, system)


def _line(
    subject: Subject, shape: Shape, line: tuple[m.Transition, ...], counters: frozenset[str]
) -> Iterator[Diagnostic]:
    first, machine = line[0], shape.machine
    if not any(_narrow(subject.model, machine, x) for x in effects(first.effects)):
        return
    guard = subject.guard(machine, first)
    leaves = tuple(dict.fromkeys(leaf for t in line for leaf in shape.hierarchy.inside[t.source]))
    walk = _Walk(subject, machine, leaves, counters)
    facts = () if guard is None or first.guard is None else (guard,)
    yield from walk.run(first.effects, _Now(arguments(machine, first), {}, facts))


# First values --------------------------------------------------------------------------------------------------------


def _first_values(subject: Subject, machine: m.Machine) -> Iterator[Diagnostic]:
    walk = _Walk(subject, machine, (machine.initial.name,))
    for p in machine.params:
        if p.default is not None:
            yield from walk.first(p.name, p.type, p.default)
    for f in machine.fields:
        yield from walk.first(f.name, f.type, f.default)


def _instances(subject: Subject, system: m.System) -> Iterator[Diagnostic]:
    seen: set[tuple[str, int, int]] = set()
    for instance in system.instances:
        machine = subject.model.machines[instance.machine]
        types = {p.name: p.type for p in machine.params} | {f.name: f.type for f in machine.fields}
        walk = _Walk(subject, machine, instance.leaves)
        for name, value in instance.values:
            key = (name, value.span.start, value.span.end)
            diagnostic = next(walk.first(name, types[name], value), None) if key not in seen else None
            if diagnostic is not None and diagnostic.rule is LEAVES:
                seen.add(key)
                yield diagnostic


# Effects -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Now:
    """What is known at a place among effects: what names and changed fields stand for, what holds; in normal form."""

    names: Mapping[str, m.Expr] = field(default_factory=dict)
    fields: Mapping[str, m.Expr] = field(default_factory=dict)
    facts: tuple[m.Expr, ...] = ()


class _Walk:
    """Goes through effects in order, keeping track of what the machine's own fields have become."""

    def __init__(
        self, subject: Subject, machine: m.Machine, leaves: Sequence[str], counters: frozenset[str] = frozenset()
    ) -> None:
        """`counters`: the machine's fields that only grow."""
        self.subject = subject
        self.machine = machine
        self.leaves = leaves
        self.counters = counters
        self._fresh = count()

    def run(self, body: Iterable[m.Effect], now: _Now) -> Iterator[Diagnostic]:
        """Findings in a block."""
        for x in body:
            advice = _advice(self.machine, x) if isinstance(x, m.Assign) and x.name in self.counters else EXCLUDE
            for place in _assigned_places(self.subject.model, self.machine, x):
                yield from self.value(*place, now, advice)
            match x:
                case m.Assign():
                    now = self._assigned(x, now)
                case _ if isinstance(x, m.Write):
                    now = self._changed({x.name: x.type}, now)
                case m.If(condition=condition, then=then, otherwise=otherwise):
                    yield from self.run(then, self._when(condition, now))
                    yield from self.run(otherwise, self._when(m.Not(condition), now))
                    now = self._after((*then, *otherwise), now)
                case m.ForEach(body=inner):
                    now = self._after(inner, now)
                    yield from self.run(inner, replace(now, names={**now.names, x.variable: self._any(x)}))
                case m.Post() | m.Request():
                    pass
                case _:  # whatever it reaches may be another
                    now = self._sent(now)

    def _when(self, condition: m.Expr, now: _Now) -> _Now:
        fact = self.subject.normal(condition, now.names, now.fields)
        return now if fact is None else replace(now, facts=(*now.facts, fact))

    def _assigned(self, x: m.Assign, now: _Now) -> _Now:
        value = self.subject.normal(x.value, now.names, now.fields)
        if value is None or x.target is not None:
            return self._changed({x.name: x.type}, now)
        inside = _inside(value, x.type)
        facts = now.facts if inside is None else (*now.facts, inside)
        return replace(now, fields={**now.fields, x.name: value}, facts=facts)

    def _after(self, body: Iterable[m.Effect], now: _Now) -> _Now:
        """Behind a block that may have been run, once or several times."""
        inside = list(effects(list(body)))
        changed = {x.name: x.type for x in inside if isinstance(x, m.Write) and x.target is None}
        after = self._changed(changed, now)
        return self._sent(after) if any(isinstance(x, m.Send) for x in inside) else after

    def _sent(self, now: _Now) -> _Now:
        """Behind an event sent: the data of other instances may have changed, so what is known of it was said of the
        values before."""
        old = {f.name: f.type for f in self.machine.fields if f.name in now.fields and _of_others(now.fields[f.name])}
        facts = tuple(x for fact in now.facts for x in conjuncts(fact) if not _of_others(x))
        return self._changed(old, replace(now, facts=facts))

    def _changed(self, fields: Mapping[str, m.Type], now: _Now) -> _Now:
        unknown = {name: m.Local(f"${name} {next(self._fresh)}", t) for name, t in fields.items()}
        return replace(now, fields={**now.fields, **unknown})

    def _any(self, x: m.ForEach) -> m.Expr:
        of = m.element_of(x.over.type)
        return m.Local(f"${x.variable} {next(self._fresh)}", of)

    def first(self, name: str, place: m.Type, value: m.Expr) -> Iterator[Diagnostic]:
        """Does a first value fit into its place?"""
        for x in _with_parts(name, place, value):
            yield from self.value(*x, _Now())

    def value(self, name: str, place: m.Type, value: m.Expr, now: _Now, advice: str = EXCLUDE) -> Iterator[Diagnostic]:
        """Does a value fit into its place? `advice` is what to do about one that may not."""
        if holds(place, value.type):
            return
        normal_form = self.subject.normal(value, now.names, now.fields)
        inside = None if normal_form is None else _inside(normal_form, place)
        if inside is None:
            return
        leaving = self.subject.together(self.machine, self.leaves, (*now.facts, m.Not(inside)))
        if leaving is None:
            return
        bounds = _range(place)
        if self.subject.together(self.machine, self.leaves, (*now.facts, inside)) is None:
            message = f"`{name}` would always be given a value outside {bounds}"
            yield LEAVES.at(value.span, message).help("correct the value or the guard, or make the range wider")
            return
        when = assignment(leaving, " when ") if leaving.exact else ""
        message = f"`{name}` may be given a value outside {bounds}{when}"
        note = "exploring a system decides whether it happens: `fsm verify`"
        yield MAY_LEAVE.at(value.span, message).note(note).help(advice)


_Place = tuple[str, m.Type, m.Expr]
"""The name of a place, its type, and the value that it is given."""


def _assigned_places(model: m.Model, machine: m.Machine, x: m.Effect) -> Iterator[_Place]:
    """The places that an effect gives values to, with those in the records and maps that it makes."""
    for place in _places(model, machine, x):
        yield from _with_parts(*place)


def _with_parts(name: str, place: m.Type, value: m.Expr) -> Iterator[_Place]:
    """A place, and the parts of records and the entries of maps that are made for it, whatever is true."""
    yield name, place, value
    match value:
        case m.Construction(parts=parts, type=t):
            for (part, of), x in zip(t.parts, parts, strict=True):
                yield from _with_parts(part, of, x)
        case m.Collection(items=items) | m.Apply(function="concat", arguments=items):
            for x in items:
                yield from _with_parts(name, x.type, x)
        case m.Apply(function="filled" | "replaced", arguments=items, type=m.MapType(of=of)):
            if value.function == "replaced":
                yield from _with_parts(name, place, items[0])
            yield from _with_parts(name, of, items[-1])
        case _:
            return


def _places(model: m.Model, machine: m.Machine, x: m.Effect) -> Iterator[_Place]:
    """The places that an effect gives values to."""
    match x:
        case m.Assign(name=name, value=value, type=type_):
            yield name, type_, value
        case m.Change(name=name, item=item, type=m.SetType(of) | m.ListType(of), kind="add"):
            yield name, of, item
        case m.Send(machine=receiver, event=event, arguments=values):
            yield from _parameters(model.machines[receiver].event_named[event].parameters, values)
        case m.Post(channel=channel, event=event, arguments=values):
            receiver = model.channels[channel].receiver
            yield from _parameters(model.machines[receiver].event_named[event].parameters, values)
        case m.Request(action=action, arguments=values):
            yield from _parameters(machine.action_named[action].parameters, values)
        case _:
            pass


def _parameters(parameters: tuple[m.Variable, ...], values: tuple[m.Expr, ...]) -> Iterator[_Place]:
    yield from ((p.name, p.type, v) for p, v in zip(parameters, values, strict=True))


def _narrow(model: m.Model, machine: m.Machine, x: m.Effect) -> bool:
    """Does an effect give a value to a place that may be too small for it?"""
    return any(not holds(place, value.type) for _, place, value in _assigned_places(model, machine, x))


# Counters ------------------------------------------------------------------------------------------------------------


def _counters(machine: m.Machine) -> frozenset[str]:
    """The fields that each effect on them increments."""
    own = [x for x in effects_of(machine) if isinstance(x, m.Write) and x.target is None]
    return frozenset(x.name for x in own) - {x.name for x in own if _increment(x) is None}


def _advice(machine: m.Machine, x: m.Assign) -> str:
    """What to do about the next value of a counter, which may not fit: it has two remedies of its own."""
    step, t = _increment(x), bare(x.type)
    if step is None or not isinstance(t, m.RangeType) or t.high - step < t.low:
        return EXCLUDE
    return (
        f"if the real counter stops at {t.high}, write `{x.name} = min({x.value.span.quote}, {t.high})`; "
        f"if it has no end, bound the exploration in the system: "
        f"`explore while all x in {machine.name}: x.{x.name} <= {t.high - step}`"
    )


def _increment(x: m.Effect) -> int | None:
    """By how much, at most, an effect increments a field of the machine itself; None of any other effect."""
    if not isinstance(x, m.Assign) or not isinstance(x.value, m.Binary) or x.value.operator != "+":
        return None
    field_now, operands = m.Read("field", x.name, x.target, x.type), (x.value.left, x.value.right)
    if x.target is not None or field_now not in operands:
        return None
    by = bare(operands[operands[0] == field_now].type)
    return by.high if isinstance(by, m.RangeType) and by.low >= 0 else None


# Ranges --------------------------------------------------------------------------------------------------------------


def _inside(value: m.Expr, place: m.Type) -> m.Expr | None:
    """That a value is inside the range of its place; None where it has none."""
    t = bare(place)
    if not isinstance(t, m.RangeType) or isinstance(value.type, m.OptionalType):
        return None
    return m.Logic("and", (_test(value, ">=", t.low), _test(value, "<=", t.high)))


def _test(value: m.Expr, operator: m.BinaryOperator, limit: int) -> m.Expr:
    return m.Binary(operator, value, m.Constant(limit, m.RangeType(limit, limit)), m.BOOL)


def _range(place: m.Type) -> str:
    t = bare(place)
    return f"{t.low}..{t.high}" if isinstance(t, m.RangeType) else ""


def _of_others(e: m.Expr) -> bool:
    """Does an expression in normal form speak of what another instance, or a channel, holds?"""
    return any(
        isinstance(x, m.ChannelRef)
        or (isinstance(x, m.Read) and x.target is not None)
        or (isinstance(x, m.InState | m.StateOf) and not isinstance(x.target, m.Self))
        for x in expressions(e)
    )
