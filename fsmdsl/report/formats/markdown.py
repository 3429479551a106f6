"""A summary for a pull request: the verdict, a table, and each finding with its run folded away.

What a spec says stands there as text: it begins no table cell, tag, mention or link. GitHub takes comments of 65,536
letters; what does not fit is named without its run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fsmdsl.draw.sequence import as_mermaid
from fsmdsl.report.formats.places import path_of
from fsmdsl.report.formats.results import Finding, Outcome, Results, Suite, by_group
from fsmdsl.text.diagnostics import Severity
from fsmdsl.text.source import NOWHERE, Span
from fsmdsl.text.terminal import printable, printable_text

if TYPE_CHECKING:
    from fsmdsl.report.repairs import Table

MAX_FINDINGS = 20
"""Findings that are shown; of the others, how many there are."""
ROOM = 40_000
"""Letters after which runs are left out."""
FEW = 3
"""Notes that are not folded away."""
MAX_CASES = 3
"""Maximum number of cases that a row of the table names."""
DRAWN = 40
"""Items of a sequence diagram: what has more is shown as text alone."""

WORDS: dict[Outcome, str] = {
    "passed": "✓ passed",
    "failed": "✗ failed",
    "undecided": "? undecided",
    "left out": "– left out",
}


def markdown(results: Results) -> str:
    """GitHub's Markdown."""
    something = results.findings or any(suite.cases for suite in results.suites)
    head = [
        f"### {WORDS[results.outcome if something else 'left out'][0]} fsm {results.kind}: {text(results.summary)}",
        "",
    ]
    repairs = (line for table in results.repairs for line in _repairs(table))
    return (
        "\n".join([*head, *_table(results.suites), *repairs, *_findings(by_group(results.findings))]).rstrip("\n")
        + "\n"
    )


def _table(suites: Iterable[Suite]) -> Iterator[str]:
    nonempty = [suite for suite in suites if suite.cases]
    if not nonempty:
        return
    yield "| | | |"
    yield "| --- | --- | --- |"
    for suite in nonempty:
        parts = [cell(suite.summary), *(_case_names(suite, x) for x in ("failed", "undecided"))]
        yield f"| {WORDS[suite.outcome]} | {cell(suite.name)} | {'; '.join(x for x in parts if x)} |"
    yield ""


def _case_names(suite: Suite, outcome: Outcome) -> str:
    """The cases of an outcome: `failed: a, b`."""
    names = [case.name for case in suite.cases if case.outcome == outcome]
    if not names:
        return ""
    more = f" and {len(names) - MAX_CASES} more" if len(names) > MAX_CASES else ""
    return f"{outcome}: {', '.join(map(cell, names[:MAX_CASES]))}{more}"


def _repairs(table: Table) -> Iterator[str]:
    """A row for each repair, a column for each question on whose answer repairs have an influence."""
    from fsmdsl.report.repairs import notes

    yield f"**{text(table.system)}**"
    yield ""
    columns = table.contested
    if columns:
        yield f"| | {' | '.join(cell(q.name) for q, _ in columns)} |"
        yield f"| --- |{' --- |' * len(columns)}"
        for n, trial in enumerate(table.trials):
            yield f"| {cell(trial.label)} | {' | '.join(cell(table.cells(column)[n].text) for column in columns)} |"
        yield ""
    yield from (f"- {text(note)}" for note in notes(table))
    yield ""


def _findings(findings: Iterable[Finding]) -> Iterator[str]:
    worst = sorted(findings, key=lambda f: -f.diagnostic.severity)
    room = ROOM
    for f in worst[:MAX_FINDINGS]:
        block = "\n".join(_finding(f, runs=room > 0))
        room -= len(block)
        yield block
    if len(worst) > MAX_FINDINGS:
        yield f"… and {len(worst) - MAX_FINDINGS} more.\n"


def _finding(f: Finding, *, runs: bool) -> Iterator[str]:
    d = f.diagnostic
    mark = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.NOTE: "i"}[d.severity]
    yield f"{mark} **{d.rule.code}** {text(d.message)}{_where(d.span)}"
    yield ""
    more = [f"- {text(note)}" for note in (d.notes if f.story else d.remarks)]
    more += [f"- help: {text(d.advice)}"] if d.advice is not None else []
    if len(more) > FEW:
        yield from [f"<details><summary>{len(more)} notes</summary>", "", *more, "", "</details>", ""]
    elif more:
        yield from [*more, ""]
    if runs and f.story:
        yield from ["<details><summary>The run</summary>", "", fenced("\n".join(f.story), "text"), ""]
        if f.chart is not None and len(f.chart.items) <= DRAWN:
            yield from [fenced(as_mermaid(f.chart).rstrip("\n"), "mermaid"), ""]
        yield from ["</details>", ""]


def _where(span: Span) -> str:
    if span.source is NOWHERE.source:
        return ""
    place = path_of(span.source)
    return f" ({code(f'{place}:{span.source.position(span.start)[0]}' if span.source.text else place)})"


# Text as it is -------------------------------------------------------------------------------------------------------


def text(line: str) -> str:
    """One line in which what stands between backticks is code, and nothing else means anything to Markdown."""
    parts = printable(" ".join(line.split())).split("`")
    if len(parts) % 2 == 0:
        return "".join(_escaped("`".join(parts)))
    return "".join(code(part) if n % 2 else _escaped(part) for n, part in enumerate(parts))


def _escaped(text: str) -> str:
    """Signs of Markdown with a backslash before them; a comment keeps `@name` and `#1` from becoming links."""
    marked = re.sub(r"([\\`*_{}\[\]<>|~!])", r"\\\1", text.replace("&", "&amp;"))
    marked = re.sub(r"([@#])(?=\w)|(?<=\w)(:)(?=//)|(?<=www)(\.)", lambda match: f"{match[0]}<!-- -->", marked)
    return re.sub(r"^(\d+)([.)])|^([-+#=])", lambda x: f"{x[1]}\\{x[2]}" if x[1] else f"\\{x[3]}", marked)


def cell(line: str) -> str:
    """The same in a table, where a bar ends a cell even in code."""
    return re.sub(r"(?<!\\)\|", r"\\|", text(line))


def code(source: str) -> str:
    """Code in a line."""
    source = printable(source)
    if not source:
        return ""
    ticks = "`" * (max(map(len, re.findall("`+", source)), default=0) + 1)
    pad = " " if source[0] in "` " or source[-1] in "` " else ""
    return f"{ticks}{pad}{source}{pad}{ticks}"


def fenced(content: str, language: str) -> str:
    """A block of code that nothing inside can end."""
    fence = "`" * max(3, max(map(len, re.findall("`+", content)), default=0) + 1)
    return f"{fence}{language}\n{printable_text(content)}\n{fence}"
