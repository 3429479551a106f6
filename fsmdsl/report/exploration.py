"""Explorations and played scenarios, as text and as plain data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, cast

from fsmdsl import model as m
from fsmdsl.report.data import Data, place
from fsmdsl.report.frames import Paint, plain
from fsmdsl.report.violations import Previous, Style, violation_lines
from fsmdsl.runs.causes import Cause, causes
from fsmdsl.runs.rows import SourceRow, rows_of
from fsmdsl.runs.trace import world_data
from fsmdsl.runs.verdicts.rules import RELIES, STUTTERS
from fsmdsl.runs.verdicts.verdict import SOME_FAIL, Images, share_beyond
from fsmdsl.runs.violation_groups import Group, Row, violation_groups
from fsmdsl.search import Exploration, Played, Trace, Verdict
from fsmdsl.search import data as trace_data
from fsmdsl.search import lines as trace_lines

if TYPE_CHECKING:
    from fsmdsl.report import shapes

_PLAIN = Style()

MAX_ROWS = 4
"""Maximum number of rows that a line names."""

_ROLES = {"holds": "good", "violated": "error", "unknown": "warning", "not checked": "quiet"}


def verdict(x: Exploration) -> Literal["holds", "violated", "bounded"]:
    """The one word: `violated`, else `bounded` where a limit came first or something could not be checked, else
    `holds`."""
    if x.violations:
        return "violated"
    return "holds" if x.complete and all(v.outcome == "holds" for v in x.verdicts) else "bounded"


def summary(x: Exploration, paint: Paint = plain) -> str:
    """A line for a system."""
    word = verdict(x)
    role = {"holds": "good", "violated": "error", "bounded": "warning"}[word]
    states = f"{x.states:,} state{'s' * (x.states != 1)}{share_beyond(x.beyond)}"
    transitions = f"{x.transitions:,} transition{'s' * (x.transitions != 1)}"
    size = f"{states}, {transitions}, depth {x.depth}, {x.seconds:.2f} s"
    unchecked = sum(v.outcome == "not checked" for v in x.verdicts)
    joint = "and" if x.complete and x.fails else "but"
    basis = x.extent + (f", {joint} {unchecked} not checked" if unchecked and x.states else "")
    return f"{paint(word.ljust(8), role)}  {x.system.qualified}: {size} ({basis})"


def details(
    x: Exploration,
    model: m.Model,
    paint: Paint = plain,
    style: Style = _PLAIN,
    previous: Previous | None = None,
) -> Iterator[str]:
    """What is violated, by group, with the first runs; then what is undecided, and how far the exploration went.

    `previous`: the violations that were shown for other systems, by cause; what is shown now is added.
    """
    yield from violation_lines(x, model, paint, style, previous)
    unknown: defaultdict[str, list[str]] = defaultdict(list)
    for v in (v for v in x.verdicts if v.outcome != "violated"):
        if v.outcome == "unknown" and not style.every:
            unknown[v.basis].append(v.label)
        elif style.every or v.outcome != "holds":
            yield from _verdict_lines(v, paint, style)
    for v in () if style.every else x.circular_waits:
        yield from _circular_wait(v, paint, style)
    if not style.every:
        yield from _reliances(x, paint)
        yield from _unexamined(x, paint)
        for v in x.stutterings:
            page = f"see `fsm explain {STUTTERS.code}`"
            yield f"  {paint('note', 'quiet')}: {v.label}: {_stuttering(v, model)} ({page})"
    for basis, names in unknown.items():
        yield f"  {paint('unknown', _ROLES['unknown'])}: {', '.join(names)} ({basis})"
    yield from _within_bound(x, paint)
    if x.at_violation:
        yield f"  {paint('note', 'quiet')}: explored {explored_part(x)} (`fsm verify --all` continues)"
    if x.note is not None:
        yield f"  {paint('note', 'quiet')}: {x.note}"


def explored_part(x: Exploration) -> str:
    """What was explored, and after a search that was cut short, which violations may be missing."""
    if x.complete:
        reached = "every state within the bound" if x.beyond else "every reachable state"
        return f"{reached}{SOME_FAIL}" if x.fails else reached
    if x.at_violation:
        return f"every run of up to {max(x.depth - 1, 0)} steps; violations that need longer runs may be missing"
    return f"{x.states:,} states; violations in other states may be missing"


def _circular_wait(v: Verdict, paint: Paint, style: Style) -> Iterator[str]:
    """A note, with the run to where instances wait for each other."""
    assert v.trace is not None
    headline, *lines = v.explanation
    yield f"  {paint('note', 'quiet')}: {headline} ({v.trace.length})"
    yield from (f"    {line}" for line in style.run(v.trace))
    yield from (f"    {line}" for line in lines)


def _reliances(x: Exploration, paint: Paint) -> Iterator[str]:
    """A note for the properties that rely on the same steps, and how their runs are shown."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for v in x.reliances:
        if v.relies is not None:
            names[v.relies.headline].append(v.label)
    for headline, labels in names.items():
        ways = f"`fsm verify --stutter` shows the run; see `fsm explain {RELIES.code}`"
        yield f"  {paint('note', 'quiet')}: {', '.join(labels)} {headline} ({ways})"


def _unexamined(x: Exploration, paint: Paint) -> Iterator[str]:
    """A note for the properties of which it is not known what they rely on, for each reason."""
    labels_of: defaultdict[str, list[str]] = defaultdict(list)
    for v in x.verdicts:
        if v.unexamined:
            labels_of[v.unexamined].append(v.label)
    for why, labels in labels_of.items():
        what = f"not examined whether {', '.join(labels)} {'relies' if len(labels) == 1 else 'rely'} on steps"
        ways = f"{why}; `fsm verify --stutter` decides it"
        yield f"  {paint('note', 'quiet')}: {what} that no fairness assumption guarantees ({ways})"


def _within_bound(x: Exploration, paint: Paint) -> Iterator[str]:
    """A note for the properties of runs that hold, for a run that leaves the bound may still violate them."""
    labels = [v.label for v in x.verdicts if v.kind == "property" and v.outcome == "holds"]
    if x.beyond and labels:
        hold = "holds" if len(labels) == 1 else "hold"
        ways = "what they do beyond it is unknown; see `fsm explain bound`"
        yield f"  {paint('note', 'quiet')}: {', '.join(labels)} {hold} as far as runs stay within the bound ({ways})"


def _stuttering(v: Verdict, model: m.Model) -> str:
    """Which rows only stutter: the first few."""
    rows = rows_of(v.stutters, model)
    names = ", ".join(row.placed for row in rows[:MAX_ROWS])
    more = f" and {len(rows) - MAX_ROWS} more" if len(rows) > MAX_ROWS else ""
    return f"{_count(len(rows))} only ever stutter{'s' * (len(rows) == 1)}: {names}{more}"


def _verdict_lines(v: Verdict, paint: Paint, style: Style) -> Iterator[str]:
    """What is not violated; with a witness, a line for each step."""
    yield f"  {paint(v.outcome, _ROLES[v.outcome])}: {v.label} ({v.basis})"
    yield from (f"    {line}" for line in v.explanation)
    if v.trace is not None and style.every:
        lines = style.run(v.trace) if style.brief or style.hidden.names else trace_lines(v.trace)
        yield from (f"    {line}" for line in lines)


def unfollowed_rows(x: Exploration, model: m.Model) -> list[SourceRow]:
    """The rows that no run of the system follows. After a search that was cut short nothing is known of them."""
    return rows_of(x.coverage.unfollowed, model) if x.complete else []


def never_followed(x: Exploration, model: m.Model) -> list[str]:
    """The rows that no run of the system follows, by name: `Cell e4`, `Cell e4 from Used`."""
    return [f"{row.machine.name} {row.name}" for row in unfollowed_rows(x, model)]


def never_followed_by_machine(x: Exploration, model: m.Model) -> list[tuple[str, list[str]]]:
    """The same for each machine by itself, with their places: `("Cell", ["e4 from Used (cell.fsm:7:5)", …])`. Without
    rows of the library."""
    by_machine: defaultdict[str, list[str]] = defaultdict(list)
    for row in unfollowed_rows(x, model):
        if not row.is_shipped:
            by_machine[row.machine.name].append(f"{row.name} ({row.span})")
    return list(by_machine.items())


def never_followed_lines(x: Exploration, model: m.Model, paint: Paint = plain, *, every: bool = False) -> Iterator[str]:
    """How many rows no run of the system follows, and which: the first few, or `every` one. Where something is
    violated, it is only said with `every`: rows may be followed behind the violation."""
    rows = unfollowed_rows(x, model) if every or not x.violations else []
    if rows and every and len(rows) > MAX_ROWS:
        yield f"  {paint(_count(len(rows)) + _never_followed(x), 'warning')}:"
        yield from (f"    {row.placed}" for row in rows)
    elif rows:
        phrase, is_whole = _phrase(x, rows, paint)
        yield f"  {phrase}{'' if is_whole else '; `fsm verify --all` lists them'}"


def never_followed_summary(x: Exploration, model: m.Model) -> str:
    """The same in a phrase; empty if there is nothing to say."""
    rows = unfollowed_rows(x, model) if not x.violations else []
    return _phrase(x, rows, plain)[0] if rows else ""


def _phrase(x: Exploration, rows: Sequence[SourceRow], paint: Paint) -> tuple[str, bool]:
    """How many rows and which, and whether these are all. Rows of the library, which nobody can change, are counted."""
    own = [row for row in rows if not row.is_shipped]
    shipped = len(rows) - len(own)
    if not own:
        return paint(f"{_count(shipped)} of the library{_never_followed(x)}", "quiet"), False
    more = f" and {len(own) - MAX_ROWS} more" if len(own) > MAX_ROWS else ""
    names = ", ".join(row.placed for row in own[:MAX_ROWS])
    library = f", and {shipped} of the library" if shipped else ""
    return f"{paint(_count(len(own)) + _never_followed(x), 'warning')}: {names}{more}{library}", not (more or library)


def _count(rows: int) -> str:
    return f"{rows} row{'s' * (rows != 1)}"


def _never_followed(x: Exploration) -> str:
    return f" never followed{' within the bound' if x.beyond else ''}"


def exploration(x: Exploration, model: m.Model) -> Data:
    """What `fsm verify --format json` prints for a system."""
    return dict(explored(x, model))


def explored(x: Exploration, model: m.Model) -> shapes.Exploration:
    """The same, as its type says it."""
    cause_of = causes(x, model)
    groups = violation_groups(x, model)
    group_of = {member.verdict: n for n, g in enumerate(groups) for member in g.members}
    titles = {member.verdict: member.title for g in groups for member in g.members}
    return {
        "name": x.system.name,
        "module": x.system.module,
        "states": x.states,
        "beyond": x.beyond,
        "transitions": x.transitions,
        "depth": x.depth,
        "seconds": round(x.seconds, 3),
        "verdict": verdict(x),
        "stopped": x.stopped,
        "at_violation": x.at_violation,
        "explored": explored_part(x),
        "note": x.note,
        "levels": list(x.levels),
        "verdicts": [
            _verdict(v, model, titles.get(n, v.label), cause_of.get(n), group_of.get(n))
            for n, v in enumerate(x.verdicts)
        ],
        "groups": [_group(g, [groups.index(fault) for fault in g.ends_in]) for g in groups],
        "never_followed": [
            _unfollowed(model.machines[machine].transitions[index], machine) for machine, index in x.coverage.unfollowed
        ],
    }


def _unfollowed(t: m.Transition, machine: str) -> shapes.Unfollowed:
    return {"machine": machine, "transition": t.name, "index": t.index, "source": t.source, **place(t.span)}


def _group(g: Group, ends_in: list[int]) -> shapes.Group:
    subject = g.subject
    return {
        "title": g.heading,
        "kind": subject.kind,
        "name": subject.name or None,
        "fault": subject.fault,
        "machine": subject.machine,
        "event": subject.event,
        "action": subject.action,
        "field": subject.field,
        "channel": subject.channel,
        "states": list(g.states),
        "rows": list(map(_row, subject.rows)),
        "led_by": None if g.led_by is None else _row(g.led_by),
        "steps": g.steps,
        "ends_in": ends_in,
        "verdicts": [member.verdict for member in g.members],
    }


def _row(row: Row) -> shapes.Row:
    return {"machine": row.machine, "row": row.name, **place(row.span)}


def _verdict(v: Verdict, model: m.Model, title: str, cause: Cause | None, group: int | None) -> shapes.Verdict:
    return {
        "kind": v.kind,
        "name": v.name,
        "title": title,
        "outcome": v.outcome,
        "basis": v.basis,
        "explanation": list(v.explanation),
        "trace": None if v.trace is None else run(v.trace),
        "cause": None if cause is None else cause.name,
        "group": group,
        "limit": v.limit or None,
        "relies": None if v.unexamined else [] if v.relies is None else list(v.relies.steps),
        "stutters": [_unfollowed(model.machines[machine].transitions[index], machine) for machine, index in v.stutters],
        "images": None if v.images is None else _images(v.images),
    }


def _images(x: Images) -> shapes.Images:
    before, after = (cast("shapes.World", world_data(x.roster, world)) for world in (x.before, x.after))
    return {"before": before, "after": after}


def played(x: Played) -> shapes.Scenario:
    """What `fsm test --format json` prints for a scenario."""
    return {
        "name": x.scenario.name,
        "module": x.scenario.module,
        "title": x.scenario.title,
        "passed": x.passed,
        "message": None if x.failure is None else x.failure.message,
        "trace": run(x.trace),
    }


def run(trace: Trace) -> shapes.Trace:
    """A run, with every world."""
    return cast("shapes.Trace", trace_data(trace))
