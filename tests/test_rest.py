"""Coming to rest: `resting` states and `may rest when`, in every reader of a system."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from campaign_second_opinion import BUDGET
from click.testing import CliRunner
from stepping import compiled, only_system
from test_bounds import PLAIN, both
from test_circular_wait import MASKED
from test_second_opinion import spin, tlc

from fsmdsl.check import check
from fsmdsl.cli.parser import cli
from fsmdsl.interop.second_opinion import SecondOpinion, compare
from fsmdsl.interop.second_opinion.spin import Spin
from fsmdsl.interop.second_opinion.tlc import Tlc
from fsmdsl.report.compare import compare_texts
from fsmdsl.search import Exploration, Limits, Means, explore
from fsmdsl.step import Universe, enabled, fire, initial, may_rest, rests

__all__ = ["spin", "tlc"]

TWO = """module two
machine Node {
    initial UP state Up
    REMOVED state Removed
    event remove from environment
    Up -> Removed on remove
}
machine Job {
    param node: Node
    initial WAITING state Waiting
    DONE state Done
    event run from environment
    Waiting -> Done on run when node in Up
}
system Two {
    a: Node
    b: Node
    job: Job { node = b }
    environment { a.remove  job.run  OFFERS }
    CLAUSE
}
"""
WORDS = ("UP", "REMOVED", "WAITING", "DONE")


def two(clause: str = "", offers: str = "", **words: str) -> str:
    text = TWO.replace("CLAUSE", clause).replace("OFFERS", offers)
    for x in WORDS:
        text = text.replace(f"{x} state", f"{words.get(x.lower(), '')} state")
    return text


def explored(text: str, *, stutter: bool = False, means: Means = PLAIN) -> Exploration:
    model = compiled(text)
    return explore(model, only_system(model), means=means, stutter=stutter)


def deadlock(text: str) -> bool:
    """By the definition and both packed searches, which must agree."""
    return both(text)["deadlock"] is not None


def outcomes(x: Exploration) -> dict[str, str]:
    return {v.name: v.outcome for v in x.verdicts}


# What a deadlock is --------------------------------------------------------------------------------------------------


def textbook(marks: tuple[str, str, str, str]) -> bool:
    """Is the end (a in Removed, b in Up, the job in Done) a deadlock? By the rules of docs/semantics.md."""
    up, removed, waiting, done = marks
    node_ends, job_ends = "final" in (up, removed), "final" in (waiting, done)
    nodes = {up, removed} <= {"final", "resting"}
    job = done in ("final", "resting")
    if node_ends or job_ends:
        return not ((nodes or not node_ends) and (job or not job_ends))
    return not (nodes and done == "resting")


@pytest.mark.parametrize(
    "marks", list(product(("", "resting"), ("", "final", "resting"), ("",), ("", "final", "resting")))
)
def test_every_combination_of_marks(marks: tuple[str, str, str, str]) -> None:
    text = two(**dict(zip(("up", "removed", "waiting", "done"), marks, strict=True)))
    assert deadlock(text) is textbook(marks)


@pytest.mark.parametrize("marks", list(product(("", "final", "resting"), repeat=2)))
@pytest.mark.parametrize("place", range(4))
def test_resting_never_makes_a_deadlock(marks: tuple[str, str], place: int) -> None:
    """Another state that is resting, and a clause, only permit."""
    words = {"removed": marks[0], "done": marks[1]}
    if deadlock(two(**words)):
        return
    name = ("up", "removed", "waiting", "done")[place]
    if not words.get(name):
        assert not deadlock(two(**{**words, name: "resting"}))
    assert not deadlock(two("may rest when a in Up", **words))


@pytest.mark.parametrize(
    ("clause", "wrong"),
    [
        ("may rest when a in Removed and b in Up and job in Done", False),
        ("may rest when job in Waiting", True),
        ("may rest when job in Waiting  may rest when a in Removed", False),
        ("may rest when 6 / (if a in Up then 1 else 0) > 5", True),
        ("may rest when 6 / (if a in Up then 1 else 0) > 5  may rest when job in Done", False),
        ("may rest when all n in {a, b}: n in Removed or n == b", False),
        ("let calm = job in Done  may rest when calm", False),
    ],
)
def test_a_clause_decides_where_it_is_true(clause: str, wrong: bool) -> None:
    """Any one is enough; one without a value is not true."""
    assert deadlock(two(clause)) is wrong
    assert deadlock(two(clause, removed="final")) is wrong, "it excuses instances that have not ended, too"


def test_the_definition_by_itself() -> None:
    model = compiled(two("may rest when a in Removed"))
    universe = Universe(model, only_system(model))
    world = initial(universe)
    assert not rests(universe, world)
    assert not may_rest(universe, world)
    world = fire(universe, world, enabled(universe, world)[0]).world
    assert rests(universe, world)
    assert may_rest(universe, world), "wherever steps lead on, too"


def test_an_empty_system_rests_nowhere() -> None:
    assert deadlock("system S { }")
    assert not deadlock("system S { may rest when true }")


MAIL = """
channel c: waiting fifo[1] to Box
machine Sender { initial resting state Up  resting state Sent  event go from environment
    Up -> Sent on go do send c.mail
}
machine Box { initial resting state Shut  resting state Open  event mail from c  event open from environment
    Open on mail
    Shut -> Open on open WHEN
}
system S { s: Sender  b: Box  environment { s.go  b.open }  may rest when true }
"""


def test_a_waiting_message_does_not_rest() -> None:
    assert not deadlock(MAIL.replace("WHEN", ""))
    assert deadlock(MAIL.replace("WHEN", "when false"))
    x = explored(MAIL.replace("WHEN", "when false"))
    (v,) = (v for v in x.violations if v.kind == "deadlock")
    assert v.explanation[1] == "a system may not rest while a message waits: let its receiver handle or `ignore` it"


def test_a_composite_state_rests_by_the_states_inside() -> None:
    text = """
    machine M { initial state Busy { initial state First  %s state Second }  event go from environment
        First -> Second on go }
    system S { m: M }
    """
    assert deadlock(text % "")
    assert not deadlock(text % "resting")


def test_a_crash_is_no_way_out_of_rest() -> None:
    text = two(up="resting", removed="resting", done="resting", offers="crash").replace(
        "    Up ->", "    Removed -> Up on crash  Up ->"
    )
    assert not deadlock(text)
    assert deadlock(text.replace("resting state Up", "state Up"))


# What rest is not ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stutter", [False, True])
def test_a_run_that_rests_is_judged_like_any_other(stutter: bool) -> None:
    """It stays where it is for ever."""
    asked = "property gone: eventually b in Removed  property stays: eventually always a in Removed under fair remove"
    for marks in ({}, {"up": "resting", "removed": "resting", "done": "resting"}):
        answers = outcomes(explored(two(asked + "  may rest when true", **marks), stutter=stutter))
        assert (answers["gone"], answers["stays"]) == ("violated", "holds")


def test_nobody_is_stuck_in_a_resting_state() -> None:
    """`stuck` is true of `b`, which has a row that nobody ever takes, unless its state is resting."""
    asked = "property free: always not stuck(b)"
    assert outcomes(explored(two(asked)))["free"] == "violated"
    assert outcomes(explored(two(asked, up="resting")))["free"] == "holds"
    assert outcomes(explored(two(f"{asked}  may rest when true")))["free"] == "violated"


def test_who_may_rest_waits_for_nobody() -> None:
    """Two philosophers with one fork each, beside a job that has ended: the note that they wait for each other."""
    assert both(MASKED)["waiting"] != (None, 0)
    assert both(MASKED.replace("state Eats", "resting state Eats"))["waiting"] != (None, 0)
    assert both(MASKED.replace("state Hungry", "resting state Hungry"))["waiting"] == (None, 0)
    for clause, states in (("phils[0] in Hungry", 0), ("phils[0] in Eats", 1), ("1 / (size(phils) - 2) > 0", 1)):
        found = both(MASKED.replace("    job: Job", f"    may rest when {clause}\n    job: Job"))["waiting"]
        assert isinstance(found, tuple)
        assert found[1] == states


def test_a_star_is_a_resting_state_too() -> None:
    text = """
    machine M { n: 0..1  initial resting state A  event go from environment  * on go when n == 0 do n = 1 }
    system S { m: M }
    """
    assert both(text)["states"] == 2


def test_rest_tells_members_of_a_symmetric_set_apart() -> None:
    text = """
    machine M { initial state A  state B  event go from environment  A -> B on go }
    system S { ms: M[3] symmetric  environment { some m in ms: m.go when %s }  may rest when %s }
    """
    few = "(count m in ms: m in B) < 2"
    for rest, states in (("(count m in ms: m in B) == 2", 3), ("ms[0] in B", 7)):
        x = explored(text % (few, rest), means=Means(compiled=False))
        assert x.states == states
        assert bool(x.violations) is ("[0]" in rest)


# Messages ------------------------------------------------------------------------------------------------------------


def test_a_deadlock_names_both_remedies(tmp_path: Path) -> None:
    """And the remedies are ones."""
    spec = tmp_path / "two.fsm"
    spec.write_text(two(removed="final"))
    result = CliRunner().invoke(cli, ["verify", str(spec)])
    advice = "if it may rest here, write `resting` before `Up` of `Node`, or `may rest when …` in `Two`"
    assert advice in result.output
    assert not deadlock(two(removed="final", up="resting"))
    assert not deadlock(two("may rest when job in Done", removed="final"))


def test_the_advice_names_few_states() -> None:
    machines = "\n".join(f"machine M{n} {{ initial state A }}" for n in range(5))
    x = explored(f"{machines}\nsystem S {{ {'  '.join(f'm{n}: M{n}' for n in range(5))} }}")
    (v,) = x.violations
    assert v.explanation[1] == (
        "if it may rest here, write `resting` before `A` of `M0`, `A` of `M1`, `A` of `M2` and 2 more, "
        "or `may rest when …` in `S`"
    )


def test_the_advice_of_a_dead_end_makes_no_deadlock() -> None:
    """The quick fix of FSM203, followed."""
    text = two(done="final")
    assert not deadlock(text)
    (fix,) = (d.fix for d in check(compiled(text)) if d.rule.code == "FSM203" and d.fix is not None)
    fixed = text[: fix.span.start] + fix.replacement + text[fix.span.end :]
    assert "resting state Removed" in fixed
    assert not deadlock(fixed)


# Other readers of a system -------------------------------------------------------------------------------------------


def test_a_system_that_extends_another_rests_where_that_does() -> None:
    model = compiled(two("may rest when a in Removed") + "system More extends Two { may rest when a in Up }")
    assert [len(model.systems[f"two.{x}"].rests) for x in ("Two", "More")] == [1, 2]


def test_words_of_rest_are_names() -> None:
    text = """
    machine Rest {
        may: 0..2
        resting: 0..2
        rest: 0..2
        initial resting state resting
        state may
        event rest, may from environment
        resting: resting -> may on rest do { may = rest; rest = resting; resting = may }
        may:     may -> resting on may
    }
    system S {
        rest: Rest
        resting: Rest
        may rest when state(resting) == Rest.may and rest.may == 1
        may rest when rest.resting == 2
    }
    """
    assert deadlock(text) is False
    assert len(only_system(compiled(text)).rests) == 2


def test_a_difference_of_two_versions() -> None:

    def changes(new: str) -> str:
        return repr([x.changes for x in compare_texts(compiled(two()), compiled(new)).parts])

    assert "initial resting state Up" in changes(two(up="resting"))
    assert "what='rest', name='', was='', now='a in Up'" in changes(two("may rest when a in Up"))


SYSTEMS = [
    *(
        two(**dict(zip(("up", "removed", "done"), marks, strict=True)))
        for marks in product(("", "resting"), ("", "final"), ("final", "resting"))
    ),
    two("may rest when a in Removed"),
    two("may rest when 6 / (if a in Up then 1 else 0) > 5  may rest when a in Up"),
    MAIL.replace("WHEN", "when false"),
]


def second_opinion(tool: Spin | Tlc, text: str) -> SecondOpinion:
    model = compiled(text)
    system = only_system(model)
    x = explore(model, system, Limits(after_violation=None), means=PLAIN)
    return compare(x, tool.opinion(model, system, x.states, BUDGET))


@pytest.mark.parametrize("text", SYSTEMS)
def test_spin_finds_the_same_deadlocks(text: str, spin: Spin) -> None:
    (row,) = (r for r in second_opinion(spin, text).rows if "deadlock" in r.what)
    assert row.agreement == "confirmed"


@pytest.mark.parametrize("text", SYSTEMS[-3:])
def test_tlc_finds_the_same_deadlocks(text: str, tlc: Tlc) -> None:
    (row,) = (r for r in second_opinion(tlc, text).rows if "deadlock" in r.what)
    assert row.agreement == "confirmed"
