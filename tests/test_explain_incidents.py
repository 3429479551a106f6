"""Incidents: each is a known hole of `specs/*/holes`, as a log that the document explains and its repair does not.

The log is the simplest run to the violation: a line for each step that is logged, and one for each instance that is in
another state after a step; at the end, one for the state of each instance. The steps named `hidden` have no line of
their own.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsmdsl import model as m
from fsmdsl.interop.logs.amendments import amended_rows
from fsmdsl.interop.logs.binding import bind
from fsmdsl.interop.logs.explanation import Explanation, explain
from fsmdsl.interop.logs.lines import lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.model.workspace import load
from fsmdsl.runs.replay import simplest
from fsmdsl.search import Trace, explore
from fsmdsl.step import CrashStep, EventStep, OutcomeStep, TimerStep, Universe
from fsmdsl.testing.plain_values import arguments_by_name
from fsmdsl.text.source import Source

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


INCIDENTS = [
    Incident("hived/holes/h01_pod_by_pod", "OneByOne", "together", ("pod_deleted",), "c0 in Reserved",
             "c0 is in Reserving, but the line says Reserved", "e9"),
    Incident("hived/holes/h02_pod_gone_before", "Leak", "s2", ("pod_deleted",), "c0 in Used",
             "c0 is in Free, but the line says Used", "e4"),
    Incident("hived/holes/h05_no_way_back", "CalledOff", "s9", ("pods_deleted",), "g0 in BeingPreempted",
             "g0 is in Allocated, but the line says BeingPreempted", "e4"),
    Incident("hived/holes/h06_overwritten_by_e8", "Overwritten", "s7", ("pods_deleted",), "g1 in Preempting",
             "g1 is in Pending, but the line says Preempting", "e8"),
    Incident("hived/holes/h08_whose_priority", "Stolen", "s12", ("proceed",), "g1.schedule(choice = c0)",
             "`priority > choice.reserver.priority` is false: priority is 1, choice.reserver.priority is 2", "e1"),
    Incident("hived/holes/h09_equals", "Equals", "settles", ("proceed",), "g2.schedule(choice = c0)",
             "`priority > choice.reserver.priority` is false: priority is 1, choice.reserver.priority is 1", "e1"),
    Incident("hived/holes/h11_restarts_apart", "Restarts", "known", ("restart", "crash"), "g0 in BeingPreempted",
             "g0 is in Allocated, but the line says BeingPreempted", "ec"),
    Incident("confine/holes/h04_stale_death", "OneSliver", "Q3", ("died",), "sliver in fail_start",
             "sliver is in started, but the line says fail_start"),  # its repair is an entry effect, not a row
    Incident("confine/holes/h10_tag_in_use", "OneTag", "X1", ("fetched",), "s0 in register",
             "s0 is in releasing, but the line says register", "Z6"),
    Incident("grove/holes/a05_never_fits", "LittleRoom", "q11", ("timeout",), "clique in Breached",
             "clique is in Healthy, but the line says Breached", "T1"),
    Incident("grove/holes/a07_failed_bind", "OneGang", "q6", ("place",), "gang in Binding",
             "gang is in Pending, but the line says Binding", "bind_failed"),
    Incident("grove/holes/a08_stale_phase", "OneGang", "q2", (), "gang in Scheduled",
             "gang is in Unset, but the line says Scheduled", "T3"),
]  # fmt: skip


def model(hole: str, *, as_documented: bool) -> m.Model:
    loaded = load([SPECS / f"{hole}.fsm"], as_documented=as_documented)
    assert loaded.model is not None
    return loaded.model


def system(of: m.Model, name: str) -> m.System:
    return next(x for x in of.systems.values() if x.name == name)


def counterexample(incident: Incident) -> Trace:
    documented = model(incident.hole, as_documented=True)
    found = simplest(explore(documented, system(documented, incident.system)), documented)
    (v,) = [v for v in found.violations if incident.violation in (v.kind, v.name, v.name.split()[-1])][:1]
    assert v.trace is not None
    return v.trace


def log(trace: Trace, hidden: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """What a system that behaves like the run would have logged."""
    roster = trace.roster
    for before, entry in trace.befores():
        match entry.step:
            case EventStep(n, event, arguments) if event not in hidden:
                given = arguments_by_name(roster, roster.machines[n].event_named[event].parameters, arguments)  # type: ignore[arg-type]
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
    yield from ({"msg": "state", "id": roster.name(n), "state": s} for n, s in enumerate(trace.end.states))


def mapping(roster: Universe, hidden: tuple[str, ...]) -> str:
    """Everything that is logged, for each machine."""
    out = ["hidden = 4\n"]
    for group in roster.system.groups:
        machine = roster.model.machines[group.machine]
        for event in machine.events:
            if event.from_environment and event.name not in hidden:
                given = ", ".join(f'{p.name} = "{{{p.name}}}"' for p in event.parameters)
                out.append(_line(roster, group.name, event.name, f'event = "{event.name}"\narguments = {{ {given} }}'))
        for outcome in (f"{a.name}.{o}" for a in machine.actions for o in a.outcomes if a.name not in hidden):
            out.append(_line(roster, group.name, outcome, f'event = "{outcome}"'))
        if any(isinstance(t.trigger, m.OnTimer) for t in machine.transitions) and "timeout" not in hidden:
            out.append(_line(roster, group.name, "timeout", 'event = "timeout"'))
        for s in machine.leaves:
            out.append(_line(roster, group.name, "state", f'state = "{s.name}"', f', state = "{s.name}"'))
    if "crash" not in hidden:
        out.append('[[line]]\nwhen = { msg = "crash" }\nevent = "crash"\n')
    return "\n".join(out)


def _line(roster: Universe, group: str, message: str, says: str, when: str = "") -> str:
    members = json.dumps([x.name for x in roster.system.instances if x.group == group])
    when = f'msg = "{message}", id = {members}{when}'
    return f'[[line]]\nwhen = {{ {when} }}\nof = "{group}"\ninstance = "{{id}}"\n{says}\n'


def explained(incident: Incident, trace: Trace, *, as_documented: bool) -> Explanation:
    of = model(incident.hole, as_documented=as_documented)
    universe = Universe(of, system(of, incident.system))
    reading = bind(read(Source("mapping.toml", mapping(universe, incident.hidden))), universe)
    text = "".join(json.dumps(x) + "\n" for x in log(trace, incident.hidden))
    return explain(reading, "run.log", lines(io.BytesIO(text.encode())), depth=reading.mapping.hidden)


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda x: x.hole.rpartition("/")[2])
def test_the_document_explains_an_incident_and_its_repair_does_not(incident: Incident) -> None:
    trace = counterexample(incident)
    documented = explained(incident, trace, as_documented=True)
    assert documented.outcome == "explained"
    assert documented.summary.steps[-1].entry.world.states == trace.end.states
    repaired = explained(incident, trace, as_documented=False)
    assert repaired.outcome == "not explained"
    assert repaired.failure is not None
    assert str(repaired.failure.record.claim) == incident.says
    assert incident.because in "; ".join(repaired.failure.reasons)
    amended = amended_rows(documented.summary, model(incident.hole, as_documented=False))
    assert [x.row for x in amended][:1] == ([incident.row] if incident.row else [])


def test_steps_without_a_line_are_found_where_some_are_allowed() -> None:
    incident = next(x for x in INCIDENTS if x.system == "Leak")
    trace = counterexample(incident)
    found = explained(incident, trace, as_documented=True)
    assert found.summary.hidden == 2
    of = model(incident.hole, as_documented=True)
    universe = Universe(of, system(of, incident.system))
    reading = bind(read(Source("mapping.toml", mapping(universe, incident.hidden))), universe)
    text = "".join(json.dumps(x) + "\n" for x in log(trace, incident.hidden))
    none = explain(reading, "run.log", lines(io.BytesIO(text.encode())), depth=0)
    assert none.outcome == "not explained"
