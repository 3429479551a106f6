"""Records in expressions: made of values for all of their parts, and read part by part."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import ModuleNames, Scope, dotted, unknown
from fsmdsl.model.resolve.types.type_expressions import record_type
from fsmdsl.model.resolve.values.places import of_type, opened
from fsmdsl.text.source import Span


def called(scope: Scope, target: s.Expr) -> ModuleNames | None:
    """Where the record is declared that a call makes (`Entry(…)`, `raft.Entry(…)`), if it makes one."""
    path = dotted(target)
    if path is None or scope.holds(path[0]):
        return None
    *modules, last = path
    home = scope.module.imports.get(".".join(modules)) if modules else scope.module.home(last)
    return home if home is not None and last in home.records else None


def constructed(scope: Scope, e: s.Call, home: ModuleNames) -> m.Expr:
    """`Entry(1, true)` or `Entry(term = 1, value = true)`."""
    name = e.target.name if isinstance(e.target, s.Member) else e.target
    assert isinstance(name, s.Name)
    if isinstance(e.target, s.Member):
        scope.module.program.note(e.target.target.span, "module", "", home.name)
    scope.note(name, "record", home.name)
    t = record_type(home, name.text, name.span)
    values = _part_values(scope, e, name.text, t) if isinstance(t, m.RecordType) else None
    if values is None or not isinstance(t, m.RecordType):
        return m.Constant(None, m.ERROR, e.span)
    return m.Construction(tuple(of_type(scope, values[part], of) for part, of in t.parts), t, e.span)


def _part_values(scope: Scope, e: s.Call, name: str, t: m.RecordType) -> dict[str, s.Expr] | None:
    """What is given for each part; reports what is missing, unknown or given twice."""
    parts = [part for part, _ in t.parts]
    write = f"write `{name}({', '.join(f'{part} = …' for part in parts)})`"
    named_arguments = [x for x in e.arguments if isinstance(x, s.NamedArgument)]
    if named_arguments and len(named_arguments) < len(e.arguments):
        scope.report(rules.ARGUMENTS.at(e.span, "name all parts, or none").help(write))
        return None
    if not named_arguments and len(e.arguments) != len(parts):
        count = f"{len(parts)} part{'s' * (len(parts) != 1)}"
        scope.report(rules.ARGUMENTS.at(e.span, f"`{name}` has {count}, not {len(e.arguments)}").help(write))
        return None
    if not named_arguments:
        return dict(zip(parts, e.arguments, strict=True))
    values: dict[str, s.Expr] = {}
    for x in named_arguments:
        scope.note(x.name, "part", t.name)
        if x.name.text not in parts:
            scope.report(unknown("part", x.name.text, x.name.span, tuple(parts), name))
        elif x.name.text in values:
            scope.report(rules.TWICE.at(x.name.span, f"`{x.name.text}` already has a value"))
        values[x.name.text] = x.value
    missing = [f"`{part}`" for part in parts if part not in values]
    if missing and values.keys() <= set(parts):
        scope.report(rules.ARGUMENTS.at(e.span, f"`{name}` is made of all its parts: {', '.join(missing)} missing"))
    return None if missing else values


def part(scope: Scope, of: m.Expr, record: m.RecordType, name: s.Name, span: Span) -> m.Expr:
    """`entry.term`; an option is opened first."""
    types = dict(record.parts)
    if name.text not in types:
        owner = record.name.rpartition(".")[2]
        scope.report(unknown("part", name.text, name.span, tuple(types), owner))
        return m.Constant(None, m.ERROR, span)
    scope.note(name, "part", record.name)
    return m.Part(opened(of), name.text, types[name.text], span)


def with_part(changed: m.Part, value: m.Expr) -> m.Expr:
    """The record that a part is of, with another value for it."""
    record = changed.of.type
    assert isinstance(record, m.RecordType)
    parts = (
        value if name == changed.name else m.Part(changed.of, name, t, changed.of.span) for name, t in record.parts
    )
    return m.Construction(tuple(parts), record, value.span)
