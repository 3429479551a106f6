"""What a command has found, told in the same way whatever it did: what every format is made from."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Listed
from typing import TYPE_CHECKING, Literal

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.text.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:  # most commands neither explore nor draw
    from fsmdsl.draw.sequence import Sequence
    from fsmdsl.report.repairs import Table
    from fsmdsl.search import Trace

Kind = Literal["check", "verify", "test", "report", "diagnostics", "drift"]
"""Which command it was; `diagnostics`: one that needs a model, and the specs have errors."""

Outcome = Literal["passed", "failed", "undecided", "left out"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic, and the run that shows it, where there is one."""

    diagnostic: Diagnostic
    trace: Trace | None = None
    story: tuple[str, ...] = ()
    """The run in lines."""
    chart: Sequence | None = None
    scope: str = ""
    """The system or scenario that it was found in."""
    cause: str = ""
    """What goes wrong first on the run. See `runs.causes`."""
    group: str = ""
    """Of a violation: what is wrong in its group, the same for all members. See `runs.violation_groups`."""
    of_group: Diagnostic | None = None
    """Of the first of a group: the finding that stands for all of them. None: it is another member, or no violation."""
    subject: str = ""
    """Of the first of a group of failing steps: what fails, the same however many of them there are."""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that was asked: a rule, a scenario, a verdict on a system. `undecided` is never a success."""

    name: str
    outcome: Outcome
    message: str = ""
    """Why it is undecided or was left out."""
    findings: tuple[Finding, ...] = ()
    title: str = ""
    """What the author says of it, beside its name."""


@dataclass(frozen=True, slots=True)
class Suite:
    """What was asked together: of a system, of the scenarios of a module, of all the text."""

    name: str
    summary: str
    """The outcome and the evidence for it, in a line."""
    cases: tuple[Case, ...]
    seconds: float | None = None

    @property
    def outcome(self) -> Outcome:
        """The worst of its cases."""
        outcomes = {case.outcome for case in self.cases}
        return "failed" if "failed" in outcomes else "undecided" if "undecided" in outcomes else "passed"


@dataclass(frozen=True, slots=True)
class Results:
    """All of it. `findings` are in the order of the text, those of an exploration in its own."""

    kind: Kind
    summary: str
    """A line, without colours."""
    suites: tuple[Suite, ...]
    findings: tuple[Finding, ...]
    content: Mapping[str, object] = field(repr=False)
    """What the JSON document says."""
    never_followed: tuple[Finding, ...] = ()
    """Rows that no run follows, for formats that show findings at their places; others count them in the suites."""
    repairs: tuple[Table, ...] = ()
    """With `--each-amendment`: the verdicts with each repair alone."""

    @property
    def outcome(self) -> Outcome:
        """The worst of its suites; warnings and errors that no case is about count as well."""
        outcomes = {suite.outcome for suite in self.suites}
        if "failed" in outcomes or (self.kind in ("check", "diagnostics", "drift") and serious(self.findings)):
            return "failed"
        return "undecided" if "undecided" in outcomes else "passed"


def by_group(findings: Listed[Finding]) -> list[Finding]:
    """The findings with one for each group of violations, for formats in which people read them."""
    first = (f for f in findings if not f.group or f.of_group is not None)
    return [f if f.of_group is None else replace(f, diagnostic=f.of_group) for f in first]


def serious(findings: Listed[Finding]) -> bool:
    """Is there an error or a warning in it?"""
    return any(f.diagnostic.severity > Severity.NOTE for f in findings)
