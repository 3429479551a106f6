"""What an exploration finds, as diagnostics at the place in the text that it is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.check.faults import fault_pages
from fsmdsl.dataclasses import replace
from fsmdsl.runs.trace import Trace
from fsmdsl.runs.verdicts.rules import (
    CIRCULAR_WAIT,
    DEADLOCK,
    FAILS,
    INVARIANT,
    PROPERTY,
    RECOVERS,
    REFINES,
    RELIES,
    STOPPED,
    STUTTERS,
    UNREACHABLE,
    VACUOUS,
)
from fsmdsl.runs.verdicts.verdict import Exploration, Verdict, outermost
from fsmdsl.runs.violation_groups import Group
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Span


def diagnostics(*explored: Exploration, others: Iterable[m.System] = ()) -> list[Diagnostic]:
    """The violations, each at the text of its property or fault, then circular waits, properties that rely on what
    nothing promises, refinements in which rows only stutter, what holds untested, and a note if not all was explored.

    An invariant of a machine is tested where any of the systems tests it, so all that were explored together belong
    into one call; of machines that `others` have too, which were not explored, nothing can be said.
    """
    violations = (_violation(x, v) for x in explored for v in x.violations)
    waits = (_circular_wait(v) for x in explored for v in x.circular_waits)
    reliances = (_reliance(v) for x in explored for v in x.reliances)
    stutterings = (_stuttering(v) for x in explored for v in x.stutterings)
    notes = [*waits, *reliances, *stutterings]
    return [*violations, *notes, *_untested(explored, others), *(d for x in explored for d in _stopped(x))]


def group_diagnostic(x: Exploration, g: Group) -> Diagnostic:
    """A group of violations as one finding: what is wrong in it, with the shortest run."""
    d = _violation(x, x.verdicts[g.first])
    if len(g.members) > 1:
        d = _titled(x, d, g, x.verdicts[g.first])
    d = member_diagnostic(x, d, g, x.verdicts[g.first])
    return replace(d, notes=(*g.places, *d.notes))


def violation_diagnostic(x: Exploration, g: Group, n: int) -> Diagnostic:
    """The violation at this place among the verdicts, as one of its group."""
    return member_diagnostic(x, _violation(x, x.verdicts[n]), g, x.verdicts[n])


def member_diagnostic(x: Exploration, d: Diagnostic, g: Group, v: Verdict) -> Diagnostic:
    """A violation as one of its group: of a full channel, the row that sends is named; of a property, the faults that
    end its run; what is wrong in the library is shown at the row of the author's that led to it."""
    d = replace(d, notes=(*g.end, *d.notes))
    if g.subject.channel is not None and len(g.members) == 1:
        d = _titled(x, d, g, v)
    if g.led_by is None:
        return d
    d = replace(d, message=f"after {g.led_by}, {d.message}", span=g.led_by.span)
    return d if g.row is None else d.label(g.row.span, f"in the library: {g.row}")


def _titled(x: Exploration, d: Diagnostic, g: Group, v: Verdict) -> Diagnostic:
    """With the title of its group as the message, and what happened to whom as a note."""
    return replace(d, message=f"in `{x.system.name}`, {g.phrase} ({v.name})", notes=(v.explanation[0], *d.notes))


def _violation(exploration: Exploration, v: Verdict) -> Diagnostic:
    diagnostic = _headline(exploration, v)
    # A fault's first line is the headline.
    for line in v.explanation[1:] if v.kind == "fault" else v.explanation:
        diagnostic = diagnostic.note(line)
    return diagnostic if v.trace is None else replace(diagnostic, run=_run(v.trace))


def _circular_wait(v: Verdict) -> Diagnostic:
    assert v.trace is not None
    headline, *lines = v.explanation
    diagnostic = CIRCULAR_WAIT.at(v.span, headline)
    for line in lines:
        diagnostic = diagnostic.note(line)
    return replace(diagnostic, run=_run(v.trace))


def _reliance(v: Verdict) -> Diagnostic:
    assert v.trace is not None
    assert v.relies is not None
    diagnostic = RELIES.at(v.span, f"{v.quote} {v.relies.headline}")
    for line in v.relies.reasons:
        diagnostic = diagnostic.note(line)
    return replace(diagnostic, run=_run(v.trace))


def _stuttering(v: Verdict) -> Diagnostic:
    diagnostic = STUTTERS.at(v.span, f"some rows never change anything in `{v.name}`")
    for line in v.explanation:
        diagnostic = diagnostic.note(line)
    return diagnostic


def _run(trace: Trace) -> str:
    """The steps of a run, in a line."""
    steps = trace.steps()
    first, rest = steps[: trace.loop], [] if trace.loop is None else steps[trace.loop :]
    parts = list(first)
    if trace.loop is not None:
        parts.append(f"forever {', '.join(rest)}" if rest else "nothing more")
    return f"run: {', then '.join(parts)}" if parts else "already so in the beginning"


def _headline(exploration: Exploration, v: Verdict) -> Diagnostic:
    system = exploration.system.name
    match v.kind:
        case "invariant":
            return INVARIANT.at(v.span, f"{v.quote} does not hold in every state of `{system}`")
        case "deadlock":
            return DEADLOCK.at(v.span, f"`{system}` can get stuck where it may not rest")
        case "fault":
            diagnostic = FAILS.at(v.span, f"in `{system}`, {v.explanation[0]} ({v.name})")
            page = fault_pages().get(v.name)
            return diagnostic if page is None else diagnostic.help(page.remedy)
        case "reachable":
            within = " within its bound" if exploration.beyond else ""
            return UNREACHABLE.at(v.span, f"no state of `{system}`{within} satisfies {v.quote}").note(v.basis)
        case "property" if v.span in _recoveries(exploration.system):
            return RECOVERS.at(v.span, f"`{system}` does not recover from every crash as {v.quote} says")
        case "property":
            return PROPERTY.at(v.span, f"{v.quote} is not true of every run of `{system}`")
        case "refinement":
            return REFINES.at(v.span, f"`{system}` does not refine `{v.name}`")


def _recoveries(system: m.System) -> list[Span]:
    return [p.span for p in system.properties if isinstance(p.formula, m.Recovers)]


def _untested(explored: Sequence[Exploration], others: Iterable[m.System]) -> Iterator[Diagnostic]:
    """What was tested in none of the systems that have it. Where steps fail, it might be tested behind them."""
    beyond = {i.machine for x in others for i in x.instances}
    verdicts_of: defaultdict[tuple[str, Span], list[tuple[str, Verdict]]] = defaultdict(list)
    unsure: set[tuple[str, Span]] = set()
    for x in explored:
        for v in x.verdicts:
            if v.kind in ("invariant", "property", "refinement") and v.machine not in beyond:
                name = f"`{v.label}`" if v.kind == "refinement" else v.quote
                verdicts_of[name, v.span].append((x.system.name, v))
                unsure |= {(name, v.span)} if x.fails else set()
    for (name, span), verdicts in verdicts_of.items():
        if (name, span) in unsure:
            continue
        never = set.intersection(*({u.span for u in v.untested} for _, v in verdicts))
        where = ", ".join(f"`{system}`" for system, _ in verdicts)
        for u in outermost(u for u in verdicts[0][1].untested if u.span in never):
            yield VACUOUS.at(u.span, f"{name} holds in {where}, but vacuously: {u.message}")


def _stopped(exploration: Exploration) -> Iterator[Diagnostic]:
    if exploration.stopped is not None and (exploration.states or not exploration.violations):
        text = f"the exploration of `{exploration.system.name}` {exploration.stopped}: the rest is unknown"
        yield STOPPED.at(exploration.system.span, text)
