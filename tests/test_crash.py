"""Crash and recovery."""

from __future__ import annotations

from stepping import Run

from fsmdsl.step import RecoverStep, fire

# Crash and recovery --------------------------------------------------------------------------------------------------

CRASH = """
machine M {
    param p: 0..9 = 1
    durable kept: 0..9
    lost: 0..9 = 5
    initial persistent state Idle
    volatile state Busy
    transient state Passing
    state Plain
    event set(n: 0..9), busy, pass_, plain, go_on from environment
    Idle on set(n) do { kept = n; lost = n }
    Idle -> Busy on busy
    Idle -> Plain on plain
    Plain on set(n) do { lost = n }
    on entry(Idle) do lost = 9
    c1: Busy -> Idle on crash when lost == 7 do kept = lost
    c2: Busy -> Plain on crash when lost != 7 and lost != 0
}
system S { m: M { %s }  environment { some n in {0, 7, 8}: m.set(n)  m.busy  m.plain  crash when m not in Plain } %s }
"""


def test_a_crash_keeps_durable_fields_and_states_that_last() -> None:
    run = Run(CRASH % ("kept = 0", ""))
    run.take("m.set(8)", "crash")
    assert (run.state("m"), run.field("m.kept"), run.field("m.lost")) == ("Idle", "8", "5")


def test_fields_return_to_the_values_with_which_the_system_began() -> None:
    run = Run(CRASH % ("lost = 3", ""))
    run.take("m.set(8)", "crash")
    assert run.field("m.lost") == "3"


def test_a_crash_transition_sees_the_values_before_and_its_effects_those_after() -> None:
    run = Run(CRASH % ("kept = 0", ""))
    run.take("m.set(7)", "m.busy")
    assert run.take("crash") == ["crash", "m: c1 Busy → Idle", "m.kept = 5"]
    assert run.field("m.lost") == "5", "entry hooks do not run in a crash"
    run.take("m.set(8)", "m.busy", "crash")
    assert run.state("m") == "Plain"


def test_a_crash_that_finds_no_way_on_from_a_volatile_state_is_a_fault() -> None:
    run = Run(CRASH % ("kept = 0", ""))
    run.take("m.set(0)", "m.busy")
    fault = run.attempt("crash").fault
    assert fault is not None
    assert fault.kind == "lost"
    assert run.why(fault) == "a crash finds m in the volatile state `Busy`, which no `on crash` transition leaves"


def test_crashes_come_only_where_the_environment_says() -> None:
    run = Run(CRASH % ("kept = 0", ""))
    assert "crash" in run.steps()
    run.take("m.plain")
    assert "crash" not in run.steps()
    assert "crash" not in Run(RECOVERY % "").steps()


def test_the_flag_of_a_composite_holds_for_its_states() -> None:
    run = Run(
        """
        machine M { initial volatile state Out { initial state In  persistent state Safe }
                    event safe from environment  In -> Safe on safe }
        system S { m: M  environment { m.safe crash } }
        """
    )
    fault = run.attempt("crash").fault
    assert fault is not None
    assert fault.kind == "lost"
    run.take("m.safe", "crash")
    assert run.state("m") == "Safe"


def test_a_crash_drops_pending_actions_and_messages() -> None:
    run = Run(
        """
        channel c: fifo[2] to M
        machine M {
            initial state A
            state B
            event go from environment
            event note from c
            action work -> ok
            A -> B on go do { send c.note; work }
            B -> A on work.ok
            A, B on note
        }
        system S { m: M  environment { m.go crash } }
        """
    )
    run.take("m.go")
    assert run.steps() == ["m.work.ok", "crash"]
    assert len(run.world.channels[0]) == 1
    run.take("crash")
    assert (run.world.channels, run.world.pending, run.state("m")) == (((),), (), "B")


def test_a_transient_state_does_not_survive_a_crash_either() -> None:
    run = Run(
        """
        machine M { initial state A  transient state B  event go from environment  action work -> ok
                    A -> B on go do work  B -> A on work.ok }
        system S { m: M  environment { m.go crash } }
        """
    )
    run.take("m.go")
    fault = run.attempt("crash").fault
    assert fault is not None
    assert run.why(fault) == "a crash finds m in the transient state `B`, which no `on crash` transition leaves"


def test_a_crash_ends_the_round_and_leads_into_initial_children() -> None:
    run = Run(
        """
        machine M { initial state A  transient state B  state Out { initial state In }
                    event go from environment  action work -> ok
                    A on go do work  A -> B on work.ok do work  B -> Out on crash  ignore work.ok in B }
        system S { m: M  environment { m.go crash } }
        """
    )
    run.take("m.go", "m.work.ok")
    assert (run.state("m"), run.world.waited) == ("B", {0})
    run.take("crash")
    assert (run.state("m"), run.world.waited) == ("In", frozenset())


RECOVERY = """
machine M {
    durable a: 0..9
    durable b: 0..9
    c: 0..9
    owner: M?
    initial state Idle
    state Ready
    event write from environment
    event woken
    Idle, Ready on write do { a = 1; c = 1; b = 1 }
    Idle -> Ready on woken
    ignore woken in Ready
    Ready -> Idle when c == 9
}
system S {
    ms: M[2]
    environment { some m in ms: m.write  %s }
    recover { for m in ms { m.woken; m.b = m.a }  ms[0].owner = ms[1] }
}
"""


def test_after_a_crash_recovery_comes_first_and_alone() -> None:
    run = Run(RECOVERY % "crash")
    run.take("m0.write", "crash")
    assert run.world.down
    assert run.steps() == ["recover"]
    fault = run.send("m0", "write").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == (
        "busy",
        "`write` arrives while the system is down; `recover` must run first",
    )
    told = run.take("recover")
    assert told[:3] == ["recover sends m0.woken", "m0: woken Idle → Ready", "m0.b = 1"]
    assert (run.states(), run.field("m0.owner"), run.world.down) == ("Ready Ready", "m1", False)


def test_recovery_comes_only_after_a_crash() -> None:
    run = Run(RECOVERY % "crash")
    fault = fire(run.universe, run.world, RecoverStep()).fault
    assert fault is not None
    assert fault.kind == "unhandled"


def test_without_recover_a_system_is_up_again_at_once() -> None:
    run = Run(CRASH % ("kept = 0", ""))
    run.take("crash")
    assert not run.world.down
    assert "m.busy" in run.steps()


def test_between_writes_a_step_is_cut_after_each_write_but_the_last() -> None:
    run = Run(RECOVERY % "crash between writes")
    assert run.steps() == ["m0.write", "m1.write", "crash after 1 write of m0.write", "crash after 1 write of m1.write"]
    run.take("crash after 1 write of m0.write")
    assert (run.field("m0.a"), run.field("m0.b"), run.field("m0.c")) == ("1", "0", "0")


def test_a_change_of_state_is_a_write_too() -> None:
    run = Run(
        """
        machine M { durable n: 0..9  initial state A  state B  event go from environment  A -> B on go do n = 1
                    on entry(B) do n = 2 }
        system S { m: M  environment { m.go  crash between writes } }
        """
    )
    assert run.steps() == ["m.go", "crash after 1 write of m.go", "crash after 2 writes of m.go"]
    world = run.world
    run.take("crash after 1 write of m.go")
    assert (run.state("m"), run.field("m.n")) == ("A", "1")
    run.world = world
    run.take("crash after 2 writes of m.go")
    assert (run.state("m"), run.field("m.n")) == ("B", "1")


def test_a_step_that_fails_is_not_cut() -> None:
    run = Run(
        """
        machine M { durable n: 0..1  initial state A  event go from environment  A on go do { n = 1; n = 0; n = 2 } }
        system S { m: M  environment { m.go  crash between writes } }
        """
    )
    assert run.steps() == ["m.go"]


def test_recovery_is_cut_before_its_first_write_and_after_each_but_the_last() -> None:
    run = Run(RECOVERY % "crash  crash during recovery")
    run.take("m0.write", "crash")
    assert run.steps() == [
        "recover", "crash before recover", "crash after 1 write of recover", "crash after 2 writes of recover",
        "crash after 3 writes of recover",
    ]  # fmt: skip
    run.take("crash after 1 write of recover")
    assert (run.states(), run.world.down, run.steps()[0]) == ("Ready Idle", True, "recover")
