"""Explorations and played scenarios, as text and as plain data."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.explore import Exploration, Played, Verdict
from fsmdsl.explore import data as trace_data
from fsmdsl.explore import lines as trace_lines
from fsmdsl.explore.story import story
from fsmdsl.report.data import Data
from fsmdsl.report.frames import Paint, plain

_ROLES = {"holds": "good", "violated": "error", "unknown": "warning", "not checked": "quiet"}


def verdict(x: Exploration) -> str:
    """The one word: `violated`, else `bounded` where a limit came first, else `holds`."""
    if x.violations:
        return "violated"
    return "holds" if x.complete else "bounded"


def summary(x: Exploration, paint: Paint = plain) -> str:
    """A line for a system."""
    word = verdict(x)
    role = {"holds": "good", "violated": "error", "bounded": "warning"}[word]
    size = f"{x.states:,} states, {x.transitions:,} transitions, depth {x.depth}, {x.seconds:.2f} s"
    basis = x.stopped or "exhaustive"
    return f"{paint(word.ljust(8), role)}  {x.system.qualified}: {size} ({basis})"


def details(x: Exploration, model: m.Model, paint: Paint = plain, *, every: bool = False) -> Iterator[str]:
    """What is violated or undecided, with the run to it; with `every`, also what holds, and witnesses."""
    for v in x.verdicts:
        if every or v.outcome in ("violated", "unknown"):
            yield f"  {paint(v.outcome, _ROLES[v.outcome])}: {v.kind} {v.name} ({v.basis})"
            yield from (f"    {line}" for line in _run(v, every))
    unchecked = [v.name for v in x.verdicts if v.outcome == "not checked"]
    if unchecked and not every:
        yield f"  {paint('not checked', 'quiet')}: {', '.join(unchecked)} (about whole runs; `--all` says more)"
    if every and x.complete:
        yield from (f"  {paint('never followed', 'quiet')}: {name}" for name in never_followed(x, model))


def _run(v: Verdict, every: bool) -> Iterator[str]:
    """A counterexample in full, and at its end what is wrong; a witness with a line for each step."""
    if v.trace is not None and v.outcome == "violated":
        yield from story(v.trace)
    yield from v.explanation if v.trace is None or v.trace.fault is None else ()
    if v.trace is not None and v.outcome != "violated" and every:
        yield from trace_lines(v.trace)


def never_followed(x: Exploration, model: m.Model) -> list[str]:
    """The transitions that no run of the system follows, as `Cell e4`."""
    rows = (model.machines[machine].transitions[index].name for machine, index in x.coverage.unfollowed)
    names = (machine.rpartition(".")[2] for machine, _ in x.coverage.unfollowed)
    return list(dict.fromkeys(f"{machine} {label}" for machine, label in zip(names, rows, strict=True)))


def exploration(x: Exploration, model: m.Model) -> Data:
    """What `fsm verify --format json` prints for a system."""
    return {
        "name": x.system.name,
        "module": x.system.module,
        "states": x.states,
        "transitions": x.transitions,
        "depth": x.depth,
        "seconds": round(x.seconds, 3),
        "verdict": verdict(x),
        "stopped": x.stopped,
        "verdicts": [_verdict(v) for v in x.verdicts],
        "never_followed": [
            {"machine": machine, "transition": model.machines[machine].transitions[index].name, "index": index}
            for machine, index in x.coverage.unfollowed
        ],
    }


def _verdict(v: Verdict) -> Data:
    return {
        "kind": v.kind,
        "name": v.name,
        "outcome": v.outcome,
        "basis": v.basis,
        "explanation": list(v.explanation),
        "trace": None if v.trace is None else trace_data(v.trace),
    }


def played(x: Played) -> Data:
    """What `fsm test --format json` prints for a scenario."""
    return {
        "name": x.scenario.name,
        "module": x.scenario.module,
        "title": x.scenario.title,
        "passed": x.passed,
        "message": None if x.failure is None else x.failure.message,
        "trace": trace_data(x.trace),
    }
