"""Instances that begin in any of several states, in every reader of a system; with fields that begin with any value."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from itertools import product
from pathlib import Path

import pytest
from generating import Generated
from orbits import orbits
from stepping import compiled, only_system
from test_first_states import explored, of, universe, wrong
from test_meanings import explored_alike

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.interop.logs.binding import bind
from fsmdsl.interop.logs.explanation import explain
from fsmdsl.interop.logs.lines import lines as log_lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.model.workspace import load
from fsmdsl.report.as_scenario import as_scenario
from fsmdsl.report.compare.behaviour import Bounds, behaviour
from fsmdsl.runs.scenario import play
from fsmdsl.runs.simulation import begin, choices, chosen
from fsmdsl.runs.trace import lines
from fsmdsl.search import Limits, Means, explore
from fsmdsl.step import TimerStep, enabled, holds
from fsmdsl.testing import Twin
from fsmdsl.testing.comparison import DifferenceError
from fsmdsl.testing.plain_values import Instance
from fsmdsl.text.source import Source

NODES = """
machine Node {
    peer: Node? = none
    durable n: 0..1 = any
    durable begun: state of Node = state(self)
    initial state Idle
    state Busy { state Slow  initial state Fast }
    transient state Choosing
    state Lost
    event go from environment
    Idle     -> Choosing on go
    Choosing -> Fast     when n == 0
    Choosing -> Idle     when n == 1
    Busy     -> Idle     on go
    Fast     -> Slow     after 5min
    Slow     -> Fast     on crash
    ignore go in Lost
}
"""


def leaves(text: str) -> list[tuple[str, ...]]:
    """The states of the first worlds of a system, in order, each once."""
    return list(dict.fromkeys(x.states for x in universe(NODES + text).starts))


def test_any_is_each_state_in_which_an_instance_can_stay() -> None:
    assert leaves("system S { a: Node in any }") == [("Idle",), ("Slow",), ("Fast",), ("Lost",)]


@pytest.mark.parametrize(
    ("written", "begins"),
    [
        ("Busy", ["Fast"]),
        ("{Busy}", ["Slow", "Fast"]),
        ("{Lost, Fast, Lost}", ["Fast", "Lost"]),
        ("{Choosing, Idle}", ["Idle", "Choosing"]),
        ("{Slow}", ["Slow"]),
    ],
)
def test_a_composite_among_several_means_any_state_in_it(written: str, begins: list[str]) -> None:
    assert leaves(f"system S {{ a: Node in {written} }}") == [(x,) for x in begins]


def test_there_is_a_first_state_for_each_combination_with_values_of_fields() -> None:
    u = universe(NODES + "system S { ns: Node[2] in {Idle, Lost}  x: Node { n = 0 } }")
    found = [(*w.states[:2], w.fields[0][1], w.fields[1][1]) for w in u.starts]
    one = [*product(("Idle", "Lost"), (0, 1))]
    assert found == [(a, b, n, k) for (a, n), (b, k) in product(one, one)]
    assert all(w.states[2] == "Idle" for w in u.starts)


def test_first_values_are_computed_from_first_states() -> None:
    u = universe(NODES + "system S { a: Node in any { n = 0 }  b: Node { n = 0, begun = state(a) } }")
    assert [(w.states[0], w.fields[0][2], w.fields[1][2]) for w in u.starts] == [
        (x, x, x) for x in ("Idle", "Slow", "Fast", "Lost")
    ]


@pytest.mark.parametrize(
    "condition",
    [
        "ns[0] in Busy",
        "all x in ns: x not in Lost",
        "state(ns[0]) == state(ns[1])",
        "some x in ns: x in Slow and x.n == 1",
        "ns[1].begun == Lost\\n    start when ns[0] in Idle => ns[1].n == 0",
    ],
)
def test_what_start_when_rules_out_early_is_what_it_rules_out_at_last(condition: str) -> None:
    condition = condition.replace("\\n", "\n")
    narrowed = universe(NODES + f"system S {{ ns: Node[2] in any\n    start when {condition} }}")
    whole = universe(NODES + "system S { ns: Node[2] in any }")
    assert len(whole.starts) == 8**2
    met = tuple(w for w in whole.starts if all(holds(narrowed, w, x) for x in narrowed.system.start_when))
    assert narrowed.starts == met
    assert 0 < len(met) < len(whole.starts)


def test_both_searches_begin_in_all_of_them() -> None:
    asked = "start when a.n <= b.n  environment { some x in {a, b}: x.go  crash of a }  reachable b in Slow"
    wanted = explored_alike(NODES + f"system S {{ a: Node in any  b: Node in {{Busy, Lost}} {{ peer = a }} {asked} }}")
    assert wanted["states"] > 40  # type: ignore[operator]


def test_timers_of_the_first_state_run() -> None:
    u = universe(NODES + "system S { a: Node in {Busy, Idle}  start when a.n == 0 }")
    timed = {w.states[0]: [s for s in enabled(u, w) if isinstance(s, TimerStep)] for w in u.starts}
    assert {state: len(steps) for state, steps in timed.items()} == {"Idle": 0, "Slow": 0, "Fast": 1}


def test_a_state_in_which_an_instance_begins_is_reached() -> None:
    def unreachable(text: str) -> list[str]:
        return [d.message for d in check(compiled(NODES + text)) if d.rule.code == "FSM201"]

    assert unreachable("system S { a: Node }") == ["`Lost` can never be entered"]
    assert unreachable("system S { a: Node in any }") == unreachable("system S { a: Node in Lost }") == []


def test_a_crash_cannot_give_back_a_value_that_a_first_state_decides() -> None:
    text = NODES.replace("durable begun", "begun")
    for begins, told in (("", []), ("in {Idle, Lost}", ["FSM230"])):
        system = f"system S {{ a: Node {begins} {{ n = 0 }}  environment {{ a.go  crash of a }} }}"
        assert [d.rule.code for d in check(compiled(text + system)) if d.rule.code == "FSM230"] == told


def test_interchangeable_instances_begin_in_orbits() -> None:
    text = NODES + "system S { ns: Node[3] symmetric in {Idle, Busy}  start when all x in ns: x.n == 0 }"
    u = universe(text)
    reduced = explored(text, Means(compiled=False))
    assert reduced.reduced == ("ns",)
    assert reduced.levels[0] == len(orbits(u, u.starts, ["ns"])) == 10
    whole = explored(text)
    assert (len(u.starts), whole.levels[0]) == (27, 27)
    assert reduced.states < whole.states


def test_properties_of_runs_are_asked_from_every_first_state() -> None:
    asked = "property lost: eventually a in Idle  property same: a in Lost ~> a in Idle"
    x = explored(NODES + f"system S {{ a: Node in any {{ n = 1 }}  {asked} }}")
    outcomes = {v.name: (v.outcome, v.trace) for v in x.verdicts if v.kind == "property"}
    for name in ("lost", "same"):
        outcome, trace = outcomes[name]
        assert outcome == "violated"
        assert trace is not None
        assert trace.start.states == ("Lost",)


def test_a_counterexample_says_how_it_begins_and_becomes_a_scenario(tmp_path: Path) -> None:
    text = NODES + "system S { ns: Node[2] in any  invariant fine: ns[0] in Idle or ns[1] not in Slow or ns[0].n == 0 }"
    x = explored("module test\n" + text)
    trace = next(v.trace for v in x.verdicts if v.name == "fine")
    assert trace is not None
    assert lines(trace)[0].startswith("0  start   n0: Slow; n1: Slow; n0.n = 1")
    script = as_scenario(trace, "again")
    assert "start with n0 in Slow, n1 in Slow, n0.n = 1, n1.n = 0" in script.text
    (tmp_path / "test.fsm").write_text("module test\n" + text)
    (tmp_path / "again.fsm").write_text(script.text)
    loaded = load([tmp_path])
    assert loaded.model is not None, loaded.diagnostics
    (played,) = (play(loaded.model, s) for s in loaded.model.scenarios.values())
    assert played.passed
    assert played.trace.start == trace.start


SCENARIO = NODES + "system S { a: Node in {Busy, Lost} { n = 0 }  b: Node { n = 1 } }\nscenario X of S { %s }"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("a.go", "`a` has several possible initial states, so the scenario must choose one"),
        ("start with a in Idle", "`a` does not begin in `Idle`"),
        ("start with a in Nowhere", "`Node` has no state `Nowhere`"),
        ("start with a in Fast, a in Slow", "`a` already has a value"),
        ("start with a in Lost, b in Idle", "the initial state of `b` is fixed"),
        ("start with a.peer in Lost", "`start with` can apply only to single instances"),
    ],
)
def test_a_scenario_says_in_which_it_begins(said: str, message: str) -> None:
    assert any(message in x for x in wrong(SCENARIO % said)), wrong(SCENARIO % said)


def test_a_scenario_begins_where_it_says() -> None:
    for state, begun in (("Busy", "Fast"), ("Slow", "Slow"), ("Lost", "Lost")):
        model = compiled(SCENARIO % f"start with a in {state}  expect a in {begun} and a.begun == {begun}")
        assert play(model, model.scenarios["test.X"]).passed


def test_a_run_by_hand_begins_where_a_person_chooses() -> None:
    session = begin(*of(NODES + "system S { a: Node in {Idle, Lost} { n = 1 } }"))
    assert session.world.states == ("Idle",)
    other = next(c for c in choices(session).choices if c.kind == "start")
    assert other.text == "start with a in Lost"
    assert chosen(session, other).world.states == ("Lost",)


def test_the_first_line_of_a_log_may_follow_any_first_state() -> None:
    line = '[[line]]\nwhen = {{ msg = "go", to = "{0}" }}\ninstance = "a"\nevent = "go"\nstate = "{0}"\n'
    mapping = "".join(map(line.format, ("Idle", "Lost", "Fast")))
    reading = bind(
        read(Source("mapping.toml", mapping)), universe(NODES + "system S { a: Node in any  start when a.n == 1 }")
    )
    for to, told in (("Idle", True), ("Lost", True), ("Fast", False)):
        log = BytesIO(b'{"msg": "go", "to": "%s"}\n' % to.encode())
        assert (explain(reading, "run.log", log_lines(log), depth=0, whole=True).failure is None) is told, to


def test_versions_that_begin_in_other_states_differ() -> None:
    text = NODES + "system S { a: Node in %s  start when a.n == 0 }"
    old, same, fewer = (universe(text % x) for x in ("{Idle, Busy}", "{Fast, Slow, Idle}", "{Idle, Slow}"))
    assert behaviour(old, same, {}, Bounds()).outcome == "same"
    found = behaviour(old, fewer, {}, Bounds())
    (run,) = found.runs
    assert (run.allowed_by, run.trace.start.states, run.why) == ("old", ("Fast",), "it does not begin so there")


def test_each_first_state_refines_one() -> None:
    text = """
    machine A { initial state X state Y event go from environment X -> Y on go  Y -> X on go }
    machine B { initial state P state Q event go from environment P -> Q on go  Q -> P on go }
    system Plan { a: A in %s }
    system Built refines Plan { b: B in any  map a in X when b in P  map a in Y }
    """
    for begins, outcome in (("any", "holds"), ("{X, Y}", "holds"), ("Y", "violated")):
        model = compiled(text % begins)
        system = next(x for x in model.systems.values() if x.name == "Built")
        (one,) = (v for v in explore(model, system, means=Means(compiled=False)).verdicts if v.kind == "refinement")
        assert one.outcome == outcome
        if one.trace is not None:
            assert one.explanation == ("its initial state is not an initial state of `Plan`: a: Y → X",)


class Lamp:
    """Somebody's own, right but for what it does when it begins lit and `right` is false."""

    def __init__(self, state: str, right: bool) -> None:
        self.state, self.right = state, right

    def press(self) -> None:
        if self.right or self.state != "Lit":
            self.state = {"Lit": "Dark", "Dark": "Lit"}[self.state]


@pytest.mark.parametrize("right", [True, False])
def test_a_twin_begins_in_any_of_them(tmp_path: Path, right: bool) -> None:
    text = "machine Lamp { initial state Dark state Lit event press from environment"
    text += " Dark -> Lit on press Lit -> Dark on press }"
    (tmp_path / "a.fsm").write_text(f"module a {text} system S {{ lamp: Lamp in any }}")

    class Mine(Twin):
        specs, system = tmp_path / "a.fsm", "S"

        def start(self, instances: tuple[Instance, ...]) -> Mapping[str, object]:
            return {x.name: Lamp(x.state, right) for x in instances}

    if right:
        Mine().test_agrees_with_the_model()
    else:
        with pytest.raises(DifferenceError):
            Mine().test_agrees_with_the_model()


def test_a_class_begins_in_the_state_that_it_is_given(tmp_path: Path) -> None:
    g = Generated(tmp_path, "module nodes\n" + NODES + "system S { a: Node in any }")
    assert g.Node(g.System(g.VirtualClock()), n=1, state=g.NodeState.SLOW).state is g.NodeState.SLOW


def test_a_machine_has_state_values_of_all_that_it_may_begin_in() -> None:
    instance = only_system(compiled(NODES + "system S { a: Node in {Lost, Idle} }")).instances[0]
    assert isinstance(instance, m.Instance)
    assert (instance.state, instance.states, instance.leaves) == ("Idle", ("Idle", "Lost"), ("Idle", "Lost"))


def test_limits_hold_for_states_too() -> None:
    many = "system S { ns: Node[%d] in any { n = 0 } }"
    assert len(universe(NODES + many % 4).starts) == 4**4
    x = explored(NODES + many % 9, limits=Limits(10))
    assert x.stopped == "stopped: the environment would have to choose among more than 65536 initial states"
