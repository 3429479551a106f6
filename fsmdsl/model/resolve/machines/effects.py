"""Effects: assignments to own fields, events sent, actions called, messages posted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import MachineNames, ModuleNames, Scope, machine_at, miscounted, unknown
from fsmdsl.model.resolve.names.states import machine_of
from fsmdsl.model.resolve.values.binders import bound
from fsmdsl.model.resolve.values.calls import apart
from fsmdsl.model.resolve.values.channels import ends, home_of
from fsmdsl.model.resolve.values.places import condition, instance, of_type, opened, typed
from fsmdsl.model.resolve.values.records import part, with_part
from fsmdsl.model.typing import bare
from fsmdsl.text.source import Span

Where = Literal["transition", "hook", "crash", "recover"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where effects stand, and so what they may do."""

    scope: Scope
    where: Where
    last: bool = True
    """Nothing follows the block: an action with outcomes may end it."""


def effects(place: Place, syntax_effects: Sequence[s.Effect]) -> tuple[m.Effect, ...]:
    """Effects with their names bound; what is wrong is reported and left out."""
    out: list[m.Effect] = []
    for i, e in enumerate(syntax_effects):
        inner = Place(place.scope, place.where, place.last and i == len(syntax_effects) - 1)
        effect = _effect(inner, e)
        if effect is not None:
            out.append(effect)
    return tuple(out)


def _effect(place: Place, e: s.Effect) -> m.Effect | None:
    scope = place.scope
    match e:
        case s.Assign():
            return _assign(place, e)
        case s.Change():
            return _change(place, e)
        case s.Perform():
            return _perform(place, e)
        case s.Post():
            return _post(place, e)
        case s.ForEach(binder, body, span):
            return _loop(place, binder, body, span)
        case s.If(test, then, otherwise, span):
            return m.If(condition(scope, test), effects(place, then), effects(place, otherwise), span)
        case _:
            assert_never(e)


def _loop(place: Place, binder: s.Binder, body: tuple[s.Effect, ...], span: Span) -> m.Effect:
    inner = bound(place.scope, binder, "a loop")
    if len(inner.variables) > 1:
        diagnostic = rules.MISPLACED.at(binder.span, "a loop over subsets needs their size")
        place.scope.report(diagnostic.help("write `subsets(nodes, 2)`"))
    name, over = inner.variables[-1]
    return m.ForEach(name, over, effects(Place(inner.scope, place.where, False), body), span)


def _field(place: Place, target: s.Expr) -> tuple[str, m.Expr | None, m.Type] | None:
    """The field that an assignment goes to, and whose it is (None: the machine's own)."""
    scope = place.scope
    if isinstance(target, s.Name):
        return _own_field(scope, target)
    if isinstance(target, s.Member) and isinstance(target.target, s.Word) and target.target.text == "self":
        return _own_field(scope, target.name)
    if isinstance(target, s.Member) and place.where == "recover":
        owner = opened(typed(scope, target.target))
        machine = machine_of(scope, owner.type)
        if machine is not None and target.name.text in machine.fields:
            scope.note(target.name, "field", machine.qualified)
            return target.name.text, owner, machine.fields[target.name.text]
    _not_own(scope, target)
    return None


def _own_field(scope: Scope, name: s.Name) -> tuple[str, m.Expr | None, m.Type] | None:
    machine = scope.machine
    if machine is not None and name.text in machine.fields:
        scope.note(name, "field", machine.qualified)
        return name.text, None, machine.fields[name.text]
    if machine is not None and name.text in machine.params:
        diagnostic = rules.MISPLACED.at(name.span, f"`{name.text}` is a parameter, fixed when the instance is made")
        scope.report(diagnostic.help("make it a field: leave out `param`"))
    else:
        scope.report(unknown("field", name.text, name.span, () if machine is None else tuple(machine.fields)))
    return None


def _assign(place: Place, e: s.Assign) -> m.Effect | None:
    if isinstance(e.target, s.Index):
        return _entry(place, e, e.target)
    if isinstance(e.target, s.Member) and _may_be_record(place, e.target.target):
        of = _own(typed(place.scope, e.target.target))
        if isinstance(bare(of.type), m.RecordType | m.ErrorType):
            return _assign_part(place, of, e.target, e)
    location = _field(place, e.target)
    if location is None:
        return None
    name, owner, type_ = location
    return m.Assign(name, owner, of_type(place.scope, e.value, type_), type_, e.span)


def _may_be_record(place: Place, e: s.Expr) -> bool:
    if isinstance(e, s.Name):
        machine = place.scope.machine
        return machine is not None and e.text in machine.fields
    return isinstance(e, s.Member)


def _own(e: m.Expr) -> m.Expr:
    """`self.best.entry` as `best.entry`."""
    match e:
        case m.Part(of=of):
            return replace(e, of=_own(of))
        case m.Read(target=m.Self()):
            return replace(e, target=None)
        case _:
            return e


def _assign_part(place: Place, of: m.Expr, target: s.Member, e: s.Assign) -> m.Effect | None:
    """`best.term = 2` writes the field, with its other parts as they are."""
    scope, record = place.scope, of.type
    if isinstance(record, m.OptionalType):
        diagnostic = rules.MISMATCH.at(
            target.target.span, f"`{target.target.span.quote}` may be none, which has no parts"
        )
        scope.report(diagnostic.help(f"assign a whole record: `{target.target.span.quote} = …`"))
    if not isinstance(record, m.RecordType):
        return None
    at = part(scope, of, record, target.name, target.span)
    value = of_type(scope, e.value, at.type)
    while isinstance(at, m.Part):
        value = with_part(at, value)
        at = at.of
    if isinstance(at, m.Read) and at.kind == "field" and (at.target is None or place.where == "recover"):
        return m.Assign(at.name, at.target, value, at.type, e.span)
    if not isinstance(at.type, m.ErrorType):
        _not_own(scope, target)
    return None


def _not_own(scope: Scope, target: s.Expr) -> None:
    diagnostic = rules.MISPLACED.at(target.span, "an effect can assign only to fields of its own machine")
    scope.report(diagnostic.help("send an event to the other machine, and let it assign"))


def _entry(place: Place, e: s.Assign, target: s.Index) -> m.Effect | None:
    """`votes[n] = x` assigns the map with another value for one key."""
    location = _field(place, target.target)
    if location is None:
        return None
    name, owner, type_ = location
    if not isinstance(type_, m.MapType):
        if not isinstance(type_, m.ErrorType):
            wrong = rules.MISMATCH.at(target.span, f"`{name}` is not a map, so it has no entries to assign to")
            place.scope.report(wrong.help("`add x to` and `remove x from` change sets and lists"))
        return None
    before = m.Read("field", name, owner, type_, target.target.span)
    key, value = of_type(place.scope, target.index, type_.key), of_type(place.scope, e.value, type_.of)
    return m.Assign(name, owner, m.Apply("replaced", (before, key, value), type_, e.span), type_, e.span)


def _change(place: Place, e: s.Change) -> m.Effect | None:
    location = _field(place, e.target)
    if location is None:
        return None
    name, owner, type_ = location
    if not isinstance(type_, m.SetType | m.ListType):
        place.scope.report(rules.MISMATCH.at(e.target.span, f"`{name}` is neither a set nor a list"))
        return None
    return m.Change(e.kind, name, owner, of_type(place.scope, e.item, type_.of), type_, e.span)


def _perform(place: Place, e: s.Perform) -> m.Effect | None:
    target, arguments = apart(e.call)
    if isinstance(target, s.Name):
        return _request(place, target, arguments, e)
    if isinstance(target, s.Member):
        return _send(place, target, arguments, e)
    place.scope.report(rules.MISPLACED.at(e.span, "this does nothing").help("send an event or call an action"))
    return None


def _machine_with(scope: Scope, event: str) -> str | None:
    """Another machine that has an event of this name."""
    machines = scope.module.machines_in_sight()
    return next((name for name, machine in machines if event in machine.events), None)


def _request(place: Place, name: s.Name, arguments: tuple[s.Expr, ...], e: s.Perform) -> m.Effect | None:
    scope, machine = place.scope, place.scope.machine
    action = machine.actions.get(name.text) if machine is not None else None
    if action is None:
        actions = () if machine is None else tuple(machine.actions)
        diagnostic = unknown("action", name.text, name.span, actions)
        if machine is not None and name.text in machine.events:
            diagnostic = rules.MISPLACED.at(name.span, f"`{name.text}` is an event, which must be sent to an instance")
            diagnostic = diagnostic.help(f"write `self.{name.text}`")
        elif (receiver := _machine_with(scope, name.text)) is not None:
            message = f"`{name.text}` is an event of `{receiver}`, which must be sent to an instance"
            diagnostic = rules.MISPLACED.at(name.span, message).help(
                f"write `x.{name.text}`, where `x` is a `{receiver}`"
            )
        elif not actions:
            diagnostic = diagnostic.help(f"declare it: `action {name.text}{'(…)' * bool(arguments)}`")
        scope.report(diagnostic)
        return None
    assert machine is not None
    scope.note(name, "action", machine.qualified)
    if place.where in ("crash", "recover"):
        scope.report(rules.MISPLACED.at(e.span, "no action can be called while the system is down"))
    if action.outcomes and not place.last:
        diagnostic = rules.MISPLACED.at(
            e.span, f"`{name.text}` has outcomes, so it ends the step: nothing can follow it"
        )
        scope.report(diagnostic.help(f"continue in a transition `on {name.text}.{action.outcomes[0]}`"))
    return m.Request(name.text, _arguments(scope, name, arguments, action.parameters), e.span)


def _arguments(
    scope: Scope, name: s.Name, arguments: tuple[s.Expr, ...], parameters: tuple[m.Variable, ...]
) -> tuple[m.Expr, ...]:
    if len(arguments) != len(parameters):
        diagnostic = miscounted(name.text, len(parameters), len(arguments), name.span)
        if parameters:
            names = ", ".join(v.name for v in parameters)
            diagnostic = diagnostic.help(f"write `{name.text}({names})`")
        scope.report(diagnostic)
        return ()
    return tuple(of_type(scope, g, w.type) for g, w in zip(arguments, parameters, strict=True))


def _send(place: Place, target: s.Member, arguments: tuple[s.Expr, ...], e: s.Perform) -> m.Effect | None:
    scope = place.scope
    if place.where == "crash":
        diagnostic = rules.MISPLACED.at(
            e.span, "a crash transition cannot send anything: it can only set fields of its own instance"
        )
        advice = "let the peer notice by a timeout (`after 30s`), or send from the `recover` block of the system"
        scope.report(diagnostic.help(advice))
    message = f"`{target.target.span.quote}` is not an instance, so nothing can be sent to it"
    receiver = instance(scope, target.target, rules.MISMATCH.at(target.target.span, message))
    if receiver is None:
        return None
    owner, machine = receiver
    event = event_of(scope, machine, target.name)
    if event is None:
        return None
    if scope.machine is not None and not may_send(event, scope.machine):
        _not_a_sender(scope, machine, event, target.name)
    sent = _arguments(scope, target.name, arguments, event.parameters)
    return m.Send(owner, machine.qualified, event.name, sent, e.span)


def event_of(scope: Scope, machine: MachineNames, name: s.Name) -> m.Event | None:
    """An event of a machine; reports when it has none of that name."""
    event = machine.events.get(name.text)
    if event is None:
        scope.report(unknown("event", name.text, name.span, tuple(machine.events), machine.decl.name.text))
    else:
        scope.note(name, "event", machine.qualified)
    return event


def may_send(event: m.Event, sender: MachineNames) -> bool:
    """Does the event's declaration name the sender?"""
    return not event.senders or sender.qualified in event.senders


def _not_a_sender(scope: Scope, machine: MachineNames, event: m.Event, at: s.Name) -> None:
    assert scope.machine is not None
    sender = scope.machine.decl.name.text
    diagnostic = rules.SENDER.at(at.span, f"`{event.name}` does not come from {sender}")
    diagnostic = diagnostic.label(event.span, f"declared in {machine.decl.name.text} without {sender} as a sender")
    scope.report(diagnostic.help(f"add `{sender}` to its `from`"))


def _post(place: Place, e: s.Post) -> m.Effect | None:
    scope = place.scope
    target, arguments = apart(e.call)
    if not isinstance(target, s.Member):
        scope.report(
            rules.MISPLACED.at(e.span, "a message must be sent through a channel").help("write `send channel.event`")
        )
        return None
    channel = typed(replace(scope, channel=isinstance(target.target, s.Name)), target.target)
    if not isinstance(channel, m.ChannelRef):
        if not isinstance(channel.type, m.ErrorType):
            scope.report(rules.MISMATCH.at(target.target.span, f"`{target.target.span.quote}` is not a channel"))
        return None
    home, name = home_of(scope, channel)
    machine = machine_at(home, home.channels[name].receiver)
    event = None if machine is None else event_of(scope, machine, target.name)
    if event is None:
        return None
    if channel.name not in event.senders:
        diagnostic = rules.SENDER.at(target.name.span, f"`{event.name}` does not come from channel `{name}`")
        scope.report(diagnostic.label(event.span, f"declared here without `{name}` as a sender"))
    endpoints: tuple[s.Expr, ...] = () if e.to is None else (e.to,)
    if home.channels[name].sender is not None:
        if not _sends_through(scope, home, name, e.span):
            return None
        endpoints = () if e.to is None else (s.Word("self", e.span), e.to)
    whose = ends(scope, home, name, endpoints, e.span, lambda _: f"{e.span.quote} to x")
    sent = _arguments(scope, target.name, arguments, event.parameters)
    return None if whose is None else m.Post(channel.name, event.name, sent, whose, e.span)


def _sends_through(scope: Scope, home: ModuleNames, channel: str, at: Span) -> bool:
    """Is an effect one of the machine from which a channel with a queue for each pair leads?"""
    path = home.channels[channel].sender
    sender = None if path is None else machine_at(home, path)
    if sender is None or (scope.machine is not None and scope.machine.qualified == sender.qualified):
        return sender is not None
    who = "the system" if scope.machine is None else scope.machine.decl.name.text
    diagnostic = rules.SENDER.at(at, f"`{channel}` leads from each {path}, but this is sent by {who}")
    scope.report(diagnostic.help("send it through a channel without `from each`"))
    return False
