"""Machines and what is declared in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

from fsmdsl import syntax as s
from fsmdsl.syntax.build.builder import Builder, only
from fsmdsl.syntax.build.effects import effects
from fsmdsl.syntax.build.expressions import EXPRESSIONS, condition, expression, value
from fsmdsl.syntax.build.types import parameters, type_of
from fsmdsl.syntax.tree import Node


def machine(b: Builder, n: Node) -> s.MachineDecl:
    """`machine Cell { … }`."""
    return s.MachineDecl(b.name(only(n)), b.title(n), _members(b, n), b.doc(n), b.span(n))


def let(b: Builder, n: Node) -> s.LetDecl:
    """`let effective = …`."""
    return s.LetDecl(b.name(only(n)), parameters(b, n), value(b, n), b.doc(n), b.span(n))


def invariant(b: Builder, n: Node) -> s.InvariantDecl:
    """`invariant name: …`."""
    return s.InvariantDecl(b.label(n), value(b, n), b.doc(n), b.span(n))


def _members(b: Builder, n: Node) -> tuple[s.MachineMember, ...]:
    return tuple(_MEMBERS[m.rule](b, m) for m in n.every(*_MEMBERS))


def _field(b: Builder, n: Node) -> s.FieldDecl:
    name, durable = next(n.every("name")), n.one("durable") is not None
    return s.FieldDecl(b.name(name), type_of(b, n), any_value(b, n) or _default(b, n), durable, b.doc(n), b.span(n))


def _param(b: Builder, n: Node) -> s.ParamDecl:
    return s.ParamDecl(b.name(only(n)), type_of(b, n), _default(b, n), b.doc(n), b.span(n))


def _default(b: Builder, n: Node) -> s.Expr | None:
    """The value behind the type."""
    last = n.nodes()[-1]
    return expression(b, last) if last.rule in EXPRESSIONS else None


def any_value(b: Builder, n: Node) -> s.AnyValue | None:
    """`any`, if that is what a declaration begins with."""
    keyword = n.one("any_")
    return None if keyword is None else s.AnyValue(b.span(keyword))


def _state(b: Builder, n: Node) -> s.StateDecl:
    flags = tuple(cast(s.StateFlag, f.text()) for f in n.every("state_flag"))
    body = n.one("state_body")
    inside = () if body is None else tuple(_state(b, c) for c in body.nodes())
    return s.StateDecl(b.name(next(n.every("name"))), b.title(n), flags, inside, b.doc(n), b.span(n))


def _signatures(b: Builder, n: Node) -> tuple[s.Signature, ...]:
    """The events or actions of a declaration, with the doc comments that are of one of them alone, see NOTE(docs)."""
    nodes = list(n.every("signature"))
    docs = [b.doc(x) for x in nodes[:-1]]
    docs.append(b.doc(nodes[-1]) if any(docs) else b.docs.before(nodes[-1].start))
    signed = zip(nodes, docs, strict=True)
    return tuple(s.Signature(b.name(only(x)), parameters(b, x), doc, b.span(x)) for x, doc in signed)


def _event(b: Builder, n: Node) -> s.EventDecl:
    return s.EventDecl(_signatures(b, n), b.paths(n.one("senders")), b.doc(n), b.span(n))


def _action(b: Builder, n: Node) -> s.ActionDecl:
    outcomes, asynchronous = b.names(n.one("outcomes")), n.one("async_") is not None
    return s.ActionDecl(_signatures(b, n), outcomes, asynchronous, b.doc(n), b.span(n))


def _transition(b: Builder, n: Node) -> s.TransitionDecl:
    label = b.name(next(n.every("name"))) if n.rule == "labelled" else None
    parts = _edges(b, n), _trigger(b, n), condition(b, n), effects(b, n.one("do"))
    return s.TransitionDecl(label, *parts, b.doc(n), b.span(n))


def _edges(b: Builder, n: Node) -> tuple[s.Edge, ...]:
    inside, edges = n.one("sources"), n.one("edges")
    if inside is not None:
        return (s.Edge(b.names(inside), None, b.span(inside)),)
    pairs = ((e, e.nodes()) for e in (edges.nodes() if edges is not None else ()))
    return tuple(s.Edge(b.names(sources), b.name(target), b.span(e)) for e, (sources, target) in pairs)


def _trigger(b: Builder, n: Node) -> s.On | s.After | None:
    on, after = n.one("on"), n.one("after")
    if after is not None:
        return s.After(value(b, after), b.span(after))
    if on is None:
        return None
    arguments = on.one("arguments")
    return s.On(b.path(only(on)), None if arguments is None else b.names(arguments), b.span(on))


def _hook(b: Builder, n: Node) -> s.HookDecl:
    kind: Literal["entry", "exit"] = "entry" if n.token("ENTRY") is not None else "exit"
    return s.HookDecl(kind, b.names(n), effects(b, n.one("do")), b.doc(n), b.span(n))


def _ignore(b: Builder, n: Node) -> s.IgnoreDecl:
    return s.IgnoreDecl(b.paths(n, "event_path"), b.names(n), b.doc(n), b.span(n))


def _priority(b: Builder, n: Node) -> s.PriorityDecl:
    return s.PriorityDecl(b.names(n), b.doc(n), b.span(n))


def _layout(b: Builder, n: Node) -> s.LayoutDecl:
    (way,) = n.every("layout_way")
    ranks = tuple(b.names(x) for x in n.every("layout_rank"))
    return s.LayoutDecl(cast(Literal["rows", "columns"], way.text()), ranks, b.doc(n), b.span(n))


def _amend(b: Builder, n: Node) -> s.AmendDecl:
    reason = b.title(n)
    assert reason is not None
    members = _members(b, n.one("amend_body") or n)
    name = next(iter(b.names(n)), None)
    label = n.one("label")
    split = None if label is None else b.names(label)[0]
    return s.AmendDecl(name, reason, n.one("replaces") is not None, split, members, b.doc(n), b.span(n))


_MEMBERS: dict[str, Callable[[Builder, Node], s.MachineMember]] = {
    "field": _field, "param": _param, "let": let, "state": _state, "event": _event, "action": _action,
    "transition": _transition, "labelled": _transition, "hook": _hook, "ignore": _ignore, "priority": _priority,
    "layout": _layout, "invariant": invariant, "amend": _amend,
}  # fmt: skip
