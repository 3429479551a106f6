"""The class of a machine that belongs to a system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.emit.clockwork import clockwork, starts, stops
from fsmdsl.emit.crashes import crash_members
from fsmdsl.emit.effects import checked, needs_check, statements
from fsmdsl.emit.expressions import python
from fsmdsl.emit.members import (
    Member,
    constants,
    event_doc,
    handled_in,
    initial_state,
    invariant_member,
    is_constant,
    joined,
    keyword,
    method,
    notes,
    parameter_names,
    signature,
    state_members,
    table,
    value_members,
)
from fsmdsl.emit.persistence import persistence
from fsmdsl.emit.place import Place
from fsmdsl.emit.rows import move, stored, triggers
from fsmdsl.emit.selection import IGNORED, Follow, Trigger, dispatch
from fsmdsl.emit.text import docstring, folded, indented, literal, sentence
from fsmdsl.emit.traits import connected, reads_wait
from fsmdsl.emit.types import annotation


def machine_class(place: Place) -> list[str]:
    """The constants and the class."""
    machine, names, file = place.machine, place.names, place.file
    assert machine is not None
    base = file.machinery("Machine")
    file.define(names.class_)
    waits = reads_wait(machine)
    members = [
        _slots(place, waits),
        _constructor(place, waits),
        _connect(place),
        *state_members(place),
        *value_members(place),
        *(_event(place, waits, e) for e in machine.events),
        *_answers(place, waits),
        invariant_member(place, machine.invariants),
        *persistence(place, waits, file.context.traits(machine.module).timers),
        *_asking(place),
        *_rounds(place, waits),
        *clockwork(place, _following(place, waits)),
        *(crash_members(place, waits) if file.context.crashes(machine) else []),
    ]
    doc = docstring(sentence(machine.doc) or f"{machine.display}.", 1)
    head = [*constants(place), *_first_constant(place), "", "", f"class {names.class_}({base}):"]
    return [*head, *indented([*doc, "", *joined(members)])]


# The constructor -----------------------------------------------------------------------------------------------------


def _volatile(place: Place) -> list[m.Field]:
    """Fields that a crash resets."""
    machine = place.machine
    assert machine is not None
    return [f for f in machine.fields if not f.durable] if place.file.context.crashes(machine) else []


def _slots(place: Place, waits: bool) -> Member:
    machine, names = place.machine, place.names
    assert machine is not None
    slots = ["_state", *(names.slot(x.name) for x in stored(machine))]
    slots += [*(["_actions"] if machine.actions else []), *(["_wait"] if waits else [])]
    slots += ["_first"] if _volatile(place) else []
    quoted = ", ".join(f'"{x}"' for x in sorted(slots))
    lines = folded([f"__slots__ = ({quoted}{',' if len(slots) == 1 else ''})"], 1)
    late = connected(place.file.context.model, machine)
    annotated = [f"{names.slot(p.name)}: {annotation(place.file, p.type)}" for p in late]
    return [*lines, *(["", *annotated] if annotated else [])]


def _constructor(place: Place, waits: bool) -> Member:
    machine, file = place.machine, place.file
    assert machine is not None
    late = connected(file.context.model, machine)
    keywords: list[str] = []
    body = [*(["self._actions = actions"] if machine.actions else []), "self._state = state"]
    for x in stored(machine):
        given, store = keyword(place, x, optional=x in late)
        keywords += [given] if given is not None else []
        body += store.splitlines()
    body += _first_values(place)
    body += ["self._wait = True"] if waits else []
    body += ["super().__init__(system)", *(["self._start_timers()"] if triggers(machine, m.OnTimer) else [])]
    # Those that must be given stand first, so that a call reads as the spec does.
    required = [k for k in keywords if " = " not in k]
    others = [k for k in keywords if " = " in k]
    head = ["self", f"system: {file.machinery('System', typing=True)}"]
    head += [f"actions: {file.actions_class(machine.qualified)}"] if machine.actions else []
    given_ = ", ".join([*head, "*", *required, *others, initial_state(place)])
    return method(f"def __init__({given_}) -> None:", "", body)


def _first_values(place: Place) -> list[str]:
    """What a crash brings back. Instances that begin as the spec says share it."""
    first = [f"self.{place.names.slot(f.name)}" for f in _volatile(place)]
    if not first:
        return []
    given = f"({', '.join(first)}{',' if len(first) == 1 else ''})"
    if any(not is_constant(f.default) for f in _volatile(place)):
        return [f"self._first = {given}"]
    return [f"first = {given}", "self._first = FIRST if first == FIRST else first"]


def _first_constant(place: Place) -> list[str]:
    """The values that a crash brings back in most instances."""
    fields = _volatile(place)
    if not fields or any(not is_constant(f.default) for f in fields):
        return []
    values = ", ".join(python(place, f.default) for f in fields)
    types = ", ".join(annotation(place.file, f.type) for f in fields)
    kind = f"{place.file.library('typing', 'Final')}[tuple[{types}]]"
    return ["", *folded([f"{place.file.define('FIRST')}: {kind} = ({values}{',' if len(fields) == 1 else ''})"])]


def _connect(place: Place) -> Member:
    machine, names = place.machine, place.names
    assert machine is not None
    late = connected(place.file.context.model, machine)
    if not late:
        return []
    given = [f"{names.values[p.name]}: {annotation(place.file, p.type)}" for p in late]
    body = [f"self.{names.slot(p.name)} = {names.values[p.name]}" for p in late]
    doc = "Gives the parameters that refer to machines made later. To be called once, before the first event."
    return method(f"def connect(self, *, {', '.join(given)}) -> None:", doc, body)


# Events --------------------------------------------------------------------------------------------------------------


def _following(place: Place, waits: bool) -> Follow:
    """How a transition is followed from a leaf."""

    def follow(at: Place, leaf: str, t: m.Transition) -> list[str]:
        assert place.machine is not None
        moved = move(place.machine, leaf, t)
        names = place.names.states
        target = "self._state" if moved.arrival is None else names[moved.arrival]
        lines = [*notes(t), f"self._follow({literal(t.name)}, {literal(t.shown_trigger)}, {target})"]
        lines += [*statements(at, moved.effects), *stops(place, moved)]
        if moved.arrival is not None and moved.arrival != leaf:
            lines.append(f"self._state = {target}")
        lines += statements(place, moved.entry)
        lines += starts(place, moved)
        consumed = waits and not isinstance(t.trigger, m.OnEvent | m.OnTimer)
        return [*lines, *(["self._wait = False"] if consumed else [])]

    return follow


def _event(place: Place, waits: bool, event: m.Event) -> Member:
    """The method of an event."""
    machine, file = place.machine, place.file
    assert machine is not None
    given = parameter_names(place, event)
    checks = [
        f"{n} = {checked(file, p.type, None, n, p.name)}"
        for n, p in zip(given, event.parameters, strict=True)
        if needs_check(p.type)
    ]
    unhandled = file.machinery("UnhandledEvent")
    otherwise = [f"raise {unhandled}(self, self._state, {literal(event.name)}, {handled_in(place, event.name)})"]
    inner = Place(file, machine, locals={p.name: n for p, n in zip(event.parameters, given, strict=True)})
    trigger = Trigger(event.name, inner, given, _following(place, waits), otherwise)
    body = dispatch(trigger, _passed(machine, event.name))
    head = f"def {place.names.events[event.name]}({signature(place, given, event.parameters)}) -> None:"
    lines = [f"with self._system.step(self, {literal(event.name)}):", *indented([*checks, *body])]
    return method(head, event_doc(machine, event), lines)


def _passed(machine: m.Machine, trigger: str) -> dict[str, Sequence[str]]:
    return {i.state: IGNORED for i in machine.ignores if i.event == trigger}


# Actions with outcomes -----------------------------------------------------------------------------------------------


def _answers(place: Place, waits: bool) -> Iterator[Member]:
    machine = place.machine
    assert machine is not None
    for action in machine.actions:
        for outcome in action.outcomes:
            yield _answer(place, waits, action, outcome)


def _answer(place: Place, waits: bool, action: m.Action, outcome: str) -> Member:
    machine, file = place.machine, place.file
    assert machine is not None
    name = f"{action.name}.{outcome}"
    unhandled = file.machinery("UnhandledEvent")
    otherwise = [f"raise {unhandled}(self, self._state, {literal(name)}, {handled_in(place, name)})"]
    trigger = Trigger(name, place, (), _following(place, waits), otherwise)
    body = dispatch(trigger, _passed(machine, name))
    ticket = "ticket: int" if action.asynchronous else ""
    head = f"def {place.names.answers[(action.name, outcome)]}({', '.join(x for x in ('self', ticket) if x)}) -> None:"
    given = ["self", literal(action.name), literal(outcome), *(["ticket"] if ticket else [])]
    rows_ = table(t for t in machine.transitions if t.trigger == m.OnOutcome(action.name, outcome))
    doc = f"The answer to `{action.name}` is `{outcome}`.\n\n{rows_}"
    return method(head, doc, [f"with self._system.answer({', '.join(given)}):", *indented(body)])


def _asking(place: Place) -> Iterator[Member]:
    """Methods that call an action and pass its answer on."""
    machine, names = place.machine, place.names
    assert machine is not None
    for action in machine.actions:
        if not action.outcomes or action.asynchronous:
            continue
        space = Place(place.file, machine, locals={"": "outcome"})
        for p in action.parameters:
            space = space.bind(p.name)
        given = [space.locals[p.name] for p in action.parameters]
        body = [f"outcome = self._actions.{names.actions[action.name]}({', '.join(['self', *given])})"]
        for i, o in enumerate(action.outcomes):
            body += [f"{'elif' if i else 'if'} outcome == {literal(o)}:"]
            body += indented([f"self.{names.answers[(action.name, o)]}()"])
        wanted = " or ".join(action.outcomes)
        body += ["else:", f'    raise ValueError(f"{action.name} answers {wanted}, not {{outcome!r}}")']
        head = f"def _{names.asking[action.name]}({signature(place, given, action.parameters)}) -> None:"
        yield method(head, "", body)


# Rounds --------------------------------------------------------------------------------------------------------------


def _rounds(place: Place, waits: bool) -> Iterator[Member]:
    machine = place.machine
    assert machine is not None
    found = triggers(machine, m.Eventless)
    if found:
        trigger = Trigger("", place, (), _following(place, waits), ["return False"])
        doc = f"Follows one transition that needs no event, if any is enabled.\n\n{table(found)}"
        yield method("def _go_on(self) -> bool:", doc, [*dispatch(trigger), "return True"])
    if waits:
        yield method("def _end_round(self) -> None:", "", ["self._wait = True"])
