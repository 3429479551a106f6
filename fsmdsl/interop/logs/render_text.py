"""An explanation, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsmdsl.interop.logs.amendments import OtherReading
from fsmdsl.interop.logs.explanation import Explanation, Failure
from fsmdsl.interop.logs.run_summary import RunSummary, Taken
from fsmdsl.report.frames import Paint, plain
from fsmdsl.runs.narrative import tree
from fsmdsl.runs.trace import world_lines

MAX_ENABLED = 12
"""Maximum number of enabled steps that a report lists."""

MAX_LINE = 160
"""Maximum length of a log line in a report, in characters."""

MAX_STEPS = 6
"""Maximum number of steps before a failure that a report shows, unless the whole run is requested."""

_ROLES = {"explained": "good", "not explained": "error", "nothing to explain": "warning", "undecided": "warning"}


def summary(x: Explanation, paint: Paint = plain) -> str:
    """A line: the verdict, the system, how many lines and steps."""
    lines, steps = f"{x.tally.matched:,} of {x.tally.lines:,} lines", _count(x.summary.count, "step")
    parts = [lines, steps + (f", {x.summary.hidden:,} of them hidden" if x.summary.hidden else "")]
    parts += [f"{_count(x.unexplained, 'line')} explained by nothing"] if x.unexplained > 1 else []
    parts += [f"{x.tally.unreadable:,} lines unreadable"] if x.tally.unreadable else []
    system = x.reading.universe.system.qualified
    return f"{paint(x.outcome, _ROLES[x.outcome])}  {system}: {'; '.join(parts)}"


def details(
    x: Explanation,
    name: str,
    paint: Paint = plain,
    *,
    whole: bool = False,
    other: OtherReading | None = None,
    reported: bool = False,
) -> Iterator[str]:
    """What follows the summary: the run, if asked for; the line that nothing explains, and what would, unless they were
    `reported` before."""
    if x.failure is None and whole:
        yield from run(x.summary, list(x.summary.steps), paint)
        yield from _names(x.summary)
    if x.failure is not None and not reported:
        yield from unexplained(x, name, paint, whole=whole, other=other)
    if x.undecided is not None:
        yield f"  {paint('undecided', 'warning')}: {x.undecided}"
    if x.outcome == "nothing to explain":
        yield "  no line of the log matches a `[[line]]` of the mapping"
    if x.tally.first_unreadable is not None:
        yield f"  {paint('note', 'quiet')}: {name}:{x.tally.first_unreadable}"


def unexplained(
    x: Explanation, name: str, paint: Paint = plain, *, whole: bool = False, other: OtherReading | None = None
) -> Iterator[str]:
    """The line that nothing explains, what led to it, and what would explain it."""
    if x.failure is not None:
        yield from _names(x.summary)
        yield from _failure(x, x.failure, name, paint, whole=whole)
        yield from _nearest(x.failure, other, paint)


def _names(run_summary: RunSummary) -> Iterator[str]:
    if run_summary.names:
        yield f"  names: {', '.join(f'{a} is {run_summary.roster.name(n)}' for a, n in run_summary.names.items())}"


def run(run_summary: RunSummary, steps: Iterable[Taken], paint: Paint = plain) -> Iterator[str]:
    """Steps with everything that they cause, each behind the lines that told of it."""
    labelled = [(", ".join(map(str, t.lines)) if t.lines else "hidden", t) for t in steps]
    wide = max((len(label) for label, _ in labelled), default=0)
    for label, t in labelled:
        first, *rest = tree(run_summary.roster, t.entry, t.before)
        padded = label.rjust(wide)
        yield f"  {paint(padded, 'quiet') if t.lines else paint(padded, 'warning')}  {first}"
        yield from (f"  {'':{wide}}  {line}" for line in rest)


def coverage(x: Explanation) -> Iterator[str]:
    """A line for each row of the machines in the system: how often it was followed."""
    rows = list(covered(x.summary))
    width = max((len(f"{n:,}") for n, *_ in rows), default=1)
    for n, machine, row, arrow in rows:
        yield f"  {n:>{width},}  {machine}  {row}  {arrow}"


def covered(run_summary: RunSummary) -> Iterator[tuple[int, str, str, str]]:
    """How often, machine, row, `A → B`: for each row of the system's machines, in the order of the text."""
    for machine in dict.fromkeys(run_summary.roster.machines):
        for t in machine.transitions:
            arrow = f"in {t.source}" if t.target is None else f"{t.source} → {t.target}"
            yield run_summary.rows[machine.qualified, t.index], machine.name, t.name, arrow


# A line that nothing explains ----------------------------------------------------------------------------------------


def _failure(x: Explanation, failure: Failure, name: str, paint: Paint, *, whole: bool) -> Iterator[str]:
    text = failure.record.text
    yield f"  {paint(f'{name}:{failure.record.line}', 'place')}: {text[:MAX_LINE]}{'…' * (len(text) > MAX_LINE)}"
    yield f"  the line says: {failure.record.claim}"
    steps = list(x.summary.steps)
    last_steps = steps if whole else steps[-MAX_STEPS:]
    if last_steps:
        left_out = x.summary.count - len(last_steps)
        yield f"  before it, {_count(x.summary.count, 'step')}{f', the last {len(last_steps)}' if left_out else ''}:"
        yield from (f"  {line}" for line in run(x.summary, last_steps, paint))
    worlds = f", in the likeliest of {failure.worlds:,} possible worlds" if failure.worlds > 1 else ""
    yield f"  at this point{worlds}:"
    yield from (f"    {line}" for line in world_lines(x.summary.roster, failure.world))
    yield from (f"  {paint('because', 'strong')}: {why}" for why in failure.reasons)
    enabled = ", ".join(failure.enabled[:MAX_ENABLED]) or "nothing"
    more = len(failure.enabled) - MAX_ENABLED
    yield f"  {paint('possible here', 'strong')}: {enabled}{f', and {more} more' if more > 0 else ''}"


def _nearest(failure: Failure, other: OtherReading | None, paint: Paint) -> Iterator[str]:
    word = paint("nearest", "strong")
    if other is not None:
        which = "as documented, without its amendments," if other.as_documented else "with its amendments,"
        yield f"  {word}: {which} the spec explains this line"
        yield from (f"    {row}" for row in other.rows)
    yield from (f"  {word}: {change}" for change in failure.changes)
    if not failure.all_tried:
        yield f"  {word}: not every change of the log was tried, because that would take too long"
    elif other is None and not failure.changes:
        yield f"  {word}: no single change of the log explains this line"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"
