"""What a field begins with: the value that its type has for it, or any, where the values of the type can be listed."""

from __future__ import annotations

from typing import assert_never

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import Scope
from fsmdsl.model.resolve.types.type_text import type_text
from fsmdsl.text.source import NOWHERE, Span


def default(t: m.Type, span: Span = NOWHERE) -> m.Expr | None:
    """The value with which a field begins where the author gives none; None where the type has none of its own."""
    match t:
        case m.BoolType():
            return m.Constant(False, t, span)
        case m.RangeType(low, high):
            return m.Constant(min(max(low, 0), high), t, span)
        case m.DurationType():
            return m.Constant(0, t, span)
        case m.EnumType(members=members, first=first):
            return m.Constant(members[first], t, span) if members else None
        case m.OpaqueType(name):
            return m.Constant(name, t, span)
        case m.RecordType(parts=parts):
            begun = tuple(x for _, of in parts if (x := default(of, span)) is not None)
            return m.Construction(begun, t, span) if len(begun) == len(parts) else None
        case m.SetType():
            return m.Collection("set", (), t, span)
        case m.ListType():
            return m.Collection("list", (), t, span)
        case m.MapType(of=of):
            each = default(of, span)
            return None if each is None else m.Apply("filled", (each,), t, span)
        case m.OptionalType() | m.NoneType():
            return m.Constant(None, t, span)
        case m.RefType() | m.NeverType() | m.ErrorType():
            return None
        case _:
            assert_never(t)


def check_any(scope: Scope, at: s.AnyValue, t: m.Type) -> None:
    """Report `any` in the place of a value of a type whose values cannot be listed."""
    if not _is_enumerable(t):
        diagnostic = rules.MISMATCH.at(at.span, f"the values of `{type_text(t)}` cannot be listed")
        scope.report(
            diagnostic.help("only types made of ranges, `bool`, enums and machines allow the initial value `any`")
        )


def _is_enumerable(t: m.Type) -> bool:
    match t:
        case m.DurationType() | m.OpaqueType() | m.MapType():
            return False
        case m.SetType(of) | m.ListType(of=of) | m.OptionalType(of):
            return _is_enumerable(of)
        case m.RecordType(parts=parts):
            return all(_is_enumerable(of) for _, of in parts)
        case _:
            return True
