"""A difference as plain data, for JSON."""

from __future__ import annotations

from fsmdsl.report import shapes
from fsmdsl.report.compare import Behaviour, Change, Compared, Difference, Run, Turn
from fsmdsl.report.data import place
from fsmdsl.report.exploration import run
from fsmdsl.text.source import Span


def as_data(difference: Difference, old: str, new: str) -> shapes.Diff:
    """What `fsm diff --format json` prints."""
    return {
        "old": old,
        "new": new,
        "different": difference.is_different,
        "parts": [_part(x) for x in difference.parts],
        "behaviours": [_behaviour(x) for x in difference.behaviours],
        "answers": [_answer(x) for x in difference.turns],
        "undecided": list(difference.undecided),
    }


def _part(x: Compared) -> shapes.Part:
    return {
        "owner": x.owner,
        "name": x.name,
        "kind": x.kind,
        "renamed_states": dict(x.states),
        "changes": [_change(y) for y in x.changes],
    }


def _change(x: Change) -> shapes.Change:
    return {
        "kind": x.kind,
        "what": x.what,
        "name": x.name,
        "was": x.was or None,
        "now": x.now or None,
        "details": list(x.details),
        "before": _place(x.before),
        "after": _place(x.after),
    }


def _place(span: Span | None) -> shapes.Place | None:
    return None if span is None else place(span)


def _behaviour(x: Behaviour) -> shapes.Behaviour:
    runs = [_run(y) for y in x.runs]
    return {"name": x.name, "alone": x.alone, "outcome": x.outcome, "basis": x.basis, "runs": runs}


def _run(x: Run) -> shapes.Run:
    return {"allowed_by": x.allowed_by, "why": x.why, "steps": x.trace.steps(), "trace": run(x.trace)}


def _answer(x: Turn) -> shapes.Answer:
    return {
        "scope": x.scope,
        "asked": x.label,
        "old": x.old,
        "new": x.new,
        "explanation": list(x.explanation),
        "trace": None if x.trace is None else run(x.trace),
    }
