"""Transitions: one line to as many arrows as it has sources and edges."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.machines.effects import Place, effects
from fsmdsl.model.resolve.names.scope import MachineNames, Scope, unknown
from fsmdsl.model.resolve.names.states import lasting, own_state
from fsmdsl.model.resolve.values.places import condition, of_type
from fsmdsl.model.walk import expressions


@dataclass
class Numbering:
    """Counts the transitions of a machine."""

    next: int = 0

    def take(self) -> int:
        self.next += 1
        return self.next - 1


def transitions(scope: Scope, decl: s.TransitionDecl, why: str | None, numbering: Numbering) -> Iterator[m.Transition]:
    """The arrows of one line; none when its trigger is wrong, but what is wrong in the rest of the line is reported."""
    assert scope.machine is not None
    resolved_trigger = _trigger(scope, decl.trigger)
    if resolved_trigger is None:
        _report_rest(scope, scope.machine, decl)
        return
    trigger, inner = resolved_trigger
    guard = None if decl.guard is None else condition(inner, decl.guard)
    if isinstance(trigger, m.Eventless) and guard is not None:
        _own_data_only(scope, guard)
    body = effects(Place(inner, "crash" if isinstance(trigger, m.OnCrash) else "transition"), decl.effects)
    label = decl.label.text if decl.label is not None else None
    replaces = scope.machine.documented_labels.get(id(decl))
    for source, target, wild in _arrows(scope, scope.machine, decl):
        yield m.Transition(
            numbering.take(), label, source, target, trigger, guard, body, wild, decl.doc, why, replaces, decl.span
        )


def _report_rest(scope: Scope, machine: MachineNames, decl: s.TransitionDecl) -> None:
    """Report what is wrong beside the trigger. Its arguments may be of any type."""
    list(_arrows(scope, machine, decl))
    arguments = decl.trigger.arguments if isinstance(decl.trigger, s.On) else None
    for name in arguments or ():
        scope = scope.bind(name, m.ERROR)
    if decl.guard is not None:
        condition(scope, decl.guard)
    effects(Place(scope, "transition"), decl.effects)


def _arrows(scope: Scope, machine: MachineNames, decl: s.TransitionDecl) -> Iterator[tuple[str, str | None, bool]]:
    for edge in decl.edges:
        leads_somewhere = edge.target is None or own_state(scope, edge.target) is not None
        target = edge.target.text if edge.target is not None else None
        sources = [n.text for n in edge.sources if n.text == "*" or own_state(scope, n) is not None]
        for source in sources if leads_somewhere else ():
            if source == "*":
                yield from ((name, target, True) for name in lasting(machine))
            else:
                yield source, target, False


def _trigger(scope: Scope, trigger: s.On | s.After | None) -> tuple[m.Trigger, Scope] | None:
    """The trigger, and the scope in which its arguments are known."""
    match trigger:
        case None:
            return m.Eventless(), scope
        case s.After(duration):
            return m.OnTimer(of_type(scope, duration, m.DurationType()), duration.span.text), scope
        case s.On():
            return _on(scope, trigger)


def _on(scope: Scope, on: s.On) -> tuple[m.Trigger, Scope] | None:
    machine = scope.machine
    assert machine is not None
    first, *rest = on.path.names
    if not rest and first.text == "crash":
        return m.OnCrash(), scope
    note_event(scope, machine, on.path)
    if not rest and first.text in machine.events:
        return _on_event(scope, machine.events[first.text], on)
    if len(rest) == 1 and first.text in machine.actions and rest[0].text in machine.actions[first.text].outcomes:
        return m.OnOutcome(first.text, rest[0].text), scope
    if rest and rest[-1].text in machine.events and first.text in scope.module.channels:
        return _on_event(scope, machine.events[rest[-1].text], on)
    _unknown_trigger(scope, machine, on)
    return None


def note_event(scope: Scope, machine: MachineNames, path: s.Path) -> None:
    """Keep what a trigger stands for: an event, alone or behind its channel, or an action and an outcome."""
    first, *rest = path.names
    if rest and first.text in machine.actions:
        scope.note(first, "action", machine.qualified)
        if rest[0].text in machine.actions[first.text].outcomes:
            scope.note(rest[0], "outcome", f"{machine.qualified}.{first.text}")
        return
    if rest and first.text in scope.module.channels:
        scope.note(first, "channel", scope.module.name)
    if path.names[-1].text in machine.events:
        scope.note(path.names[-1], "event", machine.qualified)


def _unknown_trigger(scope: Scope, machine: MachineNames, on: s.On) -> None:
    first, *rest = on.path.names
    if rest and first.text in machine.actions:
        candidates = machine.actions[first.text].outcomes
        scope.report(unknown("outcome", rest[0].text, rest[0].span, candidates, first.text))
        return
    outcomes = (f"{a.name}.{o}" for a in machine.actions.values() for o in a.outcomes)
    diagnostic = unknown("event", str(on.path), on.path.span, (*machine.events, *outcomes, "crash"))
    if diagnostic.fix is None:
        diagnostic = diagnostic.help(f"declare it: `event {on.path} from environment`")
    scope.report(diagnostic)


def _on_event(scope: Scope, event: m.Event, on: s.On) -> tuple[m.Trigger, Scope] | None:
    if on.arguments is None:
        return m.OnEvent(event.name, ()), scope
    if len(on.arguments) != len(event.parameters):
        count = len(event.parameters)
        message = f"`{event.name}` has {count} parameter{'s' * (count != 1)}, not {len(on.arguments)}"
        diagnostic = rules.ARGUMENTS.at(on.span, message).label(event.span, "declared here")
        names = ", ".join(v.name for v in event.parameters)
        scope.report(diagnostic.help(f"write `on {event.name}({names})`" if names else f"write `on {event.name}`"))
        return None
    inner = scope
    seen: set[str] = set()
    for name, variable in zip(on.arguments, event.parameters, strict=True):
        if name.text in seen:
            scope.report(rules.TWICE.at(name.span, f"`{name.text}` is used for two arguments"))
        seen.add(name.text)
        inner = inner.bind(name, variable.type)
    return m.OnEvent(event.name, tuple(n.text for n in on.arguments)), inner


def _own_data_only(scope: Scope, guard: m.Expr) -> None:
    """The guard of an eventless transition reads its own machine, directly or through derived values."""
    assert scope.machine is not None
    machine = scope.machine
    for e in expressions(guard):
        match e:
            case (
                m.Read(target=target) | m.Derived(target=target) | m.InState(target=target) | m.StateOf(target=target)
            ) if not _own(target):
                quote = e.span.quote
            case m.AllOf() | m.ChannelRef():
                quote = e.span.quote
            case m.Derived(owner=owner, name=name):
                let = machine.module.program.lets.get((owner, name))
                if let is not None:
                    _own_data_only(scope, let.value)
                continue
            case _:
                continue
        diagnostic = rules.MISPLACED.at(e.span, f"an eventless guard can read only its own machine, not `{quote}`")
        scope.report(diagnostic.help("let the other machine send an event when this changes"))


def _own(target: m.Expr | None) -> bool:
    return target is None or isinstance(target, m.Self)
