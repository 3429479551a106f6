"""What the commands find that explore or play scenarios, as results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.report import shapes
from fsmdsl.report.data import diagnostics
from fsmdsl.report.exploration import explored, explored_part, never_followed_summary, played
from fsmdsl.report.formats.check_results import from_check
from fsmdsl.report.formats.results import Case, Finding, Outcome, Results, Suite
from fsmdsl.runs.causes import causes
from fsmdsl.runs.narrative import story
from fsmdsl.runs.rows import rows_of
from fsmdsl.runs.verdicts.diagnose import group_diagnostic, member_diagnostic
from fsmdsl.runs.verdicts.rules import NEVER_FOLLOWED
from fsmdsl.runs.verdicts.verdict import share_beyond
from fsmdsl.runs.violation_groups import Group, violation_groups
from fsmdsl.search import Exploration, Played, Verdict
from fsmdsl.search import diagnostics as violations
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

_OUTCOMES: dict[str, Outcome] = {
    "holds": "passed",
    "unknown": "undecided",
    "not checked": "undecided",
}


# Explorations --------------------------------------------------------------------------------------------------------


NOTHING_EXPLORED = Suite(
    "systems", "no system to explore", (Case("a system to explore", "undecided", "nothing was verified"),)
)
"""What stands for the systems where there are none: that is no success."""


def from_verify(
    done: Sequence[Exploration], model: m.Model, all_diagnostics: Sequence[Diagnostic], extra: Mapping[str, object]
) -> Results:
    """A case for each group of violations, and for each other verdict. `all_diagnostics` begins with the violations, in
    the order of the explorations, circular waits, and properties that rely on what nothing promises."""
    of_violation = iter(all_diagnostics)
    by_system = [_violations(x, model, [d for _, d in zip(x.violations, of_violation, strict=False)]) for x in done]
    notes = [(x, v) for x in done for v in x.circular_waits] + [(x, v) for x in done for v in x.reliances]
    notes += [(x, v) for x in done for v in x.stutterings]
    with_runs = [f for groups in by_system for _, findings in groups for f in findings]
    with_runs += [_with_run(x, v, d) for (x, v), d in zip(notes, of_violation, strict=False)]
    suites = tuple(_system(x, model, groups) for x, groups in zip(done, by_system, strict=True)) or (NOTHING_EXPLORED,)
    findings = (*with_runs, *map(Finding, of_violation))
    content: shapes.Verify = {
        "systems": [explored(x, model) for x in done],
        "systems_left_out": [_left_out(home, y) for home in model.modules for y in home.systems_left_out],
        "alternatives": [alternative(home, y) for home in model.modules for y in home.alternatives],
        "repairs": [],
        **diagnostics([f.diagnostic for f in findings]),
    }
    rows = tuple(_never_followed(done, model))
    return Results("verify", _verify_summary(suites), suites, findings, {**content, **extra}, rows)


def _never_followed(done: Sequence[Exploration], model: m.Model) -> Iterator[Finding]:
    """The user's rows that no system follows which has the machine, where all of them were explored to the end."""
    names = {x.system.qualified for x in done if x.complete}
    others = {i.machine for x in model.systems.values() if x.qualified not in names for i in x.instances}
    systems_of = Counter(machine for x in done for machine in {i.machine for i in x.system.instances})
    counts = Counter(key for x in done for key in x.coverage.unfollowed)
    unfollowed = [key for key, n in counts.items() if n == systems_of[key[0]] and key[0] not in others]
    for row in (x for x in rows_of(unfollowed, model) if not x.is_shipped):
        yield Finding(NEVER_FOLLOWED.at(row.span, f"no run follows `{row.name}` of `{row.machine.name}`"))


def _violations(
    x: Exploration, model: m.Model, of_violation: Sequence[Diagnostic]
) -> list[tuple[Group, list[Finding]]]:
    """The violations by group, each with its diagnostic."""
    cause_of = causes(x, model)
    places = [n for n, v in enumerate(x.verdicts) if v.outcome == "violated"]
    diagnostic_of = dict(zip(places, of_violation, strict=False))
    groups: list[tuple[Group, list[Finding]]] = []
    for g in violation_groups(x, model):
        findings = []
        for n in (member.verdict for member in g.members if member.verdict in diagnostic_of):
            cause = cause_of[n].name if n in cause_of else ""
            d = member_diagnostic(x, diagnostic_of[n], g, x.verdicts[n])
            f = _with_run(x, x.verdicts[n], d, cause, g.heading)
            if n == g.first:
                f = replace(f, of_group=group_diagnostic(x, g), subject=_subject(x, g))
            findings.append(f)
        groups.append((g, findings))
    return groups


def _subject(x: Exploration, g: Group) -> str:
    """What fails in a group of failing steps, whatever the states, and however many of them there are."""
    s = g.subject
    if s.kind != "fault":
        return ""
    parts = (s.fault, s.machine, s.event, s.action, s.field, s.of, s.channel)
    rows = (f"{row.machine} {row.name}" for row in s.rows)
    return "\0".join([x.system.qualified, *(part or "" for part in parts), *rows])


def _system(x: Exploration, model: m.Model, groups: Sequence[tuple[Group, list[Finding]]]) -> Suite:
    """A case for each group of violations, and for each verdict that is none."""
    cases = [Case(_name(x.verdicts[g.first], g), "failed", _basis(x, g), tuple(f)) for g, f in groups]
    cases += [_verdict(v) for v in x.verdicts if v.outcome != "violated"]
    size = f"{x.states:,} state{'s' * (x.states != 1)}{share_beyond(x.beyond)}, {x.extent}"
    parts = [
        size,
        never_followed_summary(x, model),
        f"explored {explored_part(x)}" if groups and not x.complete else "",
    ]
    return Suite(x.system.qualified, "; ".join(filter(None, parts)), tuple(cases), x.seconds)


def _basis(x: Exploration, g: Group) -> str:
    return x.verdicts[g.first].basis


def _name(v: Verdict, g: Group | None = None) -> str:
    """Of one name, whatever the answer: results are compared from run to run. A fault has no name of its own."""
    if v.kind == "fault" and g is not None:
        return g.title
    return v.name if v.kind == "deadlock" else v.label


def _verdict(v: Verdict) -> Case:
    return Case(_name(v), _OUTCOMES[v.outcome], v.basis)


def _with_run(x: Exploration, v: Verdict, d: Diagnostic, cause: str = "", group: str = "") -> Finding:
    """With its run, told and drawn."""
    scope = x.system.qualified
    if v.trace is None or not (v.trace.entries or v.trace.loop is not None):
        return Finding(d, v.trace, scope=scope, cause=cause, group=group)
    from fsmdsl.report.chart import violation  # where nothing is violated, nothing is drawn

    lines = (*story(v.trace), *v.reasons)
    return Finding(d, v.trace, lines, violation(f"{scope}: {v.label}", v), scope, cause, group)


def _verify_summary(suites: Sequence[Suite]) -> str:
    if suites == (NOTHING_EXPLORED,):
        return NOTHING_EXPLORED.summary
    counts = ((sum(s.outcome == o for s in suites), w) for o, w in (("failed", "violated"), ("undecided", "undecided")))
    bad = ", ".join(f"{n} {word}" for n, word in counts if n)
    return f"{len(suites)} system{'s' * (len(suites) != 1)}: {bad or 'all hold'}"


# Scenarios -----------------------------------------------------------------------------------------------------------


def from_test(
    model: m.Model, done: Sequence[Played], unplayed: Sequence[m.Scenario], why: str, summary: str
) -> Results:
    """A case for each scenario, by module. `unplayed`: scenarios that a limit came before; `why` names the limit."""
    findings = {x.scenario.qualified: _failure(x, x.failure) for x in done if x.failure is not None}
    undecided = {x.qualified: Case(x.name, "undecided", why, (), x.title) for x in unplayed}
    suites = [_module(x, done, findings, undecided) for x in model.modules if x.scenarios or x.left_out]
    content: shapes.Test = {
        "passed": len(done) - len(findings),
        "failed": len(findings),
        "undecided": [x.qualified for x in unplayed],
        "scenarios": [played(x) for x in done],
        "left_out": [_left_out(home, y) for home in model.modules for y in home.left_out],
        **diagnostics([f.diagnostic for f in findings.values()]),
    }
    return Results("test", summary, tuple(suites), tuple(findings.values()), content)


def alternative(home: m.Module, x: m.Alternative) -> shapes.Alternative:
    """A repair that does not apply, in JSON."""
    return {
        "name": x.name, "reason": x.reason, "module": home.name, "machine": x.machine, "row": x.row,
        "instead": x.instead,
    }  # fmt: skip


def _left_out(home: m.Module, x: m.LeftOut) -> shapes.LeftOut:
    return {"name": x.name, "module": home.name, "title": x.title, "why": x.why}


def _module(x: m.Module, done: Sequence[Played], failed: dict[str, Finding], undecided: dict[str, Case]) -> Suite:
    mine = (y.scenario for y in done if y.scenario.module == x.name)
    cases = [_scenario(y, failed.get(y.qualified)) for y in mine]
    cases += [undecided[y.qualified] for y in x.scenarios if y.qualified in undecided]
    cases += [Case(y.name, "left out", y.why, (), y.title) for y in x.left_out]
    return Suite(x.name, f"{len(cases)} scenario{'s' * (len(cases) != 1)}", tuple(cases))


def _scenario(x: m.Scenario, failure: Finding | None) -> Case:
    return Case(x.name, "passed" if failure is None else "failed", "", (failure,) if failure else (), x.title)


def _failure(x: Played, d: Diagnostic) -> Finding:
    if not x.trace.entries:
        return Finding(d, x.trace, scope=x.scenario.qualified)
    from fsmdsl.report.chart import chart

    drawn = chart(f"{x.scenario.qualified}: {x.scenario.title}", x.trace, d.message)
    return Finding(d, x.trace, tuple(story(x.trace)), drawn, x.scenario.qualified)


# All of it -----------------------------------------------------------------------------------------------------------


def from_report(
    model: m.Model,
    all_diagnostics: Sequence[Diagnostic],
    explored: Sequence[Exploration],
    played: Sequence[Played],
    unplayed: Sequence[m.Scenario],
    why: str,
    summary: str,
    rules: Iterable[Rule],
    extra: Mapping[str, object],
) -> Results:
    """What `check`, `verify` and `test` find, together. `all_diagnostics` are the diagnostics that a page shows;
    `unplayed` and `why` as for `from_test`."""
    visible = [d for d in all_diagnostics if d.severity > Severity.NOTE]
    parts = (
        from_check(all_diagnostics, visible, rules, summary),
        from_verify(explored, model, violations(*explored), {}),
        from_test(model, played, unplayed, why, summary),
    )
    suites = tuple(suite for part in parts for suite in part.suites if suite is not NOTHING_EXPLORED)
    findings = tuple(f for part in parts for f in part.findings)
    content = {**parts[2].content, **parts[1].content, **diagnostics([f.diagnostic for f in findings]), **extra}
    return Results("report", summary, suites, findings, content, parts[1].never_followed)
