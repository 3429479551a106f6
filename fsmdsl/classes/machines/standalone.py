"""The class of a machine that stands alone: no system, no undoing, nothing but comparisons and assignments."""

from __future__ import annotations

from collections.abc import Container, Sequence

from fsmdsl import model as m
from fsmdsl.classes.machines.members import (
    Member,
    always_given,
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
    typed,
    unhandled,
    value_members,
)
from fsmdsl.classes.machines.persistence import persistence, version_constant
from fsmdsl.classes.names import Namespace
from fsmdsl.classes.statements.code import Block, Branch, If, Suite, Text
from fsmdsl.classes.statements.effects import statements
from fsmdsl.classes.statements.expression_context import Place
from fsmdsl.classes.statements.expressions import python
from fsmdsl.classes.statements.limits import Border, argument_checks
from fsmdsl.classes.statements.selection import Follow, Passed, Trigger, dispatch
from fsmdsl.classes.statements.text import literal, sentence
from fsmdsl.classes.traits import stored
from fsmdsl.classes.types import annotation
from fsmdsl.core.lets import may_lack_value, throughout
from fsmdsl.core.presence import NOTHING
from fsmdsl.core.selection import Move
from fsmdsl.dataclasses import replace
from fsmdsl.model.typing import is_limited
from fsmdsl.model.walk import effects


def standalone_class(place: Place) -> list[str]:
    """The constants and the class."""
    machine, names, file = place.own_machine, place.names, place.file
    base = file.machinery("Alone")
    file.define(names.class_)
    members = [
        slots(["_state", *(names.slot(x.name) for x in stored(machine))]),
        _constructor(place),
        *state_members(place),
        *value_members(place),
        *(_event(place, e) for e in machine.events),
        invariant_member(place, machine.invariants),
        *persistence(place),
    ]
    doc = sentence(machine.doc) or f"{machine.display}."
    head = [*constants(place), "", *version_constant(place)]
    return [*head, "", "", *class_(f"{names.class_}({base})", doc, members)]


def _constructor(place: Place) -> Member:
    values = [keyword(place, x) for x in stored(place.own_machine)]
    body = [stored_state(place), *(k.store for k in values), "self._listeners = ()", "self._name = name"]
    head = ", ".join(["self", "*", *keywords(values), *always_given(place)])
    return method(f"def __init__({head}) -> None:", "", body)


# Events --------------------------------------------------------------------------------------------------------------


def _event(place: Place, event: m.Event) -> Member:
    machine, file = place.own_machine, place.file
    inner, given = place.given(event.parameters)
    selection = place.selection
    labels = {t.name for x in machine.leaves for t in selection.candidates(x.name, event.name)}
    label = Namespace(given).claim("label")
    several = len(labels) > 1
    if several:
        inner = replace(inner, locals={"": label, **inner.locals})
    follow = _following(place, label if several else None)
    trigger = Trigger(event.name, inner, given, follow, unhandled(place, event.name, "state"))
    passed: Passed = {i.state: lambda: ("return  # ignored",) for i in machine.ignores if i.event == event.name}
    checks = argument_checks(file, given, event.parameters, Border(place.names.class_, itself=True))
    body = [*checks, *dispatch(trigger, passed, fast=True)]
    if labels:
        name = literal(labels.pop()) if len(labels) == 1 else label
        told = f"self._tell({name}, {literal(event.name)}, state)"
        body.append(If((Branch(Text("self._listeners"), (told,)),)))
    head = f"def {place.names.events[event.name]}({signature(place, given, event.parameters)}) -> None:"
    return method(head, event_doc(machine, event), body)


def _following(place: Place, label: str | None) -> Follow:
    """How a transition is followed. `label`: the variable for its name; None where an event has but one name."""

    def follow(at: Place, moved: Move) -> Block:
        t = moved.transition
        named = () if label is None else (f"{label} = {literal(t.name)}",)
        arrive = () if moved.target is None else (f"self._state = {place.names.states[moved.target]}",)
        return (*notes(t), *named, *_changes(place, at, moved), *arrive)

    return follow


def _changes(place: Place, at: Place, moved: Move) -> Block:
    """Assignments. Where one may fail after another, all values are found before the first is stored."""
    done = moved.effects
    if not _is_staged(place, done):
        return statements(at, done)
    changed = tuple(dict.fromkeys(e.name for e in effects(done) if isinstance(e, m.Write)))
    staged = at.bind(*changed)
    names = {name: staged.locals[name] for name in changed}
    at = replace(at, locals={**at.locals, **{f"new {n}": x for n, x in names.items()}}, staged=names)
    functions, at = _staged_lets(at, done)
    own = place.names.slot
    return (
        *(f"{names[n]} = self.{own(n)}" for n in changed),
        *functions,
        *statements(at, done),
        *(f"self.{own(n)} = {names[n]}" for n in changed),
    )


def _staged_lets(place: Place, done: Sequence[m.Effect]) -> tuple[Block, Place]:
    """Functions for the machine's derived values that read what is not stored yet, as far as effects use them; and the
    place where they can be called."""
    machine, model = place.own_machine, place.file.context.model
    read = (x for e in effects(done) for operand in m.operands(e) for x in throughout(model, operand))
    used = {x.name for x in read if isinstance(x, m.Derived) and x.owner == machine.qualified}
    late = [let for let in machine.lets if let.name in used and _reads(model, let.value, place.staged)]
    inner = place.bind(*(let.name for let in late))
    names = {let.name: inner.locals[let.name] for let in late}
    taken = {f"let {let}": name for let, name in names.items()}
    place = replace(place, locals={**place.locals, **taken}, functions=names)
    return tuple(_staged_let(place, let, names[let.name]) for let in late), place


def _staged_let(place: Place, let: m.Let, name: str) -> Suite:
    inner, names = replace(place, present=NOTHING).inside(let)
    given = ", ".join(typed(place.file, names, let.parameters))
    head = f"def {name}({given}) -> {annotation(place.file, let.type)}:"
    return Suite(head, (f"return {python(inner, let.value)}",))


def _reads(model: m.Model, e: m.Expr, fields: Container[str]) -> bool:
    """Does an expression read one of some fields?"""
    return any(isinstance(x, m.Read) and x.name in fields for x in throughout(model, e))


def _is_staged(place: Place, done: Sequence[m.Effect]) -> bool:
    """Can an effect fail when something has been changed already?"""
    model, changed = place.file.context.model, False
    for e in effects(done):
        again = isinstance(e, m.ForEach) and any(_may_fail(model, x) for x in effects((e,)))
        if again or (changed and _may_fail(model, e)):
            return True
        changed = changed or isinstance(e, m.Write)
    return False


def _may_fail(model: m.Model, e: m.Effect) -> bool:
    """Can an effect of a machine that stands alone be a fault, not counting those inside it?"""
    limited = isinstance(e, m.Write) and is_limited(e.type)
    return limited or any(may_lack_value(model, x) for x in m.operands(e))
