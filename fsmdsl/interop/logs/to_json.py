"""An explanation as plain data, for JSON; the shape is `shapes.Explain`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from fsmdsl.interop.logs.amendments import OtherReading
from fsmdsl.interop.logs.explanation import Explanation, Failure
from fsmdsl.interop.logs.render_text import covered
from fsmdsl.interop.logs.run_summary import RunSummary, Taken
from fsmdsl.report import shapes
from fsmdsl.runs.trace import world_data
from fsmdsl.step.describe import describe


def data(x: Explanation, name: str, *, other: OtherReading | None = None) -> shapes.Explain:
    """The answer, the run as far as it was kept, and the coverage."""
    system = x.reading.universe.system
    return {
        "system": {"name": system.name, "module": system.module},
        "log": name,
        "outcome": x.outcome,
        "undecided": x.undecided,
        "lines": {
            "read": x.tally.lines,
            "matched": x.tally.matched,
            "skipped": x.tally.skipped,
            "unreadable": x.tally.unreadable,
            "first_unreadable": x.tally.first_unreadable,
        },
        "steps": x.summary.count,
        "hidden": x.summary.hidden,
        "names": {name: x.summary.roster.name(n) for name, n in x.summary.names.items()},
        "run": _run(x.summary, x.summary.steps),
        "coverage": [{"machine": k, "row": r, "arrow": a, "count": n} for n, k, r, a in covered(x.summary)],
        "unexplained": x.unexplained,
        "failure": None if x.failure is None else _failure(x.summary, x.failure, other),
    }


def _run(summary: RunSummary, steps: Iterable[Taken]) -> list[shapes.LoggedStep]:
    return [
        {"number": t.number, "step": describe(summary.roster, t.entry.step, t.before), "lines": list(t.lines),
         "happenings": [describe(summary.roster, h) for h in t.entry.cascade]}
        for t in steps
    ]  # fmt: skip


def _failure(summary: RunSummary, x: Failure, other: OtherReading | None) -> shapes.Unexplained:
    return {
        "line": x.record.line,
        "text": x.record.text,
        "says": str(x.record.claim),
        "worlds": x.worlds,
        "world": cast(shapes.World, world_data(summary.roster, x.world)),
        "reasons": list(x.reasons),
        "enabled": list(x.enabled),
        "changes": [
            {"kind": c.kind, "line": c.line, "other": c.other, "steps": list(c.steps), "message": str(c)}
            for c in x.changes
        ],
        "all_tried": x.all_tried,
        "other_reading": None
        if other is None
        else {
            "as_documented": other.as_documented,
            "rows": [{"machine": r.machine, "row": r.row, "reason": r.reason} for r in other.rows],
        },
    }
