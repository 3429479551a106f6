"""Scenarios: what passes, and what is said of what does not."""

from __future__ import annotations

import pytest
from stepping import compiled

from fsmdsl.runs.scenario import RULES
from fsmdsl.search import Played, lines, play

MACHINES = """
machine Boss {
    worker: Worker?
    durable paid: 0..5
    initial state Idle
    state Busy
    state Gone
    event hire(w: Worker), order, pay(n: 0..5), leave from environment
    event finished from Worker
    action report -> ok | err
    hire:   Idle on hire(w) do worker = w
    order:  Idle -> Busy on order do worker.work(self)
    done:   Busy -> Idle on finished do report
    ok:     Idle on report.ok
    lost:   Idle -> Gone on report.err
    pay:    Idle on pay(n) do paid = paid + n
    leave:  Idle -> Gone on leave
    L1:     Idle -> Gone after 5min when paid > 0
    Busy -> Gone after 1h
    strike: Busy -> Idle after 2h
    crash:  Busy -> Idle on crash
}
machine Worker {
    boss: Boss?
    initial state Free
    state Working
    event work(by: Boss) from Boss
    event ready from environment
    event note from mail
    work: Free -> Working on work(by) do boss = by
    Working -> Free on ready do boss.finished
    note: Free, Working on note
}
machine Clerk {
    initial state On
    event write, scribble from environment
    On on write do send mail.note
    On on scribble do send post.slip
}
machine Attic { initial state On  event slip from post  event hint from post  slip: On on slip  On on hint }
channel mail: lossy fifo[2] to Worker
channel post: duplicating bag[2] to Attic
system S {
    boss: Boss
    worker: Worker
    recover { worker.boss = boss }
    invariant boss.paid < 5
}
"""

OWN = "boss: Boss  worker: Worker  clerk: Clerk  attic: Attic"


def played(steps: str, *, of: str = "") -> Played:
    instances = "" if of else OWN
    model = compiled(f'{MACHINES} scenario it "as said" {of} {{ {instances} {steps} }}')
    (scenario,) = model.scenarios.values()
    return play(model, scenario)


@pytest.mark.parametrize(
    "steps",
    [
        "",
        "expect boss in Idle and worker in Free",
        "boss.hire(worker) boss.order expect boss in Busy and worker.boss == boss via hire, order, work",
        "boss.hire(worker) via hire boss.order via order, work",
        "boss.hire(worker) boss.order worker.ready boss.report.ok via hire, order, work, ready, done, ok",
        "boss.hire(worker) boss.order worker.ready boss.report.err expect boss in Gone",
        "boss.pay(2) boss.pay(3) expect boss.paid == 5",
        "fails boss.order expect boss in Idle",
        "fails boss.report.ok with unhandled",
        "boss.pay(5) fails boss.pay(1) with range expect boss.paid == 5",
        "boss.hire(worker) boss.order worker.ready fails boss.leave with busy boss.report.ok boss.leave",
        "boss.pay(1) timeout boss of L1 expect boss in Gone via pay, L1",
        "boss.pay(1) timeout boss of Idle expect boss in Gone",
        "boss.pay(1) timeout boss expect boss in Gone",
        "boss.hire(worker) boss.order timeout boss of strike expect boss in Idle",
        "clerk.write clerk.write expect size(mail) == 2 deliver mail lose mail expect size(mail) == 0",
        "clerk.write clerk.write deliver mail via write, write, note",
        "clerk.write deliver mail.note expect size(mail) == 0",
        "clerk.scribble duplicate post deliver post.slip deliver post via scribble, slip, slip",
        "boss.hire(worker) boss.pay(2) boss.order crash expect boss.worker == none and boss.paid == 2",
    ],
)
def test_what_goes_as_it_says_passes(steps: str) -> None:
    p = played(steps)
    assert p.failure is None, p.failure
    assert p.passed
    assert p.failed is None


@pytest.mark.parametrize(
    ("steps", "at", "message"),
    [
        ("expect boss in Busy", "expect boss in Busy", "not as expected: `boss in Busy` is false: boss is in Idle"),
        ("expect boss.worker.boss == boss", "expect boss.worker.boss == boss", "`boss.worker` is none here"),
        ("boss.order expect boss in Busy", "boss.order", "this step fails: `worker` is none here (none)"),
        ("boss.pay(1) via pay, pay", "via pay, pay", "the transitions followed since the start are pay"),
        ("via pay", "via pay", "the transitions followed since the start are none"),
        ("boss.pay(1) via pay via pay", "via pay", "the transitions followed since the last `via` are none"),
        ("fails boss.pay(1)", "fails boss.pay(1)", "boss.pay(1) should fail, but does not"),
        (
            "fails boss.order with range",
            "fails boss.order with range",
            "this should fail with range, but fails with none",
        ),
        ("timeout boss", "timeout boss", "this step fails: `L1` cannot fire in `Idle` of boss now (unhandled)"),
        ("timeout boss of Busy", "timeout boss of Busy", "no timer `Busy` of boss runs in `Idle`"),
        (
            "boss.hire(worker) boss.order timeout boss",
            "timeout boss",
            "several timers of boss run in `Busy`: `after 1h`, `strike`; name one with `of`",
        ),
        ("boss.leave timeout boss", "timeout boss", "no timer of boss runs in `Gone`"),
        ("deliver mail", "deliver mail", "there is no message in channel `mail`"),
        ("clerk.write duplicate mail", "duplicate mail", "channel `mail` is not declared `duplicating`"),
        ("clerk.scribble lose post", "lose post", "channel `post` is not declared `lossy`"),
        ("clerk.scribble deliver post.hint", "deliver post.hint", "there is no `hint` in channel `post`"),
        (
            "clerk.write clerk.write clerk.write",
            "clerk.write",
            "this step fails: channel `mail` is full: it holds 2 (overflow)",
        ),
        (
            "recover",
            "recover",
            "this step fails: the system is not down: there is nothing to recover (unhandled)",
        ),
        (
            "boss.report.ok",
            "boss.report.ok",
            "this step fails: `report.ok` arrives, but boss is not waiting for it (unhandled)",
        ),
    ],
)
def test_what_does_not_is_said_at_its_step(steps: str, at: str, message: str) -> None:
    p = played(steps)
    assert p.failure is not None
    assert p.failed is not None
    assert p.failed.span.text == at
    assert p.failure.span == p.failed.span
    assert p.failure.message == f"`it`: {message}"


FAILING = """
channel ch: fifo[2] to M
machine M {
    other: M?
    x: 0..1
    initial state A
    volatile state B
    event go, up, fall from environment
    event msg from ch, environment
    go: A on go do x = other.x
    up: A on up do x = x + 1
    A on msg do send ch.msg
    B on msg do x = x + 1
    A -> B on fall
    B -> B on up do x = 1
    late: A after 5s do x = x + 1
}
scenario s {
    m: M
    %s
}
"""


@pytest.mark.parametrize(
    ("steps", "failure"),
    [
        ("fails m.go with none", ""),
        ("m.up fails timeout m of late with range", ""),
        ("m.up fails timeout m with range", ""),
        ("fails timeout m", "timeout m of late should fail, but does not"),
        ("fails recover with unhandled", ""),
        ("m.msg m.fall m.up fails deliver ch.msg with range", ""),
        ("m.msg m.fall fails deliver ch", "deliver ch.msg should fail, but does not"),
        ("fails deliver ch", "there is no message in channel `ch`"),
        ("m.fall fails crash with lost", ""),
        ("fails crash", "crash should fail, but does not"),
    ],
)
def test_any_step_can_be_expected_to_fail_with_any_fault(steps: str, failure: str) -> None:
    model = compiled(FAILING % steps)
    x = play(model, model.scenarios["test.s"])
    assert (x.failure is None) == (failure == "")
    assert x.failure is None or x.failure.message == f"`s`: {failure}"


def test_the_states_at_the_failing_step_are_told() -> None:
    p = played("boss.hire(worker) boss.order expect boss in Idle")
    assert p.failure is not None
    assert "boss is in Busy, worker is in Working" in p.failure.notes[-1]


def test_a_false_expectation_is_explained_in_parts() -> None:
    p = played("expect boss in Idle and (boss.paid == 1 or worker in Working)")
    assert p.failure is not None
    assert "`boss.paid == 1` is false: boss.paid is 0" in p.failure.message
    assert p.failure.notes[0] == "`worker in Working` is false: worker is in Free"


def test_the_steps_after_a_failure_are_not_taken() -> None:
    p = played("boss.pay(1) expect boss.paid == 2 boss.pay(1)")
    assert p.trace.steps() == ["boss.pay(1)"]


def test_a_scenario_of_a_system_has_its_instances_and_its_recovery() -> None:
    p = played("crash fails boss.pay(1) with busy recover expect worker.boss == boss boss.pay(1)", of="of S")
    assert p.passed, p.failure


def test_instances_begin_where_the_scenario_says() -> None:
    steps = "timeout boss of strike  expect boss.paid == 3 via strike"
    model = compiled(MACHINES + f"scenario it {{ boss: Boss in Busy {{ paid = 3 }}  {steps} }}")
    (scenario,) = model.scenarios.values()
    assert play(model, scenario).passed


def test_impossible_initial_values_are_said() -> None:
    model = compiled(MACHINES + "scenario it { boss: Boss { paid = 7 }  expect boss.paid == 0 }")
    (scenario,) = model.scenarios.values()
    p = play(model, scenario)
    assert p.failure is not None
    assert (p.failed, p.failure.message) == (None, "`paid` of boss begins as 7, outside 0..5")


def test_the_run_is_told() -> None:
    p = played("boss.pay(2) fails boss.order")
    assert lines(p.trace)[1:] == [
        "1  boss.pay(2)   boss: pay in Idle; boss.paid = 2",
        "2  boss.order    boss: order Idle → Busy; fails: `worker` is none here (none)",
    ]


def test_the_example_of_the_rule_breaks_it() -> None:
    (rule,) = RULES
    model = compiled(rule.explanation.split("```fsm\n")[1].split("```")[0])
    (scenario,) = model.scenarios.values()
    failure = play(model, scenario).failure
    assert failure is not None
    assert failure.rule is rule


def test_a_timer_from_any_state_goes_by_the_state_that_is_left() -> None:
    loaded = compiled(
        """
        machine M { initial state A  state B  event go from environment  A -> B on go  * -> A after 5s }
        system S { m: M }
        scenario late of S { m.go  timeout m of B  expect m in A }
        """
    )
    assert [play(loaded, x).passed for x in loaded.scenarios.values()] == [True]
