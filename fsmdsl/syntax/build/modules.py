"""Modules and what is declared in them, apart from machines, systems and scenarios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from fsmdsl import syntax as s
from fsmdsl.syntax.build.builder import Builder, number, only
from fsmdsl.syntax.build.machines import let, machine
from fsmdsl.syntax.build.systems import scenario, shared_environment, system
from fsmdsl.syntax.build.types import type_of
from fsmdsl.text.source import Span
from fsmdsl.syntax.tree import Node, Token


def module(b: Builder, n: Node) -> s.Module:
    """A whole file."""
    line = n.one("module_line")
    return s.Module(
        None if line is None else b.path(only(line)),
        tuple(_source(b, x) for x in n.every("source")),
        tuple(s.Import(b.path(only(x)), b.names(x.one("import_names")), b.span(x)) for x in n.every("import_")),
        tuple(_MEMBERS[x.rule](b, x) for x in n.every(*_MEMBERS)),
        "" if line is None else b.doc(line),
        Span(b.source, 0, len(b.source.text)),
    )


def _source(b: Builder, n: Node) -> s.SourceDecl:
    title, *location = (b.text(c) for c in n.children if isinstance(c, Token))
    return s.SourceDecl(title, location[0] if location else None, b.doc(n), b.span(n))


def _enum(b: Builder, n: Node) -> s.EnumDecl:
    rest = n.one("enum_plain", "enum_ordered")
    members = [*n.every("enum_member"), *(rest.nodes() if rest is not None else ())]
    return s.EnumDecl(
        b.name(only(n)),
        tuple(s.EnumMember(b.name(only(m)), b.doc(m), b.span(m)) for m in members),
        rest is not None and rest.rule == "enum_ordered",
        b.doc(n),
        b.span(n),
    )


def _record(b: Builder, n: Node) -> s.RecordDecl:
    parts = tuple(
        s.RecordPart(b.name(only(p)), type_of(b, p), b.doc(p), b.span(p)) for p in n.every("record_part")
    )
    return s.RecordDecl(b.name(only(n)), parts, b.doc(n), b.span(n))


def _opaque(b: Builder, n: Node) -> s.OpaqueDecl:
    return s.OpaqueDecl(b.names(n), b.doc(n), b.span(n))


def _channel(b: Builder, n: Node) -> s.ChannelDecl:
    order, flags = n.one("channel_order"), [f.text() for f in n.every("channel_flag")]
    assert order is not None
    return s.ChannelDecl(
        b.name(only(n)),
        cast(Any, order.text()),
        number(n),
        "lossy" in flags,
        "duplicating" in flags,
        "waiting" in flags,
        next(iter(b.paths(n.one("origin"))), None),
        n.one("each") is not None,
        b.paths(n)[0],
        b.doc(n),
        b.span(n),
    )


def _locks(b: Builder, n: Node) -> s.LocksDecl:
    name = b.names(n)
    members: list[s.LockOrder | s.OperationDecl | s.LockAmendment] = []
    for m in n.every("lock_order", "operation", "lock_amend"):
        members.append(_lock_amend(b, m) if m.rule == "lock_amend" else _lock_member(b, m))
    return s.LocksDecl(name[0] if name else None, tuple(members), b.doc(n), b.span(n))


def _lock_amend(b: Builder, n: Node) -> s.LockAmendment:
    reason = b.title(n)
    assert reason is not None
    body = n.one("lock_amend_body") or n
    members = tuple(_lock_member(b, m) for m in body.every("lock_order", "operation"))
    name = next(iter(b.names(n)), None)
    return s.LockAmendment(name, reason, members, b.doc(n), b.span(n))


def _lock_member(b: Builder, n: Node) -> s.LockOrder | s.OperationDecl:
    if n.rule == "lock_order":
        return s.LockOrder(tuple(_lock_use(b, u) for u in n.nodes()), b.doc(n), b.span(n))
    return s.OperationDecl(b.name(only(n)), _holds(b, n), b.doc(n), b.span(n))


def _holds(b: Builder, n: Node) -> tuple[s.Hold, ...]:
    body = n.one("hold_body")
    nodes = () if body is None else body.nodes()
    return tuple(s.Hold(_lock_use(b, only(h)), _holds(b, h), b.span(h)) for h in nodes)


def _lock_use(b: Builder, n: Node) -> s.LockUse:
    mode = n.one("lock_mode")
    word = "any" if mode is None else mode.text()
    return s.LockUse(b.names(n)[0], cast(Any, word), n.one("child") is not None, b.span(n))


_MEMBERS: dict[str, Callable[[Builder, Node], s.ModuleMember]] = {
    "enum": _enum, "record": _record, "opaque": _opaque, "let": let, "channel": _channel, "machine": machine, "locks": _locks,
    "shared_environment": shared_environment, "system": system, "scenario": scenario,
}  # fmt: skip
