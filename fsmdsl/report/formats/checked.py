"""What commands find in the text alone, as results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from fsmdsl.report.data import diagnostics
from fsmdsl.report.formats.results import Case, Finding, Kind, Results, Suite
from fsmdsl.report.frames import tally
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity


def from_check(
    found: Sequence[Diagnostic], shown: Sequence[Diagnostic], rules: Iterable[Rule], told: str, kind: Kind = "check"
) -> Results:
    """A case for each rule that was looked at. JSON tells all that was found, other formats what is `shown`."""
    findings = tuple(Finding(d) for d in shown)
    by_rule: defaultdict[str, list[Finding]] = defaultdict(list)
    for f in findings:
        by_rule[f.diagnostic.rule.code].append(f)
    listed = {rule.code: rule for rule in [*rules, *(d.rule for d in shown)]}
    cases = (_rule(rule, by_rule[code]) for code, rule in sorted(listed.items()))
    suite = Suite("checks", tally(shown) or "clean", tuple(cases))
    return Results(kind, told, (suite,), findings, diagnostics(found))


def _rule(rule: Rule, found: Sequence[Finding]) -> Case:
    failed = bool(found) and rule.severity > Severity.NOTE
    return Case(f"{rule.code} {rule.name}", "failed" if failed else "passed", "", tuple(found))
