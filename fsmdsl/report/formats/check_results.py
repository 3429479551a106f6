"""What commands find in the text alone, as results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

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


def with_errors(results: Results, errors: Sequence[Diagnostic], left_out: Mapping[str, str]) -> Results:
    """The results of the sound files, and the errors of those that were left out, with a case for each file."""
    findings = tuple(map(Finding, errors))
    by_file: defaultdict[str, list[Finding]] = defaultdict(list)
    for f in findings:
        by_file[f.diagnostic.span.source.name].append(f)
    cases = tuple(
        Case(name, "failed", "", tuple(by_file[name])) if name in by_file else Case(name, "undecided", left_out[name])
        for name in sorted({*by_file, *left_out})
    )
    summary = f"{tally(errors)} in files that were left out"
    everything = (*findings, *results.findings)
    content = {**results.content, **diagnostics([f.diagnostic for f in everything])}
    suites = (Suite("files", summary, cases), *results.suites)
    return Results(results.kind, f"{results.summary}; {summary}", suites, everything, content, results.never_followed)


def _rule(rule: Rule, findings: Sequence[Finding]) -> Case:
    failed = bool(findings) and rule.severity > Severity.NOTE
    return Case(f"{rule.code} {rule.name}", "failed" if failed else "passed", "", tuple(findings))
