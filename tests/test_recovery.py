"""`recovers`: recovery ends, is idempotent, and leads where the system could be without the crash."""

from __future__ import annotations

import pytest
from stepping import compiled, only_system

from fsmdsl import model as m
from fsmdsl.runs.recovery import Answer, check
from fsmdsl.search import Limits
from fsmdsl.search.definition_search import Search
from fsmdsl.step import Universe, enabled, fire


def searched(model: m.Model, system: m.System, limits: Limits | None = None) -> Search:
    search = Search(Universe(model, system), limits or Limits(), None)
    search.run()
    return search


def answer(text: str, limits: Limits | None = None, *, as_documented: bool = False) -> Answer:
    model = compiled(text, as_documented=as_documented)
    system = only_system(model)
    (asked,) = system.properties
    assert isinstance(asked.formula, m.Recovers)
    search = searched(model, system, limits)
    return check(search.universe, asked.formula, search)


def steps(a: Answer) -> list[str]:
    """The counterexample, which must be a run of the system: each step enabled where it is taken."""
    assert a.trace is not None
    world = a.trace.start
    for entry in a.trace.entries:
        assert isinstance(a.trace.roster, Universe)
        assert entry.step in enabled(a.trace.roster, world)
        result = fire(a.trace.roster, world, entry.step)
        assert (result.world, result.fault) == (entry.world, entry.fault)
        world = result.world
    return a.trace.steps()


# Two fields that belong together -------------------------------------------------------------------------------------

PAIR = """
machine Pair {{
    durable a: 0..1
    durable b: 0..1
    seen: 0..1
    initial state On
    event flip from environment
    On on flip do {{ a = 1 - a; b = 1 - b; seen = a }}
}}
system S {{
    m: Pair
    environment {{ m.flip  {crash} }}
    {recover}
    property p: recovers {on}
}}
"""


def pair(crash: str, recover: str = "", on: str = "on a, b", limits: Limits | None = None) -> Answer:
    text = f"recover {{ {recover} }}" if recover else ""
    return answer(PAIR.format(crash=crash, recover=text, on=on), limits)


def test_a_correct_recovery() -> None:
    a = pair("crash  crash between writes  crash during recovery", "m.b = m.a")
    assert a == Answer("holds", "exhaustive: 7 states, 2 of them without a crash")


def test_a_write_that_a_crash_cuts_off_is_named() -> None:
    a = pair("crash between writes")
    assert (a.outcome, a.basis, steps(a)) == ("violated", "a trace of 1 step", ["crash after 1 write of m.flip"])
    assert a.explanation == (
        "after the crash m.a is 1 while m.b is 0; without a crash the former occurs only together with m.b = 1",
        "the write `m.b = 1` of `m.flip` was lost",
    )


def test_a_crash_between_steps_cuts_nothing_off() -> None:
    assert pair("crash").outcome == "holds"


def test_a_recovery_that_repairs_the_wrong_half() -> None:
    a = pair("crash", "m.b = 1 - m.a")
    assert steps(a) == ["crash", "recover"]
    assert a.explanation == (
        "after recovery m.a is 0 while m.b is 1; without a crash the former occurs only together with m.b = 0",
        "`recover` leads to `m.b = 1`; without a crash it would be `m.b = 0`",
    )


def test_only_the_fields_named_are_compared() -> None:
    assert pair("crash between writes", on="on a").outcome == "holds"
    assert pair("crash between writes", on="on Pair.b").outcome == "holds"
    assert pair("crash between writes", on="on test.Pair.b, a").outcome == "violated"


def test_without_names_all_fields_are_compared() -> None:
    a = pair("crash", on="")
    assert steps(a) == ["m.flip", "crash"]
    assert a.explanation == (
        "after the crash m.a is 1 while m.seen is 0; without a crash the former occurs only together with m.seen = 1",
        "the write `m.seen = 1` was lost in the crash: `seen` is not durable",
    )


def test_a_field_that_only_an_amendment_has_is_not_checked() -> None:
    text = PAIR.format(crash="crash", recover="", on="on Other.a")
    assert answer(text, as_documented=True) == Answer("not checked", "`Other.a` is a field of no instance")


def test_without_a_crash_there_is_nothing_to_recover_from() -> None:
    for recover in ("", "m.b = m.a"):
        a = pair("crash when m.a > 1", recover)
        assert a.outcome == "holds"
        assert a.explanation == ("no crash ever comes, so there is nothing to recover from",)


def test_crashes_come_only_where_they_are_offered() -> None:
    assert pair("crash between writes when m.a == 1").explanation[0].startswith("after the crash m.a is 0 while")
    assert pair("crash between writes when m.a > m.b").outcome == "holds"


# Ending --------------------------------------------------------------------------------------------------------------

JOBS = """
machine Job {{
    durable tries: 0..2
    initial state Idle
    persistent state Busy
    persistent state Done
    event begin, finish from environment
    event retry
    Idle -> Busy on begin
    Busy -> Done on finish
    Busy -> Idle on retry do tries = tries + 1
    {more}
}}
system S {{
    job: Job
    environment {{ job.begin  job.finish  {crash} }}
    recover {{ {recover} }}
    property p: recovers on tries
}}
"""


def test_a_recovery_that_fails_does_not_end() -> None:
    a = answer(JOBS.format(more="", crash="crash", recover="job.retry"))
    assert steps(a) == ["crash", "recover"]
    assert a.trace is not None
    assert a.trace.fault is not None
    assert a.explanation == (
        "recovery does not end: `recover` fails, `retry` reaches job in `Idle`, where it is neither handled nor "
        "ignored (unhandled)",
    )


def test_a_recovery_may_fail_only_after_it_was_interrupted() -> None:
    text = """
        machine Log {{
            durable open: bool
            durable n: 0..2
            initial state On
            event write from environment
            On on write do {{ open = true; n = 1; n = 0; open = false }}
        }}
        system S {{ log: Log
                   environment {{ log.write  crash between writes  {} }}
                   recover {{ if log.open {{ log.n = log.n + 1; log.n = 0; log.open = false }} }}
                   property p: recovers on n }}
        """
    assert answer(text.format("")).outcome == "holds"
    a = answer(text.format("crash during recovery"))
    assert steps(a) == ["crash after 2 writes of log.write", "crash after 1 write of recover", "recover"]
    assert a.explanation == ("recovery does not end: `recover` fails, `n` of log would become 3, outside 0..2 (range)",)


def test_where_other_steps_fail_the_evidence_says_so() -> None:
    text = """
        machine Log {{
            durable n: 0..1
            initial state On
            event write from environment
            On on write do n = {}
        }}
        system S {{ log: Log  environment {{ log.write  crash }}  property p: recovers on n }}
        """
    for value, extent in (("1", "exhaustive: 2"), ("2", "exhaustive, but some steps fail: 1")):
        a = answer(text.format(value))
        assert a.outcome == "holds"
        assert a.basis.startswith(f"{extent} states, ")


def test_a_crash_that_fails_itself_is_not_recovered_from() -> None:
    text = """
        machine Node {{
            durable n: 0..1
            initial state Up
            volatile state Busy
            event work, rest from environment
            Up -> Busy on work
            Busy -> Up on rest
        }}
        system S {{ node: Node  environment {{ node.work node.rest {} }}  {}  property p: recovers on n }}
        """
    for recover in ("", "recover { node.n = 0 }"):
        a = answer(text.format("crash", recover))
        assert steps(a) == ["node.work", "crash"]
        assert a.explanation == (
            "recovery does not begin: the crash itself fails, a crash finds node in the volatile state `Busy`, "
            "which no `on crash` transition leaves (lost)",
        )
        assert answer(text.format("crash when node in Up", recover)).outcome == "holds"


# Idempotence ---------------------------------------------------------------------------------------------------------


def test_a_recovery_that_counts_is_not_idempotent() -> None:
    text = JOBS.format(
        more="ignore retry in Idle, Done", crash="crash when job.tries == 0", recover="if job.tries < 2 { %s }"
    )
    a = answer(text % "job.tries = job.tries + 1")
    assert a.explanation == ("recovery is not idempotent: `recover`, run twice, changes job.tries from 1 to 2",)
    assert steps(a) == ["crash", "recover"]


def test_a_crash_right_behind_recovery_is_tried_where_one_can_come() -> None:
    text = """
        machine Box {{
            durable n: 0..9
            done: bool
            initial state On
            event put from environment
            On on put when n < 9 do n = n + 1
        }}
        system S {{ box: Box
                   environment {{ box.put  {} }}
                   recover {{ if not box.done and box.n < 8 {{ box.n = box.n + 1; box.done = true }} }}
                   property p: recovers on n }}
        """
    a = answer(text.format("crash"))
    assert steps(a) == ["crash", "recover", "crash", "recover"]
    assert a.explanation == (
        "recovery is not idempotent: an immediate second crash, with its recovery, changes box.n from 1 to 2",
    )
    assert answer(text.format("crash when box.n == 0")).outcome == "holds"
    a = answer(text.format("crash when box.n == 0  crash during recovery when box.n == 0"))
    assert a.explanation[0].startswith("recovery is not idempotent: an immediate second crash")


def test_what_recover_does_twice_but_only_to_other_fields_makes_no_difference() -> None:
    text = JOBS.format(more="runs: 0..9", crash="crash", recover="if job.runs < 9 { job.runs = job.runs + 1 }")
    assert answer(text).outcome == "holds"
    assert answer(text.replace("on tries", "on tries, runs")).outcome == "violated"


def test_crash_transitions_must_be_idempotent_too() -> None:
    a = answer(
        """
        machine Node {
            durable left: 0..2 = 2
            initial state Up
            event use from environment
            Up on use when left > 0 do left = left - 1
            Up on crash when left > 0 do left = left - 1
        }
        system S { node: Node  environment { node.use crash }  property p: recovers on left }
        """
    )
    assert steps(a) == ["crash", "crash"]
    assert a.explanation == ("recovery is not idempotent: an immediate second crash changes node.left from 1 to 0",)


# Interrupted recovery ------------------------------------------------------------------------------------------------

REDO = """
machine Store {{
    durable goal: 0..1
    durable todo: bool
    durable a: 0..1
    durable b: 0..1
    initial state On
    event set(n: 0..1) from environment
    On on set(n) do {{ goal = n; todo = true; a = n; b = n; todo = false }}
}}
system S {{
    m: Store
    environment {{ some n in {{0, 1}}: m.set(n)  crash  crash between writes  {crash} }}
    recover {{ if m.todo {{ {recover} }} }}
    property p: recovers on a, b
}}
"""
RIGHT = "m.a = m.goal; m.b = m.goal; m.todo = false"
WRONG = "m.todo = false; m.a = m.goal; m.b = m.goal"


@pytest.mark.parametrize(
    ("crash", "recover"), [("", RIGHT), ("crash during recovery", RIGHT), ("", WRONG)], ids=["", "interrupted", "whole"]
)
def test_a_log_that_is_worked_off_again(crash: str, recover: str) -> None:
    assert answer(REDO.format(crash=crash, recover=recover)).outcome == "holds"


def test_a_log_that_is_closed_before_it_is_worked_off() -> None:
    a = answer(REDO.format(crash="crash during recovery", recover=WRONG))
    assert steps(a) == ["crash after 2 writes of m.set(1)", "crash after 2 writes of recover", "recover"]
    assert a.explanation == (
        "after recovery m.a is 1 while m.b is 0; without a crash the former occurs only together with m.b = 1",
        "the write `m.b = 1` of `recover` was lost",
    )
