"""Explorations and played scenarios, as text and as plain data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, cast

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.report.data import Data
from fsmdsl.report.frames import Paint, plain
from fsmdsl.runs.causes import Cause, causes, groups
from fsmdsl.runs.hiding import NOTHING, Hidden
from fsmdsl.runs.narrative import steps, story
from fsmdsl.runs.trace import world_data
from fsmdsl.runs.verdicts.verdict import Images, share_beyond
from fsmdsl.search import Exploration, Played, Trace, Verdict
from fsmdsl.search import data as trace_data
from fsmdsl.search import lines as trace_lines

if TYPE_CHECKING:
    from fsmdsl.report import shapes

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
    states = f"{x.states:,} states{share_beyond(x.beyond)}"
    size = f"{states}, {x.transitions:,} transitions, depth {x.depth}, {x.seconds:.2f} s"
    unchecked = sum(v.outcome == "not checked" for v in x.verdicts)
    basis = x.extent + (f", but {unchecked} not checked" if unchecked and x.states else "")
    return f"{paint(word.ljust(8), role)}  {x.system.qualified}: {size} ({basis})"


@dataclass(frozen=True, slots=True)
class Style:
    """How much is printed of verdicts."""

    every: bool = False
    """Also what holds, with witnesses."""
    runs: bool = False
    """The run of every violation, also of those with one cause."""
    brief: bool = False
    """Of runs only the steps."""
    hidden: Hidden = NOTHING
    """What runs are shown without."""

    def run(self, trace: Trace) -> list[str]:
        """A run that shows something."""
        return steps(trace, self.hidden) if self.brief else story(trace, self.hidden)


_PLAIN = Style()


def details(
    x: Exploration,
    model: m.Model,
    paint: Paint = plain,
    style: Style = _PLAIN,
    previous: dict[Cause, str] | None = None,
) -> Iterator[str]:
    """What is violated, with a run for each cause; then what else is violated or undecided.

    `previous`: the violations that were shown for other systems, by cause; what is shown now is added.
    """
    cause_of = causes(x, model)
    for first, rest in [(n, []) for n in cause_of] if style.runs else groups(x, cause_of):
        yield from _cause(
            x, first, rest, cause_of[first], paint, style, {} if previous is None or style.runs else previous
        )
    unknown: defaultdict[str, list[str]] = defaultdict(list)
    for v in (v for n, v in enumerate(x.verdicts) if n not in cause_of):
        if v.outcome == "unknown" and not style.every:
            unknown[v.basis].append(v.label)
        elif style.every or v.outcome != "holds":
            yield from _verdict_lines(v, paint, style)
    for v in () if style.every else x.circular_waits:
        yield from _circular_wait(v, paint, style)
    for basis, names in unknown.items():
        yield f"  {paint('unknown', _ROLES['unknown'])}: {', '.join(names)} ({basis})"
    if unknown and x.at_violation:
        yield f"  {paint('note', 'quiet')}: `fsm verify --all` continues after a violation and decides these"
    if x.note is not None:
        yield f"  {paint('note', 'quiet')}: {x.note}"
    if style.every and x.complete:
        label = "never followed within the bound" if x.beyond else "never followed"
        yield from (f"  {paint(label, 'quiet')}: {name}" for name in never_followed(x, model))


def _cause(
    x: Exploration, first: int, rest: list[int], cause: Cause, paint: Paint, style: Style, previous: dict[Cause, str]
) -> Iterator[str]:
    """A violation with its run, and below it those with the same cause; where the cause is known, only their names."""
    v = x.verdicts[first]
    if cause in previous:
        names = ", ".join(dict.fromkeys(x.verdicts[n].label for n in sorted((first, *rest))))
        yield f"  {paint('violated', _ROLES['violated'])}: {names} (the same cause as {previous[cause]}: {cause.name})"
        return
    previous[cause] = f"{v.label} of {x.system.qualified}"
    yield from _verdict_lines(v, paint, style)
    if rest:
        yield f"    with the same cause, {cause.name} (`fsm verify --runs` shows the runs):"
    for other in (x.verdicts[n] for n in rest):
        why = f": {other.explanation[0]}" if other.kind == "fault" else ""
        yield f"      {other.label}{why} ({other.basis})"


def _circular_wait(v: Verdict, paint: Paint, style: Style) -> Iterator[str]:
    """A note, with the run to where instances wait for each other."""
    assert v.trace is not None
    headline, *lines = v.explanation
    yield f"  {paint('note', 'quiet')}: {headline} ({v.trace.length})"
    yield from (f"    {line}" for line in style.run(v.trace))
    yield from (f"    {line}" for line in lines)


def _verdict_lines(v: Verdict, paint: Paint, style: Style) -> Iterator[str]:
    yield f"  {paint(v.outcome, _ROLES[v.outcome])}: {v.label} ({v.basis})"
    yield from (f"    {line}" for line in _run(v, style))


def _run(v: Verdict, style: Style) -> Iterator[str]:
    """A counterexample in full, and at its end what is wrong; a witness with a line for each step."""
    if v.trace is not None and v.outcome == "violated":
        yield from style.run(v.trace)
        yield from v.reasons
    else:
        yield from v.explanation
    if v.trace is not None and v.outcome != "violated" and style.every:
        yield from style.run(v.trace) if style.brief or style.hidden.names else trace_lines(v.trace)


def never_followed(x: Exploration, model: m.Model) -> list[str]:
    """The transitions that no run of the system follows: `Cell e4`, or `Cell e4 from Used` where it is followed from
    other states."""
    return [f"{machine.name} {row}" for machine, row in _never_followed(x, model)]


def _never_followed(x: Exploration, model: m.Model) -> Iterator[tuple[m.Machine, str]]:
    rows: defaultdict[tuple[str, str], list[m.Transition]] = defaultdict(list)
    for machine, index in x.coverage.unfollowed:
        t = model.machines[machine].transitions[index]
        rows[machine, t.name].append(t)
    for (machine, _), transitions in rows.items():
        yield model.machines[machine], _row(model.machines[machine], transitions)


def never_followed_by_machine(x: Exploration, model: m.Model) -> list[tuple[str, list[str]]]:
    """The same for each machine by itself: `("Cell", ["e4 from Used", …])`."""
    by_machine: defaultdict[str, list[str]] = defaultdict(list)
    for machine, row in _never_followed(x, model):
        by_machine[machine.name].append(row)
    return list(by_machine.items())


def _row(machine: m.Machine, transitions: list[m.Transition]) -> str:
    name = transitions[0].name
    if sum(t.name == transitions[0].name for t in machine.transitions) == len(transitions):
        return name
    return f"{name} from {', '.join(dict.fromkeys(t.source for t in transitions))}"


def exploration(x: Exploration, model: m.Model) -> Data:
    """What `fsm verify --format json` prints for a system."""
    return dict(explored(x, model))


def explored(x: Exploration, model: m.Model) -> shapes.Exploration:
    """The same, as its type says it."""
    cause_of = causes(x, model)
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
        "note": x.note,
        "levels": list(x.levels),
        "verdicts": [_verdict(v, cause_of.get(n)) for n, v in enumerate(x.verdicts)],
        "never_followed": [
            {"machine": machine, "transition": model.machines[machine].transitions[index].name, "index": index}
            for machine, index in x.coverage.unfollowed
        ],
    }


def _verdict(v: Verdict, cause: Cause | None) -> shapes.Verdict:
    return {
        "kind": v.kind,
        "name": v.name,
        "outcome": v.outcome,
        "basis": v.basis,
        "explanation": list(v.explanation),
        "trace": None if v.trace is None else run(v.trace),
        "cause": None if cause is None else cause.name,
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
