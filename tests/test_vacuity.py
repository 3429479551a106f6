"""Vacuity: what holds only because what it speaks of never comes."""

from __future__ import annotations

import pytest
from stepping import compiled, only_system

from fsmdsl import model as m
from fsmdsl.runs.verdicts.rules import VACUOUS
from fsmdsl.runs.verdicts.vacuity import Premise, premises, untested
from fsmdsl.runs.verdicts.verdict import QuestionKey, outermost
from fsmdsl.search import Limits, diagnostics, explore
from fsmdsl.search.definition_search import Search
from fsmdsl.step import FaultError, Universe, holds
from fsmdsl.text.diagnostics import Severity

BANK = """
/// Only those below the limit pay in, so `Rich` is out of reach for all.
machine Account {
    param limit: 0..3
    money: 0..3
    friends: set<Account>
    tips: list<0..3>[2]
    initial state Poor
    state Fair
    state Rich
    event pay, rise, meet(whom: Account) from environment
    Poor, Fair on pay when money < limit do money = money + 1
    Poor -> Fair on rise when money > 0
    Fair -> Rich on rise when money > limit
    Fair on meet(whom) when limit > 0 do friends = {whom}
    %s
}
system Bank {
    accounts: Account[2] { limit = index }
    %s
}
"""


def asked(text: str) -> tuple[list[Premise], set[QuestionKey]]:
    """The premises of a system, and those that are true in some reachable world."""
    model = compiled(text)
    universe = Universe(model, only_system(model))
    search = Search(universe, Limits(), None)
    search.run()
    assert search.stopped is None
    listed = premises(universe)
    return listed, {p.key for p in listed if any(_true(universe, p, world) for world in search.worlds)}


def _true(universe: Universe, p: Premise, world: object) -> bool:
    try:
        return holds(universe, world, p.as_reachable.condition, instance=p.instance)  # type: ignore[arg-type]
    except FaultError:
        return False


def told(text: str) -> dict[QuestionKey, tuple[str, ...]]:
    return {of: tuple(x.message for x in outermost(parts)) for of, parts in untested(*asked(text)).items()}


def of_machine(invariant: str) -> tuple[str, ...]:
    return told(BANK % (f"invariant it: {invariant}", "")).get(QuestionKey("invariant", "it", "test.Account"), ())


def of_system(invariant: str) -> tuple[str, ...]:
    return told(BANK % ("", f"invariant it: {invariant}")).get(QuestionKey("invariant", "it"), ())


# Premises ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("invariant", "lines"),
    [
        ("Rich => money > 1", ("no `Account` is ever in `Rich`",)),
        ("Fair => money > 0", ()),
        ("money > 1 => Fair", ("`money > 1` is never true",)),
        ("money == 1 => limit == 1", ()),
        ("self in {Rich} or money < 2", ()),
        ("Rich and money > 2 => limit > 2", ("`Rich and money > 2` is never true",)),
        ("money < 2 and (Rich => money > 1)", ("no `Account` is ever in `Rich`",)),
        ("Fair => Rich => money > 1", ("`Rich` is never true where `Fair` is",)),
        ("Fair => money == 0 => limit == 2", ("`money == 0` is never true where `Fair` is",)),
        ("Rich => money > 2 => limit > 2", ("no `Account` is ever in `Rich`",)),
        ("Rich => all f in friends: f.money > 0", ("no `Account` is ever in `Rich`",)),
        ("if Rich then money > 2 else money < 2", ()),
    ],
)
def test_a_premise_that_is_true_in_no_instance_is_told(invariant: str, lines: tuple[str, ...]) -> None:
    assert of_machine(invariant) == lines


@pytest.mark.parametrize(
    ("invariant", "lines"),
    [
        ("all a in accounts: a in Rich => a.money > 1", ("`a in Rich` is never true",)),
        ("all a in accounts: a in Fair => a.money > 0", ()),
        ("all a in accounts, b in accounts: a.money > b.money => a.limit > b.limit", ()),
        (
            "all a in accounts: a.limit == 0 and a in Fair => a.money > 0",
            ("`a.limit == 0 and a in Fair` is never true",),
        ),
        ("all a in accounts: a in Fair => all f in a.friends: f.money < 2", ()),
        ("all a in accounts: a.limit == 0 => all f in a.friends: f.money < 2", ("`a.friends` is always empty",)),
        ("all a in accounts: all t in a.tips: t > 0", ("`a.tips` is always empty",)),
        ("all a in accounts: all t in a.tips: t > 1 => a in Fair", ("`a.tips` is always empty",)),
        ("not some t in accounts[0].tips: t > 0", ("`accounts[0].tips` is always empty",)),
        ("not some a in accounts: a in Rich", ()),
        ("all x in {0, 1}: accounts[0].money <= x + 1", ()),
        ("all a in accounts - accounts: a in Rich", ("`accounts - accounts` is always empty",)),
    ],
)
def test_variables_stand_for_all_their_values(invariant: str, lines: tuple[str, ...]) -> None:
    assert of_system(invariant) == lines


def test_a_premise_without_a_value_is_not_true() -> None:
    text = """
        machine M { peer: M?  n: 0..1  initial state A  event e from environment  A on e do n = 1 - n }
        system S { m: M  invariant it: m.peer != none => m.peer.n == 1 => m.n == 0 }
        """
    assert told(text) == {QuestionKey("invariant", "it"): ("`m.peer != none` is never true",)}
    assert told(text.replace("m.peer != none =>", "")) == {
        QuestionKey("invariant", "it"): ("`m.peer.n == 1` is never true",)
    }


def test_a_set_without_instances_is_empty() -> None:
    text = "machine M { initial state A  event e from environment  A on e } system S { ms: M[2]  %s }"
    model = compiled(text % "invariant it: all x in ms: x in A")
    none = only_system(model)
    none = m.System(
        none.name, none.module, (), (), (), (), None, (), none.invariants, (), (), (), "", none.span
    )  # fmt: skip
    (p,) = premises(Universe(model, none))
    assert p.message == "`ms` is always empty"
    assert premises(Universe(model, only_system(model))) == []


# Properties ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "lines"),
    [
        ("accounts[1] in Rich ~> accounts[1] in Poor", ("`accounts[1] in Rich` is never true",)),
        ("accounts[1] in Fair ~> accounts[1] in Poor", ()),
        ("all a in accounts: a in Rich ~> a in Poor", ("`a in Rich` is never true",)),
        ("all a in accounts: always (a in Rich => next a in Rich)", ("`a in Rich` is never true",)),
        ("(eventually accounts[0] in Rich) => always accounts[0] in Rich", ()),
        ("always eventually accounts[0] in Rich", ()),
        ("recovers on money", ()),
    ],
)
def test_premises_of_properties(formula: str, lines: tuple[str, ...]) -> None:
    assert told(BANK % ("", f"property it: {formula}")).get(QuestionKey("property", "it"), ()) == lines


# Keys ----------------------------------------------------------------------------------------------------------------


def test_instances_share_the_key_of_a_premise_and_are_asked_each() -> None:
    listed, held = asked(BANK % ("invariant one: Rich => money > 1  invariant two: Fair => money > 0", ""))
    assert [(p.of, p.instance) for p in listed] == [
        (QuestionKey("invariant", "one", "test.Account"), 0),
        (QuestionKey("invariant", "two", "test.Account"), 0),
        (QuestionKey("invariant", "one", "test.Account"), 1),
        (QuestionKey("invariant", "two", "test.Account"), 1),
    ]
    assert len({p.key for p in listed}) == 2
    assert held == {listed[1].key}
    assert listed[0].span.text == "Rich"


# Diagnostics ---------------------------------------------------------------------------------------------------------


def warned(text: str, *names: str) -> list[str]:
    """The warnings of exploring these systems (all, if none is named) together."""
    model = compiled(text)
    chosen = [x for x in model.systems.values() if x.name in names or not names]
    others = [x for x in model.systems.values() if x not in chosen]
    found = diagnostics(*(explore(model, x) for x in chosen), others=others)
    return [d.message for d in found if d.rule == VACUOUS]


def test_what_holds_untested_is_a_warning_at_its_premise() -> None:
    model = compiled(BANK % ("invariant it: Rich => money > 1", ""))
    (d,) = diagnostics(explore(model, only_system(model)))
    assert (d.rule, d.severity) == (VACUOUS, Severity.WARNING)
    assert d.message == "`Account: it` holds in `Bank`, but vacuously: no `Account` is ever in `Rich`"
    assert d.span.text == "Rich"


def test_only_the_outermost_premise_is_told() -> None:
    assert len(warned(BANK % ("invariant it: Rich => (money > 1 => limit > 0)", ""))) == 1


TWO = BANK + "system Rich { rich: Account { limit = 3 }  invariant own: rich in Rich => rich.money > 3 }"


def test_an_invariant_of_a_machine_is_tested_where_one_of_the_systems_tests_it() -> None:
    text = TWO % ("invariant fair: money > 2 => Fair or Poor", "")
    assert warned(text) == ["`own` holds in `Rich`, but vacuously: `rich in Rich` is never true"]
    assert warned(text, "Bank") == [], "a system that was not explored has such a machine"
    alone = BANK % ("invariant fair: money > 2 => Fair or Poor", "")
    assert warned(alone) == [
        "`Account: fair` holds in `Bank`, but vacuously: `money > 2` is never true"
    ]  # fmt: skip


def test_an_inner_premise_counts_where_the_outer_one_is_never_true_elsewhere() -> None:
    text = TWO % ("invariant deep: money > 2 => (Rich => limit == 3)", "")
    told = "`Rich` is never true where `money > 2` is"
    assert warned(text)[0] == f"`Account: deep` holds in `Bank`, `Rich`, but vacuously: {told}"


CLOCK = """
machine Clock {
    initial state Tick
    state Tock
    state Broken
    event swing, hit, wind from environment
    Tick -> Tock on swing
    Tock -> Tick on swing
    Tick on wind
    Broken -> Tick on hit
}
system Hall { clock: Clock  property p: %s }
"""


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("clock in Broken ~> clock in Tick", ["`clock in Broken` is never true"]),
        ("clock in Tock => eventually clock in Broken", ["`clock in Tock` is false in the beginning"]),
        ("(always clock in Tock) => clock in Broken", ["`always clock in Tock` is true of no run"]),
        (
            "(always clock in Tick) => clock in Broken under fair swing",
            ["`always clock in Tick` is true of no fair run"],
        ),
        ("always (clock in Broken => next clock in Tick)", ["`clock in Broken` is never true"]),
        ("(always eventually clock in Tick) => always eventually clock in Tock under fair swing", []),
        ("clock in Tock ~> clock in Tick under fair swing", []),
    ],
)
def test_premises_are_asked_of_runs_too_and_told_once(formula: str, told: list[str]) -> None:
    assert warned(CLOCK % formula) == [f"`p` holds in `Hall`, but vacuously: {x}" for x in told]


def test_a_crash_that_never_comes_tests_no_recovery() -> None:
    assert warned(CLOCK % "recovers") == [
        "`p` holds in `Hall`, but vacuously: no crash ever comes, so there is nothing to recover from"
    ]


def test_fairness_that_promises_nothing_is_told() -> None:
    model = compiled(CLOCK % "clock in Tock ~> clock in Tick under fair swing, strike", as_documented=True)
    (v,) = (v for v in explore(model, only_system(model)).verdicts if v.kind == "property")
    assert v.explanation == ("no instance has `strike`, named after `under`, so that assumption has no effect",)
    assert v.untested == ()


def test_the_example_of_the_rule_is_vacuous() -> None:
    text = VACUOUS.explanation.split("```fsm\n")[1].split("```")[0]
    assert told(text) == {QuestionKey("invariant", "invariant 1", "test.Door"): ("no `Door` is ever in `Locked`",)}
