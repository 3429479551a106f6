"""The class of a machine that belongs to a system."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.classes.machines.clockwork import FollowTimer, clockwork, starts, stops
from fsmdsl.classes.machines.crashes import crash_members
from fsmdsl.classes.machines.members import (
    Member,
    always_given,
    begins_alike,
    class_,
    constants,
    event_doc,
    invariant_member,
    keyword,
    keywords,
    method,
    notes,
    signature,
    slots,
    state_members,
    stored_state,
    table,
    unhandled,
    value_members,
)
from fsmdsl.classes.machines.persistence import persistence
from fsmdsl.classes.statements.code import Block, Branch, If, Statement, Suite, Text
from fsmdsl.classes.statements.effects import statements
from fsmdsl.classes.statements.expression_context import Place
from fsmdsl.classes.statements.expressions import python
from fsmdsl.classes.statements.limits import Border, argument_checks
from fsmdsl.classes.statements.selection import IGNORED, Passed, Trigger, dispatch
from fsmdsl.classes.statements.text import folded, literal, sentence, tuple_of
from fsmdsl.classes.traits import connected, has_rounds, stored
from fsmdsl.classes.types import annotation
from fsmdsl.core.selection import Move
from fsmdsl.core.triggers import EVENTLESS, triggered_by


def machine_class(place: Place) -> list[str]:
    """The constants and the class."""
    machine, names, file = place.own_machine, place.names, place.file
    base = file.machinery("TimedMachine" if file.context.traits(machine.module).timers else "Machine")
    file.define(names.class_)
    members = [
        _slots(place),
        _constructor(place),
        _connect(place),
        *state_members(place),
        *value_members(place),
        *(_event(place, e) for e in machine.events),
        *(_answer(place, a, outcome) for a in machine.actions for outcome in a.outcomes),
        invariant_member(place, machine.invariants),
        *persistence(place),
        *_asking(place),
        *_rounds(place),
        *clockwork(place, _following(place)),
        *(crash_members(place) if file.context.crashes(machine) else []),
    ]
    doc = sentence(machine.doc) or f"{machine.display}."
    return [*constants(place), *_first_constant(place), "", "", *class_(f"{names.class_}({base})", doc, members)]


# The constructor -----------------------------------------------------------------------------------------------------


def _volatile(place: Place) -> list[m.Field]:
    """Fields that a crash resets."""
    machine = place.own_machine
    return [f for f in machine.fields if not f.durable] if place.file.context.crashes(machine) else []


def _slots(place: Place) -> Member:
    machine, names = place.own_machine, place.names
    held = ["_state", *(names.slot(x.name) for x in stored(machine))]
    held += [*(["_actions"] if machine.actions else []), *(["_wait"] if place.waits else [])]
    held += ["_first"] if _volatile(place) else []
    late = connected(place.file.context.model, machine)
    annotated = [f"{names.slot(p.name)}: {annotation(place.file, p.type)}" for p in late]
    rounds = ["", "_ROUNDS = True"] if has_rounds(machine) else []
    return [*slots(held), *rounds, *(["", *annotated] if annotated else [])]


def _constructor(place: Place) -> Member:
    machine, file = place.own_machine, place.file
    late = connected(file.context.model, machine)
    values = [keyword(place, x, late=x in late) for x in stored(machine)]
    body: list[Statement] = ["self._actions = actions"] if machine.actions else []
    body += [stored_state(place), *(k.store for k in values), *_first_values(place)]
    body += ["self._wait = True"] if place.waits else []
    body += ["super().__init__(system, name)", *(["self._start_timers()"] if triggered_by(machine, m.OnTimer) else [])]
    head = ["self", f"system: {file.machinery('System', typing=True)}"]
    head += [f"actions: {file.actions_class(machine.qualified)}"] if machine.actions else []
    given = ", ".join([*head, "*", *keywords(values), *always_given(place)])
    return method(f"def __init__({given}) -> None:", "", body)


def _first_values(place: Place) -> list[str]:
    """What a crash brings back. Instances that begin as the spec says share it."""
    first = [f"self.{place.names.slot(f.name)}" for f in _volatile(place)]
    if not first:
        return []
    given = tuple_of(first)
    if not all(map(begins_alike, _volatile(place))):
        return [f"self._first = {given}"]
    return [f"first = {given}", "self._first = FIRST if first == FIRST else first"]


def _first_constant(place: Place) -> list[str]:
    """The values that a crash brings back in most instances."""
    fields = _volatile(place)
    if not fields or not all(map(begins_alike, fields)):
        return []
    values = tuple_of([python(place, f.default) for f in fields])
    types = ", ".join(annotation(place.file, f.type) for f in fields)
    kind = f"{place.file.library('typing', 'Final')}[tuple[{types}]]"
    return ["", *folded([f"{place.file.define('FIRST')}: {kind} = {values}"])]


def _connect(place: Place) -> Member:
    machine, names = place.own_machine, place.names
    late = connected(place.file.context.model, machine)
    if not late:
        return []
    given = [f"{names.values[p.name]}: {annotation(place.file, p.type)}" for p in late]
    body = [f"self.{names.slot(p.name)} = {names.values[p.name]}" for p in late]
    doc = "Gives the parameters that refer to machines made later. To be called once, before the first event."
    return method(f"def connect(self, *, {', '.join(given)}) -> None:", doc, body)


# Events --------------------------------------------------------------------------------------------------------------


def _following(place: Place) -> FollowTimer:
    """How a transition is followed from a leaf."""

    def follow(at: Place, moved: Move, own_timer: bool = True) -> Block:
        t = moved.transition
        names = place.names.states
        target = "self._state" if moved.target is None else names[moved.target]
        before = f"self._follow({literal(t.name)}, {literal(t.shown_trigger)}, {target})"
        effects = (*statements(at, (*moved.exits, *t.effects)), *stops(place, moved))
        arrive = (f"self._state = {target}",) if moved.target is not None and moved.target not in moved.left else ()
        after = (*statements(place, moved.entries), *starts(place, moved, own_timer))
        consumed = place.waits and not isinstance(t.trigger, m.OnEvent | m.OnTimer)
        return (*notes(t), before, *effects, *arrive, *after, *(("self._wait = False",) if consumed else ()))

    return follow


def _event(place: Place, event: m.Event) -> Member:
    """The method of an event."""
    machine, file = place.own_machine, place.file
    inner, given = place.given(event.parameters)
    trigger = Trigger(event.name, inner, given, _following(place), unhandled(place, event.name))
    head = f"def {place.names.events[event.name]}({signature(place, given, event.parameters)}) -> None:"
    checks = argument_checks(file, given, event.parameters, Border(place.names.class_, itself=True))
    body = (*checks, *dispatch(trigger, _passed(machine, event.name)))
    step = Suite(f"with self._system.step(self, {literal(event.name)}):", body)
    return method(head, event_doc(machine, event), [step])


def _passed(machine: m.Machine, trigger: str) -> Passed:
    return {i.state: lambda: IGNORED for i in machine.ignores if i.event == trigger}


# Actions with outcomes -----------------------------------------------------------------------------------------------


def _answer(place: Place, action: m.Action, outcome: str) -> Member:
    machine = place.own_machine
    name = f"{action.name}.{outcome}"
    trigger = Trigger(name, place, (), _following(place), unhandled(place, name))
    body = dispatch(trigger, _passed(machine, name))
    ticket = ["ticket"] if action.asynchronous else []
    parameters = ", ".join(["self", *(f"{x}: int" for x in ticket)])
    head = f"def {place.names.answers[(action.name, outcome)]}({parameters}) -> None:"
    given = ", ".join(["self", literal(action.name), literal(outcome), *ticket])
    rows_ = table(t for t in machine.transitions if t.trigger == m.OnOutcome(action.name, outcome))
    doc = f"The answer to `{action.name}` is `{outcome}`.\n\n{rows_}"
    return method(head, doc, [Suite(f"with self._system.answer({given}):", body)])


def _asking(place: Place) -> Iterator[Member]:
    """Methods that call an action and pass its answer on."""
    machine, names = place.own_machine, place.names
    for action in machine.actions:
        if not action.outcomes or action.asynchronous:
            continue
        given = Place(place.file, machine, locals={"": "outcome"}).given(action.parameters)[1]
        branches = (
            Branch(Text(f"outcome == {literal(o)}"), (f"self.{names.answers[(action.name, o)]}()",))
            for o in action.outcomes
        )
        wanted = " or ".join(action.outcomes)
        refusal = f'raise ValueError(f"{action.name} answers {wanted}, not {{outcome!r}}")'
        called = f"outcome = self._actions.{names.actions[action.name]}({', '.join(['self', *given])})"
        head = f"def _{names.asking[action.name]}({signature(place, given, action.parameters)}) -> None:"
        yield method(head, "", [called, If(tuple(branches), (refusal,))])


# Rounds --------------------------------------------------------------------------------------------------------------


def _rounds(place: Place) -> Iterator[Member]:
    machine = place.own_machine
    found = triggered_by(machine, m.Eventless)
    if found:
        trigger = Trigger(EVENTLESS, place, (), _following(place), lambda: ("return False",))
        doc = f"Follows one transition that needs no event, if any is enabled.\n\n{table(found)}"
        yield method("def _go_on(self) -> bool:", doc, [*dispatch(trigger), "return True"])
    if place.waits:
        yield method("def _end_round(self) -> None:", "", ["self._wait = True"])
