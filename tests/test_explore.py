"""Exploration: every state, the shortest way to what is wrong, and no more said than was seen."""

from __future__ import annotations

import pytest
from hived_lite import hived_lite
from stepping import compiled, only_system

from fsmdsl.search import Exploration, Limits, Verdict, explore


def explored(text: str, limits: Limits | None = None) -> Exploration:
    model = compiled(text)
    return explore(model, only_system(model), limits)


def verdict(x: Exploration, name: str) -> Verdict:
    (found,) = (v for v in x.verdicts if v.name == name)
    return found


def steps(v: Verdict) -> list[str]:
    assert v.trace is not None
    return v.trace.steps()


# Numbers known from elsewhere ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "cells", "size", "states", "transitions", "depth"),
    [(2, 3, 2, 37, 115, 4), (3, 4, 2, 812, 4572, 11)],
)
def test_hived_has_the_known_number_of_states(
    groups: int, cells: int, size: int, states: int, transitions: int, depth: int
) -> None:
    x = explored(hived_lite(groups, cells, size, progress=True))
    assert (x.states, x.transitions, x.depth, x.complete) == (states, transitions, depth, True)
    assert x.violations == ()
    assert verdict(x, "gang").basis == f"exhaustive: {states} states"
    assert verdict(x, "handover").outcome == "holds"
    assert verdict(x, "progress").outcome == "holds"


# Small systems -------------------------------------------------------------------------------------------------------

COUNTER = """
machine Counter {
    n: 0..5
    initial state On
    final state Off
    event up, down, off from environment
    up: On on up when n < 5 do n = n + 1
    down: On on down when n > 0 do n = n - 1
    On -> Off on off when n == 3
    again: Off -> On on up
    whatever: On -> Off on off when n > 7
    %s
}
system S {
    counters: Counter[%d]
    environment { some c in counters: c.up  some c in counters: c.down  some c in counters: c.off }
    %s
}
"""


def test_states_steps_and_depth_are_counted() -> None:
    x = explored(COUNTER % ("", 1, ""))
    assert (x.states, x.transitions, x.depth) == (7, 12, 5)
    x = explored(COUNTER % ("", 2, ""))
    assert (x.states, x.transitions, x.depth) == (49, 168, 10)


def test_an_invariant_that_fails_gives_a_shortest_trace_and_the_reason() -> None:
    x = explored(COUNTER % ("", 2, "invariant low: all c in counters: c.n < 3 or c in Off"))
    v = verdict(x, "low")
    assert (v.kind, v.outcome, v.basis) == ("invariant", "violated", "a trace of 3 steps")
    assert steps(v) == ["c0.up"] * 3
    assert v.explanation == (
        "for c = c0: `c.n < 3` is false: c.n is 3",
        "for c = c0: `c in Off` is false: c is in On",
    )
    assert x.states == 49, "exploration goes on behind a violation"


def test_invariants_of_machines_are_asked_of_every_instance() -> None:
    x = explored(COUNTER % ("invariant n < 4  invariant small: n < 9", 2, ""))
    assert verdict(x, "Counter: small").outcome == "holds"
    v = verdict(x, "Counter: invariant 1")
    assert v.outcome == "violated"
    assert v.explanation == ("in c0: `n < 4` is false: n is 4",)


def test_an_invariant_may_fail_in_the_beginning() -> None:
    x = explored(COUNTER % ("", 1, "invariant some_day: counters[0] in Off"))
    v = verdict(x, "some_day")
    assert (v.basis, steps(v)) == ("a trace of 0 steps", [])


def test_an_invariant_without_a_value_is_broken() -> None:
    x = explored(
        """
        machine M { peer: M?  n: 0..1  initial state A  event e from environment  A on e do n = 1 - n }
        system S { m: M  invariant it: m.peer.n == 0 }
        """
    )
    assert verdict(x, "it").explanation == ("it has no value here: `m.peer` is none here",)


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("one.n == 0 and one.n == 1", ["`one.n == 1` is false: one.n is 0"]),
        ("true => one.n > 3", ["`one.n > 3` is false: one.n is 0"]),
        ("not one in On", ["`not one in On` is false: one is in On"]),
        ("one not in {On}", ["`one not in {On}` is false: one is in On"]),
        ("one.peer in On", ["`one.peer in On` is false: one.peer is none"]),
        ("some x in one.marks: x > 3", ["`one.marks` is empty"]),
        ("some x in {1, 2}: x > one.n + 3", ["`some x in {1, 2}: x > one.n + 3` is false: one.n is 0"]),
        ("size(one.marks) > 2", ["`size(one.marks) > 2` is false: size(one.marks) is 0"]),
        ("all x in {1, 2}, y in {0, 3}: x > y", ["for x = 1 (also 2), y = 3: `x > y` is false"]),
        ("large(one, 1)", ["for of = one, than = 1, in `large`: `of.n > than` is false: of.n is 0"]),
        ("(count x in {1, 2}: x > one.n) == 1", [
            "`(count x in {1, 2}: x > one.n) == 1` is false: count x in {1, 2}: x > one.n is 2"
        ]),
        # what is not looked at needs no value
        ("(if one.n == 0 then one.n else one.peer.n) > 1", [
            "`(if one.n == 0 then one.n else one.peer.n) > 1` is false: one.n is 0, one.peer is none"
        ]),
        # a part without a value is not a false one
        ("one.level < Level.high or (all x in {one}: x in On)", ["it has no value here: `one.level` is none here"]),
        ("one.level < Level.high or one.n > 3", ["it has no value here: `one.level` is none here"]),
        ("not (one.level < Level.high)", ["it has no value here: `one.level` is none here"]),
        ("all x in {1, 2}: x < 3 and one.peer.n < x", ["it has no value here: `one.peer` is none here"]),
    ],
)  # fmt: skip
def test_reasons_name_the_part_that_fails_and_its_values(formula: str, told: list[str]) -> None:
    x = explored(
        f"""
        enum Level {{ low < high }}
        machine M {{ peer: M?  level: Level?  n: 0..9  marks: set<0..9>  initial state On }}
        system S {{ one: M  let large(of: M, than: 0..9) = of.n > than  invariant it: {formula} }}
        """
    )
    assert list(verdict(x, "it").explanation) == told


def test_a_witness_is_shown_and_its_absence_is_a_violation() -> None:
    x = explored(COUNTER % ("", 2, "reachable top: counters[1].n == 5  reachable beyond: counters[1].n > 5"))
    v = verdict(x, "top")
    assert (v.kind, v.outcome, steps(v)) == ("reachable", "holds", ["c1.up"] * 5)
    v = verdict(x, "beyond")
    assert (v.outcome, v.basis, v.trace) == ("violated", "exhaustive: 49 states", None)


def test_a_world_without_a_next_step_is_a_deadlock_unless_it_is_final() -> None:
    ending = """
        machine M { initial state A  state B  %s state C  state D  state E  event e, f, g from environment
                    A -> B on e  A -> C on f  A -> D on g  D -> E on e }
        """
    x = explored(ending % "final" + "system S { m: M }")
    v = verdict(x, "no deadlock")
    assert (v.outcome, steps(v)) == ("violated", ["m.e"])
    assert v.explanation[0] == "no step is possible here: m in B"
    both = "machine M { initial state A  final state B  event e from environment  A -> B on e } system S { ms: M[2] }"
    assert verdict(explored(both), "no deadlock").outcome == "holds"


def test_faults_are_found_once_for_each_kind_and_place() -> None:
    x = explored(
        """
        machine M {
            n: 0..2
            peer: M?
            initial state A
            state B
            event up, call, both from environment
            event ping from M
            A on up do n = n + 1
            A on call do peer.ping
            x: A -> B on both when n == 2
            y: A -> A on both when n >= 1
            B -> A on both
        }
        system S { ms: M[2] }
        """
    )
    found = {(v.name, tuple(steps(v))) for v in x.verdicts if v.kind == "fault"}
    assert found == {
        ("none", ("m0.call",)),
        ("range", ("m0.up", "m0.up", "m0.up")),
        ("overlap", ("m0.up", "m0.up", "m0.both")),
    }
    v = verdict(x, "range")
    assert v.explanation == ("`n` of m0 would become 3, outside 0..2",)
    assert v.span.text == "n = n + 1"
    assert v.trace is not None
    assert v.trace.fault is not None


def test_the_same_event_unhandled_in_two_states_is_two_findings() -> None:
    x = explored(
        """
        machine M { initial state A  state B  event go from environment  action work -> ok  A -> B on go do work
                    B -> A on work.err_ }
        system S { m: M }
        """.replace("work.err_", "go").replace("B -> A on go", "B -> A on go do work")
    )
    faults = [v.explanation[0] for v in x.verdicts if v.kind == "fault"]
    assert faults == ["`work.ok` reaches m in `B`, where it is neither handled nor ignored"]


def test_an_environment_that_cannot_be_computed_is_a_fault() -> None:
    x = explored(
        """
        machine M { peer: M?  n: 0..9  initial state A  event e from environment  A on e }
        system S { m: M  environment { m.e when m.peer.n == 1 } }
        """
    )
    v = verdict(x, "none")
    assert (v.outcome, v.span.text, steps(v)) == ("violated", "m.peer", [])


def test_impossible_initial_values_are_a_fault() -> None:
    x = explored("machine M { param size: 1..3  final initial state A } system S { m: M { size = 9 } }")
    v = verdict(x, "range")
    assert (v.outcome, v.basis) == ("violated", "the initial values")
    assert v.explanation == ("`size` of m begins as 9, outside 1..3",)


def test_coverage_says_what_never_happened() -> None:
    x = explored(COUNTER % ("", 1, ""))
    assert x.coverage.unfollowed == (("test.Counter", 4),)
    assert x.coverage.never_true == (("test.Counter", 4),)
    assert x.coverage.never_false == ()


def test_a_guard_that_always_holds_is_seen() -> None:
    x = explored(
        "machine M { n: 0..1  initial state A  event e from environment  A on e when n < 1 } system S { m: M }"
    )
    assert [index for _, index in x.coverage.never_false] == [0]


def test_crashes_and_recovery_are_explored() -> None:
    x = explored(
        """
        machine M {
            durable a: 0..1
            durable b: 0..1
            initial state On
            event flip from environment
            On on flip do { a = 1 - a; b = 1 - b }
        }
        system S {
            m: M
            environment { m.flip  crash between writes }
            recover { m.b = m.a }
            invariant equal: m.a == m.b
        }
        """
    )
    v = verdict(x, "equal")
    assert steps(v) == ["crash after 1 write of m.flip"]
    assert (x.states, x.transitions) == (4, 6)


GATE = """
machine Gate {
    coins: 0..3
    initial state Shut
    state Open
    event pay from environment
    event push(n: 0..3) from Visitor
    Shut on pay when coins < 3 do coins = coins + 1
    one:  Shut -> Open on push(n) when coins > n
    free: Shut -> Open on push(n) when coins == 3 and n > 0
    Open on push
}
machine Visitor {
    param gate: Gate
    tries: 0..3
    initial state Here
    event go from environment
    Here on go when tries < 3 do { tries = tries + 1; gate.push(tries) }
}
system S { gate: Gate  visitor: Visitor { gate = gate } }
"""


def test_an_event_that_no_guard_lets_in_says_which_and_why() -> None:
    """As it was in the middle of the step: the visitor has tried once by then."""
    (v,) = (v for v in explored(GATE).violations if v.name == "unhandled")
    assert v.explanation == (
        "`push` reaches gate in `Shut`, where it is not ignored, and no guard of its transitions holds",
        "the guard of `one` does not hold for n = 1: `coins > n` is false: coins is 0",
        "the guard of `free` does not hold for n = 1: `coins == 3` is false: coins is 0",
    )


def test_reasons_name_the_derived_value_that_a_part_stands_in() -> None:
    x = explored(
        "machine M { n: 0..9  peer: M?  initial state A }"
        "system S { ms: M[2]  let kept(a: M) = all b in ms: b.n > 3 and a.n < b.n"
        "  invariant it: some a in ms: kept(a) }"
    )
    assert verdict(x, "it").explanation[1:] == (
        "for a = m0, in `kept`, for b = m0: `b.n > 3` is false: b.n is 0",
        "for a = m1, in `kept`, for b = m0: `b.n > 3` is false: b.n is 0",
    )


@pytest.mark.parametrize(
    ("formula", "basis"),
    [
        ("always m not in D", "a trace of 2 steps"),
        ("m in A ~> m in D", "a run of 3 steps, the last 2 of them forever"),
        ("always eventually m in A", "a run of 2 steps, and then nothing more"),
        ("m in A ~> m not in A", "a run of 2 steps, the last of them forever"),
    ],
)
def test_a_run_without_end_says_how_it_ends(formula: str, basis: str) -> None:
    x = explored(
        "machine M { initial state B  state A  state C  final state D  event look, leave, stay from environment"
        "  B -> A on look  A -> C on look  C -> A on leave  A on stay  A -> D on leave }"
        f"system S {{ m: M  property p: {formula} }}"
    )
    assert verdict(x, "p").basis == basis


def test_a_run_that_is_repeated_from_its_beginning_says_so() -> None:
    text = "machine M { initial state A  state B  event e from environment  A -> B on e  B -> A on e }"
    always = explored(f"{text} system S {{ m: M  property p: eventually always m in A }}")
    assert verdict(always, "p").basis == "a run of 2 steps, again and again"
