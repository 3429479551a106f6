"""Explorations and played scenarios, as text and as plain data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, cast

from fsmdsl import model as m
from fsmdsl.explore import Exploration, Played, Trace, Verdict
from fsmdsl.explore import data as trace_data
from fsmdsl.explore import lines as trace_lines
from fsmdsl.explore.narrative import story
from fsmdsl.report import shapes
from fsmdsl.report.data import Data
from fsmdsl.report.frames import Paint, plain

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
    size = f"{x.states:,} states, {x.transitions:,} transitions, depth {x.depth}, {x.seconds:.2f} s"
    unchecked = sum(v.outcome == "not checked" for v in x.verdicts)
    basis = (x.stopped or "exhaustive") + (f", but {unchecked} not checked" if unchecked else "")
    return f"{paint(word.ljust(8), role)}  {x.system.qualified}: {size} ({basis})"


def details(x: Exploration, model: m.Model, paint: Paint = plain, *, every: bool = False) -> Iterator[str]:
    """What is violated or undecided, with the run to it; with `every`, also what holds, and witnesses."""
    unknown: defaultdict[str, list[str]] = defaultdict(list)
    for v in x.verdicts:
        if v.outcome == "unknown" and not every:
            unknown[v.basis].append(v.shown)
        elif every or v.outcome != "holds":
            yield f"  {paint(v.outcome, _ROLES[v.outcome])}: {v.shown} ({v.basis})"
            yield from (f"    {line}" for line in _run(v, every))
    for basis, names in unknown.items():
        yield f"  {paint('unknown', _ROLES['unknown'])}: {', '.join(names)} ({basis})"
    if unknown and x.at_violation:
        yield f"  {paint('note', 'quiet')}: `fsm verify --all` goes on after a violation and decides these"
    if x.note is not None:
        yield f"  {paint('note', 'quiet')}: {x.note}"
    if every and x.complete:
        yield from (f"  {paint('never followed', 'quiet')}: {name}" for name in never_followed(x, model))


def _run(v: Verdict, every: bool) -> Iterator[str]:
    """A counterexample in full, and at its end what is wrong; a witness with a line for each step."""
    if v.trace is not None and v.outcome == "violated":
        yield from story(v.trace)
        yield from v.reasons
    else:
        yield from v.explanation
    if v.trace is not None and v.outcome != "violated" and every:
        yield from trace_lines(v.trace)


def never_followed(x: Exploration, model: m.Model) -> list[str]:
    """The transitions that no run of the system follows: `Cell e4`, or `Cell e4 from Used` where it is followed from
    other states."""
    rows: defaultdict[tuple[str, str], list[m.Transition]] = defaultdict(list)
    for machine, index in x.coverage.unfollowed:
        t = model.machines[machine].transitions[index]
        rows[machine, t.name].append(t)
    return [_row(model.machines[machine], found) for (machine, _), found in rows.items()]


def _row(machine: m.Machine, found: list[m.Transition]) -> str:
    name = f"{machine.name} {found[0].name}"
    if sum(t.name == found[0].name for t in machine.transitions) == len(found):
        return name
    return f"{name} from {', '.join(dict.fromkeys(t.source for t in found))}"


def exploration(x: Exploration, model: m.Model) -> Data:
    """What `fsm verify --format json` prints for a system."""
    return dict(explored(x, model))


def explored(x: Exploration, model: m.Model) -> shapes.Exploration:
    """The same, as its type says it."""
    return {
        "name": x.system.name,
        "module": x.system.module,
        "states": x.states,
        "transitions": x.transitions,
        "depth": x.depth,
        "seconds": round(x.seconds, 3),
        "verdict": verdict(x),
        "stopped": x.stopped,
        "note": x.note,
        "levels": list(x.levels),
        "verdicts": [_verdict(v) for v in x.verdicts],
        "never_followed": [
            {"machine": machine, "transition": model.machines[machine].transitions[index].name, "index": index}
            for machine, index in x.coverage.unfollowed
        ],
    }


def _verdict(v: Verdict) -> shapes.Verdict:
    return {
        "kind": v.kind,
        "name": v.name,
        "outcome": v.outcome,
        "basis": v.basis,
        "explanation": list(v.explanation),
        "trace": None if v.trace is None else run(v.trace),
    }


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
    return cast(shapes.Trace, trace_data(trace))
