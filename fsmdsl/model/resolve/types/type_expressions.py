"""Types as written to types as meant."""

from __future__ import annotations

from typing import assert_never

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import limits, rules
from fsmdsl.model.resolve.names.scope import ModuleNames, machine_at, unknown
from fsmdsl.model.resolve.names.states import state_type
from fsmdsl.text.source import Span


def type_of(module: ModuleNames, t: s.TypeExpr) -> m.Type:
    """A written type; reports what is unknown or empty."""
    match t:
        case s.NamedType(path):
            return _declared_type(module, path)
        case s.StateType(path):
            machine = machine_at(module, path)
            return m.ERROR if machine is None else state_type(machine)
        case s.RangeType(low, high, span):
            if low > high:
                module.program.diagnostics.append(rules.RANGE.at(span, f"the range {low}..{high} is empty"))
                return m.ERROR
            return m.RangeType(low, high)
        case s.SetType(of):
            return m.SetType(_inside(module, of))
        case s.ListType(of, bound, span):
            if bound < 1:
                module.program.diagnostics.append(
                    rules.RANGE.at(span, "this list must have room for at least one item")
                )
            most = limits.within(module.program, span, "the list holds", bound, limits.ITEMS, "items")
            return m.ListType(_inside(module, of), most)
        case s.MapType():
            return _map(module, t)
        case s.OptionalType(of):
            return m.OptionalType(_inside(module, of))
        case _:
            assert_never(t)


def _inside(module: ModuleNames, of: s.TypeExpr) -> m.Type:
    """The type of what is in another value; reports a map, which is only ever a value by itself."""
    inner = type_of(module, of)
    if not isinstance(inner, m.MapType):
        return inner
    wrong = rules.MISMATCH.at(of.span, "a map cannot be part of another value")
    module.program.diagnostics.append(wrong.help("make it a field, a parameter or an argument of its own"))
    return m.ERROR


def _map(module: ModuleNames, t: s.MapType) -> m.Type:
    key, of = type_of(module, t.key), _inside(module, t.of)
    if isinstance(of, m.ErrorType):
        return m.ERROR
    match key:
        case m.RangeType(low, high):
            count = high - low + 1
            if limits.within(module.program, t.key.span, "the map has", count, limits.KEYS, "keys") < count:
                return m.ERROR
        case m.BoolType() | m.EnumType() | m.RefType():
            pass
        case m.ErrorType():
            return m.ERROR
        case _:
            wrong = rules.MISMATCH.at(t.key.span, "these keys cannot be listed")
            help_ = "the keys of a map must be a range, an enum, a machine or `bool`"
            module.program.diagnostics.append(wrong.help(help_))
            return m.ERROR
    return m.MapType(key, of)


def _declared_type(module: ModuleNames, path: s.Path) -> m.Type:
    builtin: dict[str, m.Type] = {"bool": m.BOOL, "duration": m.DurationType()}
    if str(path) in builtin:
        return builtin[str(path)]
    location = module.at(path)
    if location is not None:
        home, name = location
        kind = next((k for k, t in home.tables.items() if name in t), None)
        if kind in ("machine", "enum", "record", "opaque"):
            module.note(path, home, kind)
        if name in home.machines:
            return m.RefType(home.machines[name].qualified)
        if name in home.records:
            return record_type(home, name, path.span)
        type_ = home.enums.get(name) or home.opaques.get(name)
        if type_ is not None:
            return type_
    names = (*builtin, *module.machines, *module.enums, *module.records, *module.opaques, *module.borrowed)
    missing = unknown("type", str(path), path.span, names)
    advice = ELSEWHERE.get(str(path).lower())
    module.program.diagnostics.append(missing if advice is None else missing.help(advice))
    return m.ERROR


def record_type(home: ModuleNames, name: str, span: Span) -> m.Type:
    """The record that a module declares by this name, which is used at `span`; the error type if it holds itself."""
    program, qualified = home.program, f"{home.name}.{name}"
    if qualified not in program.records:
        program.records[qualified] = None
        program.records[qualified] = _record(home, home.records[name], qualified)
    record = program.records[qualified]
    if record is None:
        wrong = rules.CIRCULAR.at(span, f"a record `{name}` would hold another `{name}`, and so on without end")
        program.diagnostics.append(wrong.help("refer to an instance of a machine instead"))
    return record or m.ERROR


def _record(home: ModuleNames, decl: s.RecordDecl, qualified: str) -> m.Type:
    parts: dict[str, m.Type] = {}
    for p in decl.parts:
        home.program.note(p.name.span, "part", qualified, p.name.text, declares=True)
        if p.name.text in parts:
            home.program.diagnostics.append(rules.TWICE.at(p.name.span, f"`{p.name.text}` is already a part"))
        parts.setdefault(p.name.text, _inside(home, p.type))
    if not parts:
        home.program.diagnostics.append(rules.RANGE.at(decl.span, f"`{decl.name.text}` has no parts"))
    wrong = not parts or any(isinstance(t, m.ErrorType) for t in parts.values())
    return m.ERROR if wrong else m.RecordType(qualified, tuple(parts.items()))


_RANGE = "a number must have a range: `0..3`"
_ENUM = "there are no string values; declare an enum, `enum Color { Red | Green }`, or an `opaque` type"

ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(("int", "integer", "nat", "natural", "number", "uint", "long", "i32", "i64", "u32", "u64"), _RANGE),
    **dict.fromkeys(("float", "double", "decimal"), _RANGE), **dict.fromkeys(("string", "str", "text", "char"), _ENUM),
}  # fmt: skip
"""Names of types in other languages, and what to write instead."""


def variables(module: ModuleNames, parameters: tuple[s.Parameter, ...], of: str = "") -> tuple[m.Variable, ...]:
    """The parameters of an event or action `of` which they are, or of a `let`."""
    seen: set[str] = set()
    for p in parameters:
        if p.name.text in seen:
            module.program.diagnostics.append(rules.TWICE.at(p.name.span, f"`{p.name.text}` is already declared"))
        seen.add(p.name.text)
        if of:
            module.program.note(p.name.span, "parameter", of, p.name.text, declares=True)
    return tuple(m.Variable(p.name.text, type_of(module, p.type), p.span) for p in parameters)
