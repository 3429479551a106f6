"""The class of a machine that stands alone: no system, no undoing, nothing but comparisons and assignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fsmdsl import model as m
from fsmdsl.emit.effects import checked, needs_check, statements
from fsmdsl.emit.members import (
    Member,
    constants,
    event_doc,
    handled_in,
    initial_state,
    invariant_member,
    joined,
    keyword,
    method,
    notes,
    parameter_names,
    signature,
    state_members,
    value_members,
)
from fsmdsl.emit.persistence import standalone_persistence
from fsmdsl.emit.place import Place
from fsmdsl.emit.rows import Move, levels, move, stored, within
from fsmdsl.emit.selection import Follow, Trigger, dispatch
from fsmdsl.emit.text import docstring, folded, indented, literal, sentence
from fsmdsl.emit.traits import may_fail


def standalone_class(place: Place) -> list[str]:
    """The constants and the class."""
    machine, names, file = place.machine, place.names, place.file
    assert machine is not None
    file.define(names.class_)
    members = [
        _slots(place),
        _constructor(place),
        *state_members(place),
        *value_members(place),
        *(_event(place, e) for e in machine.events),
        invariant_member(place, machine.invariants),
        *standalone_persistence(place),
        *_listening(place),
        _shown(),
    ]
    doc = docstring(sentence(machine.doc) or f"{machine.display}.", 1)
    return [*constants(place), "", "", f"class {names.class_}:", *indented([*doc, "", *joined(members)])]


def _slots(place: Place) -> Member:
    machine = place.machine
    assert machine is not None
    values = (place.names.slot(x.name) for x in stored(machine))
    quoted = ", ".join(f'"{x}"' for x in sorted(["_state", "_listeners", *values]))
    return folded([f"__slots__ = ({quoted})"], 1)


def _constructor(place: Place) -> Member:
    machine, file = place.machine, place.file
    assert machine is not None
    keywords: list[str] = []
    body = ["self._state = state"]
    for x in stored(machine):
        given, store = keyword(place, x)
        keywords += [given] if given is not None else []
        body.append(store)
    body.append(f"self._listeners: tuple[{file.machinery('Listener', typing=True)}, ...] = ()")
    ordered = [*(k for k in keywords if " = " not in k), *(k for k in keywords if " = " in k)]
    head = ", ".join(["self", "*", *ordered, initial_state(place)])
    return method(f"def __init__({head}) -> None:", "", body)


# Events --------------------------------------------------------------------------------------------------------------


def _event(place: Place, event: m.Event) -> Member:
    machine, file = place.machine, place.file
    assert machine is not None
    given = parameter_names(place, event)
    checks = [
        f"{n} = {checked(file, p.type, None, n, p.name)}"
        for n, p in zip(given, event.parameters, strict=True)
        if needs_check(p.type)
    ]
    unhandled = file.machinery("UnhandledEvent")
    otherwise = [f"raise {unhandled}(self, state, {literal(event.name)}, {handled_in(place, event.name)})"]
    labels = {t.name for x in machine.leaves for level in levels(machine, x.name, event.name) for t in level}
    inner = Place(file, machine, locals={p.name: n for p, n in zip(event.parameters, given, strict=True)})
    trigger = Trigger(event.name, inner, given, _following(place, alone=len(labels) == 1), otherwise)
    passed = {i.state: ["return  # ignored"] for i in machine.ignores if i.event == event.name}
    body = dispatch(trigger, passed, fast=True)
    if labels:
        label = literal(labels.pop()) if len(labels) == 1 else "label"
        body += ["if self._listeners:", f"    self._tell({label}, {literal(event.name)}, state)"]
    head = f"def {place.names.events[event.name]}({signature(place, given, event.parameters)}) -> None:"
    return method(head, event_doc(machine, event), [*checks, *body])


def _following(place: Place, alone: bool) -> Follow:
    def follow(at: Place, leaf: str, t: m.Transition) -> list[str]:
        assert place.machine is not None
        moved = move(place.machine, leaf, t)
        lines = [] if alone and not t.doc and not t.amended else notes(t)
        lines += [] if alone else [f"label = {literal(t.name)}"]
        lines += _changes(place, at, moved)
        if moved.arrival is not None:
            lines.append(f"self._state = {place.names.states[moved.arrival]}")
        return lines or ["pass"]

    return follow


def _changes(place: Place, at: Place, moved: Move) -> list[str]:
    """Assignments. Where one may fail after another, all values are found before the first is stored."""
    effects = (*moved.effects, *moved.entry)
    changed = list(dict.fromkeys(e.name for x in effects for e in within(x) if isinstance(e, m.Assign | m.Change)))
    if not _staged(place, effects):
        return statements(at, effects)
    staged = at
    for name in changed:
        staged = staged.bind(name)
    names = {name: staged.locals[name] for name in changed}
    at = replace(at, locals={**at.locals, **{f"new {n}": x for n, x in names.items()}}, staged=names)
    own = place.names.slot
    return [
        *(f"{names[n]} = self.{own(n)}" for n in changed),
        *statements(at, effects),
        *(f"self.{own(n)} = {names[n]}" for n in changed),
    ]


def _staged(place: Place, effects: Sequence[m.Effect]) -> bool:
    """Can an effect fail when something has been changed already?"""
    changed = False
    for e in (e for x in effects for e in within(x)):
        again = isinstance(e, m.ForEach) and any(_may_fail(place, x) for x in within(e))
        if again or (changed and _may_fail(place, e)):
            return True
        changed = changed or isinstance(e, m.Assign | m.Change)
    return False


def _may_fail(place: Place, e: m.Effect) -> bool:
    model = place.file.context.model
    match e:
        case m.Assign(value=value, type=type_):
            return needs_check(type_) or may_fail(model, value)
        case m.Change(item=item):
            return needs_check(e.type) or may_fail(model, item)
        case m.ForEach(over=over):
            return may_fail(model, over)
        case m.If(condition=condition):
            return may_fail(model, condition)
        case _:
            return False


# Listeners -----------------------------------------------------------------------------------------------------------


def _listening(place: Place) -> list[Member]:
    assert place.machine is not None
    listener = place.file.machinery("Listener", typing=True)
    followed = place.file.machinery("Followed")
    source = place.file.states_class(place.machine.qualified, typing=True)
    return [
        method(
            f"def listen(self, listener: {listener}) -> None:",
            "Has a listener told of every transition from now on.",
            ["self._listeners = (*self._listeners, listener)"],
        ),
        method(
            f"def _tell(self, label: str, event: str, source: {source}) -> None:",
            "",
            [
                f"followed = ({followed}(self, label, event, source, self._state),)",
                "for listener in self._listeners:",
                "    listener(followed)",
            ],
        ),
    ]


def _shown() -> Member:
    return method("def __repr__(self) -> str:", "", ['return f"<{type(self).__name__}: {self._state.display}>"'])
