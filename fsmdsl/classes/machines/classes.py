"""The class of a machine that belongs to a system."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.classes.files import File
from fsmdsl.classes.machines.clockwork import FollowTimer, clockwork, starts, stops
from fsmdsl.classes.machines.crashes import crash_members
from fsmdsl.classes.machines.members import (
    Member,
    begins_alike,
    class_,
    common_keywords,
    constants,
    event_doc,
    first_check,
    first_state,
    invariant_member,
    keyword,
    keywords,
    method,
    notes,
    signature,
    slots,
    state_members,
    table,
    unhandled,
    value_members,
)
from fsmdsl.classes.machines.persistence import persistence
from fsmdsl.classes.names import Namespace
from fsmdsl.classes.statements.code import Block, Branch, If, Statement, Suite, Text
from fsmdsl.classes.statements.effects import statements
from fsmdsl.classes.statements.expressions import python
from fsmdsl.classes.statements.limits import Border, argument_checks, limit_checks, where_outside
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.selection import IGNORED, Passed, Trigger, dispatch
from fsmdsl.classes.statements.text import folded, literal, sentence, tuple_of
from fsmdsl.classes.traits import connected, has_rounds, stored, timer_name
from fsmdsl.classes.types import annotation
from fsmdsl.core.selection import Move
from fsmdsl.core.triggers import EVENTLESS, triggered_by
from fsmdsl.dataclasses import replace


def machine_class(scope: Scope) -> list[str]:
    """The constants and the class."""
    machine, names, file = scope.own_machine, scope.names, scope.file
    base = file.machinery("TimedMachine" if file.context.traits(machine.module).timers else "Machine")
    file.define(names.class_)
    members = [
        _slots(scope),
        _constructor(scope),
        _connect(scope),
        *state_members(scope),
        *value_members(scope),
        *(_event(scope, e) for e in machine.events),
        *(_answer(scope, a, outcome) for a in machine.actions for outcome in a.outcomes),
        invariant_member(scope, machine.invariants),
        *persistence(scope),
        *_asking(scope),
        *_rounds(scope),
        *clockwork(scope, _following(scope)),
        *(crash_members(scope) if file.context.crashes(machine) else []),
    ]
    doc = sentence(machine.doc) or f"{machine.display}."
    return [*constants(scope), *_first_constant(scope), "", "", *class_(f"{names.class_}({base})", doc, members)]


# The constructor -----------------------------------------------------------------------------------------------------


def _volatile(scope: Scope) -> list[m.Field]:
    """Fields that a crash resets."""
    machine = scope.own_machine
    return [f for f in machine.fields if not f.durable] if scope.file.context.crashes(machine) else []


def _slots(scope: Scope) -> Member:
    machine, names = scope.own_machine, scope.names
    slot_names = ["_state", *(names.slot(x.name) for x in stored(machine))]
    slot_names += [*(["_actions"] if machine.actions else []), *(["_wait"] if scope.waits else [])]
    slot_names += ["_first"] if _volatile(scope) else []
    late = connected(scope.file.context.model, machine)
    annotated = [f"{names.slot(p.name)}: {annotation(scope.file, p.type)}" for p in late]
    rounds = ["", "_ROUNDS = True"] if has_rounds(machine) else []
    timers = [literal(timer_name(machine, t)) for t in triggered_by(machine, m.OnTimer)]
    timer_names = ["", *folded([f"_TIMERS = {tuple_of(list(dict.fromkeys(timers)))}"], 1)] if timers else []
    return [*slots(slot_names), *rounds, *timer_names, *(["", *annotated] if annotated else [])]


def _constructor(scope: Scope) -> Member:
    machine, file = scope.own_machine, scope.file
    late = connected(file.context.model, machine)
    values = [keyword(scope, x, late=x in late) for x in stored(machine)]
    body: list[Statement] = [x for k in values for x in k.check]
    body += ["self._actions = actions"] if machine.actions else []
    body += [*first_state(scope), *(k.store for k in values), *_first_values(scope)]
    body += ["self._wait = True"] if scope.waits else []
    body += ["super().__init__(system, name)", *(["self._start_timers()"] if triggered_by(machine, m.OnTimer) else [])]
    head = ["self", f"system: {file.machinery('System', typing=True)}"]
    head += [f"actions: {file.actions_class(machine.qualified)}"] if machine.actions else []
    parameters = ", ".join([*head, "*", *keywords(values), *common_keywords(scope)])
    return method(f"def __init__({parameters}) -> None:", "", body)


def _first_values(scope: Scope) -> list[str]:
    """What a crash brings back. Instances that begin as the spec says share it."""
    first = [f"self.{scope.names.slot(f.name)}" for f in _volatile(scope)]
    if not first:
        return []
    values = tuple_of(first)
    if not all(map(begins_alike, _volatile(scope))):
        return [f"self._first = {values}"]
    return [f"first = {values}", "self._first = FIRST if first == FIRST else first"]


def _first_constant(scope: Scope) -> list[str]:
    """The values that a crash brings back in most instances."""
    fields = _volatile(scope)
    if not fields or not all(map(begins_alike, fields)):
        return []
    values = tuple_of([python(scope, f.default) for f in fields])
    types = ", ".join(annotation(scope.file, f.type) for f in fields)
    kind = f"{scope.file.library('typing', 'Final')}[tuple[{types}]]"
    return ["", *folded([f"{scope.file.define('FIRST')}: {kind} = {values}"])]


def _connect(scope: Scope) -> Member:
    machine, names = scope.own_machine, scope.names
    late = connected(scope.file.context.model, machine)
    if not late:
        return []
    parameters = [f"{names.values[p.name]}: {annotation(scope.file, p.type)}" for p in late]
    body: list[Statement] = [x for p in late for x in first_check(scope, p, p.type, "self._system")]
    body += [f"self.{names.slot(p.name)} = {names.values[p.name]}" for p in late]
    doc = "Gives the parameters that refer to machines made later. To be called once, before the first event."
    return method(f"def connect(self, *, {', '.join(parameters)}) -> None:", doc, body)


# Events --------------------------------------------------------------------------------------------------------------


def _following(scope: Scope) -> FollowTimer:
    """How a transition is followed from a leaf."""

    def follow(at: Scope, moved: Move, own_timer: bool = True) -> Block:
        t = moved.transition
        names = scope.names.states
        target = "self._state" if moved.target is None else names[moved.target]
        before = f"self._follow({literal(t.name)}, {literal(t.shown_trigger)}, {target})"
        effects = (*statements(at, (*moved.exits, *t.effects)), *stops(scope, moved))
        arrive = (f"self._state = {target}",) if moved.target is not None and moved.target not in moved.left else ()
        after = (*statements(scope, moved.entries), *starts(scope, moved, own_timer))
        consumed = scope.waits and not isinstance(t.trigger, m.OnEvent | m.OnTimer)
        return (*notes(t), before, *effects, *arrive, *after, *(("self._wait = False",) if consumed else ()))

    return follow


def _event(scope: Scope, event: m.Event) -> Member:
    """The method of an event."""
    machine, file = scope.own_machine, scope.file
    inner, arguments = scope.with_parameters(event.parameters)
    outside = Namespace(arguments).claim("outside")
    if event.parameters:
        inner = replace(inner, locals={"": outside, **inner.locals})
    trigger = Trigger(event.name, inner, arguments, _following(scope), unhandled(scope, event.name))
    body = (*_checks(file, event, arguments, outside), *dispatch(trigger, _passed(machine, event.name)))
    context = f"self._system.step(self, {literal(event.name)})"
    step = Suite(f"with {context}{f' as {outside}' if event.parameters else ''}:", body)
    head = f"def {scope.names.events[event.name]}({signature(scope, arguments, event.parameters)}) -> None:"
    return method(head, event_doc(machine, event), [step])


def _checks(file: File, event: m.Event, arguments: list[str], outside: str) -> Block:
    """Arguments from outside can be anything; those of other machines are of the right type."""
    if not event.parameters:
        return ()
    checks = argument_checks(file, arguments, event.parameters, Border("self", "self._system"))
    return (where_outside(outside, checks, limit_checks(file, arguments, event.parameters)),)


def _passed(machine: m.Machine, trigger: str) -> Passed:
    return {i.state: lambda: IGNORED for i in machine.ignores if i.event == trigger}


# Actions with outcomes -----------------------------------------------------------------------------------------------


def _answer(scope: Scope, action: m.Action, outcome: str) -> Member:
    machine = scope.own_machine
    name = f"{action.name}.{outcome}"
    trigger = Trigger(name, scope, (), _following(scope), unhandled(scope, name))
    body = dispatch(trigger, _passed(machine, name))
    ticket = ["ticket"] if action.asynchronous else []
    parameters = ", ".join(["self", *(f"{x}: int" for x in ticket)])
    head = f"def {scope.names.answers[(action.name, outcome)]}({parameters}) -> None:"
    arguments = ", ".join(["self", literal(action.name), literal(outcome), *ticket])
    rows_ = table(t for t in machine.transitions if t.trigger == m.OnOutcome(action.name, outcome))
    doc = f"The answer to `{action.name}` is `{outcome}`.\n\n{rows_}"
    return method(head, doc, [Suite(f"with self._system.answer({arguments}):", body)])


def _asking(scope: Scope) -> Iterator[Member]:
    """Methods that call an action and pass its answer on."""
    machine, names = scope.own_machine, scope.names
    for action in machine.actions:
        if not action.outcomes or action.asynchronous:
            continue
        arguments = Scope(scope.file, machine, locals={"": "outcome"}).with_parameters(action.parameters)[1]
        branches = (
            Branch(Text(f"outcome == {literal(o)}"), (f"self.{names.answers[(action.name, o)]}()",))
            for o in action.outcomes
        )
        outcomes = " or ".join(action.outcomes)
        refused = scope.file.machinery("OutOfRange")
        refusal = f'raise {refused}(f"{{self!r}}: {action.name} must answer {outcomes}, not {{outcome!r}}")'
        called = f"outcome = self._actions.{names.actions[action.name]}({', '.join(['self', *arguments])})"
        head = f"def _{names.asking[action.name]}({signature(scope, arguments, action.parameters)}) -> None:"
        yield method(head, "", [called, If(tuple(branches), (refusal,))])


# Rounds --------------------------------------------------------------------------------------------------------------


def _rounds(scope: Scope) -> Iterator[Member]:
    machine = scope.own_machine
    eventless = triggered_by(machine, m.Eventless)
    if eventless:
        trigger = Trigger(EVENTLESS, scope, (), _following(scope), lambda: ("return False",))
        doc = f"Follows one transition that needs no event, if any is enabled.\n\n{table(eventless)}"
        yield method("def _go_on(self) -> bool:", doc, [*dispatch(trigger), "return True"])
    if scope.waits:
        yield method("def _end_round(self) -> None:", "", ["self._wait = True"])
