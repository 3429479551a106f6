"""Machines: first what they declare, then what their lines mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.meanings import Kind
from fsmdsl.model.resolve.names.scope import MachineNames, ModuleNames, unknown
from fsmdsl.model.resolve.types.type_expressions import type_of, variables
from fsmdsl.syntax.amendments import labels, remaining, replaced_labels
from fsmdsl.text.diagnostics import Diagnostic

T = TypeVar("T")


def opened_members(decl: s.MachineDecl, as_documented: bool) -> list[tuple[s.MachineMember, str | None]]:
    """The members that count, in the order of the text. Rows that an amendment replaces are left out; as documented,
    amendments are."""
    out: list[tuple[s.MachineMember, str | None]] = []
    replaced: set[str] = set()
    for member in decl.members:
        if not isinstance(member, s.AmendDecl):
            out.append((member, None))
        elif not as_documented:
            out.extend((inner, why) for inner, why in _amended(member))
            replaced |= {n.text for x in s.amendments_in([member]) for n in replaced_labels(x)}
    return [(x, why) for x, why in out if why is not None or not _gives_way(x, replaced)]


def replaced_rows(decl: s.MachineDecl) -> list[s.TransitionDecl]:
    """The documented rows that amendments take the place of."""
    replaced = {n.text for x in s.amendments_in(decl.members) for n in replaced_labels(x)}
    return [x for x in decl.members if isinstance(x, s.TransitionDecl) and _gives_way(x, replaced)]


def _amended(decl: s.AmendDecl) -> Iterator[tuple[s.MachineMember, str]]:
    for member in decl.members:
        if isinstance(member, s.AmendDecl):
            yield from _amended(member)
        else:
            yield member, decl.reason.text


def _gives_way(member: s.MachineMember, replaced: set[str]) -> bool:
    return isinstance(member, s.TransitionDecl) and member.label is not None and member.label.text in replaced


# Declarations --------------------------------------------------------------------------------------------------------


def declare(machine: MachineNames) -> None:
    """Fill in what the machine declares; reports names that come twice."""
    program, module = machine.module.program, machine.module
    for member, _ in machine.members:
        match member:
            case s.StateDecl():
                for state in _nested(member):
                    _note(machine, "state", state.name)
                    _enter(machine, machine.states, state.name, state)
            case s.FieldDecl(name, type_):
                _note(machine, "field", name)
                _enter(machine, machine.fields, name, type_of(module, type_), machine.params, machine.lets)
            case s.ParamDecl(name, type_):
                _note(machine, "param", name)
                _enter(machine, machine.params, name, type_of(module, type_), machine.fields, machine.lets)
            case s.LetDecl(name):
                _note(machine, "let", name)
                _enter(machine, machine.lets, name, member, machine.fields, machine.params)
            case s.TransitionDecl(label) if label is not None:
                _note(machine, "label", label)
            case s.InvariantDecl(name=label) if label is not None:
                _note(machine, "invariant", label)
            case _:
                pass
    for member, why in machine.members:
        if isinstance(member, s.EventDecl):
            _declare_events(machine, member, why)
        elif isinstance(member, s.ActionDecl):
            _declare_actions(machine, member, why)
    for decl in s.amendments_in(machine.decl.members):
        program.diagnostics.extend(_unreplaced(machine, decl))
        if decl.label is not None:
            program.note(decl.label.span, "label", machine.qualified, decl.label.text)
    for row in replaced_rows(machine.decl) if not program.as_documented else ():
        assert row.label is not None
        _note(machine, "label", row.label)


def _note(machine: MachineNames, kind: Kind, name: s.Name) -> None:
    machine.module.program.note(name.span, kind, machine.qualified, name.text, declares=True)


def _nested(state: s.StateDecl) -> Iterator[s.StateDecl]:
    yield state
    for child in state.children:
        yield from _nested(child)


def _enter(machine: MachineNames, table: dict[str, T], name: s.Name, value: T, *others: Iterable[str]) -> None:
    if name.text in table or any(name.text in o for o in others):
        machine.module.program.diagnostics.append(rules.TWICE.at(name.span, f"`{name.text}` is already declared"))
    table.setdefault(name.text, value)


def _declare_events(machine: MachineNames, decl: s.EventDecl, why: str | None) -> None:
    senders = tuple(x for x in (_sender(machine, p) for p in decl.senders) if x is not None)
    for e in decl.events:
        _note(machine, "event", e.name)
        parameters = variables(machine.module, e.parameters, f"{machine.qualified}.{e.name.text}")
        event = m.Event(e.name.text, parameters, senders, e.doc or decl.doc, why, e.span)
        if e.name.text == "crash":
            machine.module.program.diagnostics.append(
                rules.TWICE.at(e.name.span, "`crash` is an event of every machine")
            )
        _enter(machine, machine.events, e.name, event)


def _sender(machine: MachineNames, path: s.Path) -> str | None:
    if str(path) == "environment":
        return "environment"
    location = machine.module.at(path)
    if location is not None:
        home, name = location
        if name in home.machines or name in home.channels:
            machine.module.note(path, home, "machine" if name in home.machines else "channel")
            return f"{home.name}.{name}"
    senders = ("environment", *machine.module.machines, *machine.module.channels, *machine.module.borrowed)
    machine.module.program.diagnostics.append(unknown("sender", str(path), path.span, senders))
    return None


def _declare_actions(machine: MachineNames, decl: s.ActionDecl, why: str | None) -> None:
    outcomes = tuple(n.text for n in decl.outcomes)
    for name, count in Counter(outcomes).items():
        if count > 1:
            machine.module.program.diagnostics.append(
                rules.TWICE.at(decl.span, f"the outcome `{name}` is declared twice")
            )
    for a in decl.actions:
        _note(machine, "action", a.name)
        for n in decl.outcomes:
            machine.module.program.note(n.span, "outcome", f"{machine.qualified}.{a.name.text}", n.text, declares=True)
        parameters = variables(machine.module, a.parameters, f"{machine.qualified}.{a.name.text}")
        action = m.Action(a.name.text, parameters, outcomes, decl.asynchronous, a.doc or decl.doc, why, a.span)
        _enter(machine, machine.actions, a.name, action)


def _unreplaced(machine: MachineNames, decl: s.AmendDecl) -> Iterator[Diagnostic]:
    documented = {x.label.text for x in machine.decl.members if isinstance(x, s.TransitionDecl) and x.label is not None}
    for name in replaced_labels(decl):
        if name.text not in documented:
            diagnostic = rules.REPLACES.at(name.span, f"no documented transition is labelled `{name.text}`")
            ways = "leave `replaces` out, or correct the label"
            split = "`replaces e4: { … }` puts rows of other labels in the place of `e4`"
            yield diagnostic.help(ways if decl.label is not None else f"{ways}; {split}")
    if decl.replaces and not labels(decl):
        yield rules.REPLACES.at(decl.reason.span, "this amendment replaces no labelled transition")


def declared(module: ModuleNames, written: s.MachineDecl) -> MachineNames:
    """A machine whose declarations are still to be filled in, without the alternatives that do not apply."""
    decl = remaining(written, module.program.excluded_ids)
    as_documented = module.program.as_documented
    documented_labels = {} if as_documented else dict(_replacements(decl))
    return MachineNames(decl, module, opened_members(decl, as_documented), documented_labels)


def _replacements(decl: s.MachineDecl) -> Iterator[tuple[int, str]]:
    """The ids of the rows that split a documented one, each with the label of that."""
    for x in s.amendments_in(decl.members):
        if x.label is not None:
            yield from ((id(row), x.label.text) for row in x.members if isinstance(row, s.TransitionDecl))
