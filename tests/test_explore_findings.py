"""Runs and findings of explorations: traces, and what is said at which place."""

from __future__ import annotations

import json

import pytest
from hived_lite import hived_lite
from stepping import compiled
from test_explore import COUNTER, explored, verdict

from fsmdsl import search as module
from fsmdsl.report.formats.gather import from_verify
from fsmdsl.search import Limits, data, diagnostics, explore, lines
from fsmdsl.text.diagnostics import Severity

# Traces --------------------------------------------------------------------------------------------------------------


def test_a_trace_as_text() -> None:
    x = explored(hived_lite(2, 2, 2))
    v = verdict(x, "handover")
    assert v.trace is not None
    assert lines(v.trace) == [
        "0  start                   g0: Pending; g1: Pending; c0: Free; c1: Free",
        "1  g0.schedule({c0, c1})   g0: e0 Pending → Allocated; c0: e0 Free → Used; c1: e0 Free → Used; "
        "g0.cells = {c0, c1}; c0.user = g0; c1.user = g0",
        "2  g1.schedule({c0, c1})   g1: e1 Pending → Preempting; c0: e2 Used → Reserving; "
        "g0: e6 Allocated → BeingPreempted; c1: e2 Used → Reserving; g0 ignores preempted; "
        "g1.cells = {c0, c1}; c0.reserver = g1; c1.reserver = g1",
        "3  g0.pods_deleted         g0: e4 BeingPreempted → Deleted; c0: e9 Reserving → Reserved; "
        "c1: e9 Reserving → Reserved; g0.cells = {}; c0.user = none; c1.user = none",
    ]


def test_a_trace_as_data() -> None:
    x = explored(COUNTER % ("", 1, "invariant low: counters[0].n < 1"))
    trace = verdict(x, "low").trace
    assert trace is not None
    told = data(trace)
    assert json.loads(json.dumps(told)) == told
    assert told["steps"] == [
        {
            "step": "c0.up",
            "happenings": ["c0: up in On", "c0.n = 1"],
            "cascade": {"what": "c0.up", "then": "up in On", "inside": []},
            "changes": {"c0.n": {"before": "0", "after": "1"}},
            "world": {
                "instances": {"c0": {"machine": "Counter", "state": "On", "params": {}, "fields": {"n": 1}}},
                "channels": {},
                "pending": [],
                "down": False,
            },
            "fault": None,
        }
    ]


def test_a_failing_step_ends_its_trace() -> None:
    x = explored(
        "machine M { n: 0..1  initial state A  event e from environment  A on e do n = n + 1 } system S { m: M }"
    )
    trace = verdict(x, "range").trace
    assert trace is not None
    assert lines(trace)[-1] == "2  m.e     m: e in A; fails: `n` of m would become 2, outside 0..1 (range)"
    assert data(trace)["steps"][-1]["fault"]["kind"] == "range"


def test_messages_and_pending_actions_are_in_the_data() -> None:
    x = explored(
        """
        channel c: fifo[2] to M
        machine M { initial state A  event go from environment  event note(n: 0..1) from c  action work -> ok
                    A on go when size(c) == 0 do { send c.note(1); work }  A on note  ignore work.ok in A }
        system S { m: M  reachable sent: size(c) > 0 }
        """
    )
    trace = verdict(x, "sent").trace
    assert trace is not None
    assert lines(trace)[1] == "1  m.go    m: go in A; m posts c.note(1); m calls work; c = [note(1)]"
    world = data(trace)["steps"][0]["world"]
    assert (world["channels"], world["pending"]) == ({"c": ["note(1)"]}, ["m.work"])


# Diagnostics ---------------------------------------------------------------------------------------------------------


def test_violations_are_diagnostics_at_their_place() -> None:
    x = explored(COUNTER % ("", 1, "invariant low: counters[0].n < 1  reachable no: false"))
    found = {d.rule.name: d for d in diagnostics(x)}
    assert set(found) == {"invariant-violated", "never-reachable"}
    d = found["invariant-violated"]
    assert d.span.text == "invariant low: counters[0].n < 1"
    assert d.message == "`low` does not hold in every state of `S`"
    assert d.notes == ("`counters[0].n < 1` is false: counters[0].n is 1",)
    assert (d.run, d.remarks) == ("run: c0.up", (*d.notes, "run: c0.up"))


def test_a_limit_is_a_note() -> None:
    (d,) = diagnostics(explored(COUNTER % ("", 2, ""), Limits(states=3)))
    assert (d.rule.code, d.severity) == ("FSM305", Severity.NOTE)
    assert "stopped at 3 states: the rest is unknown" in d.message


@pytest.mark.parametrize("rule", [r for r in module.RULES if r.code.startswith("FSM3")], ids=lambda r: r.name)
def test_the_example_of_a_rule_breaks_it(rule: object) -> None:
    assert isinstance(rule, type(module.RULES[0]))
    text = rule.explanation.split("```fsm\n")[1].split("```")[0]
    model = compiled(text)
    explorations = [explore(model, x) for x in model.systems.values()]
    findings = [x.diagnostic for x in from_verify(explorations, model, diagnostics(*explorations), {}).never_followed]
    assert rule in {d.rule for d in (*diagnostics(*explorations), *findings)}
