"""What a page shows beside a text while it is typed: findings, and where in it which machine, state and row stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fsmdsl import model as m
from fsmdsl.report.data import diagnostic
from fsmdsl.syntax.parse.incremental import in_file
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Span

Data = dict[str, Any]


def findings(diagnostics: Sequence[Diagnostic]) -> list[Data]:
    """Findings with their places in UTF-16 units, as browsers count."""
    return [_finding(d) for d in diagnostics]


def _finding(d: Diagnostic) -> Data:
    data = {**diagnostic(d), **_place(d.span)}
    if d.fix is not None and d.fix.span.source.name == d.span.source.name:
        return {**data, "fix": {"title": d.fix.title, "text": d.fix.replacement, **_place(d.fix.span)}}
    return {**data, "fix": None}


def outline(model: m.Model | None, file: str) -> list[Data] | None:
    """What a file declares that can be drawn, explored or walked through; None where the texts have errors."""
    if model is None:
        return None
    machines = [_machine(x) for x in model.machines.values() if x.span.source.name == file]
    systems = [_system(x) for x in model.systems.values() if x.span.source.name == file]
    return sorted([*machines, *systems], key=lambda x: int(x["from"]))


def _machine(x: m.Machine) -> Data:
    return {
        "kind": "machine",
        "name": x.name,
        "qualified": x.qualified,
        **_place(x.span),
        "states": [{"name": s.name, **_place(s.span)} for s in x.states],
        "transitions": [{"index": t.index, **_place(t.span)} for t in x.transitions],
    }


def _system(x: m.System) -> Data:
    return {
        "kind": "system",
        "name": x.name,
        "qualified": x.qualified,
        **_place(x.span),
        "machines": list(dict.fromkeys(i.machine for i in x.instances)),
        "instances": [{"name": g.name, "machine": g.machine, "count": g.count} for g in x.groups],
    }


def _place(span: Span) -> Data:
    span = in_file(span)
    return {"from": units(span.source.text, span.start), "to": units(span.source.text, span.end)}


def units(text: str, offset: int) -> int:
    """The place of a code point in UTF-16 units."""
    return offset if text.isascii() else offset + sum(c > "\uffff" for c in text[:offset])


def offset(text: str, unit: int) -> int:
    """The code point at a place in UTF-16 units; in the middle of one, its beginning. Half characters count as one."""
    if text.isascii():
        return min(unit, len(text))
    before = text.encode("utf-16-le", "surrogatepass")[: 2 * unit].decode("utf-16-le", "surrogatepass")
    return len(before) - (units(text, len(before)) > unit)
