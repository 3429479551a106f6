"""`explore while`: how far a system is explored, in every reader of a system."""

from __future__ import annotations

import json
import shutil
from io import BytesIO
from itertools import product
from pathlib import Path

import pytest
from campaign import by_definition, differences, found, packed
from campaign_second_opinion import BUDGET
from click.testing import CliRunner
from stepping import compiled, only_system
from test_mpi import by_ranks, told

from fsmdsl import model as m
from fsmdsl.cli.parser import cli
from fsmdsl.graphs import states
from fsmdsl.interop.export.promela import promela
from fsmdsl.interop.logs.binding import bind
from fsmdsl.interop.logs.explanation import explain
from fsmdsl.interop.logs.lines import lines as log_lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.interop.second_opinion import compare
from fsmdsl.interop.second_opinion.spin import Spin
from fsmdsl.report.compare.behaviour import Bounds, behaviour
from fsmdsl.report.coverage import explored as reached
from fsmdsl.report.exploration import summary, verdict
from fsmdsl.runs.replay import simplest
from fsmdsl.runs.scenario import play
from fsmdsl.runs.simulation import begin, choices, chosen
from fsmdsl.search import Exploration, Keeping, Limits, Means, Verdict, diagnostics, explore
from fsmdsl.step import Universe, within
from fsmdsl.text.source import Source

PLAIN = Means(compiled=False, symmetry=False)

COUNTER = """
machine Counter {
    durable n: 0..9 = 0
    initial state Up
    event up, down from environment
    up:   Up on up   when n < 9 do n = n + 1
    down: Up on down when n > 0 do n = n - 1
}
"""


def of(text: str) -> tuple[m.Model, m.System]:
    model = compiled(text)
    return model, only_system(model)


def explored(text: str, means: Means = PLAIN, limits: Limits | None = None) -> Exploration:
    return explore(*of(text), limits, means=means)


def named(x: Exploration, name: str) -> Verdict:
    (one,) = (v for v in x.verdicts if v.name == name)
    return one


def both(text: str, limits: Limits | None = None) -> dict[str, object]:
    """What the definition finds; both packed searches find the same."""
    model, system = of(text)
    limits = limits or Limits()
    wanted = found(by_definition(model, system, limits))
    assert not differences(wanted, found(packed(model, system, limits, PLAIN)))
    fast = Means(compiled=True, workers=2, symmetry=False)
    assert not differences(wanted, found(packed(model, system, limits, fast)))
    return wanted


# Which states --------------------------------------------------------------------------------------------------------


def test_states_beyond_the_bound_are_found_and_counted_and_not_followed() -> None:
    wanted = both(COUNTER + "system S { cs: Counter[2]  explore while all c in cs: c.n < 3 }")
    grid = {(a, b) for a, b in product(range(4), range(4)) if a < 3 or b < 3}
    worlds = {(a, b) for ((a,), (b,)) in (w.fields for w in wanted["worlds"])}  # type: ignore[attr-defined]
    assert worlds == grid
    assert wanted["beyond"] == len([x for x in grid if 3 in x]) == 6


def test_several_bounds_must_all_be_true() -> None:
    wanted = both(COUNTER + "system S { cs: Counter[2]  explore while cs[0].n < 2  explore while cs[1].n < 3 }")
    assert (wanted["states"], wanted["beyond"]) == (3 * 4 - 1, 2 + 3)


@pytest.mark.parametrize("bound", ["12 / c.n >= 4", "c.n > 0 and 12 / c.n >= 4", "6 / (3 - c.n) > 1", "c.n < 0"])
def test_a_bound_without_a_value_is_not_true(bound: str) -> None:
    """By hand: the first state is beyond the bound, or that in which the divisor is 0."""
    wanted = both(COUNTER + f"system S {{ c: Counter  explore while {bound} }}")
    last = 3 if "3 - " in bound else 0
    assert (wanted["states"], wanted["beyond"]) == (last + 1, 1)


def test_a_bound_sees_what_an_invariant_sees() -> None:
    text = """
    channel c: fifo[3] to Reader
    machine Sender { initial state Up  event go from environment  go: Up on go do send c.data }
    machine Reader { initial state On  event data from c  On on data }
    system S { s: Sender  r: Reader  let held = size(c)  explore while held < 2 and r in On }
    """
    wanted = both(text)
    assert (wanted["states"], wanted["beyond"]) == (3, 1)


def test_a_system_is_down_beyond_its_bound_too() -> None:
    """A crash leads beyond it: `recover` is not followed from there."""
    text = COUNTER.replace("durable n", "n").replace("Up on up ", "Up -> Up on crash\n    Up on up ")
    text += "system S { c: Counter  environment { c.up  crash when c.n == 2 }  recover { }  explore while c.n < 2 }"
    wanted = both(text)
    assert (wanted["states"], wanted["beyond"]) == (3, 1)


def test_limits_and_bounds_together() -> None:
    text = COUNTER + "system S { cs: Counter[3]  explore while all c in cs: c.n < 3  invariant cs[0].n < 3 }"
    for most in range(1, 60, 7):
        both(text, Limits(most))
    x = explored(text, limits=Limits(20))
    assert (verdict(explored(text.replace("invariant cs[0].n < 3", ""), limits=Limits(20)))) == "bounded"
    assert x.extent == "stopped at 20 states"
    assert "beyond the bound" in summary(x)


# What is asked of them -----------------------------------------------------------------------------------------------


def test_invariants_and_reachable_are_asked_beyond_and_nothing_is_behind() -> None:
    asked = "invariant few: c.n <= 3  invariant less: c.n < 3  reachable at: c.n == 3  reachable past: c.n == 4"
    x = explored(COUNTER + f"system S {{ c: Counter  explore while c.n < 3  {asked} }}")
    assert {v.name: v.outcome for v in x.verdicts if v.kind in ("invariant", "reachable")} == {
        "few": "holds", "less": "violated", "at": "holds", "past": "violated",
    }  # fmt: skip
    assert named(x, "few").basis == "within the bound: 4 states, 1 of them beyond it"
    told = [d.message for d in diagnostics(x)]
    assert "no state of `S` within its bound satisfies `past`" in told


def test_a_step_that_would_fail_beyond_the_bound_is_not_followed() -> None:
    text = COUNTER.replace("when n < 9", "").replace("0..9", "0..2") + "system S { c: Counter  explore while c.n < %d }"
    for bound, outcome in ((2, "holds"), (3, "violated")):
        x = explored(text % bound)
        assert [v.outcome for v in x.verdicts if v.kind == "fault"] == [outcome]
        both(text % bound)


ENDS = """
machine Job { n: 0..9 = 0  initial state On  event go from environment  On on go when n < 4 do n = n + 1 }
system S { j: Job  explore while j.n < %d }
"""


def test_beyond_the_bound_is_no_deadlock() -> None:
    for bound, dead in ((4, "holds"), (5, "violated")):
        wanted = both(ENDS % bound)
        assert (wanted["deadlock"] is None) is (dead == "holds")
        assert named(explored(ENDS % bound), "no deadlock").outcome == dead


def test_beyond_the_bound_is_no_circular_wait() -> None:
    text = """
    machine Fork { initial state Free  state Taken  event take from Phil  Free -> Taken on take }
    machine Phil {
        param left: Fork  param right: Fork
        initial state Thinks  state Holds  state Eats
        event first, second from environment
        Thinks -> Holds on first when left in Free do left.take
        Holds -> Eats on second when right in Free do right.take
    }
    machine Other { initial state On  final state Off  event stop from environment  On -> Off on stop }
    system S {
        forks: Fork[2]
        a: Phil { left = forks[0], right = forks[1] }
        b: Phil { left = forks[1], right = forks[0] }
        o: Other
        %s
    }
    """
    # It waits for rows that another of them could make possible: forks never come free, so nobody waits here.
    text = text.replace("event take from Phil", "event take, put from Phil")
    text = text.replace("Free -> Taken on take", "Free -> Taken on take  Taken -> Free on put")
    text = text.replace("state Eats", "state Eats  event done from environment")
    text = text.replace("do right.take\n", "do right.take\n        Eats -> Thinks on done do { left.put; right.put }\n")
    assert both(text % "")["waiting"] != (None, 0)
    bounded = text % "explore while not (a in Holds and b in Holds)"
    assert both(bounded)["waiting"] == (None, 0)


def test_what_no_run_follows_is_said_of_the_bound() -> None:
    text = COUNTER + "system S { c: Counter  explore while c.n < %d  invariant part: c.n == 5 => c.n > 4 }"
    narrow, wide = explored(text % 0), explored(text % 9)
    assert narrow.coverage.unfollowed
    assert named(narrow, "part").explanation == ("vacuous: `c.n == 5` is never true within the bound",)
    assert named(wide, "part").explanation == ()
    assert (narrow.exhaustive, wide.exhaustive) == (False, False)


def test_a_bound_that_leaves_nothing_out_is_not_spoken_of() -> None:
    x = explored(COUNTER + "system S { c: Counter  explore while c.n < 10  invariant c.n < 10 }")
    assert (x.beyond, x.exhaustive, x.extent) == (0, True, "exhaustive")
    assert x.verdicts[0].basis == "exhaustive: 10 states"
    assert "bound" not in summary(x)


# Runs ----------------------------------------------------------------------------------------------------------------

LAMPS = """
machine Lamp {
    initial state Off  state On  state Broken
    event press, hit, repair from environment
    press: Off -> On on press  press: On -> Off on press
    hit: On -> Broken on hit  %s
}
system S { lamps: Lamp[2]  %s }
"""
REPAIR = "Broken -> Off on repair"
A, B = "lamps[0]", "lamps[1]"
WITHIN = (
    f"{A} not in Broken",
    f"not ({A} in On and {B} in On)",
    f"{B} in Off or {A} in Off",
    f"{A} in Off",
    f"{B} in On",
)
FAIR = ("", "under fair press", "under strong fair hit, fair press", "under strong fair press, strong fair hit")


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("repair", ["", REPAIR])
@pytest.mark.parametrize("stutter", [False, True])
def test_runs_that_stay_within_the_bound_are_those_that_count(within: str, repair: str, stutter: bool) -> None:
    """Of what no first part of a run can break: the same as without the bound, of runs on which it is always true."""
    formulas = (f"eventually {A} in On", f"{A} in On ~> {B} in On", f"eventually always {B} not in On",
                f"always eventually {B} in Off", f"{A} in Broken ~> {A} in Off")  # fmt: skip
    listed = [(f"p{n}", formula, fair) for n, (formula, fair) in enumerate(product(formulas, FAIR))]
    bounded = "  ".join(f"property {name}: {formula} {fair}" for name, formula, fair in listed)
    whole = "  ".join(f"property {name}: (always ({within})) => ({formula}) {fair}" for name, formula, fair in listed)
    one = explore(*of(LAMPS % (repair, f"explore while {within}  {bounded}")), means=PLAIN, stutter=stutter)
    two = explore(*of(LAMPS % (repair, whole)), means=PLAIN, stutter=stutter)
    outcomes = ({v.name: v.outcome for v in x.verdicts if v.kind == "property"} for x in (one, two))
    assert next(outcomes) == next(outcomes)
    for v in one.violations:
        if v.kind == "property":
            assert v.trace is not None
            assert v.trace.loop is not None


@pytest.mark.parametrize("within", WITHIN)
def test_what_has_broken_a_property_by_the_first_state_beyond_is_a_counterexample(within: str) -> None:
    for bad in (f"{A} in Broken", f"{A} in On and {B} in On", f"{B} in Broken", f"{A} in On"):
        text = LAMPS % (REPAIR, f"explore while {within}  property kept: always not ({bad})  reachable seen: {bad}")
        x = explored(text)
        broken = named(x, "seen").outcome == "holds"
        assert named(x, "kept").outcome == ("violated" if broken else "holds")


def test_a_run_that_leaves_the_bound_has_not_ended_there() -> None:
    text = COUNTER + "system S { c: Counter  environment { c.up }  explore while c.n < 3  property p: %s }"
    assert named(explored(text % "eventually c.n == 5"), "p").outcome == "holds"
    assert named(explored(text % "eventually c.n == 5"), "p").basis == "within the bound: 4 states, 1 of them beyond it"
    assert named(explored(text % "c.n < 2 until c.n == 5"), "p").outcome == "violated"
    assert named(explored(text % "next next c.n == 2"), "p").outcome == "holds"
    assert named(explored(text % "next c.n == 2"), "p").outcome == "violated"
    assert named(explored(text % "next next next next c.n == 4"), "p").outcome == "holds"
    both(text % "eventually c.n == 5")


RETRIES = """
machine Server {
    attempts: 0..9
    answered: bool
    initial state Open
    event retry, succeed from environment
    Open on retry when not answered do attempts = %s
    Open on succeed when not answered do answered = true
}
system S { server: Server  may rest when server.answered  %s  property served: eventually server.answered }
"""


def test_what_holds_within_the_bound_may_be_violated_by_a_run_that_leaves_it(tmp_path: Path) -> None:
    """The example of the documentation, and what it advises instead."""
    bounded = RETRIES % ("min(attempts + 1, 9)", "explore while server.attempts <= 2")
    assert named(explored(bounded), "served").outcome == "holds"
    assert named(explored(RETRIES % ("min(attempts + 1, 9)", "")), "served").outcome == "violated"
    assert named(explored(RETRIES % ("min(attempts + 1, 3)", "")), "served").outcome == "violated"
    spec = tmp_path / "a.fsm"
    for text, is_noted in ((bounded, True), (bounded.replace("<= 2", "<= 9"), False)):
        spec.write_text(text)
        output = CliRunner().invoke(cli, ["verify", str(spec)]).output
        assert ("property served holds as far as runs stay within the bound" in output) is is_noted


MAYBE_STUCK = """
machine Noise { initial state On  event flip from environment  On on flip }
machine Clock { n: 0..4  initial state On  event tick from environment  On on tick when n < 4 do n = n + 1 }
machine Gate { param c: Clock  initial state Shut  state Open
    event push from environment  Shut -> Open on push when c.n > %d }
system S { x: Noise  c: Clock  g: Gate { c = c }  explore while c.n < %d
    property never: always not stuck(g)
    property sometime: eventually stuck(g)
    property same: always (stuck(g) == (c.n > 4))
}
"""


def test_no_run_is_a_counterexample_because_somebody_might_be_stuck_or_move_beyond(tmp_path: Path) -> None:
    """Nobody can say within the bound whether the gate will be pushed beyond it: it may be that it is stuck already."""
    names = ("never", "sometime", "same")
    for opens, is_stuck in ((3, False), (4, True)):
        whole, part = (explored(MAYBE_STUCK % (opens, most)) for most in (5, 2))
        assert [named(whole, x).outcome for x in names] == (
            ["violated", "holds", "violated"] if is_stuck else ["holds", "violated", "holds"]
        )
        assert [named(part, x).outcome for x in names] == ["holds"] * 3
        limited = explored(MAYBE_STUCK % (opens, 5), limits=Limits(4))
        assert [named(limited, x).outcome for x in names] == ["unknown"] * 3
    spec = tmp_path / "a.fsm"
    for most in (2, 5):
        spec.write_text(MAYBE_STUCK % (4, most))
        output = CliRunner().invoke(cli, ["verify", str(spec), "--second-opinion", "graph"]).output
        assert "confirmed  a.S by the state graph: 6 confirmed" in output


def test_a_premise_that_comes_true_on_no_run_within_is_said_of_the_bound() -> None:
    text = COUNTER + "system S { c: Counter  explore while c.n < 3  property p: c.n == 7 ~> c.n == 0 }"
    assert named(explored(text), "p").explanation == ("vacuous: `c.n == 7` is never true within the bound",)


def test_nobody_is_stuck_who_may_move_beyond() -> None:
    text = """
    machine Clock { n: 0..4 = 0  initial state On  event tick from environment  On on tick when n < 4 do n = n + 1 }
    machine Gate { param c: Clock  initial state Shut  state Open
        event push from environment  Shut -> Open on push when c.n == 3 }
    system S { c: Clock  g: Gate { c = c }  explore while c.n < %d  property free: always not stuck(g) }
    """
    assert named(explored(text % 2), "free").outcome == "holds"
    assert named(explored(text % 5), "free").outcome == "violated"  # the clock goes on, and the gate was not pushed


def test_recovery_is_followed_and_compared_within() -> None:
    text = COUNTER.replace("Up on up ", "Up -> Up on crash\n    Up on up ")
    system = "system S { c: Counter  environment { c.up  crash }  recover { c.n = %s }  explore while c.n < 3  %s }"
    asked = "property back: recovers on n"
    x = explored(text + system % ("min(c.n, 2)", asked))
    assert (named(x, "back").outcome, named(x, "back").basis[:16]) == ("holds", "within the bound")
    # It ends beyond the bound, where states without a crash are not known.
    assert named(explored(text + system % ("7", asked)), "back").outcome == "holds"
    both(text + system % ("7", asked))
    # It ends within, where the system never is without a crash: from 1 it goes on by twos.
    odd = text.replace("0..9 = 0", "0..9 = 1").replace("n + 1", "n + 2").replace("when n < 9", "when n < 8")
    wrong = named(explored(odd + system % ("2", asked)), "back")
    assert wrong.outcome == "violated"
    assert wrong.explanation[-1] == "within the bound: states beyond it were not compared"


def test_steps_that_lead_beyond_the_bound_refine_too() -> None:
    text = (
        COUNTER
        + """
    machine Plan { n: 0..9 = 0  initial state Up  event up from environment  Up on up when n < %d do n = n + 1 }
    system P { p: Plan  explore while p.n < 0 }
    system B refines P { c: Counter  environment { c.up }  explore while c.n < 3  map p in Up  map p.n = c.n }
    """
    )
    for most, outcome in ((3, "holds"), (2, "violated")):
        model = compiled(text % most)
        x = explore(model, model.systems["test.B"], means=PLAIN)
        (one,) = (v for v in x.verdicts if v.kind == "refinement")
        assert one.outcome == outcome
    assert x.beyond == 1


# Searches ------------------------------------------------------------------------------------------------------------


def test_symmetric_sets_are_reduced_where_the_bound_tells_none_apart() -> None:
    text = COUNTER + "system S { cs: Counter[3] symmetric  explore while %s  reachable some c in cs: c.n == 3 }"
    every = "all c in cs: c.n < 3"
    reduced, whole = explored(text % every, Means(compiled=False)), explored(text % every)
    assert (reduced.reduced, reduced.states < whole.states) == (("cs",), True)
    assert reduced.beyond == len([x for x in product(range(4), repeat=3) if x.count(3) == 1 and list(x) == sorted(x)])
    apart = explored(text % "cs[0].n < 3", Means(compiled=False))
    assert apart.reduced == ()
    assert apart.note is not None
    assert "`cs[0]` is referred to individually" in apart.note


def test_a_search_that_was_saved_goes_on_within_the_bound(tmp_path: Path) -> None:
    model, system = of(COUNTER + "system S { cs: Counter[3]  explore while all c in cs: c.n < 4 }")
    whole = explore(model, system, means=PLAIN)
    explore(model, system, Limits(70), means=PLAIN, keeping=Keeping(tmp_path))
    resumed = explore(model, system, means=PLAIN, keeping=Keeping(None, resume=tmp_path))
    assert (resumed.states, resumed.transitions, resumed.beyond) == (whole.states, whole.transitions, whole.beyond)
    other = of(COUNTER + "system S { cs: Counter[3]  explore while all c in cs: c.n < 5 }")
    with pytest.raises(Exception, match="another"):
        explore(*other, means=PLAIN, keeping=Keeping(None, resume=tmp_path))


SIMPLER = """
machine A { n: 0..2 = 0  initial state Up  event go from environment  Up on go when n < 2 do n = n + 1 }
system S {
    xs: A[2]
    %s
    invariant fine: not (xs[0].n == 2 and xs[1].n == 2)
}
"""


def test_a_simpler_run_stays_within_the_bound() -> None:
    for bound, steps in (
        ("", ["x0.go", "x0.go", "x1.go", "x1.go"]),
        ("explore while xs[0].n <= xs[1].n and xs[1].n <= xs[0].n + 1", ["x1.go", "x0.go", "x1.go", "x0.go"]),
    ):
        model, system = of(SIMPLER % bound)
        trace = named(simplest(explore(model, system, means=PLAIN), model), "fine").trace
        assert trace is not None
        assert trace.steps() == steps


def test_a_deadlock_beyond_the_bound_is_not_shown_as_the_simplest() -> None:
    """Two faults are nearer than a deadlock within; with one instance at a time it would be beyond."""
    text = """
    machine A { initial state Up  state Mid  final state End  state Dead  event go, stop from environment
        Up -> End on stop  Up -> Mid on go  Mid -> Dead on stop  ignore go, stop in Dead }
    system S { a: A  b: A  environment { a.go  a.stop  b.go  b.stop } explore while not (b in Dead) }
    """
    model, system = of(text)
    x = simplest(explore(model, system, means=PLAIN), model)
    trace = named(x, "no deadlock").trace
    assert trace is not None
    assert within(Universe(model, system), trace.end)


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_find_the_same_beyond(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "property p: all c in cs: c.n == 1 ~> c.n == 2  invariant few: all c in cs: c.n < 9"
    model, system = of(COUNTER + f"system S {{ cs: Counter[4]  explore while all c in cs: c.n < 6  {asked} }}")
    alone, (first, *_) = explore(model, system), by_ranks(monkeypatch, size, model, system)
    assert told(first) == told(alone)
    assert first.beyond == alone.beyond == 4 * 6**3


# Words ---------------------------------------------------------------------------------------------------------------


def test_what_holds_within_the_bound_passes_and_says_so(tmp_path: Path) -> None:
    spec = tmp_path / "a.fsm"
    spec.write_text(COUNTER + "system S { c: Counter  explore while c.n < 3  invariant few: c.n < 9 }")
    ended = CliRunner().invoke(cli, ["verify", str(spec)])
    assert ended.exit_code == 0
    assert ended.output.startswith("holds     a.S: 4 states, 1 of them beyond the bound, 5 transitions, depth 3")
    assert "(within the bound)" in ended.output
    assert CliRunner().invoke(cli, ["verify", str(spec), "--max-states", "2"]).exit_code == 3
    (x,) = json.loads(CliRunner().invoke(cli, ["verify", str(spec), "--format", "json"]).output)["systems"]
    assert (x["states"], x["beyond"], x["verdict"], x["stopped"]) == (4, 1, "holds", None)
    for form in ("junit", "markdown"):
        told = CliRunner().invoke(cli, ["verify", str(spec), "--format", form]).output
        assert "4 states, 1 of them beyond the bound, within the bound" in told
    every = CliRunner().invoke(cli, ["verify", str(spec), "--all"]).output
    assert "exhaustive" not in every


def test_the_example_of_the_reference_is_explored_as_the_pages_say(tmp_path: Path) -> None:
    docs = Path(__file__).parent.parent / "docs"
    code = (docs / "language.md").read_text("utf-8").split("```fsm\nmodule log\n")[1].split("```")[0]
    (tmp_path / "log.fsm").write_text(f"module log\n{code}")
    told = CliRunner().invoke(cli, ["verify", str(tmp_path / "log.fsm")]).output
    assert told.rsplit(",", 1)[0] in (docs / "how-the-checker-works.md").read_text("utf-8")


def test_a_row_that_no_run_follows_is_said_of_the_bound(tmp_path: Path) -> None:
    spec = tmp_path / "a.fsm"
    spec.write_text(COUNTER + "system S { c: Counter  explore while c.n < 0 }")
    told = CliRunner().invoke(cli, ["verify", str(spec), "--all"]).output
    assert "never followed within the bound: Counter up" in told


def test_reports_do_not_call_a_row_dead_that_may_be_followed_beyond() -> None:
    for bound, certain in (("c.n < 0", False), ("c.n < 10", True)):
        model, system = of(COUNTER + f"system S {{ c: Counter  environment {{ c.up }}  explore while {bound} }}")
        means = Means(compiled=False, counted=True)
        reach = reached(model.machines["test.Counter"], [explore(model, system, means=means)])
        assert reach.certain is certain
        assert reach.text(0) == ("0" if certain else "0+")


def test_a_certificate_is_of_what_is_within(tmp_path: Path) -> None:
    from fsmdsl.interop.certificate import parse
    from fsmdsl.recheck import RefusedError, recheck

    spec, path = tmp_path / "a.fsm", tmp_path / "certificate.json"
    spec.write_text(COUNTER + "system S { c: Counter  explore while c.n < 3  invariant few: c.n < 4 }")
    for more in ([], ["--with-states"]):
        told = CliRunner().invoke(cli, ["verify", str(spec), "--certificate", str(path), *more]).output
        assert "certifies 1 of 1" in told
        (confirmed,) = recheck(parse(path.read_bytes()), [spec]).confirmed
        assert (confirmed.states, confirmed.beyond) == (4, 1)
    certificate = json.loads(path.read_text())
    del certificate["systems"][0]["worlds"][-1]
    with pytest.raises(RefusedError, match="a state that is missing"):
        recheck(parse(json.dumps(certificate).encode()), [spec])


# Where it is no constraint -------------------------------------------------------------------------------------------

BOUNDED = COUNTER + "system S { c: Counter  explore while c.n < 1 }\n"


def test_a_scenario_may_go_beyond() -> None:
    model = compiled(BOUNDED + "scenario X of S { c.up\n c.up\n c.up\n expect c.n == 3 }")
    assert play(model, model.scenarios["test.X"]).passed


def test_a_log_may_go_beyond() -> None:
    mapping = '[[line]]\nwhen = { msg = "up" }\ninstance = "c"\nevent = "up"\n'
    reading = bind(read(Source("mapping.toml", mapping)), Universe(*of(BOUNDED)))
    log = BytesIO(b'{"msg": "up"}\n' * 4)
    assert explain(reading, "run.log", log_lines(log), depth=0, whole=True).failure is None


def test_a_run_by_hand_may_go_beyond_and_says_so(tmp_path: Path) -> None:
    session = begin(*of(BOUNDED))
    for _ in range(3):
        session = chosen(session, next(x for x in choices(session).choices if x.text == "c.up"))
    assert session.world.fields == ((3,),)
    spec = tmp_path / "a.fsm"
    spec.write_text(BOUNDED)
    told = CliRunner().invoke(cli, ["simulate", str(spec)], input="c.up\nc.down\nquit\n").output
    first, second, third = told.split("state ")[1:]
    assert "beyond the bound of `S`" in second
    assert "beyond the bound" not in first + third


def test_a_graph_is_drawn_as_far_as_the_bound() -> None:
    assert len(states(*of(BOUNDED))) == 2


def test_two_versions_are_compared_within_their_bounds() -> None:
    old, same = Universe(*of(BOUNDED)), Universe(*of(BOUNDED.replace("c.n < 1", "c.n < 2")))
    told = behaviour(old, same, {}, Bounds())
    assert (told.outcome, told.basis) == ("same", "within the bound: 2 states")
    assert behaviour(same, old, {}, Bounds()).basis == "within the bound: 2 states"
    apart = Universe(*of(BOUNDED.replace("do n = n + 1", "do n = min(n + 2, 9)")))
    assert behaviour(old, apart, {}, Bounds()).outcome == "different"


# Other checkers ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("spin") is None, reason="SPIN is not installed")
def test_spin_counts_the_same_states() -> None:
    text = COUNTER + "system S { cs: Counter[2]  explore while all c in cs: 6 / (3 - c.n) > 1  invariant cs[0].n < 3 }"
    model, system = of(text)
    x = explore(model, system, Limits(after_violation=None), means=PLAIN)
    opinion = Spin.installed(quick=True).opinion(model, system, x.states, BUDGET)
    assert compare(x, opinion).agreement == "confirmed"


def test_runs_of_a_bounded_system_are_not_exported() -> None:
    text = COUNTER + "system S { c: Counter  explore while c.n < 3  property p: eventually c.n == 2 }"
    exported = promela(*of(text))
    assert list(exported.claims.without) == ["p"]
    assert "explore while" in exported.claims.without["p"]
