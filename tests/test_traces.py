"""Runs as people read them: which one is shown, the cascade inside a step, what is wrong at the end, loops."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from random_specs import spec
from stepping import compiled, only_system
from tiers import today

from fsmdsl import model as m
from fsmdsl.cli.parser import cli
from fsmdsl.draw.sequence import LoopBegins, LoopEnds, Note, as_mermaid, as_plantuml
from fsmdsl.draw.sequence_svg import as_svg
from fsmdsl.model.workspace import load
from fsmdsl.report.chart import chart
from fsmdsl.report.exploration import details
from fsmdsl.runs.explain import explain
from fsmdsl.runs.narrative import story
from fsmdsl.runs.replay import shortest, simplest
from fsmdsl.runs.search_result import fault_key
from fsmdsl.runs.simplest_run import Cost, Effort, Goal, cost, simplest_runs
from fsmdsl.runs.trace import data, run
from fsmdsl.search import Exploration, Limits, Trace, Verdict, explore, lines
from fsmdsl.step import CrashStep, FaultError, Result, Step, TooManyValuesError, Universe, World, enabled, fire, holds
from fsmdsl.step.describe import describe
from fsmdsl.step.evaluate import Frame
from fsmdsl.step.world import Crashed, Followed

ROOT = Path(__file__).parent.parent


def explored(text: str, limits: Limits | None = None) -> tuple[m.Model, Exploration]:
    model = compiled(text)
    return model, explore(model, only_system(model), limits)


def verdict(x: Exploration, name: str) -> Verdict:
    return next(v for v in x.verdicts if v.name == name)


def trace_of(v: Verdict) -> Trace:
    assert v.trace is not None
    return v.trace


def took(text: str, *steps: str, loop: int | None = None) -> Trace:
    """The run of steps, each the first enabled one that is described so."""
    model = compiled(text)
    universe = Universe(model, only_system(model))
    world, taken = universe.start, list[Step]()
    for wanted in steps:
        step = next(s for s in enabled(universe, world) if describe(universe, s, world) == wanted)
        taken.append(step)
        world = fire(universe, world, step).world
    return run(universe, taken, loop)


# The simplest run ----------------------------------------------------------------------------------------------------

LADDER = """
machine Ladder {
    n: 0..5
    initial state On
    event up, restart from environment
    On on up do n = n + 1
    On on crash
    On on restart
}
system S {
    ladders: Ladder[2]
    environment { some x in ladders: x.up when x.n < 4  crash when ladders[0].n == 1 }
    recover { ladders[0].n = 4 }
    invariant low: ladders[0].n < 4
}
"""


def test_a_longer_run_without_a_crash_is_simpler() -> None:
    model, x = explored(LADDER)
    assert trace_of(verdict(x, "low")).steps() == ["l0.up", "crash", "recover"]
    v = verdict(simplest(x, model), "low")
    assert v.basis == "the simplest run: 4 steps"
    assert trace_of(v).steps() == ["l0.up"] * 4
    assert v.explanation == ("`ladders[0].n < 4` is false: ladders[0].n is 4",)
    assert verdict(shortest(x), "low").basis == "the shortest run: 3 steps"


def test_faults_of_the_environment_count_before_crashes_and_steps() -> None:
    model, x = explored(
        """
        channel c: lossy fifo[1] to M
        machine M {
            n: 0..3
            initial state A
            state B
            state Bad
            event go, on_ from environment
            event note from c
            action work -> ok | err
            A -> B on go do { send c.note; work }
            B on note
            B on work.ok
            ignore note in A, Bad
            B -> Bad on work.err
            A on on_ do n = n + 1
            B -> A on go when n < 2 do n = n + 1
            B -> Bad on go when n >= 2
        }
        system S { m: M  invariant fine: m not in Bad }
        """
    )
    v = verdict(x, "fine")
    assert trace_of(v).steps() == ["m.go", "m.work.err"]
    assert cost(trace_of(v)) == Cost(1, 0, 0, 2)
    told = verdict(simplest(x, model), "fine")
    assert cost(trace_of(told)) == Cost(0, 0, 0, 5)
    assert told.basis == "the simplest run: 5 steps"


def test_steps_stay_with_one_instance_as_long_as_they_can() -> None:
    model, x = explored(
        """
        machine M { n: 0..2  initial state A  event up from environment  A on up when n < 2 do n = n + 1 }
        system S { ms: M[2]  invariant low: ms[0].n < 2 or ms[1].n < 2 }
        """
    )
    trace = trace_of(verdict(simplest(x, model), "low"))
    assert cost(trace) == Cost(0, 0, 1, 4)
    assert trace.steps() == ["m0.up", "m0.up", "m1.up", "m1.up"]


def test_messages_lost_and_repeated_are_faults_and_deliveries_happen_at_the_receiver() -> None:
    text = """
    channel c: lossy duplicating fifo[2] to M
    machine M { initial state A  event go from environment  event note from c  A on go do send c.note  A on note }
    system S { m: M }
    """
    trace = took(text, "m.go", "duplicate c.note", "deliver c.note", "lose c.note", "m.go")
    assert cost(trace) == Cost(2, 0, 0, 5)


def test_the_shortest_run_is_shown_where_the_budget_ends() -> None:
    model, x = explored(LADDER)
    told = simplest(x, model, Effort(worlds=1))
    v = verdict(told, "low")
    assert trace_of(v) == trace_of(verdict(x, "low"))
    assert v.basis == "the shortest run: 3 steps"
    assert v.limit == "the search for the simplest stopped at 1 states or 2 seconds"
    assert verdict(simplest(x, model, Effort(seconds=0)), "low").limit.endswith("20,000 states or 0 seconds")


def test_a_failing_step_is_found_again_by_its_kind_and_place() -> None:
    model = compiled(
        """
        machine M { n: 0..2  initial state A  event up, down from environment
                    A on up do n = n + 1  A on down when n > 0 do n = n - 1 }
        system S { ms: M[2]  environment { some x in ms: x.up  some x in ms: x.down } }
        """
    )
    universe = Universe(model, only_system(model))
    clumsy = run(universe, [s for s in enabled(universe, universe.start) if describe(universe, s) == "m1.up"] * 3)
    assert clumsy.fault is not None
    (found,) = simplest_runs(universe, [(Goal(fault=fault_key(clumsy.fault)), clumsy)], Effort())
    assert found is clumsy, "no run is simpler: the known one stays"
    longer = took(MOVES, "m0.up", "m0.down", "m1.up", "m1.up", "m1.up")
    assert longer.fault is not None
    universe = Universe(compiled(MOVES), only_system(compiled(MOVES)))
    (better,) = simplest_runs(universe, [(Goal(fault=("range",)), longer)], Effort())
    assert better is longer, "no step fails so: the known run stays"


MOVES = """
machine M { n: 0..2  initial state A  event up, down from environment
            A on up do n = n + 1  A on down when n > 0 do n = n - 1 }
system S { ms: M[2]  environment { some x in ms: x.up  some x in ms: x.down } }
"""


def test_a_deadlock_is_told_anew_for_its_simplest_run() -> None:
    model = load([ROOT / "specs" / "yunikorn"], as_documented=True).model
    assert model is not None
    x = explore(model, model.systems["yunikorn.shim.CoreAndShim"])
    before, v = verdict(x, "no deadlock"), verdict(simplest(x, model), "no deadlock")
    assert cost(trace_of(v)) < cost(trace_of(before))
    assert len(trace_of(v).entries) > len(trace_of(before).entries)
    where = [f"{n} in {s}" for n, s in zip(("core", "shim"), trace_of(v).end.states, strict=True)]
    assert v.explanation[0] == f"no step is possible here: {', '.join(where)}"


@pytest.mark.parametrize(
    ("crash", "step"),
    [
        ("crash", "no step other than a crash"),
        ("crash of m", "no step other than a crash"),
        ("crash between writes", "no step"),
        ("", "no step"),
    ],
)
def test_a_deadlock_says_whether_a_crash_is_possible(crash: str, step: str) -> None:
    text = "machine M { initial state A  state B  event e from environment  A -> B on e }"
    _, x = explored(f"{text} system S {{ m: M  environment {{ m.e  {crash} }} }}")
    assert verdict(x, "no deadlock").explanation[0] == f"{step} is possible here: m in B"


def cheapest(universe: Universe, wanted: Goal, most: int) -> Cost | None:
    """By relaxing every edge of the explicit graph until nothing changes; None where the graph is too large."""
    start: tuple[World, int | None] = (universe.start, None)
    known = {start: Cost()}
    leading: dict[World, list[tuple[Step, Result]]] = {}
    ends: list[Cost] = []
    todo = deque([start])
    while todo:
        world, last = todo.popleft()
        if world not in leading:
            leading[world] = [(s, fire(universe, world, s)) for s in enabled(universe, world)]
        if len(leading) > most:
            return None
        if wanted.world is not None and wanted.world(world, [s for s, _ in leading[world]]):
            ends.append(known[world, last])
        for step, result in leading[world]:
            total = known[world, last].plus(_of(universe, step, last))
            if result.fault is not None:
                ends += [total] if wanted.fault == fault_key(result.fault) else []
                continue
            target = (result.world, _instance(universe, step, last))
            if target not in known or total < known[target]:
                known[target] = total
                todo.append(target)
    return min(ends)


def _instance(universe: Universe, step: Step, last: int | None) -> int | None:
    """Written again, not taken from what is tested: a message is delivered at its receiver, a crash cuts a step."""
    while hasattr(step, "inside") and step.inside is not None:
        step = step.inside
    if hasattr(step, "instance"):
        return step.instance
    if getattr(step, "kind", "") == "deliver":
        return universe.queues[step.queue].receiver  # type: ignore[union-attr]
    return last


def _of(universe: Universe, step: Step, last: int | None) -> Cost:
    here = _instance(universe, step, None)
    inner = step
    while hasattr(inner, "inside") and inner.inside is not None:
        inner = inner.inside
    fault = getattr(inner, "kind", "deliver") != "deliver"
    if hasattr(inner, "outcome"):
        action = universe.machines[inner.instance].action_named[inner.action]
        fault = inner.outcome in action.outcomes[1:]
    return Cost(fault, type(step).__name__ == "CrashStep", int(None not in (here, last) and here != last), 1)


@pytest.mark.parametrize("seed", today(range(120)))
def test_simplest_runs_of_random_systems_cost_what_the_explicit_graph_says(seed: int) -> None:
    model = compiled(spec(seed))
    system = only_system(model)
    universe = Universe(model, system)
    if universe.fault is not None:
        return
    x = explore(model, system, Limits(120, 1.0))
    for before, v in zip(x.verdicts, simplest(x, model).verdicts, strict=True):
        if before.outcome != "violated" or before.trace is None or v.trace is None:
            assert v == before
            continue
        assert cost(v.trace) <= cost(before.trace)
        wanted = _wanted(universe, v)
        if wanted is None or not v.basis.startswith("the simplest"):
            continue
        try:
            expected = cheapest(universe, wanted, 150)
        except (FaultError, TooManyValuesError):
            continue
        assert expected in (None, cost(v.trace)), v.name


def _wanted(universe: Universe, v: Verdict) -> Goal | None:
    """The goal of a failing step or of a system's invariant."""
    if v.trace is not None and v.trace.fault is not None:
        return Goal(fault=fault_key(v.trace.fault))
    asked = [i for i in universe.system.invariants if i.name == v.name and v.kind == "invariant"]
    if not asked:
        return None

    def broken(world: World, _: object) -> bool:
        try:
            return not holds(universe, world, asked[0].condition)
        except FaultError:
            return True

    return Goal(world=broken)


# The cascade ---------------------------------------------------------------------------------------------------------


def test_a_step_is_told_with_what_it_causes() -> None:
    model = load([ROOT / "specs" / "hived"], as_documented=True).model
    assert model is not None
    x = explore(model, model.systems["hived.PreemptionSmall"])
    assert story(trace_of(verdict(x, "unhandled"))) == [
        "0  start                   g0: Pending; g1: Pending; c0: Free; c1: Free",
        "1  g0.schedule({c0, c1})   e0 Pending → Allocated",
        "     c0.take(g0)           e0 Free → Used",
        "     c1.take(g0)           e0 Free → Used",
        "     g0.cells: {} → {c0, c1}; c0.user: none → g0; c1.user: none → g0",
        "2  g1.schedule({c0, c1})   e1 Pending → Preempting",
        "     c0.reserve(g1)        e2 Used → Reserving",
        "       g0.preempted        e6 Allocated → BeingPreempted",
        "     c1.reserve(g1)        e2 Used → Reserving",
        "       g0.preempted        fails",
        "     fails: `preempted` reaches g0 in `BeingPreempted`, where it is neither handled nor ignored (unhandled)",
    ]


ALL_KINDS = """
channel c: lossy fifo[2] to M
machine M {
    param other: M?
    n: 0..3
    durable kept: 0..3
    initial state A
    state B
    state W
    event go, ask, shout from environment
    event ping from M
    event note(x: 0..3) from c
    action work(x: 0..3) -> ok | err
    action log
    A -> B on go do { log; other.ping; n = 1; kept = 2; kept = 3 }
    B on ping
    ignore ping in A
    next: B -> W when kept == 3
    A -> W on ask do work(2)
    W -> A on work.ok
    W -> B on work.err
    slow: W -> A after 5s
    ignore note in W, B
    A on note(x) do n = x
    A on shout do send c.note(3)
    back: W -> A on crash
}
machine N { initial state Z  event e from environment  Z on e }
system S { m: M { other = none }  environment { m.ask m.shout m.go crash crash between writes }  recover { m.n = 2 } }
"""


def test_every_kind_of_step_is_told() -> None:
    trace = took(
        ALL_KINDS, "m.shout", "deliver c.note(3)", "m.shout", "lose c.note(3)", "m.ask", "m.work.ok", "m.ask",
        "m.work.ok", "crash", "recover",
    )  # fmt: skip
    assert [line.rstrip() for line in story(trace)] == [
        " 0  start               m: A",
        " 1  m.shout             in A",
        "      posts c.note(3)",
        "      c = [note(3)]",
        " 2  deliver c.note(3)   in A",
        "      m.n: 0 → 3; c = []",
        " 3  m.shout             in A",
        "      posts c.note(3)",
        "      c = [note(3)]",
        " 4  lose c.note(3)",
        "      c = []",
        " 5  m.ask               A → W",
        "      calls work(2), and waits for the answer",
        " 6  m.work.ok           W → A",
        " 7  m.ask               A → W",
        "      calls work(2), and waits for the answer",
        " 8  m.work.ok           W → A",
        " 9  crash",
        "      m.n: 3 → 0",
        "10  recover",
        "      m.n: 0 → 2",
    ]


ROUND = """
machine M {
    peer: M?
    durable kept: 0..3
    initial state A
    state B
    state C
    event go from environment
    event ping from M
    A -> B on go do { peer.ping; kept = 2; kept = 3 }
    A on ping
    next: B -> C when kept == 3
    B, C -> A on crash
}
system S { a: M { peer = b }  b: M  environment { a.go crash between writes }  recover { a.kept = 1  b.ping } }
"""


def test_rounds_and_crashes_inside_a_step_have_a_place_of_their_own() -> None:
    assert story(took(ROUND, "a.go")) == [
        "0  start      a: A; b: A",
        "1  a.go       A → B",
        "     b.ping   in A",
        "     a        next B → C",
        "     a.kept: 0 → 3",
    ]
    assert story(took(ROUND, "crash after 3 writes of a.go", "recover")) == [
        "0  start        a: A; b: A",
        "1  crash after 3 writes of a.go",
        "     a.go       A → B",
        "       b.ping   in A",
        "     crash",
        "       a        B → A",
        "     a.kept: 0 → 3",
        "2  recover",
        "     b.ping     in A",
        "     a.kept: 3 → 1",
    ]


def test_a_transition_that_a_crash_prevents_is_cut_short() -> None:
    trace = took(ROUND, "crash after 1 write of a.go", "recover")
    assert story(trace) == [
        "0  start        a: A; b: A",
        "1  crash after 1 write of a.go",
        "     a.go       A → B (cut short)",
        "       b.ping   in A",
        "     crash",
        "     a.kept: 0 → 2",
        "2  recover",
        "     b.ping     in A",
        "     a.kept: 2 → 1",
    ]
    assert "   a: go A → B (cut short); b: ping in A; crash; a.kept = 2" in lines(trace)[1]
    assert data(trace)["steps"][0]["cascade"]["inside"][0]["then"] == "A → B (cut short)"


def test_the_receiver_may_have_finished_when_its_sender_is_cut_short() -> None:
    text = """
    machine M {
        peer: M?
        initial state A
        state B
        state C
        event go from environment
        event ping from M
        A -> B on go do peer.ping
        A, B -> C on ping
        A -> B on crash
    }
    system S { a: M { peer = b }  b: M { peer = a }  environment { a.go b.go crash between writes } }
    """
    assert story(took(text, "crash after 1 write of a.go")) == [
        "0  start        a: A; b: A",
        "1  crash after 1 write of a.go",
        "     a.go       A → B (cut short)",
        "       b.ping   A → C",
        "     crash",
        "       a        A → B",
    ]


@pytest.mark.parametrize("seed", today(range(0, 2_000, 5)))
def test_each_further_write_before_a_crash_leaves_fewer_transitions_cut_short(seed: int) -> None:
    """A transition changes the state at one write: a crash before that cuts it short, and one after it does not."""
    text = spec(seed)
    if "crash between writes" not in text:
        return
    universe = Universe(model := compiled(text), only_system(model))
    world = universe.start
    for turn in range(6):
        crashes: defaultdict[Step, list[CrashStep]] = defaultdict(list)
        steps = enabled(universe, world)
        for s in steps:
            if isinstance(s, CrashStep) and s.inside is not None and s.writes:
                crashes[s.inside].append(s)
        for cuts in crashes.values():
            finished = 0
            for cut in cuts:
                (entry,) = run(universe, [cut], start=world).entries
                crash = next(n for n, x in enumerate(entry.cascade) if isinstance(x, Crashed))
                changes = {
                    n for n, x in enumerate(entry.cascade[:crash]) if isinstance(x, Followed) and x.before != x.after
                }
                assert entry.cut_short <= changes
                assert finished <= len(changes - entry.cut_short) <= cut.writes
                finished = len(changes - entry.cut_short)
        if not steps:
            return
        try:
            world = fire(universe, world, steps[turn * 7 % len(steps)]).world
        except (FaultError, TooManyValuesError):
            return


def test_the_cascade_is_in_the_data() -> None:
    told = data(took(ROUND, "a.go"))["steps"][0]["cascade"]
    assert told == {
        "what": "a.go",
        "then": "A → B",
        "inside": [
            {"what": "b.ping", "then": "in A", "inside": []},
            {"what": "a", "then": "next B → C", "inside": []},
        ],
    }


@pytest.mark.parametrize("seed", today(range(0, 200, 5)))
def test_every_happening_of_random_runs_has_its_place(seed: int) -> None:
    model = compiled(spec(seed))
    universe = Universe(model, only_system(model))
    world, steps = universe.start, list[Step]()
    try:
        for turn in range(12):
            found = enabled(universe, world)
            if not found:
                break
            steps.append(found[turn * 7 % len(found)])
            world = fire(universe, world, steps[-1]).world
    except (FaultError, TooManyValuesError):
        pass
    trace = run(universe, steps)
    assert json.loads(json.dumps(data(trace))) == data(trace)
    told = "\n".join(story(trace))
    for entry, x in zip(trace.entries, data(trace)["steps"], strict=True):
        arrows = [h for h in entry.cascade if type(h).__name__ in ("Followed", "Ignored")]
        assert _count(x["cascade"], lambda node: node["then"] is not None) == len(arrows)
        assert x["step"] in told


def _count(node: dict[str, object], test: object) -> int:
    inside = node["inside"]
    assert isinstance(inside, list)
    assert callable(test)
    return bool(test(node)) + sum(_count(x, test) for x in inside)


def test_a_long_trace_takes_time_in_proportion() -> None:
    text = "machine M { n: 0..1  initial state A  event e from environment  A on e do n = 1 - n } system S { m: M }"
    trace = took(text, *["m.e"] * 2)
    long = run(Universe(compiled(text), only_system(compiled(text))), [trace.entries[0].step] * 20_000)
    assert len(long.entries) == 20_000
    assert len(story(long)) == 40_001


# Loops ---------------------------------------------------------------------------------------------------------------

BLINK = """
machine Lamp { initial state Off  state On  event toggle from environment  Off -> On on toggle  On -> Off on toggle }
system S { lamp: Lamp }
"""


def test_a_loop_is_told_in_every_form() -> None:
    trace = took(BLINK, "lamp.toggle", "lamp.toggle", "lamp.toggle", loop=1)
    assert story(trace) == [
        "0  start         lamp: Off",
        "1  lamp.toggle   Off → On",
        "   repeated forever from here:",
        "2  lamp.toggle   On → Off",
        "3  lamp.toggle   Off → On",
    ]
    assert lines(trace)[2] == "   repeated forever from here:"
    assert data(trace)["loop"] == 1
    assert data(replace(trace, loop=None))["loop"] is None
    drawn = chart("blink", trace)
    kinds = [type(i) for i in drawn.items]
    assert kinds.index(LoopBegins) == 3
    assert kinds[-1] is LoopEnds
    assert "    loop forever\n" in as_mermaid(drawn)
    assert as_mermaid(drawn).endswith("    end\n")
    assert "\nloop forever\n" in as_plantuml(drawn)
    assert as_plantuml(drawn).endswith("\nend\n@enduml\n")
    assert "forever</text>" in as_svg(drawn)
    assert as_svg(drawn).count('stroke-width="2"') == 1


def test_a_run_in_which_nothing_more_happens() -> None:
    trace = took(BLINK, "lamp.toggle", loop=1)
    assert story(trace)[-1] == "   then nothing more happens"
    items = chart("stuck", trace).items
    assert items[-1] == Note(None, "then nothing more happens")
    assert not any(isinstance(i, LoopBegins | LoopEnds) for i in items)


# What is wrong -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("one in On => one.n > 3", ["`one.n > 3` is false: one.n is 0", "`one in On` holds"]),
        ("not (one in On and one.n == 0)", ["`one in On` holds", "`one.n == 0` holds: one.n is 0"]),
        ("not (one.n == 1 or one.n == 0)", ["`one.n == 0` holds: one.n is 0"]),
        ("not (some c in all_: c.n == 0)", ["for c = one (also two): `c.n == 0` holds: c.n is 0"]),
        ("not (all c in all_: c.n == 0)", ["`all c in all_: c.n == 0` holds: all_ is {one, two}"]),
        ("all c in all_: c.n > 0", ["for c = one (also two): `c.n > 0` is false: c.n is 0"]),
        ("some c in {one, two}: c in Off", [
            "`some c in {one, two}: c in Off` is false",
            "for c = one: `c in Off` is false: c is in On",
            "for c = two: `c in Off` is false: c is in On",
        ]),
        ("not low(one)", ["for of = one, in `low`: `of.n < 3` holds: of.n is 0"]),
        ("one.ready", ["`one.ready` is false"]),
        ("not (one.n == 1 => one.n == 5)", ["`one.n == 1` is false: one.n is 0"]),
    ],
)  # fmt: skip
def test_the_part_that_fails_is_named_on_both_sides_of_a_not(formula: str, told: list[str]) -> None:
    model = compiled(
        f"""
        machine M {{ n: 0..9  ready: bool  initial state On  state Off }}
        system S {{ one: M  two: M  let all_ = {{one, two}}  let low(of: M) = of.n < 3  invariant it: {formula} }}
        """
    )
    universe = Universe(model, only_system(model))
    assert explain(Frame(universe, universe.start), universe.system.invariants[0].condition) == told


def test_the_reason_stands_at_the_end_of_the_run() -> None:
    model, x = explored(LADDER)
    told = list(details(simplest(x, model), model))
    assert told[:2] == [
        "  violated: invariant low (the simplest run: 4 steps)",
        "    0  start   l0: On; l1: On",
    ]
    assert told[8:11] == [
        "    4  l0.up   in On",
        "         l0.n: 3 → 4",
        "    `ladders[0].n < 4` is false: ladders[0].n is 4",
    ]


def test_the_command_shows_the_simplest_run_or_on_request_the_shortest(tmp_path: Path) -> None:
    (tmp_path / "ladder.fsm").write_text(LADDER)
    told = CliRunner().invoke(cli, ["verify", str(tmp_path / "ladder.fsm")]).output
    assert "invariant low (the simplest run: 4 steps)" in told
    told = CliRunner().invoke(cli, ["verify", "--shortest", str(tmp_path / "ladder.fsm")]).output
    assert "invariant low (the shortest run: 3 steps)" in told
