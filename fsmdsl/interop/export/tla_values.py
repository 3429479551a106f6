"""Known values in TLA+."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fsmdsl import model as m
from fsmdsl.interop.export.scope import identifier
from fsmdsl.model.typing import bare
from fsmdsl.step.data import RecordValue, Table, Value


def constant(t: m.Type, value: Value) -> str:
    """A known value."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).upper()
        case int():
            return str(value) if value >= 0 else f"(-{-value})"
        case str():
            return f'"{value}"'
        case RecordValue(values):
            of = bare(t)
            assert isinstance(of, m.RecordType)
            return record((name, constant(p, x)) for (name, p), x in zip(of.parts, values, strict=True))
        case frozenset():
            of = m.element_of(bare(t))
            return f"{{{', '.join(sorted(constant(of, x) for x in value))}}}"
        case tuple():
            of = m.element_of(bare(t))
            return f"<<{', '.join(constant(of, x) for x in value)}>>"
        case Table(entries):
            assert isinstance(t, m.MapType)
            return function({constant(t.key, k): constant(t.of, x) for k, x in entries}, "k")


def record(parts: Iterable[tuple[str, str]]) -> str:
    """A record of some parts."""
    fields = ", ".join(f"{identifier('part', name)} |-> {text}" for name, text in parts)
    return f"[{fields}]"


def function(values: Mapping[int, str] | Mapping[str, str], of: str = "i") -> str:
    """A function of some values. Not with `:>` and `@@`: TLC 2.15 loses states whose functions were made so."""
    cases = " [] ".join(f"{of} = {key} -> {x}" for key, x in values.items())
    return f"[{of} \\in {{{', '.join(map(str, values))}}} |-> {f'CASE {cases}' if cases else 0}]"
