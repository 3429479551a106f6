"""Results as plain data, for JSON. Every document says its kind and version; the shapes are in docs/json.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from fsmdsl import model as m
from fsmdsl.text.diagnostics import Diagnostic, Fix, Severity
from fsmdsl.text.source import Span

if TYPE_CHECKING:
    from fsmdsl.report import shapes

VERSION = 1
"""Raised when a field is removed or changes its meaning; fields may be added under the same version."""

Data = dict[str, Any]


def document(kind: str, content: Mapping[str, object]) -> Data:
    """The envelope of every JSON document."""
    return {"kind": kind, "version": VERSION, **content}


def place(span: Span) -> shapes.Place:
    """A place in a file, lines and columns from 1."""
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {"file": span.source.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}


def diagnostics(diagnostics: Sequence[Diagnostic]) -> shapes.Diagnostics:
    """What `fsm check --format json` prints."""
    errors, warnings, notes = (sum(d.severity is s for d in diagnostics) for s in sorted(Severity, reverse=True))
    counts: shapes.Summary = {"errors": errors, "warnings": warnings, "notes": notes}
    return {"summary": counts, "diagnostics": [diagnostic(d) for d in diagnostics]}


def diagnostic(d: Diagnostic) -> shapes.Diagnostic:
    """One diagnostic."""
    return {
        "code": d.rule.code,
        "rule": d.rule.name,
        "severity": cast(Literal["error", "warning", "note"], str(d.severity)),
        "message": d.message,
        **place(d.span),
        "labels": [{"text": x.text, **place(x.span)} for x in d.labels],
        "notes": list(d.remarks),
        "help": d.advice,
        "fix": None if d.fix is None else _fix(d.fix),
    }


def _fix(fix: Fix) -> shapes.Fix:
    return {"title": fix.title, "text": fix.replacement, **place(fix.span)}


def listing(model: m.Model, names: frozenset[str]) -> Data:
    """What `fsm list --format json` prints, for the modules named."""
    return {"modules": [_module(x) for x in model.modules if x.name in names]}


def _module(x: m.Module) -> Data:
    return {
        "name": x.name,
        "documents": [{"title": d.title, "at": d.location} for d in x.documents],
        "machines": [_machine(machine) for machine in x.machines],
        "systems": [_system(system) for system in x.systems],
        "scenarios": [{"name": s.name, "title": s.title} for s in x.scenarios],
        "channels": [{"name": c.name, "order": c.order, "to": c.receiver, "each": c.each} for c in x.channels],
        "locks": [locks.name for locks in x.locks],
    }


def _machine(x: m.Machine) -> Data:
    return {
        "name": x.name,
        "states": [s.name for s in x.states],
        "events": [e.name for e in x.events],
        "actions": [a.name for a in x.actions],
        "transitions": [row(t) for t in x.transitions],
        "amendments": list(x.amendments),
    }


def row(t: m.Transition) -> Data:
    """A transition as a row of a table; an internal one leads back to its source."""
    return {
        "label": t.name,
        "source": t.source,
        "target": t.source if t.target is None else t.target,
        "trigger": t.shown_trigger or None,
        "guard": None if t.guard is None else t.guard.span.text,
        "internal": t.target is None,
        "amended": t.amended is not None,
    }


def _system(x: m.System) -> Data:
    return {
        "name": x.name,
        "instances": {g.name: {"machine": g.machine, "count": g.count} for g in x.groups},
        "invariants": [i.name for i in x.invariants],
        "reachables": [r.name for r in x.reachables],
        "properties": [p.name for p in x.properties],
    }
