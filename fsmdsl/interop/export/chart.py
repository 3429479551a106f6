"""A machine as the statecharts of other tools have it: rows of each state in order, and what they cannot say.

Such a tool tries the rows of a state in the order of the text, then those of the composites around it, and follows the
first whose guard holds. Guards and effects are carried over as the text of the spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.core.selection import Selection
from fsmdsl.core.triggers import trigger_name
from fsmdsl.core.unsupported import Lost, line, losses, written
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.walk import effects_of
from fsmdsl.step.describe import duration


@dataclass(frozen=True, slots=True)
class Row:
    """A transition of one state, in the order in which the tool tries them."""

    transition: m.Transition
    guard: str | None
    """One made from `*` also asks that no row of a composite around its source applies, as those come first."""

    @property
    def description(self) -> str:
        """What people read beside it: label, the names of arguments, doc comment."""
        t = self.transition
        arguments = t.trigger.arguments if isinstance(t.trigger, m.OnEvent) else ()
        called = f"{t.shown_trigger}({', '.join(arguments)})" if arguments else ""
        doc = line(t.doc)
        return ": ".join(x for x in (t.label, called, doc) if x)


@dataclass(frozen=True)
class Chart:
    """A machine, ready to be written. `finals` are the states that the tool may end in."""

    model: m.Model
    machine: m.Machine
    selection: Selection
    rows: Mapping[str, tuple[Row, ...]]
    finals: frozenset[str]
    lost: tuple[Lost, ...]

    def first(self, composite: m.State | None) -> str:
        """The state that the machine, or a composite, is entered at."""
        states = self.machine.state_named
        inside = [s for s in states.values() if s.parent == (None if composite is None else composite.name)]
        return next((s.name for s in inside if s.initial), inside[0].name)

    def description(self, s: m.State) -> str:
        """What people read of a state beside its name."""
        return ": ".join(x for x in (line(s.display) if s.display != s.name else "", line(s.doc)) if x)

    def hooks(self, state: str) -> tuple[tuple[m.Effect, ...], tuple[m.Effect, ...]]:
        """The entry and the exit effects of a state."""
        hooks = self.selection.hooks
        return hooks.get(("entry", state), ()), hooks.get(("exit", state), ())


def chart(model: m.Model, machine: m.Machine, tool: str) -> Chart:
    """The chart of a machine, for a tool of this name."""
    selection = Selection(machine)
    rows = {s.name: tuple(_rows(selection, s.name)) for s in machine.states}
    finals = frozenset(s.name for s in machine.states if s.final and not rows[s.name])
    return Chart(model, machine, selection, rows, finals, tuple(_lost(selection, rows, tool)))


def first_value(x: m.Expr) -> str:
    """The first value of a field, also where the spec leaves it out."""
    match x:
        case m.Constant(None):
            return "none"
        case m.Constant(int() as value, m.DurationType()):
            return duration(value)
        case m.Constant(value):
            return str(value).lower() if isinstance(value, bool) else str(value)
        case m.Collection(kind, ()):
            return "{}" if kind == "set" else "[]"
        case m.Construction(parts, t):
            return f"{t.name.rpartition('.')[2]}({', '.join(map(first_value, parts))})"
        case _:
            return written(x)


def assigned(x: m.Assign) -> tuple[str, m.Expr]:
    """What an assignment writes, a field or the one part of a record that gets another value, and the value."""
    at: m.Expr = m.Read("field", x.name, x.target, x.type)
    place, value = x.name, x.value
    while isinstance(value, m.Construction):
        pairs = zip(value.type.parts, value.parts, strict=True)
        new = [(part, inner) for part, inner in pairs if inner != m.Part(at, *part)]
        if len(new) != 1:
            break
        [(part, value)] = new
        at, place = m.Part(at, *part), f"{place}.{part[0]}"
    return place, value


def delay(timer: m.OnTimer) -> int | str:
    """How long a timer runs: milliseconds, or a parameter as the author wrote it."""
    match timer.duration:
        case m.Constant(int() as milliseconds):
            return milliseconds
        case _:
            return line(timer.duration_text)


# Rows ----------------------------------------------------------------------------------------------------------------


def _rows(selection: Selection, state: str) -> Iterator[Row]:
    """The rows of one state: those of a trigger together, in the order in which the spec tries them."""
    mine = [t for t in selection.machine.transitions if t.source == state and not isinstance(t.trigger, m.OnCrash)]
    for trigger in dict.fromkeys(t.shown_trigger for t in mine):
        same = [t for t in mine if t.shown_trigger == trigger]
        for t in selection.priority.best_first([t for t in same if not t.wild]):
            yield Row(t, _guard(t))
        for t in selection.priority.best_first([t for t in same if t.wild]):
            yield from _wild(selection, t)


def _guard(t: m.Transition) -> str | None:
    return None if t.guard in (None, m.Constant(True, m.BOOL)) else written(t.guard)


def _wild(selection: Selection, t: m.Transition) -> Iterator[Row]:
    """A row from `*`, which all rows that name a source come before; none where one of those has no guard."""
    trigger = trigger_name(t.trigger)
    own = _guard(t)
    if trigger is None:
        yield Row(t, own)
        return
    around = selection.hierarchy.around[t.source]
    before = [_guard(u) for s in around[1:] for u in selection.level(s, False, trigger)]
    if None not in before and all(map(_guard, selection.level(t.source, False, trigger))):
        others = [f"not ({guard})" for guard in before]
        yield Row(t, " and ".join([*others, f"({own})" if others else own] if own else others) or None)


# What is lost --------------------------------------------------------------------------------------------------------


def _lost(selection: Selection, rows: Mapping[str, tuple[Row, ...]], tool: str) -> Iterator[Lost]:
    machine = selection.machine
    for f in (f for f in selection.machine.fields if f.any):
        yield Lost(f"the field `{f.name}` begins with any value", f.span)
    yield from losses(selection, tool)
    for s in machine.states:
        if s.final and rows[s.name]:
            yield Lost(f"`{s.name}` is final, but has rows: {tool} has it as any other state", s.span)
    first = selection.hierarchy.around[machine.initial.name]
    if any(("entry", s) in selection.hooks for s in first):
        yield Lost(f"{tool} runs the entry effects of `{first[0]}` at the start, the spec does not", machine.span)
    if any(isinstance(x.transition.trigger, m.Eventless) for s in first for x in rows[s]):
        message = f"{tool} follows the rows of `{first[0]}` that need no event at the start, the spec only after a step"
        yield Lost(message, machine.span)
    for t in machine.transitions:
        if isinstance(t.trigger, m.OnTimer) and (t.guard is not None or t.target is None):
            when = "its guard does not hold" if t.target is not None else "it has fired"
            yield Lost(f"`{t.name}` of `{t.source}` starts again when {when}; in {tool} it fires once", t.span)
    for x in machine.lets:
        yield Lost(f"the definition of the derived value `{x.name}`, which guards and effects refer to by name", x.span)
    yield from _of_others(machine, tool)


def _of_others(machine: m.Machine, tool: str) -> Iterator[Lost]:
    sends = next((x for x in effects_of(machine) if isinstance(x, m.Send)), None)
    if sends is not None:
        message = (
            f"an event that is sent (`{written(sends)}`) is handled within the step in the spec, but later in {tool}"
        )
        yield Lost(message, sends.span)
    shared = {e.name for e in machine.events} & {a.name for a in machine.actions if a.outcomes}
    for name in sorted(shared):
        message = f"`{name}` is an event and an action: rows on the event may take the action's answers as well"
        yield Lost(message, machine.event_named[name].span)
