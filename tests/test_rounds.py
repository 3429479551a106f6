"""Rounds, actions and timers: what a step goes on with, and what comes of itself."""

from __future__ import annotations

from stepping import Run

from fsmdsl.step import OutcomeStep, TimerStep, fire

# Rounds --------------------------------------------------------------------------------------------------------------

ROUND = """
machine M {
    n: 0..9
    initial state A
    state B
    state C
    state Rest
    event go, pass, loop from environment
    start: A -> B on go
    step:  B -> C when n < 2 do n = n + 1
    back:  C -> B
    rest:  B -> Rest when n >= 2
    again: Rest -> A on pass do n = 0
}
system S { m: M  o: M }
"""


def test_enabled_eventless_transitions_are_followed_until_none_is() -> None:
    run = Run(ROUND)
    told = run.take("m.go")
    assert [x.split(": ")[1].split()[0] for x in told if "→" in x] == ["start", "step", "back", "step", "back", "rest"]
    assert run.states() == "Rest A"


def test_only_instances_touched_take_part_in_the_round() -> None:
    run = Run(
        """
        machine M { n: 0..1 = 1  initial state A  state B  event go from environment  A on go  A -> B when n == 1 }
        system S { m: M  o: M }
        """
    )
    run.take("o.go")
    assert run.states() == "A B"


def test_the_round_starts_again_from_the_first_instance() -> None:
    run = Run(
        """
        machine M {
            param next: M?
            n: 0..4
            initial state A
            event go from environment
            event poke from M
            A on go do { if next != none { next.poke } n = 1 }
            A on poke do n = 2
            one: A when n == 1 do { n = 3; if next != none { next.poke } }
            two: A when n == 2 do n = 4
        }
        system S { ms: M[2] { next = if index == 0 then ms[1] else none } }
        """
    )
    told = run.take("m0.go")
    followed = [x for x in told if " in A" in x]
    assert followed == ["m0: go in A", "m1: poke in A", "m0: one in A", "m1: poke in A", "m1: two in A"]


def test_a_round_that_repeats_itself_is_endless() -> None:
    run = Run(
        """
        machine M { initial state A  state B  state C  event go from environment  A -> B on go  B -> C  back: C -> B }
        system S { m: M }
        """
    )
    fault = run.attempt("m.go").fault
    assert fault is not None
    assert fault.kind == "endless"
    assert "the round of m does not end" in run.why(fault)


def test_a_round_of_more_than_a_thousand_transitions_is_endless() -> None:
    text = """
        machine M {{ n: 0..{most}  initial state A  state B  event go from environment  A -> B on go
                     B when n < {most} do n = n + 1 }}
        system S {{ m: M }}
        """
    run = Run(text.format(most=1000))
    run.take("m.go")
    assert run.field("m.n") == "1000"
    fault = Run(text.format(most=1001)).attempt("m.go").fault
    assert fault is not None
    assert fault.kind == "endless"


def test_ties_between_eventless_transitions_overlap() -> None:
    run = Run(
        """
        machine M { initial state A  state B  state C  event go from environment  A -> B on go  x: B -> C  y: B -> A }
        system S { m: M }
        """
    )
    fault = run.attempt("m.go").fault
    assert fault is not None
    assert fault.kind == "overlap"


WAIT = """
machine M {
    initial state A
    state B
    state C
    state D
    event go, tick from environment
    action work -> ok | err
    start: A -> B on go
    once:  B -> C when wait
    stays: C -> D when wait
    tick:  C on tick
    more:  D -> A on tick do work
    done:  A -> B on work.ok
    ignore work.err in A
}
system S { m: M }
"""


def test_wait_is_true_until_the_round_has_followed_a_transition() -> None:
    run = Run(WAIT)
    run.take("m.go")
    assert run.state("m") == "C"
    assert run.world.waited == frozenset()
    run.take("m.tick")
    assert run.state("m") == "D"


def test_an_outcome_uses_up_wait_until_its_round_is_over() -> None:
    run = Run(WAIT)
    run.take("m.go", "m.tick", "m.tick")
    assert run.steps() == ["m.work.ok", "m.work.err"]
    told = run.take("m.work.ok")
    assert told == ["m: done A → B"]
    assert run.world.waited == frozenset()


def test_a_timer_does_not_use_up_wait() -> None:
    run = Run(
        """
        machine M { initial state A  state B  state C  A -> B after 5s  B -> C when wait }
        system S { m: M }
        """
    )
    run.take("timeout m of A")
    assert run.state("m") == "C"


def test_wait_is_kept_over_the_answer_of_an_action() -> None:
    run = Run(
        """
        machine M {
            initial state A
            state B
            state C
            state D
            event go from environment
            action work -> ok
            A -> B on go
            B -> C do work
            ignore work.ok in C
            C -> D when wait
        }
        system S { m: M }
        """
    )
    run.take("m.go")
    assert run.world.waited == {0}
    assert run.take("m.work.ok") == ["m ignores work.ok"]
    assert run.state("m") == "C"
    assert run.world.waited == frozenset()


# Actions -------------------------------------------------------------------------------------------------------------

ACTIONS = """
machine M {
    param peer: M?
    initial state Idle
    state Working
    state Done
    state Failed
    event go, nudge from environment
    event poke from M
    action note(n: 0..3)
    %s action work(n: 0..3) -> ok | err
    start: Idle -> Working on go do { note(1); work(2) }
    Idle, Working, Done on nudge do { if peer != none { peer.poke } }
    Idle, Working, Done on poke
    ok: Working -> Done on work.ok do note(3)
    again: Done -> Idle when false
}
system S { ms: M[2] { peer = if index == 1 then ms[0] else none } }
"""


def test_actions_are_asked_for_in_order_and_those_with_outcomes_awaited() -> None:
    run = Run(ACTIONS % "")
    assert run.take("m0.go") == ["m0: start Idle → Working", "m0 calls note(1)", "m0 calls work(2)"]
    assert run.steps() == ["m0.work.ok", "m0.work.err"]
    assert run.take("m0.work.ok") == ["m0: ok Working → Done", "m0 calls note(3)"]
    assert run.world.pending == ()


def test_while_an_answer_is_awaited_the_system_stands_still() -> None:
    run = Run(ACTIONS % "")
    run.take("m0.go")
    fault = run.send("m1", "nudge").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == (
        "busy",
        "`nudge` arrives while m0 waits for the answer to `work`",
    )


def test_an_answer_that_nothing_handles_is_a_fault() -> None:
    run = Run(ACTIONS % "")
    run.take("m0.go")
    fault = run.attempt("m0.work.err").fault
    assert fault is not None
    assert fault.kind == "unhandled"
    assert run.why(fault) == "`work.err` reaches m0 in `Working`, where it is neither handled nor ignored"


def test_an_answer_that_nobody_waits_for_is_a_fault() -> None:
    run = Run(ACTIONS % "")
    fault = fire(run.universe, run.world, OutcomeStep(0, "work", "ok")).fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == (
        "unhandled",
        "`work.ok` arrives, but m0 is not waiting for it",
    )


def test_an_async_action_holds_up_its_own_machine_only() -> None:
    run = Run(ACTIONS % "async")
    run.take("m0.go")
    assert run.steps() == ["m0.work.ok", "m0.work.err", "m1.go", "m1.nudge"]
    fault = run.attempt("m1.nudge").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == (
        "busy",
        "m0 receives `poke` while it waits for the answer to `work`",
    )
    run.take("m1.go")
    assert run.steps() == ["m0.work.ok", "m0.work.err", "m1.work.ok", "m1.work.err"]
    run.take("m1.work.ok")
    assert run.states() == "Working Done"


def test_synchronous_answers_come_in_the_order_of_the_calls() -> None:
    run = Run(
        """
        machine Head {
            param hands: set<Hand>
            initial state A
            event go from environment
            A on go do for h in hands { h.grip }
        }
        machine Hand {
            initial state Open
            state Shut
            event grip from Head
            action close -> ok
            Open -> Shut on grip do close
            ignore close.ok in Shut
        }
        system S { head: Head { hands = hands }  hands: Hand[2] }
        """
    )
    run.take("head.go")
    assert run.steps() == ["hands0.close.ok"]
    fault = fire(run.universe, run.world, OutcomeStep(2, "close", "ok")).fault
    assert fault is not None
    assert run.why(fault) == "`close.ok` arrives, but hands1 is not waiting for it"
    run.take("hands0.close.ok")
    assert run.steps() == ["hands1.close.ok"]


def test_no_timer_fires_in_a_machine_that_waits_for_an_answer() -> None:
    run = Run(
        """
        machine M { initial state A  event go from environment  async action work -> ok
                    A on go do work  A on work.ok  A on go when false  A -> A after 5s }
        system S { m: M }
        """
    )
    assert run.steps() == ["m.go", "timeout m of A"]
    run.take("m.go")
    assert run.steps() == ["m.work.ok"]
    assert fire(run.universe, run.world, TimerStep(0, 3)).fault is not None


def test_an_instance_that_waits_for_an_answer_follows_nothing() -> None:
    run = Run(
        """
        machine M {
            initial state A
            state B
            state C
            event go from environment
            action work -> ok
            A -> B on go do work
            B -> C
            ignore work.ok in B
        }
        system S { m: M }
        """
    )
    run.take("m.go")
    assert run.state("m") == "B"
    run.take("m.work.ok")
    assert run.state("m") == "C"


def test_action_arguments_are_checked() -> None:
    run = Run(
        """
        machine M { n: 0..9 = 9  initial state A  event go from environment  action work(n: 0..3)  A on go do work(n) }
        system S { m: M }
        """
    )
    fault = run.attempt("m.go").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("range", "`n` of `work` would be 9, outside 0..3")


# Timers --------------------------------------------------------------------------------------------------------------


def test_timers_may_fire_while_their_source_is_active_and_their_guard_holds() -> None:
    run = Run(
        """
        machine M {
            armed: bool
            param slow: duration = 1h
            initial state Out { initial state In  state Next }
            state Late
            event arm, hop from environment
            In on arm do armed = true
            In -> Next on hop
            T1: Out -> Late after 5min when armed
            In -> In after slow
        }
        system S { m: M }
        """
    )
    assert run.steps() == ["m.arm", "m.hop", "timeout m of In"]
    run.take("m.arm")
    assert run.steps() == ["m.arm", "m.hop", "timeout m of T1", "timeout m of In"]
    run.take("m.hop")
    assert run.steps() == ["timeout m of T1"]
    assert run.take("timeout m of T1") == ["m: T1 Next → Late"]
    fault = fire(run.universe, run.world, TimerStep(0, 2)).fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("unhandled", "`T1` cannot fire in `Late` of m now")
