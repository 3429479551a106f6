"""Incidents: each is a known hole of `specs/*/holes`, as a log that the document explains and its repair does not.

The log is the simplest run to the violation: a line for each step that is logged, and one for each instance that is in
another state after a step. The steps named `hidden` have no line of their own.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsmdsl import model as m
from fsmdsl.explore import Trace, explore
from fsmdsl.explore.replay import simplest
from fsmdsl.logs.amendments import amended_rows
from fsmdsl.logs.explanation import Explanation, explain
from fsmdsl.logs.lines import lines
from fsmdsl.logs.mapping import read
from fsmdsl.logs.meaning import bind
from fsmdsl.source import Source
from fsmdsl.step import CrashStep, EventStep, OutcomeStep, TimerStep, Universe
from fsmdsl.testing.plain_values import named
from fsmdsl.workspace import load

SPECS = Path(__file__).parent.parent / "specs"


@dataclass(frozen=True)
class Incident:
    """A hole, its system and violation, the events that nobody logs, and what is found of it by the repaired spec."""

    hole: str
    system: str
    violation: str
    hidden: tuple[str, ...]
    says: str
    """The line that the repaired spec does not explain."""
    because: str
    """In one of the reasons."""
    row: str = ""
    """The row of the document that its repair has amended."""


INCIDENTS: list[Incident] = []


def model(hole: str, *, as_documented: bool) -> m.Model:
    loaded = load([SPECS / f"{hole}.fsm"], as_documented=as_documented)
    assert loaded.model is not None
    return loaded.model


def system(of: m.Model, name: str) -> m.System:
    return next(x for x in of.systems.values() if x.name == name)


def counterexample(incident: Incident) -> Trace:
    documented = model(incident.hole, as_documented=True)
    found = simplest(explore(documented, system(documented, incident.system)), documented)
    (v,) = [v for v in found.violations if v.name == incident.violation or v.kind == incident.violation][:1]
    assert v.trace is not None
    return v.trace


def log(trace: Trace, hidden: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """What a system that behaves like the run would have logged."""
    roster = trace.roster
    for before, entry in trace.befores():
        match entry.step:
            case EventStep(n, event, arguments) if event not in hidden:
                given = named(roster, roster.machines[n].event_named[event].parameters, arguments)  # type: ignore[arg-type]
                told = {k: sorted(v) if isinstance(v, frozenset) else v for k, v in given.items()}
                yield {"msg": event, "id": roster.name(n), **told}
            case OutcomeStep(n, action, outcome) if action not in hidden:
                yield {"msg": f"{action}.{outcome}", "id": roster.name(n)}
            case TimerStep(n, _) if "timeout" not in hidden:
                yield {"msg": "timeout", "id": roster.name(n)}
            case CrashStep() if "crash" not in hidden:
                yield {"msg": "crash"}
        for n, (old, new) in enumerate(zip(before.states, entry.world.states, strict=True)):
            if old != new:
                yield {"msg": "state", "id": roster.name(n), "state": new}


def mapping(roster: Universe, hidden: tuple[str, ...]) -> str:
    """Everything that is logged, for each machine."""
    out = ["hidden = 4\n"]
    for group in roster.system.groups:
        machine = roster.model.machines[group.machine]
        for event in machine.events:
            if event.from_environment and event.name not in hidden:
                given = ", ".join(f'{p.name} = "{{{p.name}}}"' for p in event.parameters)
                out.append(_line(group.name, event.name, f'event = "{event.name}"\narguments = {{ {given} }}'))
        for outcome in (f"{a.name}.{o}" for a in machine.actions for o in a.outcomes if a.name not in hidden):
            out.append(_line(group.name, outcome, f'event = "{outcome}"'))
        if any(isinstance(t.trigger, m.OnTimer) for t in machine.transitions) and "timeout" not in hidden:
            out.append(_line(group.name, "timeout", 'event = "timeout"'))
        for s in machine.leaves:
            when = f'msg = "state", state = "{s.name}", id = {json.dumps(sorted(_members(roster, group.name)))}'
            out.append(_line(group.name, "", f'state = "{s.name}"', when))
    if "crash" not in hidden:
        out.append('[[line]]\nwhen = { msg = "crash" }\nevent = "crash"\n')
    return "\n".join(out)


def _members(roster: Universe, group: str) -> list[str]:
    return [x.name for x in roster.system.instances if x.group == group]


def _line(group: str, message: str, says: str, when: str = "") -> str:
    return f'[[line]]\nwhen = {{ {when or f"msg = {json.dumps(message)}"} }}\nof = "{group}"\ninstance = "{{id}}"\n{says}\n'


def explained(incident: Incident, trace: Trace, *, as_documented: bool) -> Explanation:
    of = model(incident.hole, as_documented=as_documented)
    universe = Universe(of, system(of, incident.system))
    reading = bind(read(Source("mapping.toml", mapping(universe, incident.hidden))), universe)
    text = "".join(json.dumps(x) + "\n" for x in log(trace, incident.hidden))
    return explain(reading, "run.log", lines(io.BytesIO(text.encode())), depth=reading.mapping.hidden)
