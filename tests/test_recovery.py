"""`recovers`: recovery ends, is idempotent, and leads where the system could be without the crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from random_specs import spec
from stepping import compiled, only_system

from fsmdsl import model as m
from fsmdsl.explore import Limits
from fsmdsl.explore.recovery import Answer, Edge, check
from fsmdsl.explore.refire import Refired
from fsmdsl.explore.search import Search
from fsmdsl.explore.trace import Trace
from fsmdsl.step import CrashStep, FaultError, RecoverStep, Step, Universe, World, enabled, fire
from fsmdsl.workspace import load


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
    return check(search.universe, asked.formula, search.explored())


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
        "after the crash m.a is 1 while m.b is 0; without a crash the former comes only together with m.b = 1",
        "the write `m.b = 1` of `m.flip` was lost",
    )


def test_a_crash_between_steps_cuts_nothing_off() -> None:
    assert pair("crash").outcome == "holds"


def test_a_recovery_that_repairs_the_wrong_half() -> None:
    a = pair("crash", "m.b = 1 - m.a")
    assert steps(a) == ["crash", "recover"]
    assert a.explanation == (
        "after recovery m.a is 0 while m.b is 1; without a crash the former comes only together with m.b = 0",
        "`recover` makes it `m.b = 1`, where without a crash there is `m.b = 0`",
    )


def test_only_the_fields_named_are_compared() -> None:
    assert pair("crash between writes", on="on a").outcome == "holds"
    assert pair("crash between writes", on="on Pair.b").outcome == "holds"
    assert pair("crash between writes", on="on test.Pair.b, a").outcome == "violated"


def test_without_names_all_fields_are_compared() -> None:
    a = pair("crash", on="")
    assert steps(a) == ["m.flip", "crash"]
    assert a.explanation == (
        "after the crash m.a is 1 while m.seen is 0; without a crash the former comes only together with m.seen = 1",
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
            "recovery does not begin: the crash itself fails, a crash finds node in `Busy`, which is volatile, and no "
            "crash transition leads on (lost)",
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
        "recovery is not idempotent: a second crash right behind it, with its recovery, changes box.n from 1 to 2",
    )
    assert answer(text.format("crash when box.n == 0")).outcome == "holds"
    a = answer(text.format("crash when box.n == 0  crash during recovery when box.n == 0"))
    assert a.explanation[0].startswith("recovery is not idempotent: a second crash right behind it")


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
    assert a.explanation == ("recovery is not idempotent: a second crash at once changes node.left from 1 to 0",)


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
        "after recovery m.a is 1 while m.b is 0; without a crash the former comes only together with m.b = 1",
        "the write `m.b = 1` of `recover` was lost",
    )


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
        "after the crash c0.user is g0 while g0.cells is {}; without a crash the former comes only together with "
        "g0.cells = {c0}",
        "the write `g0.cells = {c0}` was lost in the crash: `cells` is not durable",
    )


def test_a_write_that_is_left_over() -> None:
    a = lent("durable", "durable", "crash between writes", effects=TAKE_FIRST, size=2)
    assert steps(a) == ["crash after 1 write of g0.schedule({c0, c1})"]
    assert a.explanation == (
        "after the crash g0.cells is {} while c0.user is g0; without a crash the former comes only together with "
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
        "after the crash door.count is 1 while door is in Shut; without a crash the former comes only together with "
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
        "after the crash lamp.count is 1 while lamp.lit is false; without a crash the former comes only together with "
        "lamp.lit = true",
        "the crash makes it `lamp.lit = false`, by a transition `on crash`: `lamp.lit = true` was lost",
    )


def test_a_value_that_never_comes_without_a_crash() -> None:
    a = pair("crash", "m.seen = 1; m.a = 1; m.b = 1", on="on a, b, seen")
    assert a.outcome == "holds"
    a = answer(JOBS.format(more="ignore retry in Idle, Done", crash="crash", recover="job.tries = 2"))
    assert a.explanation == (
        "after recovery job.tries is 2, which it never is without a crash",
        "`recover` makes it `job.tries = 2`, where without a crash there is `job.tries = 0`",
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
        "after the crash gang.held is 1 while gang is in Allocated; without a crash the former comes only together "
        "with gang in Leaving",
        "the crash makes it `gang in Allocated`, by a transition `on crash`: `gang in Leaving` was lost",
    )


def test_hived_recovers() -> None:
    model = load([Path(__file__).parent.parent / "specs" / "hived" / "hived.fsm"]).model
    assert model is not None
    system = model.systems["hived.PreemptionSmall"]
    (asked,) = (p.formula for p in system.properties if isinstance(p.formula, m.Recovers))
    search = searched(model, system)
    a = check(search.universe, asked, search.explored())
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
    assert a == Answer("unknown", "bounded: stopped at 20 states; nor was all seen that is reached without a crash")
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


# Random specs --------------------------------------------------------------------------------------------------------

CRASHES = (m.CrashOffer("anywhere", None), m.CrashOffer("between writes", None), m.CrashOffer("during recovery", None))


def expected(model: m.Model, search: Search) -> str:
    """By the book: the worlds without a crash are those of the same system without crashes."""
    calm = set(searched(model, replace(search.universe.system, crashes=()), Limits(states=150)).worlds)
    u, recover = search.universe, search.universe.system.recover is not None
    results = [
        fire(u, world, step)
        for world in search.worlds
        for step in enabled_if_any(u, world)
        if isinstance(step, CrashStep | RecoverStep)
    ]
    if any(r.fault for r in results):
        return "does not"
    recovered = {r.world for r in results if not r.world.down}
    for world in recovered:
        crash = fire(u, world, CrashStep())
        after = [fire(u, crash.world, RecoverStep()) if recover else crash] if crash.fault is None else []
        after += [fire(u, world._replace(down=True), RecoverStep())] if recover else []
        if any(x.fault and x is after[0] for x in after) or any(data_of(x.world) != data_of(world) for x in after):
            return "second or twice"
    return "holds" if {data_of(x) for x in recovered} <= {data_of(x) for x in calm} else "elsewhere"


def enabled_if_any(universe: Universe, world: World) -> list[Step]:
    try:
        return enabled(universe, world)
    except FaultError:
        return []


def data_of(world: World) -> object:
    return world.states, world.fields


@pytest.mark.parametrize("seed", range(120))
def test_the_answer_is_that_of_the_book(seed: int) -> None:
    model = compiled(spec(seed))
    system = replace(only_system(model), crashes=CRASHES)
    search = searched(model, system, Limits(states=150))
    a = check(search.universe, m.Recovers(()), search.explored())
    if search.stopped is not None:
        assert a.outcome in ("unknown", "violated")
        return
    found = "holds" if a.outcome == "holds" else "elsewhere"
    if a.explanation and a.explanation[0].startswith("recovery does not"):
        found = "second or twice" if "second crash" in a.explanation[0] else "does not"
    elif a.explanation and a.explanation[0].startswith("recovery is not idempotent"):
        found = "second or twice"
    assert found == expected(model, search)
    if a.trace is not None:
        assert steps(a)


# Whoever explored ----------------------------------------------------------------------------------------------------


class Backwards:
    """The same worlds and edges, kept, and numbered from the end: nothing may depend on the order."""

    def __init__(self, explored: Refired) -> None:
        self.stopped = explored.stopped
        self.first = len(explored) - 1
        self.refired = explored
        self.edges: list[list[Edge]] = [
            [(step, None if to is None else self.first - to) for step, to in explored.outgoing(self.first - n)]
            for n in range(len(explored))
        ]

    def __len__(self) -> int:
        return len(self.edges)

    def world(self, number: int) -> World:
        return self.refired.world(self.first - number)

    def outgoing(self, number: int) -> list[Edge]:
        return self.edges[number]

    def trace(self, number: int) -> Trace:
        return self.refired.trace(self.first - number)


@pytest.mark.parametrize(
    "text",
    [
        PAIR.format(crash="crash between writes", recover="", on="on a, b"),
        PAIR.format(crash="crash", recover="recover { m.b = m.a }", on="on a, b"),
        REDO.format(crash="crash during recovery", recover=WRONG),
        REDO.format(crash="crash during recovery", recover=RIGHT),
        LENT.format(user="durable", cells="", crash="crash", effects=TAKE_LAST, on="", size=1),
    ],
)
def test_the_order_of_the_worlds_changes_no_outcome(text: str) -> None:
    model = compiled(text)
    (asked,) = only_system(model).properties
    assert isinstance(asked.formula, m.Recovers)
    search = searched(model, only_system(model))
    there = check(search.universe, asked.formula, search.explored())
    back = check(search.universe, asked.formula, Backwards(search.explored()))
    assert there.outcome == back.outcome
    assert (there.trace is None) == (back.trace is None)


def test_a_world_may_be_reached_with_a_crash_first_and_without_one_later() -> None:
    a = answer(
        """
        machine Slow {
            durable n: 0..3
            initial state On
            event up from environment
            On on up when n < 3 do n = n + 1
            On on crash do n = 3
        }
        system S { m: Slow  environment { m.up crash }  property p: recovers on n }
        """
    )
    assert a == Answer("holds", "exhaustive: 4 states, 4 of them without a crash")


def test_looking_leaves_no_trace_in_the_coverage() -> None:
    model = compiled(PAIR.format(crash="crash", recover="recover { m.b = 1 - m.a }", on="on a, b"))
    search = searched(model, only_system(model))
    seen, worlds = set(search.guards_seen), list(search.worlds)
    check(search.universe, m.Recovers(()), search.explored())
    assert (search.guards_seen, search.worlds) == (seen, worlds)
