"""Annotations as GitHub's workflows read them from what a step prints: shown at the lines of a pull request."""

from __future__ import annotations

from fsmdsl.report.formats.places import path_of
from fsmdsl.report.formats.results import Finding, Results, by_group
from fsmdsl.text.diagnostics import Diagnostic, Severity
from fsmdsl.text.terminal import printable

COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github(results: Results) -> str:
    """A command for each finding (of violations, for each group), then the summary. Errors come first: GitHub shows ten
    of each kind a step."""
    worst = sorted(by_group(results.findings), key=lambda f: -f.diagnostic.severity)
    return "\n".join([*map(_annotation, worst), printable(results.summary)]) + "\n"


def _annotation(f: Finding) -> str:
    d = f.diagnostic
    attributes = {**_place(d), "title": f"{d.rule.code} {d.rule.name}"}
    properties = ",".join(f"{name}={_property(value)}" for name, value in attributes.items())
    return f"::{COMMAND[d.severity]} {properties}::{_data(_text(f))}"


def _place(d: Diagnostic) -> dict[str, str]:
    path = path_of(d.span.source)
    if not path:
        return {}
    if not d.span.source.text:
        return {"file": path}
    (line, column), (end, end_column) = (d.span.source.position(x) for x in (d.span.start, d.span.end))
    lines = {"file": path, "line": str(line), "endLine": str(end)}
    # Columns of a place with several lines would be refused.
    return lines if line != end else {**lines, "col": str(column), "endColumn": str(end_column)}


def _text(f: Finding) -> str:
    d = f.diagnostic
    help_ = [] if d.advice is None else [f"help: {d.advice}"]
    return "\n".join([d.message, *d.remarks, *help_, *(["", *f.story] if f.story else [])])


def _data(text: str) -> str:
    return "\n".join(map(printable, text.split("\n"))).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
