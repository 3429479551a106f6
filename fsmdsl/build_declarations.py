"""From the parser's tree to declarations: modules, machines, systems, scenarios, locks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from fsmdsl import syntax as s
from fsmdsl.build import EXPRESSIONS, Builder, Tree
from fsmdsl.source import Span

REFERENCES = ("name", "self", "member", "index", "call")


def declarations(b: Builder, tree: Tree) -> s.Module:
    """The whole file."""
    line = b.one(tree, "module_line")
    return s.Module(
        None if line is None else b.path(line.children[0]),
        tuple(_source(b, t) for t in b.every(tree, "source")),
        tuple(_import(b, t) for t in b.every(tree, "import_")),
        tuple(_MODULE[t.data](b, t) for t in b.every(tree, *_MODULE)),
        "" if line is None else b.doc(line),
        Span(b.source, 0, len(b.source.text)),
    )


def _source(b: Builder, t: Tree) -> s.SourceDecl:
    title, *location = (b.text(token) for token in b.every(t, "STRING"))
    assert title is not None
    return s.SourceDecl(title, location[0] if location else None, b.doc(t), b.span(t))


def _import(b: Builder, t: Tree) -> s.Import:
    names = b.one(t, "import_names")
    return s.Import(b.path(t.children[0]), () if names is None else b.names(names), b.span(t))


def _enum(b: Builder, t: Tree) -> s.EnumDecl:
    rest = b.one(t, "enum_plain", "enum_ordered")
    members = [*b.every(t, "enum_member"), *(rest.children if rest is not None else ())]
    return s.EnumDecl(
        b.name(t.children[0]),
        tuple(s.EnumMember(b.name(m.children[0]), b.doc(m), b.span(m)) for m in members),
        rest is not None and rest.data == "enum_ordered",
        b.doc(t),
        b.span(t),
    )


def _opaque(b: Builder, t: Tree) -> s.OpaqueDecl:
    return s.OpaqueDecl(b.names(t), b.doc(t), b.span(t))


def _let(b: Builder, t: Tree) -> s.LetDecl:
    return s.LetDecl(b.name(t.children[0]), b.parameters(t), b.expr(t.children[-1]), b.doc(t), b.span(t))


def _channel(b: Builder, t: Tree) -> s.ChannelDecl:
    flags = [b.word(f) for f in b.every(t, "channel_flag")]
    order = b.one(t, "channel_order")
    bound = b.one(t, "INT")
    assert order is not None and bound is not None
    return s.ChannelDecl(
        b.name(t.children[0]),
        cast(Any, b.word(order)),
        int(bound),
        "lossy" in flags,
        "duplicating" in flags,
        b.path(t.children[-1]),
        b.doc(t),
        b.span(t),
    )


# Machines ------------------------------------------------------------------------------------------------------------


def _machine(b: Builder, t: Tree) -> s.MachineDecl:
    display = b.text(b.one(t, "STRING"))
    return s.MachineDecl(b.name(t.children[0]), display, _members(b, t), b.doc(t), b.span(t))


def _members(b: Builder, t: Tree) -> tuple[s.MachineMember, ...]:
    return tuple(_MEMBERS[m.data](b, m) for m in b.every(t, *_MEMBERS))


def _field(b: Builder, t: Tree) -> s.FieldDecl:
    durable = b.one(t, "durable") is not None
    return s.FieldDecl(b.name(b.one(t, "name")), b.type_of(t), b.optional(t, "name") or _value(b, t), durable, b.doc(t), b.span(t))


def _value(b: Builder, t: Tree) -> s.Expr | None:
    """A value that is a bare name, which the declared name stands before."""
    names = list(b.every(t, "name"))
    return b.expr(names[1]) if len(names) > 1 else None


def _param(b: Builder, t: Tree) -> s.ParamDecl:
    value = b.optional(t, "name") or _value(b, t)
    return s.ParamDecl(b.name(t.children[0]), b.type_of(t), value, b.doc(t), b.span(t))


def _state(b: Builder, t: Tree) -> s.StateDecl:
    flags = tuple(cast(s.StateFlag, b.word(f)) for f in b.every(t, "state_flag"))
    body = b.one(t, "state_body")
    children = () if body is None else tuple(_state(b, c) for c in body.children)
    display = b.text(b.one(t, "STRING"))
    return s.StateDecl(b.name(b.one(t, "name")), display, flags, children, b.doc(t), b.span(t))


def _signatures(b: Builder, t: Tree) -> tuple[s.Signature, ...]:
    found = b.every(t, "signature")
    return tuple(s.Signature(b.name(g.children[0]), b.parameters(g), b.doc(g), b.span(g)) for g in found)


def _event(b: Builder, t: Tree) -> s.EventDecl:
    senders = b.one(t, "senders")
    paths = () if senders is None else tuple(b.path(p) for p in senders.children)
    return s.EventDecl(_signatures(b, t), paths, b.doc(t), b.span(t))


def _action(b: Builder, t: Tree) -> s.ActionDecl:
    outcomes = b.one(t, "outcomes")
    names = () if outcomes is None else b.names(outcomes)
    return s.ActionDecl(_signatures(b, t), names, b.one(t, "async_") is not None, b.doc(t), b.span(t))


def _transition(b: Builder, t: Tree) -> s.TransitionDecl:
    label = b.name(b.one(t, "name")) if t.data == "labelled" else None
    edges = b.one(t, "edges")
    sources = b.one(t, "sources")
    moves = () if edges is None else tuple(_edge(b, e) for e in edges.children)
    if sources is not None:
        moves = (s.Edge(b.names(sources), None, b.span(sources)),)
    do = b.one(t, "do")
    return s.TransitionDecl(label, moves, _trigger(b, t), _when(b, t), b.effects(do), b.doc(t), b.span(t))


def _edge(b: Builder, t: Tree) -> s.Edge:
    sources, target = t.children
    return s.Edge(b.names(sources), b.name(target), b.span(t))


def _when(b: Builder, t: Tree) -> s.Expr | None:
    when = b.one(t, "when")
    return None if when is None else b.expr(when.children[0])


def _trigger(b: Builder, t: Tree) -> s.On | s.After | None:
    on, after = b.one(t, "on"), b.one(t, "after")
    if after is not None:
        return s.After(b.expr(after.children[0]), b.span(after))
    if on is None:
        return None
    arguments = b.one(on, "arguments")
    return s.On(b.path(on.children[0]), None if arguments is None else b.names(arguments), b.span(on))


def _hook(b: Builder, t: Tree) -> s.HookDecl:
    kind = "entry" if t.children[0].type == "ENTRY" else "exit"
    return s.HookDecl(cast(Any, kind), b.names(t), b.effects(b.one(t, "do")), b.doc(t), b.span(t))


def _ignore(b: Builder, t: Tree) -> s.IgnoreDecl:
    events = tuple(b.path(p) for p in b.every(t, "event_path"))
    return s.IgnoreDecl(events, b.names(t), b.doc(t), b.span(t))


def _priority(b: Builder, t: Tree) -> s.PriorityDecl:
    return s.PriorityDecl(b.names(t), b.doc(t), b.span(t))


def _invariant(b: Builder, t: Tree) -> s.InvariantDecl:
    return s.InvariantDecl(b.label(t), b.expr(t.children[-1]), b.doc(t), b.span(t))


def _amend(b: Builder, t: Tree) -> s.AmendDecl:
    reason = b.text(b.one(t, "STRING"))
    assert reason is not None
    members = _members(b, b.one(t, "amend_body") or t)
    return s.AmendDecl(reason, b.one(t, "replaces") is not None, members, b.doc(t), b.span(t))


# Locks ---------------------------------------------------------------------------------------------------------------


def _locks(b: Builder, t: Tree) -> s.LocksDecl:
    name = b.one(t, "name")
    members: list[s.LockOrder | s.OperationDecl | s.LockAmendment] = []
    for m in b.every(t, "lock_order", "operation", "lock_amend"):
        members.append(_lock_amend(b, m) if m.data == "lock_amend" else _lock_member(b, m))
    return s.LocksDecl(None if name is None else b.name(name), tuple(members), b.doc(t), b.span(t))


def _lock_amend(b: Builder, t: Tree) -> s.LockAmendment:
    reason = b.text(b.one(t, "STRING"))
    assert reason is not None
    body = b.one(t, "lock_amend_body") or t
    members = tuple(_lock_member(b, m) for m in b.every(body, "lock_order", "operation"))
    return s.LockAmendment(reason, members, b.doc(t), b.span(t))


def _lock_member(b: Builder, t: Tree) -> s.LockOrder | s.OperationDecl:
    if t.data == "lock_order":
        return s.LockOrder(tuple(_lock_use(b, u) for u in t.children), b.doc(t), b.span(t))
    return s.OperationDecl(b.name(t.children[0]), _holds(b, t), b.doc(t), b.span(t))


def _holds(b: Builder, t: Tree) -> tuple[s.Hold, ...]:
    body = b.one(t, "hold_body")
    listed = () if body is None else body.children
    return tuple(s.Hold(_lock_use(b, h.children[0]), _holds(b, h), b.span(h)) for h in listed)


def _lock_use(b: Builder, t: Tree) -> s.LockUse:
    mode = b.one(t, "lock_mode")
    word = "any" if mode is None else b.word(mode)
    return s.LockUse(b.name(b.one(t, "name")), cast(Any, word), b.one(t, "child") is not None, b.span(t))


# Systems and scenarios -----------------------------------------------------------------------------------------------


def _system(b: Builder, t: Tree) -> s.SystemDecl:
    members = tuple(_SYSTEM[m.data](b, m) for m in b.every(t, *_SYSTEM))
    return s.SystemDecl(b.name(t.children[0]), members, b.doc(t), b.span(t))


def _instance(b: Builder, t: Tree) -> s.InstanceDecl:
    count, state, initials = b.one(t, "count"), b.one(t, "in_state"), b.one(t, "initials")
    return s.InstanceDecl(
        b.name(t.children[0]),
        b.path(t.children[1]),
        None if count is None else int(count.children[0]),
        b.one(t, "symmetric") is not None,
        None if state is None else b.name(state.children[0]),
        () if initials is None else tuple(_initial(b, i) for i in initials.children),
        b.doc(t),
        b.span(t),
    )


def _initial(b: Builder, t: Tree) -> s.Initial:
    name, value = t.children
    return s.Initial(b.name(name), b.expr(value), b.span(t))


def _environment(b: Builder, t: Tree) -> s.EnvironmentDecl:
    return s.EnvironmentDecl(tuple(_offer(b, o) for o in b.every(t, "offer")), b.doc(t), b.span(t))


def _offer(b: Builder, t: Tree) -> s.Offer | s.CrashOffer:
    some, kind = b.one(t, "some"), b.one(t, "crash_kind")
    binders = () if some is None else tuple(b.binder(c) for c in some.children)
    reference = b.one(t, *REFERENCES)
    assert reference is not None
    call = b.expr(reference)
    if isinstance(call, s.Name) and call.text == "crash":
        word = "anywhere" if kind is None else b.word(kind)
        return s.CrashOffer(cast(Any, word), _when(b, t), b.doc(t), b.span(t))
    return s.Offer(binders, call, _when(b, t), b.doc(t), b.span(t))


def _recover(b: Builder, t: Tree) -> s.RecoverDecl:
    return s.RecoverDecl(b.effects(b.one(t, "block")), b.doc(t), b.span(t))


def _property(b: Builder, t: Tree) -> s.PropertyDecl:
    recovers, under = b.one(t, "recovers"), b.one(t, "under")
    formula: s.Expr | s.Recovers
    if recovers is not None:
        formula = s.Recovers(tuple(b.path(p) for p in recovers.children), b.span(recovers))
    else:
        found = b.one(t, *EXPRESSIONS)
        assert found is not None
        formula = b.expr(found)
    fair = () if under is None else tuple(_fairness(b, f) for f in under.children)
    return s.PropertyDecl(b.label(t), formula, fair, b.doc(t), b.span(t))


def _fairness(b: Builder, t: Tree) -> s.Fairness:
    strength = b.one(t, "strength")
    word = "weak" if strength is None else b.word(strength)
    return s.Fairness(cast(Any, word), tuple(b.path(p) for p in b.every(t, "path")), b.span(t))


def _reachable(b: Builder, t: Tree) -> s.ReachableDecl:
    return s.ReachableDecl(b.label(t), b.expr(t.children[-1]), b.doc(t), b.span(t))


def _scenario(b: Builder, t: Tree) -> s.ScenarioDecl:
    of = b.one(t, "of")
    return s.ScenarioDecl(
        b.name(t.children[0]),
        b.text(b.one(t, "STRING")),
        None if of is None else b.path(of.children[0]),
        tuple(_instance(b, i) for i in b.every(t, "instance")),
        tuple(_STEPS[x.data](b, x) for x in b.every(t, *_STEPS)),
        b.doc(t),
        b.span(t),
    )


def _do(b: Builder, t: Tree) -> s.Do | s.Restart:
    call = b.expr(t.children[0])
    if isinstance(call, s.Name) and call.text in ("crash", "recover"):
        return s.Restart(cast(Any, call.text), b.doc(t), b.span(t))
    return s.Do(call, False, None, b.doc(t), b.span(t))


def _fails(b: Builder, t: Tree) -> s.Do:
    fault = t.children[1] if len(t.children) > 1 else None
    return s.Do(b.expr(t.children[0]), True, None if fault is None else b.name(fault), b.doc(t), b.span(t))


def _elapse(b: Builder, t: Tree) -> s.Elapse:
    timer = b.one(t, "timer_name")
    name = None if timer is None else b.name(timer.children[0])
    return s.Elapse(b.expr(t.children[0]), name, b.doc(t), b.span(t))


def _transmit(b: Builder, t: Tree) -> s.Transmit:
    kind, channel = t.children
    return s.Transmit(cast(Any, b.word(kind)), b.path(channel), b.doc(t), b.span(t))


def _expect(b: Builder, t: Tree) -> s.Expect:
    return s.Expect(b.expr(t.children[0]), b.doc(t), b.span(t))


def _via(b: Builder, t: Tree) -> s.Via:
    return s.Via(b.names(t), b.doc(t), b.span(t))


_MODULE: dict[str, Callable[[Builder, Tree], s.ModuleMember]] = {
    "enum": _enum, "opaque": _opaque, "let": _let, "channel": _channel, "machine": _machine, "locks": _locks,
    "system": _system, "scenario": _scenario,
}  # fmt: skip
_MEMBERS: dict[str, Callable[[Builder, Tree], s.MachineMember]] = {
    "field": _field, "param": _param, "let": _let, "state": _state, "event": _event, "action": _action,
    "transition": _transition, "labelled": _transition, "hook": _hook, "ignore": _ignore, "priority": _priority,
    "invariant": _invariant, "amend": _amend,
}  # fmt: skip
_SYSTEM: dict[str, Callable[[Builder, Tree], s.SystemMember]] = {
    "instance": _instance, "let": _let, "environment": _environment, "recover": _recover, "invariant": _invariant,
    "property": _property, "reachable": _reachable,
}  # fmt: skip
_STEPS: dict[str, Callable[[Builder, Tree], s.ScenarioStep]] = {
    "do_step": _do, "fails": _fails, "elapse": _elapse, "transmit": _transmit, "expect": _expect, "via": _via,
}  # fmt: skip
