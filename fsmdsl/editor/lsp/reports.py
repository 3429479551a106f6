"""Findings as the protocol has them."""

from __future__ import annotations

from typing import Protocol

from lsprotocol import types as t

from fsmdsl.editor.editing.findings import Mark
from fsmdsl.editor.lsp.positions import Lines
from fsmdsl.text.diagnostics import Diagnostic, Severity


class Texts(Protocol):
    """Documents, by path."""

    def uri(self, path: str, /) -> str:
        """How the editor calls it."""
        ...

    def lines(self, path: str, /) -> Lines:
        """Its lines, as the editor counts them."""
        ...


SEVERITIES = {
    Severity.ERROR: t.DiagnosticSeverity.Error,
    Severity.WARNING: t.DiagnosticSeverity.Warning,
    Severity.NOTE: t.DiagnosticSeverity.Hint,
}

GREYED = frozenset({"FSM201", "FSM211", "FSM212", "FSM213", "FSM214", "FSM217", "FSM223", "FSM224"})
"""Rules about what could as well not be there: states that cannot be entered, rows that are never followed, what is
unused."""


def of_diagnostic(texts: Texts, d: Diagnostic) -> t.Diagnostic:
    """A finding of the parser, of `resolve` or of `checks`; what spans several lines is marked on its first."""
    path = d.span.source.name
    related = [
        t.DiagnosticRelatedInformation(
            t.Location(
                texts.uri(x.span.source.name),
                texts.lines(x.span.source.name).range(x.span.start, x.span.end),
            ),
            x.text,
        )
        for x in d.labels
    ]
    return t.Diagnostic(
        texts.lines(path).first_line(d.span.start, d.span.end) if d.rule.code not in GREYED else _whole(texts, d),
        full_message(d.message, d.remarks, d.advice),
        SEVERITIES[d.severity],
        d.rule.code,
        source="fsm",
        tags=[t.DiagnosticTag.Unnecessary] if d.rule.code in GREYED else None,
        related_information=related or None,
    )


def _whole(texts: Texts, d: Diagnostic) -> t.Range:
    return texts.lines(d.span.source.name).range(d.span.start, d.span.end)


def full_message(message: str, notes: tuple[str, ...], advice: str | None) -> str:
    """All of a finding in some lines."""
    return "\n".join([message, *notes, *(() if advice is None else (f"help: {advice}",))])


def of_mark(texts: Texts, mark: Mark) -> t.Diagnostic:
    """A finding of an exploration."""
    return t.Diagnostic(
        texts.lines(mark.path).first_line(mark.start, mark.end),
        full_message(mark.message, mark.remarks, None),
        SEVERITIES[mark.severity],
        mark.code,
        source="fsm verify",
    )
