"""What is wrong, where, why, and what to do: diagnostics are values, rendered elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.text.source import Span


class Severity(IntEnum):
    """How bad a finding is; only errors and warnings make a command exit with 1."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Label:
    """A further place that explains a finding."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the text that would settle the finding."""

    span: Span
    replacement: str
    title: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of finding, declared once beside the code that finds it.

    `explanation` is Markdown: what the rule looks for, why it matters, an example that breaks it in a fenced `fsm`
    block, and what to write instead. The rule's page and `fsm explain` are made from it.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    explanation: str = field(repr=False)

    def at(self, span: Span, message: str, *, fix: Fix | None = None) -> Diagnostic:
        """A finding of this rule."""
        return Diagnostic(self, message, span, fix=fix)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. The message stands alone; labels, notes and help add to it."""

    rule: Rule
    message: str
    span: Span
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    advice: str | None = None
    fix: Fix | None = None
    run: str | None = None
    """The steps of a run that shows it, in a line."""

    @property
    def severity(self) -> Severity:
        return self.rule.severity

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and the run."""
        return self.notes if self.run is None else (*self.notes, self.run)

    def label(self, span: Span, text: str) -> Diagnostic:
        """The same finding with one more place."""
        return replace(self, labels=(*self.labels, Label(span, text)))

    def note(self, text: str) -> Diagnostic:
        """The same finding with one more remark."""
        return replace(self, notes=(*self.notes, text))

    def help(self, text: str) -> Diagnostic:
        """The same finding with advice on what to write instead."""
        return replace(self, advice=text)

    def instead(self, text: str, span: Span | None = None) -> Diagnostic:
        """The same finding with the text to write in its place, or in another: as advice, and as a quick fix."""
        fix = Fix(self.span if span is None else span, text, f"write `{text}`")
        return replace(self, advice=fix.title, fix=fix)


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """Advice that names the closest candidate, if one is close."""
    nearest = closest(name, candidates)
    return None if nearest is None else f"did you mean `{nearest}`?"


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a misspelt name was probably meant to be."""
    from difflib import get_close_matches

    folded = {c.casefold(): c for c in sorted(set(candidates))}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Findings without repeats, by file, then place, then code."""
    return sorted(dict.fromkeys(diagnostics), key=lambda d: (d.span.source.name, d.span.start, d.rule.code, d.message))
