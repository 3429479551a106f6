"""Fields that begin with any value, `start when`, `start with`: in every reader of a system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import pytest
from campaign import by_definition, differences, found, packed
from click.testing import CliRunner
from orbits import orbits
from stepping import compiled, only_system

from fsmdsl import model as m
from fsmdsl import recheck
from fsmdsl.cli.certificates import certify
from fsmdsl.cli.parser import cli
from fsmdsl.graphs import states
from fsmdsl.interop.certificate import CertifiedSystem
from fsmdsl.interop.export.promela import promela
from fsmdsl.interop.export.refusals import RefusedError
from fsmdsl.interop.export.tla import tla
from fsmdsl.interop.logs.binding import bind
from fsmdsl.interop.logs.explanation import explain
from fsmdsl.interop.logs.lines import lines as log_lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.model.resolve import resolve
from fsmdsl.model.workspace import load
from fsmdsl.report import exploration
from fsmdsl.report.as_scenario import as_scenario
from fsmdsl.report.compare.behaviour import Bounds, behaviour
from fsmdsl.report.state_counts import census
from fsmdsl.runs.replay import simplest
from fsmdsl.runs.scenario import play
from fsmdsl.runs.simulation import NoSuchError, begin, choices, chosen, replayed
from fsmdsl.runs.trace import data, lines
from fsmdsl.search import Exploration, Keeping, Limits, Means, Verdict, diagnostics, explore
from fsmdsl.step import FaultError, TooManyValuesError, Universe, holds
from fsmdsl.syntax.parse import parse
from fsmdsl.testing import Twin
from fsmdsl.testing.comparison import DifferenceError
from fsmdsl.testing.plain_values import Instance
from fsmdsl.text.budget import Budget
from fsmdsl.text.source import Source

PLAIN = Means(compiled=False, symmetry=False)

COUNTERS = """
machine Counter {
    durable n:    0..2 = any
    durable twice: 0..4 = n + n
    durable live: bool = any
    initial state Up
    event bump from environment
    Up on bump when n < 2 and live do n = n + 1
}
"""


def of(text: str) -> tuple[m.Model, m.System]:
    model = compiled(text)
    return model, only_system(model)


def universe(text: str) -> Universe:
    return Universe(*of(text))


def explored(text: str, means: Means = PLAIN, limits: Limits | None = None) -> Exploration:
    return explore(*of(text), limits, means=means)


def verdict(x: Exploration, name: str) -> Verdict:
    (one,) = (v for v in x.verdicts if v.name == name)
    return one


# Which ---------------------------------------------------------------------------------------------------------------


def test_a_system_begins_with_every_value_the_last_field_changing_fastest() -> None:
    u = universe(COUNTERS + "system S { c: Counter }")
    assert [x.fields for x in u.starts] == [((n, 2 * n, on),) for n in range(3) for on in (False, True)]
    assert u.fault is None


def test_a_system_that_begins_in_one_of_them_begins_in_no_other() -> None:
    u = universe(COUNTERS + "system S { c: Counter }")
    for start in u.starts:
        one = u.beginning(start)
        assert (one.start, one.starts, one.fault) == (start, (start,), None)
    assert len(u.starts) == 6
    only = universe(COUNTERS + "system S { c: Counter { n = 1, live = true } }")
    assert only.beginning(only.start) is only
    assert only.beginning(u.starts[0]).starts == (u.starts[0],)


def test_a_value_of_the_system_takes_the_place_of_any_and_the_other_way_round() -> None:
    u = universe(COUNTERS + "system S { c: Counter { n = 1 }  d: Counter { live = true, twice = any } }")
    assert len(u.starts) == 2 * 3 * 5
    assert {x.fields[0][0] for x in u.starts} == {1}
    assert {x.fields[1][1] for x in u.starts} == set(range(5))


@pytest.mark.parametrize(
    "condition",
    [
        "all c in cs: c.live",
        "some c in cs: c.n == 2 and not c.live",
        "cs[0].n < cs[1].n and cs[1].twice > cs[2].n",
        "(count c in cs: c.live) == 1 or cs[2].n == 0",
        "4 / cs[0].n == 2",
        "cs[2].n == 1\n    start when cs[0].live => cs[1].live",
    ],
)
def test_what_start_when_rules_out_early_is_what_it_rules_out_at_last(condition: str) -> None:
    narrowed = universe(COUNTERS + f"system S {{ cs: Counter[3]\n    start when {condition} }}")
    whole = universe(COUNTERS + "system S { cs: Counter[3] }")
    assert len(whole.starts) == 6**3

    def met(world: object) -> bool:
        try:
            return all(holds(narrowed, world, x) for x in narrowed.system.start_when)  # type: ignore[arg-type]
        except Exception:  # a condition without a value
            return False

    assert narrowed.starts == tuple(x for x in whole.starts if met(x))
    assert 0 < len(narrowed.starts) < 6**3


def test_references_and_sets_may_be_any() -> None:
    text = "enum Colour { red | green } machine A { to: A = any  x: set<A> = any  y: Colour? = any  initial state Up }"
    u = universe(text + "system S { xs: A[2] }")
    assert len(u.starts) == (2 * 4 * 3) ** 2
    assert {x.fields[1][0] for x in u.starts} == {0, 1}


def test_a_system_without_a_first_state_is_violated() -> None:
    for means in (PLAIN, Means(compiled=False)):
        x = explored(COUNTERS + "system S { c: Counter  start when c.n > 2  invariant fine: c.n < 3 }", means)
        (wrong,) = (v for v in x.verdicts if v.kind == "fault")
        assert (wrong.outcome, wrong.explanation) == (
            "violated",
            ("no initial state satisfies `start when`",),
        )
        rest = [v for v in x.verdicts if v is not wrong]
        assert {(v.outcome, v.basis) for v in rest} == {("not checked", "there is no initial state")}
        assert {v.kind for v in rest} == {"invariant", "deadlock"}
        assert (x.states, x.transitions, exploration.verdict(x)) == (0, 0, "violated")
        assert [d.rule.code for d in diagnostics(x)] == ["FSM303"]


@pytest.mark.parametrize("condition", ["c.n > 2", "1 / (c.n - c.n) > 0", "c.n == 0 start when c.n == 1"])
def test_start_when_that_is_false_or_without_a_value_everywhere_leaves_no_first_state(condition: str) -> None:
    u = universe(COUNTERS + f"system S {{ c: Counter  start when {condition} }}")
    assert u.starts == ()
    assert u.cannot_begin
    assert not universe(COUNTERS + "system S { c: Counter  start when 1 / c.n == 1 }").cannot_begin


NOWHERE = COUNTERS + "system S { c: Counter  start when c.n > 2  invariant fine: c.n < 3 }"


def test_what_cannot_begin_is_not_exported_certified_or_simulated(tmp_path: Path) -> None:
    model, system = of(NOWHERE)
    for export in (promela, tla):
        with pytest.raises(RefusedError, match="no initial state satisfies"):
            export(model, system)
    assert certify(model, system, True, Budget()) == "there is no initial state"
    about = CertifiedSystem(system.qualified, ("fine",), 1, "0" * 64, ())
    with pytest.raises(recheck.RefusedError, match="the system has no initial state"):
        recheck.confirm(Universe(model, system), about)
    with pytest.raises(NoSuchError, match="`S` cannot begin: no initial state satisfies `start when`"):
        begin(model, system)
    with pytest.raises(FaultError):
        states(model, system)
    assert census(model, system).worlds == []
    path = tmp_path / "nowhere.fsm"
    path.write_text(NOWHERE, "utf-8")
    ended = CliRunner().invoke(cli, ["verify", str(path)])
    assert ended.exit_code == 1
    assert "holds" not in ended.output


@pytest.mark.parametrize(("first", "outcome"), [("Plan", "violated"), ("Built", "not checked")])
def test_no_refinement_holds_where_a_side_has_no_first_state(first: str, outcome: str) -> None:
    plan, built = ("start when c.n > 2" if x == first else "" for x in ("Plan", "Built"))
    text = f"system Plan {{ c: Counter {plan} }} system Built refines Plan {{ c: Counter {built} }}"
    model = compiled(COUNTERS + text)
    x = explore(model, model.systems["test.Built"], means=PLAIN)
    (v,) = (v for v in x.verdicts if v.kind == "refinement")
    assert v.outcome == outcome


def test_start_when_is_asked_of_the_only_first_state_too() -> None:
    text = "machine A { n: 0..3 = 2  initial state Up } system S { a: A  start when a.n == %d }"
    assert universe(text % 2).fault is None
    assert universe(text % 3).fault is not None


MANY = COUNTERS + "system S { cs: Counter[8]  %s reachable some c in cs: c.live }"


@pytest.mark.full(reason="size")
def test_too_many_first_states_are_said_and_leave_everything_unknown() -> None:
    for narrowing in ("", "start when cs[7].n == 3"):
        with pytest.raises(TooManyValuesError, match="more than 65536 initial states"):
            universe(MANY % narrowing).starts  # noqa: B018
    x = explored(MANY % "")
    assert x.stopped == "stopped: the environment would have to choose among more than 65536 initial states"
    assert {v.outcome for v in x.verdicts} == {"unknown"}
    assert not census(*of(MANY % "")).complete
    with pytest.raises(NoSuchError, match="too many to choose from"):
        begin(*of(MANY % ""))


def test_first_fields_that_rule_out_the_rest_save_looking_at_it() -> None:
    assert len(universe(MANY % "start when all c in cs: c.n == 1 and c.live").starts) == 1


# Exploring -----------------------------------------------------------------------------------------------------------


def test_first_states_are_of_depth_0_and_no_steps() -> None:
    x = explored(COUNTERS + "system S { c: Counter  start when c.live and c.n < 2 }")
    # twice stays what it was: 0, 1, 2 from n = 0, and 1, 2 from n = 1
    assert (x.states, x.transitions, x.levels) == (5, 3, (2, 2, 1)[: len(x.levels)])


@pytest.mark.parametrize("most", [1, 2, 3, 5, 6, 7, 8, 20])
def test_both_searches_stop_alike_at_a_limit(most: int) -> None:
    model, system = of(COUNTERS + "system S { c: Counter  invariant n: c.n != 1 or not c.live }")
    limits = Limits(most)
    wanted = found(by_definition(model, system, limits))
    assert differences(wanted, found(packed(model, system, limits, PLAIN))) == []


def test_a_counterexample_says_how_it_begins_and_becomes_a_scenario_and_a_test(tmp_path: Path) -> None:
    text = COUNTERS + "system S { cs: Counter[2]  invariant fine: cs[1].n < 2 or cs[0].n > 0 or not cs[1].live }"
    model, system = of(text)
    x = simplest(explore(model, system, means=PLAIN), model)
    trace = verdict(x, "fine").trace
    assert trace is not None
    assert lines(trace) == ["0  start   c0: Up; c1: Up; c0.n = 0; c0.live = false; c1.n = 2; c1.live = true"]
    (tmp_path / "test.fsm").write_text("module test\n" + text)
    script = as_scenario(trace, "again")
    assert "start with c0.n = 0, c0.live = false, c1.n = 2, c1.live = true" in script.text
    (tmp_path / "again.fsm").write_text(script.text.replace("import test", "import test"))
    loaded = load([tmp_path])
    assert loaded.model is not None, loaded.diagnostics
    (played,) = (play(loaded.model, s) for s in loaded.model.scenarios.values())
    assert played.passed
    assert played.trace.start == trace.start
    done = CliRunner().invoke(cli, ["verify", str(tmp_path / "test.fsm"), "--replay", str(tmp_path / "replays")])
    assert "replays them" in done.output, done.output
    (test,) = (tmp_path / "replays").glob("test_*_fine.py")
    assert "c1 = Counter(n=2, twice=4, live=True)" in test.read_text().replace("system, ", "")


def test_properties_of_runs_are_asked_from_every_first_state() -> None:
    asked = """
        property two:    eventually c.n == 2
        property begun: c.live or not c.live
        property first: c.n == 1
        property next:  next c.n > 0
        property leads: c.n == 2 ~> c.n == 1
    """
    x = explored(COUNTERS + f"system S {{ c: Counter  start when c.n > 0 {asked} }}")
    assert [(v.name, v.outcome) for v in x.verdicts if v.kind == "property"] == [
        ("two", "violated"), ("begun", "holds"), ("first", "violated"), ("next", "holds"),
        ("leads", "violated"),
    ]  # fmt: skip
    stays, other = verdict(x, "two").trace, verdict(x, "first").trace
    assert stays is not None
    assert other is not None
    assert stays.start.fields == ((1, 2, False),)
    assert other.start.fields == ((2, 4, False),)


def test_interchangeable_instances_begin_in_orbits() -> None:
    text = COUNTERS + "system S { cs: Counter[3] symmetric  start when all c in cs: c.live }"
    assert explored(text).levels[0] == 27
    reduced = explored(text, Means(compiled=False))
    assert reduced.reduced == ("cs",)
    assert reduced.levels[0] == 10
    apart = text.replace("start when", "start when cs[0].n == 1 and")
    assert explored(apart, Means(compiled=False)).reduced == ()


def test_what_refers_to_any_of_them_tells_none_apart() -> None:
    text = """
    machine Job { initial state Idle  state Done  event work from Boss  Idle -> Done on work  ignore work in Done }
    machine Boss {
        first: Job = any
        rest:  set<Job> = any
        initial state Up
        event go, more from environment
        Up on go do first.work
        Up on more do { for j in rest { j.work } }
    }
    system S { jobs: Job[3] symmetric  boss: Boss  start when boss.first not in boss.rest }
    """
    u = universe(text)
    search = by_definition(*of(text), Limits())
    wanted = orbits(u, search.worlds, ["jobs"])
    reduced = explored(text, Means(compiled=False))
    assert reduced.reduced == ("jobs",)
    assert reduced.states == len(wanted) < search.states
    assert reduced.levels[0] == len(orbits(u, u.starts, ["jobs"]))


def test_a_simpler_run_may_begin_elsewhere() -> None:
    text = (
        COUNTERS
        + """system S {
        cs: Counter[2]
        start when all c in cs: c.live
        start when cs[0].n > 0 and cs[0].n + cs[1].n == 2
        invariant fine: some c in cs: c.n < 2
    }"""
    )
    model, system = of(text)
    x = explore(model, system, means=PLAIN)
    short, simple = verdict(x, "fine").trace, verdict(simplest(x, model), "fine").trace
    assert short is not None
    assert simple is not None
    assert short.steps() == ["c0.bump", "c1.bump"]
    assert simple.steps() == ["c1.bump", "c1.bump"]
    assert simple.start.fields[0][0] == 2


def test_a_search_that_was_saved_goes_on_from_all_first_states(tmp_path: Path) -> None:
    model, system = of(COUNTERS + "system S { cs: Counter[2]  property all c in cs: eventually c.n == 2 }")
    whole = explore(model, system, means=PLAIN)
    explore(model, system, Limits(40), means=PLAIN, keeping=Keeping(tmp_path))
    resumed = explore(model, system, means=PLAIN, keeping=Keeping(None, resume=tmp_path))
    assert (resumed.states, resumed.transitions, resumed.levels) == (whole.states, whole.transitions, whole.levels)
    assert [v.outcome for v in resumed.verdicts] == [v.outcome for v in whole.verdicts]


def test_machine_code_begins_in_all_first_states() -> None:
    pytest.importorskip("llvmlite")
    text = COUNTERS + "system S { cs: Counter[3]  property all c in cs: c.live ~> c.n == 2  invariant cs[0].n < 3 }"
    plain, fast = explored(text), explored(text, Means(compiled=True, workers=2, symmetry=False))
    assert (fast.states, fast.transitions, fast.levels) == (plain.states, plain.transitions, plain.levels)
    assert [v.outcome for v in fast.verdicts] == [v.outcome for v in plain.verdicts]


def test_each_first_state_refines_one() -> None:
    text = """
    machine A { n: 0..2 = any  initial state Up  event go from environment  Up on go when n < 2 do n = n + 1 }
    machine B { n: 0..2 = any  initial state Up  event go from environment  Up on go when n < 2 do n = n + 1 }
    system Plan { a: A  start when a.n < %d }
    system Built refines Plan { b: B  start when b.n < 2  map a in Up  map a.n = b.n }
    """
    for most, outcome in ((3, "holds"), (2, "holds"), (1, "violated")):
        model = compiled(text % most)
        system = next(x for x in model.systems.values() if x.name == "Built")
        (one,) = (v for v in explore(model, system, means=PLAIN).verdicts if v.kind == "refinement")
        assert one.outcome == outcome
        if one.trace is not None:
            assert one.trace.start.fields == ((1,),)
            assert one.explanation == ("its initial state is not an initial state of `Plan`: a.n: 0 → 1",)


def test_recovery_compares_with_what_is_reached_from_any_first_state() -> None:
    text = COUNTERS.replace("Up on bump", "Up -> Up on crash do n = 2\n    Up on bump")
    system = "system S { c: Counter  start when %s  environment { c.bump  crash }  property back: recovers on n }"
    assert verdict(explored(text + system % "c.live"), "back").outcome == "holds"
    assert verdict(explored(text + system % "not c.live and c.n < 2"), "back").outcome == "violated"
    assert verdict(explored(text + system % "not c.live"), "back").outcome == "holds"


def test_a_certificate_has_every_first_state(tmp_path: Path) -> None:
    from fsmdsl.interop.certificate import parse
    from fsmdsl.recheck import RefusedError, recheck

    spec, path = tmp_path / "a.fsm", tmp_path / "certificate.json"
    spec.write_text(COUNTERS + "system S { c: Counter  environment { some d in {c}: d.bump }  invariant c.n < 3 }")
    command = ["verify", str(spec), "--certificate", str(path), "--with-states"]
    assert "certifies" in CliRunner().invoke(cli, command).output
    certificate = json.loads(path.read_text())
    (confirmed,) = recheck(parse(path.read_bytes()), [spec]).confirmed
    assert confirmed.states == len(certificate["systems"][0]["worlds"])
    only = next(x for x in certificate["systems"][0]["worlds"] if "[0,0,true]" in x)
    certificate["systems"][0]["worlds"].remove(only)
    with pytest.raises(RefusedError, match="an initial state is missing"):
        recheck(parse(json.dumps(certificate).encode()), [spec])


def test_a_graph_has_all_first_states_at_depth_0() -> None:
    graph = states(*of(COUNTERS + "system S { c: Counter  start when c.live }"))
    assert sorted(about["depth"] for _, about in graph.nodes(data=True))[:4] == [0, 0, 0, 1]


# Scenarios, simulation, logs, comparison -----------------------------------------------------------------------------


def wrong(text: str) -> list[str]:
    parsed = parse(Source("test.fsm", text))
    resolved = resolve([parsed.module])
    return [d.message for d in (*parsed.diagnostics, *resolved.diagnostics)]


SCENARIO = COUNTERS + "system S { cs: Counter[2]  start when cs[0].live }\nscenario X of S { %s }"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            "start with c0.n = 1, c0.live = true, c1.n = 0",
            "`c1.live` has no fixed initial value, so the scenario must choose one",
        ),
        ("start with c0.n = 1, c0.n = 1, c0.live = true, c1.n = 0, c1.live = true", "`c0.n` already has a value"),
        ("start with c0.n = 1, c0.live = true, c1.n = 0, c1.live = 3", "expected true or false, got the number 3"),
        (
            "start with c0.n = 1, c0.live = true, c1.n = 0, c1.live = true, c1.twice = 1",
            "the initial value of `twice` of `c1` is fixed",
        ),
        (
            "start with c0.n = 1, c0.live = true, c1.n = 0, c1.live = true, c1.x = 1",
            "`Counter` has no field `x`",
        ),
        ("start with cs.n = 1", "`start with` can apply only to single instances"),
    ],
)
def test_a_scenario_says_how_it_begins(said: str, message: str) -> None:
    assert any(message in x for x in wrong(SCENARIO % said)), wrong(SCENARIO % said)


def test_a_scenario_begins_as_the_system_may() -> None:
    said = "start with cs[0].n = 1, c0.live = %s\n    start with c1.n = 2, c1.live = false\n    expect cs[0].twice == 2"
    for on, passes in (("true", True), ("false", False)):
        model = compiled(SCENARIO % (said % on))
        played = play(model, model.scenarios["test.X"])
        assert played.passed is passes
    assert played.failure is not None
    assert "no initial state satisfies" in played.failure.message


def test_a_scenario_with_instances_of_its_own_gives_their_values_in_braces_or_so() -> None:
    for begins in ("c: Counter { n = 1, live = true }", "c: Counter { live = true }\n    start with c.n = 1"):
        model = compiled(COUNTERS + f"scenario X {{ {begins}\n    c.bump\n    expect c.n == 2 }}")
        assert play(model, model.scenarios["test.X"]).passed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("machine A { d: duration = any  initial state Up }", "the values of `duration` cannot be listed"),
        ("machine A { d: set<duration> = any  initial state Up }", "the values of `set<duration>` cannot be listed"),
        ("opaque O machine A { o: O = any  initial state Up }", "the values of `O` cannot be listed"),
        (
            "machine A { param p: 0..3  initial state Up } system S { a: A { p = any } }",
            "`p` is a parameter, not a field",
        ),
        ("machine A { n: 0..3 = any + 1  initial state Up }", "`any`"),
    ],
)
def test_what_cannot_be_any(text: str, message: str) -> None:
    assert any(message in x for x in wrong(text)), wrong(text)


def test_a_run_by_hand_begins_where_a_person_chooses() -> None:
    session = begin(*of(COUNTERS + "system S { c: Counter }"))
    assert session.world.fields == ((0, 0, False),)
    listed = choices(session).choices
    assert [c.kind for c in listed] == ["start"] * 5
    session = chosen(session, next(c for c in listed if c.text == "start with c.n = 1, c.live = true"))
    assert session.world.fields == ((1, 2, True),)
    bump = choices(session).choices[0]
    assert (bump.text, bump.kind, bump.number) == ("c.bump", "event", 1)
    session = chosen(session, bump)
    assert choices(session).choices == ()
    assert session.undone().world.fields == ((1, 2, True),)
    assert session.trace.start.fields == ((1, 2, True),)
    again = replayed(session.universe, data(session.trace))
    assert again.moved(1).world == session.world


def test_the_first_line_of_a_log_may_follow_any_first_state() -> None:
    mapping = '[[line]]\nwhen = { msg = "bump" }\ninstance = "c"\nevent = "bump"\n'
    reading = bind(read(Source("mapping.toml", mapping)), universe(COUNTERS + "system S { c: Counter }"))
    for count, told in ((1, True), (2, True), (3, False)):
        log = BytesIO(b'{"msg": "bump"}\n' * count)
        assert (explain(reading, "run.log", log_lines(log), depth=0, whole=True).failure is None) is told


def test_versions_that_begin_otherwise_differ() -> None:
    text = COUNTERS + "system S { c: Counter  start when %s }"
    old, same, fewer = (universe(text % x) for x in ("c.live", "not not c.live", "c.live and c.n < 2"))
    assert behaviour(old, same, {}, Bounds()).outcome == "same"
    found = behaviour(old, fewer, {}, Bounds())
    assert found.outcome == "different"
    (run,) = found.runs
    assert (run.allowed_by, run.trace.start.fields, run.why) == ("old", ((2, 4, True),), "it does not begin so there")


# Classes and implementations -----------------------------------------------------------------------------------------


class Counter:
    """Somebody's own."""

    def __init__(self, n: int, live: bool) -> None:
        self.n, self.twice, self.live = n, n + n, live

    def bump(self) -> None:
        self.n += 1


class CounterTwin(Twin):
    """Drives it."""

    system = "S"

    def start(self, instances: tuple[Instance, ...]) -> Mapping[str, object]:
        return {x.name: Counter(**{k: v for k, v in x.fields.items() if k != "twice"}) for x in instances}  # type: ignore[arg-type]

    def state(self, instance: str) -> object:
        return "Up"


@pytest.mark.parametrize("right", [True, False])
def test_a_twin_begins_with_any_values(tmp_path: Path, right: bool) -> None:
    (tmp_path / "a.fsm").write_text("module a\n" + COUNTERS + "system S { c: Counter }")

    def start(self: CounterTwin, instances: tuple[Instance, ...]) -> Mapping[str, object]:
        made = CounterTwin.start(self, instances)
        c = made["c"]
        assert isinstance(c, Counter)
        c.twice += c.n == 2 and not right
        return made

    twin = type("Mine", (CounterTwin,), {"specs": tmp_path / "a.fsm", "start": start})()
    twin.test_follows_every_row()
    if right:
        twin.test_agrees_with_the_model()
    else:
        with pytest.raises(DifferenceError, match=r"c.twice is 4 in the model, 5 in yours"):
            twin.test_agrees_with_the_model()


def test_exports_write_so_many_first_states_and_no_more() -> None:
    model, system = of(COUNTERS + "system S { cs: Counter[4]  start when all c in cs: c.live or c.n == 0 }")
    assert len(Universe(model, system).starts) == 4**4
    assert promela(model, system).text.count("c_code { begin_in(") == 4**4
    assert tla(model, system).text.count("[First EXCEPT ") == 4**4 - 1
    model, system = of(COUNTERS + "system S { cs: Counter[4] }")
    for export in (promela, tla):
        with pytest.raises(RefusedError, match=r"`S` cannot be exported: it may begin in more than 1,024 states"):
            export(model, system)
