"""Crash and recovery of several machines, within limits."""

from __future__ import annotations

from pathlib import Path

from test_recovery import JOBS, answer, pair, searched, steps

from fsmdsl import model as m
from fsmdsl.model.workspace import load
from fsmdsl.runs.recovery import Answer, check
from fsmdsl.search import Limits

# Several machines ----------------------------------------------------------------------------------------------------

LENT = """
machine Cell {{
    {user} user: Group?
    initial state Free
    state Used
    event take(by: Group), free from Group
    Free -> Used on take(by) do user = by
    Used -> Free on free do user = none
}}
machine Group {{
    {cells} cells: set<Cell>
    initial state Pending
    state Allocated
    event schedule(choice: set<Cell>), gone from environment
    Pending -> Allocated on schedule(choice) do {effects}
    Allocated -> Pending on gone do {{ for c in cells {{ c.free }} cells = {{}} }}
}}
system S {{
    groups: Group[2]
    cells: Cell[2]
    environment {{
        some g in groups, p in subsets(cells, {size}): g.schedule(p) when all c in p: c in Free
        some g in groups: g.gone
        {crash}
    }}
    property p: recovers {on}
}}
"""
TAKE_LAST = "{ cells = choice; for c in choice { c.take(self) } }"
TAKE_FIRST = "{ for c in choice { c.take(self) } cells = choice }"


def lent(
    user: str, cells: str, crash: str, *, effects: str = TAKE_LAST, on: str = "on cells, user", size: int = 1
) -> Answer:
    return answer(LENT.format(user=user, cells=cells, crash=crash, effects=effects, on=on, size=size))


def test_fields_of_several_machines_belong_together() -> None:
    assert lent("durable", "durable", "crash").outcome == "holds"
    assert lent("", "", "crash").outcome == "holds", "all is as in the beginning"
    a = lent("durable", "", "crash")
    assert steps(a) == ["g0.schedule({c0})", "crash"]
    assert a.explanation == (
        "after the crash c0.user is g0 while g0.cells is {}; without a crash the former occurs only together with "
        "g0.cells = {c0}",
        "the write `g0.cells = {c0}` was lost in the crash: `cells` is not durable",
    )


def test_a_write_that_is_left_over() -> None:
    a = lent("durable", "durable", "crash between writes", effects=TAKE_FIRST, size=2)
    assert steps(a) == ["crash after 1 write of g0.schedule({c0, c1})"]
    assert a.explanation == (
        "after the crash g0.cells is {} while c0.user is g0; without a crash the former occurs only together with "
        "c0.user = none or g1",
        "the write `c0.user = g0` of `g0.schedule({c0, c1})` is left over: the rest of that step was lost",
    )


def test_a_change_of_state_that_was_lost() -> None:
    text = """
        machine Door {{
            durable count: 0..1
            initial state Shut
            state Open
            event push from environment
            Shut -> Open on push do count = 1
            Open -> Shut on push do count = 0
        }}
        system S {{ door: Door  environment {{ door.push crash between writes }}  property p: recovers {} }}
        """
    a = answer(text.format(""))
    assert steps(a) == ["crash after 1 write of door.push"]
    assert a.explanation == (
        "after the crash door.count is 1 while door is in Shut; without a crash the former occurs only together with "
        "door in Open",
        "the change `door in Open` of `door.push` was lost",
    )
    assert answer(text.format("on count")).outcome == "holds", "states are not compared where fields are named"


def test_a_crash_transition_that_does_too_much() -> None:
    a = answer(
        """
        machine Lamp {
            durable lit: bool
            durable count: 0..1
            initial state Up
            event press from environment
            Up on press do { lit = not lit; count = 1 - count }
            Up on crash do lit = false
        }
        system S { lamp: Lamp  environment { lamp.press crash }  property p: recovers on lit, count }
        """
    )
    assert steps(a) == ["lamp.press", "crash"]
    assert a.explanation == (
        "after the crash lamp.count is 1 while lamp.lit is false; without a crash the former occurs only together with "
        "lamp.lit = true",
        "an `on crash` transition leads to `lamp.lit = false`, and `lamp.lit = true` was lost",
    )


def test_a_value_that_never_comes_without_a_crash() -> None:
    a = pair("crash", "m.seen = 1; m.a = 1; m.b = 1", on="on a, b, seen")
    assert a.outcome == "holds"
    a = answer(JOBS.format(more="ignore retry in Idle, Done", crash="crash", recover="job.tries = 2"))
    assert a.explanation == (
        "after recovery job.tries is 2, which it never is without a crash",
        "`recover` leads to `job.tries = 2`; without a crash it would be `job.tries = 0`",
    )


def test_a_gang_of_which_a_part_is_gone_before_the_crash() -> None:
    """A victim is allocated again after a crash, though one of its cells was given up already (hole 12 of HiveD)."""
    a = answer(
        """
        machine Gang {
            durable held: 0..2 = 2
            initial persistent state Allocated
            volatile state Leaving
            final persistent state Gone
            event preempt, pod_gone from environment
            Allocated -> Leaving on preempt
            Leaving on pod_gone when held == 2 do held = 1
            Leaving -> Gone on pod_gone when held == 1 do held = 0
            Leaving -> Allocated on crash
        }
        system S { gang: Gang  environment { gang.preempt gang.pod_gone crash }  property p: recovers }
        """
    )
    assert steps(a) == ["gang.preempt", "gang.pod_gone", "crash"]
    assert a.explanation == (
        "after the crash gang.held is 1 while gang is in Allocated; without a crash the former occurs only together "
        "with gang in Leaving",
        "an `on crash` transition leads to `gang in Allocated`, and `gang in Leaving` was lost",
    )


def test_hived_recovers() -> None:
    model = load([Path(__file__).parent.parent / "specs" / "hived" / "hived.fsm"]).model
    assert model is not None
    system = model.systems["hived.PreemptionSmall"]
    (asked,) = (p.formula for p in system.properties if isinstance(p.formula, m.Recovers))
    search = searched(model, system)
    a = check(search.universe, asked, search)
    assert (a.outcome, a.explanation) == ("holds", ())


# Limits --------------------------------------------------------------------------------------------------------------

WIDE = """
machine Wide {{
    durable a: 0..1
    durable b: 0..1
    n: 0..{most}
    initial state On
    event flip, up from environment
    On on flip do {{ a = 1 - a; b = 1 - b }}
    On on up when n < {most} do n = n + 1
}}
system S {{ m: Wide  environment {{ m.flip m.up {crash} }}  {recover}  property p: recovers on a, b }}
"""


def test_a_limit_makes_unknown_what_was_not_found() -> None:
    a = answer(WIDE.format(most=50, crash="crash", recover=""), Limits(states=20))
    assert a == Answer(
        "unknown", "bounded: stopped at 20 states; not every state reachable without a crash was explored"
    )
    a = answer(WIDE.format(most=50, crash="crash", recover=""))
    assert a.outcome == "holds"


def test_what_is_missing_without_a_crash_may_be_beyond_the_limit() -> None:
    text = WIDE.format(most=50, crash="crash between writes", recover="")
    assert answer(text).outcome == "violated"
    assert answer(text, Limits(states=20)).outcome == "unknown"


def test_a_fault_or_repetition_is_wrong_whatever_the_limit() -> None:
    count = "recover { if m.n < 50 { m.n = m.n + 1 } m.a = 1 - m.b }"
    a = answer(WIDE.format(most=50, crash="crash", recover=count).replace("on a, b", "on n"), Limits(states=20))
    assert a.outcome == "violated"
    assert a.explanation[0].startswith("recovery is not idempotent")
    fails = "recover { m.n = m.n - 1 }"
    a = answer(WIDE.format(most=50, crash="crash", recover=fails), Limits(states=20))
    assert a.explanation[0].startswith("recovery does not end")


def test_the_part_without_a_crash_may_be_complete_before_the_limit() -> None:
    """Crashes count up, so that most worlds are reached with crashes only."""
    text = """
        machine Many {
            durable a: 0..1
            durable b: 0..1
            durable crashes: 0..99
            initial state On
            event flip from environment
            On on flip do { a = 1 - a; b = 1 - b }
            On on crash when crashes < 99 do crashes = crashes + 1
        }
        system S { m: Many  environment { m.flip  crash between writes }  property p: recovers on a, b }
        """
    a = answer(text, Limits(states=30))
    assert (a.outcome, steps(a)) == ("violated", ["crash after 1 write of m.flip"])
    a = answer(text.replace("{ a = 1 - a; b = 1 - b }", "a = 1 - a").replace("between writes", ""), Limits(states=30))
    assert a == Answer("unknown", "bounded: stopped at 30 states")


def test_too_many_arguments_are_a_limit_too() -> None:
    a = answer(
        "machine M { n: 0..1  initial state A  event e(x: 0..99999) from environment  A on e }"
        "system S { m: M  property p: recovers on n }"
    )
    assert a.outcome == "unknown"
