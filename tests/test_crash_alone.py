"""The crash of some instances, while others live on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from campaign import compare
from stepping import Run, compiled, only_system

from fsmdsl.draw.sequence import Note
from fsmdsl.interop.logs.successor_cache import keys
from fsmdsl.report.as_scenario import as_scenario
from fsmdsl.report.chart import chart
from fsmdsl.runs.simulation.refusals import why_not
from fsmdsl.runs.trace import Entry, Trace
from fsmdsl.search import Exploration, Means, explore
from fsmdsl.step import CrashStep, fire, initial
from fsmdsl.testing.drive import drive
from fsmdsl.testing.implementation import Implementation

LEASE = """
machine Holder {
    durable epoch: 0..3
    seen: 0..3 = 1
    initial state Idle
    volatile state Holding
    state Asking
    event take, ask, tell from environment
    action confirm -> yes | no
    take: Idle -> Holding on take do { epoch = min(epoch + 1, 3); seen = 3; send box.put }
    ask:  Holding -> Asking on ask do confirm
    yes:  Asking -> Holding on confirm.yes
    no:   Asking -> Idle on confirm.no
    lost: Holding, Asking -> Idle on crash when seen == 3 do seen = seen + 1
    ignore ask, tell in *
}
machine Box {
    full: bool
    durable put_in: 0..3
    initial state Open
    event put from box
    put: Open on put do { full = true; put_in = min(put_in + 1, 3) }
}
channel box: bag[3] to Box
system Shop {
    holders: Holder[2]
    store: Box
    environment {
        some h in holders: h.take
        some h in holders: h.ask
        some h in holders: crash of h when h in Holding or h in Asking
        some h in holders: crash of h, store when h in Holding
        crash when all h in holders: h in Idle
    }
    recover { for h in holders { h.seen = 0 } }
}
"""


def explored(text: str) -> Exploration:
    model = compiled(text)
    return explore(model, only_system(model), means=Means(compiled=False))


def test_a_crash_of_one_leaves_the_others_and_the_messages_alone() -> None:
    run = Run(LEASE)
    run.take("h0.take", "h1.take")
    assert run.take("crash of h0") == ["crash of h0", "h0: lost Holding → Idle", "h0.seen = 2"]
    assert (run.state("h0"), run.field("h0.epoch"), run.field("h0.seen")) == ("Idle", "1", "2")
    assert (run.state("h1"), run.field("h1.epoch"), run.field("h1.seen")) == ("Holding", "1", "3")
    assert [len(x) for x in run.world.channels] == [2]
    assert not run.world.down, "`recover` belongs to a crash of everything"
    run.take("deliver box")
    assert run.field("store.put_in") == "1"


def test_several_crash_together_and_a_channel_outlives_its_receiver() -> None:
    run = Run(LEASE)
    run.take("h1.take", "h0.take", "deliver box")
    assert run.field("store.full") == "true"
    run.take("crash of h1, store")
    assert (run.field("store.full"), run.field("store.put_in"), run.state("h0")) == ("false", "1", "Holding")
    assert [len(x) for x in run.world.channels] == [1]


def test_the_guard_of_a_crash_transition_sees_the_values_before() -> None:
    run = Run(LEASE.replace("seen == 3", "seen == 1"))
    run.take("h0.take")
    fault = run.attempt("crash of h0").fault
    assert fault is not None
    assert fault.kind == "lost"


def test_answers_of_the_crashed_never_come_and_those_of_others_do() -> None:
    run = Run(LEASE)
    run.take("h0.take", "h1.take", "h0.ask")
    assert run.steps() == ["h0.confirm.yes", "h0.confirm.no", "crash of h0", "crash of h1", "crash of h1, store"]
    run.take("crash of h1")
    assert run.steps()[:2] == ["h0.confirm.yes", "h0.confirm.no"], "the system still stands still for h0"
    run.take("crash of h0")
    assert (run.world.pending, run.world.waited) == ((), frozenset())
    assert "h1.take" in run.steps()


def test_a_round_ends_for_whoever_crashes_in_the_middle_of_it() -> None:
    run = Run(
        """
        machine M {
            initial state Idle
            state First
            state Second
            event go from environment
            action a -> ok
            action b -> ok
            Idle -> First on go do a
            First -> Second on a.ok do b
            Second -> Idle on b.ok
            First, Second -> Idle on crash
        }
        system S { ms: M[2]  environment { some m in ms: m.go  some m in ms: crash of m } }
        """
    )
    run.take("m1.go", "m1.a.ok")
    assert run.world.waited == frozenset({1})
    run.take("crash of m1")
    assert run.world == initial(run.universe)


def test_each_crash_comes_once_and_after_that_of_everything() -> None:
    run = Run(LEASE.replace("crash of h, store when h in Holding", "crash of store, h when h in Holding"))
    run.take("h0.take")
    assert [x for x in run.steps() if "crash" in x] == ["crash of h0", "crash of h0, store"]
    twice = LEASE.replace("crash of h when", "crash of h  some a in holders, b in holders: crash of a, b when")
    run = Run(twice.replace("h in Holding or h in Asking", "a in Idle"))
    crashes = [x for x in run.steps() if "crash" in x]
    assert crashes == ["crash", "crash of h0", "crash of h1", "crash of h0, h1"]


def test_no_round_follows_and_what_needs_no_event_comes_with_the_next_step() -> None:
    run = Run(
        """
        machine M {
            cold: bool = true
            initial state Idle
            state Busy
            event go, nudge from environment
            Idle -> Busy on go do cold = false
            * on nudge
            Busy -> Idle when cold
        }
        system S { ms: M[2]  environment { some m in ms: m.go  some m in ms: m.nudge  some m in ms: crash of m } }
        """
    )
    run.take("m0.go", "crash of m0")
    assert run.state("m0") == "Busy"
    run.take("m1.nudge")
    assert run.state("m0") == "Busy"
    run.take("m0.nudge")
    assert run.state("m0") == "Idle"


def test_while_the_system_is_down_nobody_crashes_alone() -> None:
    run = Run(LEASE)
    run.take("crash")
    assert run.steps() == ["recover"]
    result = fire(run.universe, run.world, CrashStep(of=(0,)))
    assert result.fault is not None
    assert result.fault.kind == "busy"


def test_a_target_that_is_none_is_a_fault_of_the_environment() -> None:
    text = """
    machine M { other: M?  initial state On  event go from environment  On on go do other = self }
    system S { m: M  environment { m.go  crash of m.other } }
    """
    assert [v.name for v in explored(text).violations] == ["none"]


@pytest.mark.full(reason="compiled searches")
@pytest.mark.parametrize("symmetric", ["", " symmetric"])
def test_every_search_finds_the_same(symmetric: str) -> None:
    """Also that each crash is one step, however often the environment comes to it."""
    pairs = "crash of h, store when h in Holding  some a in holders, b in holders: crash of a, b when a in Holding"
    text = LEASE.replace("crash of h, store when h in Holding", pairs)
    model = compiled(text.replace("Holder[2]", f"Holder[3]{symmetric}"))
    assert compare(model, only_system(model), 2_000, compiled=True) == ("the same", [])


def test_a_crash_of_any_of_them_keeps_a_set_symmetric() -> None:
    text = """
    machine Node { n: 0..2  initial state Off  volatile state On  event go from environment
        Off -> On on go  On on go when n < 2 do n = n + 1  On -> Off on crash }
    system S { nodes: Node[4] symmetric  environment { some x in nodes: x.go  CRASH }
        reachable r: some x in nodes: x.n == 2 }
    """
    lines = ["some x in nodes: crash of x", "some x in nodes, y in nodes: crash of x, y", "crash of nodes[0]"]
    found = [explored(text.replace("CRASH", line)) for line in lines]
    assert [x.states for x in found] == [35, 35, 256]
    assert found[2].note is not None
    assert "`nodes[0]` is referred to individually" in found[2].note


def test_recovers_asks_about_crashes_of_everything() -> None:
    """A crash of one is a step like others: what it leads to is what the system may come to without a crash."""
    text = """
    machine Node { durable a: bool  durable b: bool  open: bool  initial state On  event go, end from environment
        On on go when not open do { a = true; open = true }
        On on end when open do { b = a; open = false }
    }
    system S { nodes: Node[2]  environment { some x in nodes: x.go  some x in nodes: x.end  crash ALONE }
        property back: recovers on a, b, open }
    """
    alone = "  some x in nodes: crash of x"
    verdicts = [
        next(v for v in explored(text.replace("ALONE", line)).verdicts if v.name == "back")
        for line in ("", alone, "  crash of nodes[0]")
    ]
    assert [v.outcome for v in verdicts] == ["violated", "holds", "violated"]


# How it is told, and driven ------------------------------------------------------------------------------------------


def trace_of(text: str, *names: str) -> Trace:
    run = Run(text)
    trace = Trace(run.universe, run.world)
    for name in names:
        step = run.called(name)
        result = fire(run.universe, run.world, step)
        trace = trace.extended(Entry(step, result.cascade, result.world, result.fault))
        run.world = result.world
    return trace


def test_a_run_becomes_a_scenario_that_goes_the_same_way() -> None:
    trace = trace_of(LEASE, "h0.take", "h1.take", "crash of h1, store", "crash of h0")
    script = as_scenario(trace, "r")
    assert script.cut is None
    assert "    crash of h1, store\n    crash of h0\n" in script.text


def test_a_chart_notes_the_crash_on_each_instance() -> None:
    drawn = chart("", trace_of(LEASE, "h0.take", "crash of h0, store"))
    notes = [x for x in drawn.items if isinstance(x, Note) and x.text == "crash"]
    assert [x.participant for x in notes] == [1, 3]


def test_lines_of_a_log_name_whoever_crashes() -> None:
    run = Run(LEASE)
    assert list(keys(run.universe, CrashStep(of=(0, 2)), run.world)) == [(0, "crash"), (2, "crash")]
    assert list(keys(run.universe, CrashStep(), run.world)) == [(None, "crash")]


def test_a_twin_is_told_who_crashes() -> None:
    class Told(Implementation):
        def crash_of(self, instances: Sequence[str]) -> None:
            self.told = list(instances)

    twin = Told()
    drive(twin, Run(LEASE).universe, CrashStep(of=(0, 2)))
    assert twin.told == ["h0", "store"]
    with pytest.raises(NotImplementedError, match=r"crash_of\(self, instances\)"):
        drive(Implementation(), Run(LEASE).universe, CrashStep(of=(0,)))


def test_why_a_crash_does_not_come() -> None:
    run = Run(LEASE)
    assert why_not(run.universe, run.world, "crash of h0") == [
        "the environment crashes only those that it names, and only when its `when` holds"
    ]
    whole = Run(LEASE.replace("crash of h", "h.tell //"))
    assert why_not(whole.universe, whole.world, "crash of h0") == ["the environment of this system has no `crash of`"]
