"""What commands find in the text alone, as results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from fsmdsl.report.data import diagnostics
from fsmdsl.report.formats.results import Case, Finding, Kind, Results, Suite
from fsmdsl.report.frames import tally
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity


def from_check(
    all_diagnostics: Sequence[Diagnostic],
    visible: Sequence[Diagnostic],
    rules: Iterable[Rule],
    summary: str,
    kind: Kind = "check",
) -> Results:
    """A case for each rule that was looked at. JSON tells all that was found, other formats what is `visible`."""
    findings = tuple(Finding(d) for d in visible)
    by_rule: defaultdict[str, list[Finding]] = defaultdict(list)
    for f in findings:
        by_rule[f.diagnostic.rule.code].append(f)
    by_code = {rule.code: rule for rule in [*rules, *(d.rule for d in visible)]}
    cases = (_rule(rule, by_rule[code]) for code, rule in sorted(by_code.items()))
    suite = Suite("checks", tally(visible) or "clean", tuple(cases))
    return Results(kind, summary, (suite,), findings, diagnostics(all_diagnostics))


def _rule(rule: Rule, findings: Sequence[Finding]) -> Case:
    failed = bool(findings) and rule.severity > Severity.NOTE
    return Case(f"{rule.code} {rule.name}", "failed" if failed else "passed", "", tuple(findings))
