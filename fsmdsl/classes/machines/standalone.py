"""The class of a machine that stands alone: no system, no undoing, nothing but comparisons and assignments."""

from __future__ import annotations

from collections.abc import Container, Sequence

from fsmdsl import model as m
from fsmdsl.classes.machines.members import (
    Member,
    class_,
    common_keywords,
    constants,
    event_doc,
    first_state,
    invariant_member,
    keyword,
    keywords,
    method,
    notes,
    signature,
    slots,
    state_members,
    typed,
    unhandled,
    value_members,
)
from fsmdsl.classes.machines.persistence import persistence, version_constant
from fsmdsl.classes.names import Namespace
from fsmdsl.classes.statements.code import Block, Branch, If, Statement, Suite, Text
from fsmdsl.classes.statements.effects import statements
from fsmdsl.classes.statements.expressions import python
from fsmdsl.classes.statements.limits import Border, argument_checks
from fsmdsl.classes.statements.scope import Scope
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


def standalone_class(scope: Scope) -> list[str]:
    """The constants and the class."""
    machine, names, file = scope.own_machine, scope.names, scope.file
    base = file.machinery("Alone")
    file.define(names.class_)
    members = [
        slots(["_state", *(names.slot(x.name) for x in stored(machine))]),
        _constructor(scope),
        *state_members(scope),
        *value_members(scope),
        *(_event(scope, e) for e in machine.events),
        invariant_member(scope, machine.invariants),
        *persistence(scope),
    ]
    doc = sentence(machine.doc) or f"{machine.display}."
    head = [*constants(scope), "", *version_constant(scope)]
    return [*head, "", "", *class_(f"{names.class_}({base})", doc, members)]


def _constructor(scope: Scope) -> Member:
    values = [keyword(scope, x) for x in stored(scope.own_machine)]
    body: list[Statement] = [x for k in values for x in k.check]
    body += [*first_state(scope), *(k.store for k in values), "self._listeners = ()", "self._name = name"]
    head = ", ".join(["self", "*", *keywords(values), *common_keywords(scope)])
    return method(f"def __init__({head}) -> None:", "", body)


# Events --------------------------------------------------------------------------------------------------------------


def _event(scope: Scope, event: m.Event) -> Member:
    machine, file = scope.own_machine, scope.file
    inner, arguments = scope.with_parameters(event.parameters)
    selection = scope.selection
    labels = {t.name for x in machine.leaves for t in selection.candidates(x.name, event.name)}
    label = Namespace(arguments).claim("label")
    several = len(labels) > 1
    if several:
        inner = replace(inner, locals={"": label, **inner.locals})
    follow = _following(scope, label if several else None)
    trigger = Trigger(event.name, inner, arguments, follow, unhandled(scope, event.name, "state"))
    passed: Passed = {i.state: lambda: ("return  # ignored",) for i in machine.ignores if i.event == event.name}
    checks = argument_checks(file, arguments, event.parameters, Border("self"))
    body = [*checks, *dispatch(trigger, passed, fast=True)]
    if labels:
        name = literal(labels.pop()) if len(labels) == 1 else label
        call = f"self._tell({name}, {literal(event.name)}, state)"
        body.append(If((Branch(Text("self._listeners"), (call,)),)))
    head = f"def {scope.names.events[event.name]}({signature(scope, arguments, event.parameters)}) -> None:"
    return method(head, event_doc(machine, event), body)


def _following(scope: Scope, label: str | None) -> Follow:
    """How a transition is followed. `label`: the variable for its name; None where an event has but one name."""

    def follow(at: Scope, moved: Move) -> Block:
        t = moved.transition
        naming = () if label is None else (f"{label} = {literal(t.name)}",)
        arrive = () if moved.target is None else (f"self._state = {scope.names.states[moved.target]}",)
        return (*notes(t), *naming, *_changes(scope, at, moved), *arrive)

    return follow


def _changes(scope: Scope, at: Scope, moved: Move) -> Block:
    """Assignments. Where one may fail after another, all values are found before the first is stored."""
    done = moved.effects
    if not _is_staged(scope, done):
        return statements(at, done)
    changed = tuple(dict.fromkeys(e.name for e in effects(done) if isinstance(e, m.Write)))
    staged = at.bind(*changed)
    names = {name: staged.locals[name] for name in changed}
    at = replace(at, locals={**at.locals, **{f"new {n}": x for n, x in names.items()}}, staged=names)
    functions, at = _staged_lets(at, done)
    own = scope.names.slot
    return (
        *(f"{names[n]} = self.{own(n)}" for n in changed),
        *functions,
        *statements(at, done),
        *(f"self.{own(n)} = {names[n]}" for n in changed),
    )


def _staged_lets(scope: Scope, done: Sequence[m.Effect]) -> tuple[Block, Scope]:
    """Functions for the machine's derived values that read what is not stored yet, as far as effects use them; and the
    scope where they can be called."""
    machine, model = scope.own_machine, scope.file.context.model
    read = (x for e in effects(done) for operand in m.operands(e) for x in throughout(model, operand))
    used = {x.name for x in read if isinstance(x, m.Derived) and x.owner == machine.qualified}
    late = [let for let in machine.lets if let.name in used and _reads(model, let.value, scope.staged)]
    inner = scope.bind(*(let.name for let in late))
    names = {let.name: inner.locals[let.name] for let in late}
    taken = {f"let {let}": name for let, name in names.items()}
    scope = replace(scope, locals={**scope.locals, **taken}, functions=names)
    return tuple(_staged_let(scope, let, names[let.name]) for let in late), scope


def _staged_let(scope: Scope, let: m.Let, name: str) -> Suite:
    inner, names = replace(scope, present=NOTHING).inside(let)
    parameters = ", ".join(typed(scope.file, names, let.parameters))
    head = f"def {name}({parameters}) -> {annotation(scope.file, let.type)}:"
    return Suite(head, (f"return {python(inner, let.value)}",))


def _reads(model: m.Model, e: m.Expr, fields: Container[str]) -> bool:
    """Does an expression read one of some fields?"""
    return any(isinstance(x, m.Read) and x.name in fields for x in throughout(model, e))


def _is_staged(scope: Scope, done: Sequence[m.Effect]) -> bool:
    """Can an effect fail when something has been changed already?"""
    model, changed = scope.file.context.model, False
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
