"""Temporal properties of systems: conditions without a value, premises, limits, why a run breaks one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import textbook_liveness as textbook
from property_runs import LAMP, Explored, answer, explored, lamp, random_formula
from stepping import compiled
from tiers import enough, today

from fsmdsl import model as m
from fsmdsl.model.workspace import load
from fsmdsl.search import explore
from fsmdsl.step import FaultError, World, holds
from fsmdsl.step.describe import words

# Sets that change, conditions without a value ------------------------------------------------------------------------

OWNERS = """
machine Owner { held: set<Thing>  initial state On  event take(t: Thing), give(t: Thing) from environment
                On on take(t) when t.owner == none do { add t to held; t.taken(self) }
                On on give(t) when t in held do { remove t from held; t.given } }
machine Thing { owner: Owner?  initial state Free  state Held  event taken(o: Owner), given from Owner
                Free -> Held on taken(o) do owner = o  Held -> Free on given do owner = none }
system S { owners: Owner[2]  things: Thing[2]  property p: %s }
"""


@pytest.mark.parametrize(
    ("formula", "outcome"),
    [
        ("all o in owners: always all t in o.held: t in Held", "holds"),
        ("all o in owners: always all t in o.held: eventually t in Free", "violated"),
        # an owner may give the one thing again and again, and never the other
        ("all o in owners: always all t in o.held: eventually t in Free under fair give", "violated"),
        ("all o in owners: always all t in o.held: eventually t in Free under fair given", "holds"),
        ("always not (some t in owners[0].held: next t in Held)", "violated"),
        ("always ((some t in owners[0].held: next t.owner == owners[1]) => false)", "holds"),
        ("always all t in owners[0].held: next t.owner in {none, owners[0]}", "holds"),
        # the variable of the quantifier is not that of the set
        ("all o in owners: always all o in o.held: next (o.owner in {none, owners[0], owners[1]})", "holds"),
        ("all t in things: always (t.owner != none => next (t.owner == none or t.owner.held == {}))", "violated"),
    ],
)
def test_quantifiers_over_sets_that_change(formula: str, outcome: str) -> None:
    assert explored(OWNERS % formula).outcomes() == {"p": outcome}


WAITING = """
machine M { l: list<0..3>[1]  o: M?  held: set<0..3>  initial state A  event put, take from environment
            A on put when l == [] do l = [2]  A on take when l != [] do l = [] }
system S { m: M  property p: %s }
"""


@pytest.mark.parametrize(
    ("formula", "outcome"),
    [
        ("all i in 1..m.l[0]: always i > 0", "violated"),
        ("some i in 1..m.l[0]: always i > 0", "violated"),
        ("not (all i in 1..m.l[0]: always i > 0)", "holds"),
        ("not (some i in 1..m.l[0]: always i > 0)", "holds"),
        ("all x in m.o.held: always x > 0", "violated"),
        ("not (all x in m.o.held: always x > 0)", "holds"),
        ("next all i in 1..m.l[0]: eventually i > 0", "holds"),
        ("next all i in 1..m.l[0]: eventually i > 1", "violated"),
        ("next all i in 3..m.l[0]: eventually false", "holds"),
        ("next some i in 2..m.l[0]: eventually i == 2", "holds"),
    ],
)
def test_a_quantifier_over_a_collection_without_a_value_is_false(formula: str, outcome: str) -> None:
    assert explored(WAITING % formula).outcomes() == {"p": outcome}


def test_a_collection_without_a_value_is_why_a_run_breaks_a_property() -> None:
    told = explored(WAITING % "all i in 1..m.l[0]: always i > 0").why("p")
    assert told == ["in the beginning, `1..m.l[0]` has no value"]


def test_a_condition_without_a_value_is_false() -> None:
    """`t.owner.held` has none while nobody owns t; a condition is all that has no temporal word in it."""
    assert explored(OWNERS % "always next things[0].owner.held != {}").outcomes() == {"p": "violated"}
    assert explored(OWNERS % "always next not (things[0].owner.held == {})").outcomes() == {"p": "violated"}
    assert explored(OWNERS % "always next (things[0].owner == none or things[0].owner.held != {})").outcomes() == {
        "p": "holds"
    }


NEVER_SET = """
machine M { other: M?  x: bool  initial state A  event tick from environment  A on tick do x = not x }
system S { m: M  property p: %s }
"""


@pytest.mark.parametrize(
    ("formula", "outcome"),
    [
        ("eventually m.other.x", "violated"),
        ("not (eventually m.other.x)", "holds"),
        ("m.other.x ~> (m.x and not m.x)", "holds"),
        ("not (m.other.x ~> (m.x and not m.x))", "violated"),
        ("m.x ~> m.other.x", "violated"),
        ("always not m.other.x", "violated"),
        ("always (m.other.x => next m.x)", "holds"),
        ("always all y in m.other.other.x: eventually y", "violated"),
    ],
)
def test_of_a_formula_and_its_negation_one_is_true_where_a_condition_has_no_value(formula: str, outcome: str) -> None:
    text = NEVER_SET.replace("x: bool", "x: set<bool>").replace("do x = not x", "") if "all y" in formula else NEVER_SET
    x = explored(text % formula)
    assert x.outcomes() == {"p": outcome}
    if outcome == "violated":
        assert x.why("p")


CONDITIONS = ("m.other.x", "m.other != none", "m.other.y and m.x")

MAYBE = """
machine M {
    other: M?  x: bool  y: bool
    initial state A
    event flip, turn, take, drop from environment
    A on flip do x = not x
    A on turn do y = not y
    A on take do other = self
    A on drop when other != none do other = none
}
system S { m: M %s  property p: %s }
"""


def _words(x: textbook.Formula) -> str:
    match x:
        case ("true",):
            return "true"
        case ("atom", n):
            return f"({CONDITIONS[n]})"
        case ("not" | "next", g):
            return f"({x[0]} {_words(g)})"
        case (("and" | "or" | "until"), g, h):
            return f"({_words(g)} {x[0]} {_words(h)})"
    raise AssertionError(x)


def _of_one_state(x: textbook.Formula) -> bool:
    return x[0] not in ("next", "until") and all(_of_one_state(y) for y in x[1:] if isinstance(y, tuple))


def _conditions(x: textbook.Formula, known: list[textbook.Formula]) -> textbook.Formula:
    """The same, its largest parts without temporal words as atoms; `and` and `or` of several join flat."""
    if _of_one_state(x):
        known += [] if x in known else [x]
        return ("atom", known.index(x))
    return (x[0], *(_conditions(y, known) for y in x[1:]))


def _truth(x: Explored, world: World, condition: m.Expr) -> bool:
    try:
        return holds(x.universe, world, condition)
    except FaultError:
        return False


def test_conditions_without_a_value_are_false_in_whole_formulas() -> None:
    """The textbook on the graph of the definition; a condition is evaluated by the definition, as a `reachable`."""
    seen = {"holds": 0, "violated": 0}
    for seed in today(range(120)):
        formula = random_formula(random.Random(seed), 3)
        known: list[textbook.Formula] = []
        flat = _conditions(formula, known)
        if len(textbook.Tableau(flat).elements) > 4:
            continue
        asked = "  ".join(f"reachable r{n}: {_words(c)}" for n, c in enumerate(known))
        x = explored(MAYBE % (asked, _words(formula)))
        conditions = [r.condition for r in x.universe.system.reachables]
        letters = [sum(_truth(x, w, c) << n for n, c in enumerate(conditions)) for w in x.worlds]
        edges = [
            (s, x.graph.targets[e], 0)
            for s in range(len(x.worlds))
            for e in range(x.graph.offsets[s], x.graph.offsets[s + 1])
        ]
        expected = "violated" if textbook.violated(textbook.closed(letters, edges), flat, 0, 0) else "holds"
        assert x.outcomes() == {"p": expected}, _words(formula)
        seen[expected] += 1
    assert min(seen.values()) >= enough(10)


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (
            "(count l in lamps: eventually l in On) == 2",
            "`count l in lamps: eventually l in On` searches for a value",
        ),
        ("(always lamps[0] in On) in {true}", "`(always lamps[0] in On) in {true}` searches for a value"),
    ],
)
def test_what_is_not_checked_says_why(formula: str, reason: str) -> None:
    found = answer(LAMP % (2, "", formula))
    assert found.outcome == "not checked"
    assert found.reason == f"{reason} in a formula about whole runs"


def test_too_many_parts_are_not_checked() -> None:
    ranges = "machine M { param k: 0..100  n: set<M>  initial state A  event e from environment  A on e }"
    system = "system S { m: M[2] { k = index }  property p: %s }"
    many = "all a in {0, 1}, b in subsets(m, 1): eventually m[0].k == a or b == {}"
    assert answer(ranges + system % many).outcome == "violated"
    wide = " and ".join(f"(eventually m[0] in A or m[1].k == {n})" for n in range(3))
    assert answer(ranges + system % wide).outcome == "holds"


def test_obligations_beyond_a_word_are_not_checked() -> None:
    text = """
    machine M { initial state A  event e from environment  A on e }
    system S { ms: M[63]  environment { ms[0].e }  property p: eventually ms[0] in A under fair e }
    """
    found = answer(text)
    assert (found.outcome, found.reason[:37]) == ("not checked", "fairness has more than 62 obligations")


def test_many_atoms_take_several_columns() -> None:
    text = """
    machine M { n: 0..80  initial state A  event e from environment  A on e do n = if n == 80 then 0 else n + 1 }
    system S { m: M  property p: all i in {%s}: always (m.n == i => next m.n == (if i == 80 then 0 else i + 1)) }
    """
    x = explored(text % ", ".join(map(str, range(81))))
    assert len(x.graph.atoms) == 3
    assert x.outcomes() == {"p": "holds"}


# Premises ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "vacuous"),
    [
        ("lamps[0] in Broken ~> lamps[0] in On", ["lamps[0] in Broken"]),
        ("lamps[0] in On ~> lamps[0] in Off", []),
        ("always (lamps[0] in Broken => next lamps[0] in On)", ["lamps[0] in Broken"]),
        ("all l in lamps, k in {0, 1}: l in On and k == 0 ~> l in Off", []),
        ("(eventually always lamps[0] in On) => false", ["eventually always lamps[0] in On"]),
        ("(always eventually lamps[0] in On) => always (lamps[0] in Broken => eventually lamps[0] in On)",
         ["lamps[0] in Broken"]),
        ("always eventually lamps[0] in On", []),
    ],
)  # fmt: skip
def test_premises_that_never_come_true_are_told(formula: str, vacuous: Sequence[str]) -> None:
    (found,) = lamp(formula).answers.values()
    assert (found.outcome, [words(x.of) for x in found.vacuous]) == ("holds", list(vacuous))


# Limits --------------------------------------------------------------------------------------------------------------

COUNTER = """
machine Counter { n: 0..50  initial state On  event up, reset from environment
                  On on up when n < 50 do n = n + 1  On on reset do n = 0 }
system S { counter: Counter  property far: counter.n != 40  property p: %s }
"""


def test_a_limit_leaves_what_was_not_found_unknown() -> None:
    assert explored(COUNTER % "eventually counter.n == 40").outcomes()["p"] == "violated"
    x = explored(COUNTER % "always counter.n != 40", limit=20)
    assert x.outcomes() == {"far": "unknown", "p": "unknown"}
    assert x.graph.expanded == 20
    assert explored(COUNTER % "eventually counter.n == 40", limit=20).outcomes()["p"] == "violated"


def test_the_last_state_found_is_no_end_of_a_run() -> None:
    text = COUNTER.replace("On on reset do n = 0", "") % "eventually counter.n == 40"
    assert explored(text, limit=20).outcomes()["p"] == "unknown"
    assert explored(text).outcomes()["p"] == "holds"


def test_the_stem_is_as_short_as_can_be() -> None:
    x = explored(COUNTER % "always (counter.n == 3 => next counter.n == 4)")
    assert x.trace("p").steps() == ["counter.up"] * 3 + ["counter.reset"]
    x = explored(COUNTER % "counter.n == 2 ~> counter.n == 3 under fair reset")
    assert x.trace("p").steps() == ["counter.up", "counter.up", "counter.reset", "counter.reset"]
    assert (x.trace("p").loop, x.why("p")[0]) == (3, "after step 2, `counter.n == 2` holds")


# Why -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("eventually lamps[0] in Broken", ["from the beginning on, `lamps[0] in Broken` is never true"]),
        ("always eventually lamps[0] in Broken", ["from the beginning on, `lamps[0] in Broken` is never true"]),
        ("eventually always lamps[0] in On",
         ["`lamps[0] in On` is false again and again",
          "in the beginning, `lamps[0] in On` is false: lamps[0] is in Off"]),
        ("lamps[0] in On ~> lamps[0] in Broken",
         ["after step 1, `lamps[0] in On` holds", "from step 1 on, `lamps[0] in Broken` is never true"]),
        ("lamps[0] in Off until lamps[0] in Broken",
         ["after step 1, `lamps[0] in Off` is false: lamps[0] is in On", "`lamps[0] in Broken` is not true before"]),
        ("true until lamps[0] in Broken", ["from the beginning on, `lamps[0] in Broken` is never true"]),
        ("next next lamps[0] in On", ["after step 2, `lamps[0] in On` is false: lamps[0] is in Off"]),
        ("(always lamps[0] in Off) or next lamps[0] in Off",
         ["after step 1, `lamps[0] in Off` is false: lamps[0] is in On"]),
        ("(next lamps[0] in On) and next lamps[0] in Off",
         ["after step 1, `lamps[0] in Off` is false: lamps[0] is in On"]),
        ("not next lamps[0] in On", ["in the beginning, `not next lamps[0] in On` is false"]),
        ("all k in {0, 1}, l in lamps: k == 1 => next l in Off",
         ["for k = 1, l = l0: in the beginning, `k == 1` holds",
          "for k = 1, l = l0: after step 1, `l in Off` is false: l is in On"]),
    ],
)  # fmt: skip
def test_why_a_run_breaks_a_property(formula: str, told: list[str]) -> None:
    x = lamp(formula)
    assert x.outcomes() == {"p": "violated"}
    assert x.why("p") == told


# The specs -----------------------------------------------------------------------------------------------------------

SPECS = Path(__file__).parent.parent / "specs"


def of_spec(module: str, system: str, *, as_documented: bool = False) -> Explored:
    model = load([SPECS / module / f"{module}.fsm"], as_documented=as_documented).model
    assert model is not None
    return Explored(model, model.systems[f"{module}.{system}"])


@pytest.mark.parametrize(
    ("module", "system", "names"),
    [
        ("hived", "PreemptionSmall", {"s12", "s13"}),
        ("hived", "Settling", {"l1", "l2", "l3", "l4"}),
        ("confine", "OneSlice", {"V6"}),
        ("confine", "Running", {"V5"}),
        ("grove", "Gang", {"v2"}),
        ("grove", "TightGang", {"v1", "v6"}),
        ("grove", "HoldAndWait", {"v5"}),
    ],
)
def test_what_the_facts_say_of_the_repaired_machines_holds(module: str, system: str, names: set[str]) -> None:
    x = of_spec(module, system)
    assert {name: x.outcomes()[name] for name in names} == dict.fromkeys(names, "holds")
    assert [a.vacuous for name, a in x.answers.items() if name in names] == [()] * len(names)


@pytest.mark.parametrize(("system", "name"), [("Gang", "v2"), ("HoldAndWait", "v5")])
def test_as_documented_grove_waits_or_starts_anew_for_ever(system: str, name: str) -> None:
    x = of_spec("grove", system, as_documented=True)
    assert x.outcomes()[name] == "violated"
    assert x.trace(name).loop is not None


ENDS = """
machine A {{ param b: B  initial state X  event go from environment  X on go do b.hit }}
machine B {{ initial state P  state Q  event hit from A  P -> Q on hit {more} }}
system S {{ b: B  a: A {{ b = b }}  environment {{ a.go }}  property back: b in Q ~> b in P under fair go }}
"""


def test_a_run_that_ends_because_every_possible_step_fails_says_so() -> None:
    why = "then every possible step fails: `a.go` (unhandled)"
    for more, expected in (("", True), ("ignore hit in Q", False)):
        model = compiled(ENDS.format(more=more))
        (system,) = model.systems.values()
        (verdict,) = [v for v in explore(model, system).verdicts if v.name == "back"]
        assert (verdict.outcome, why in verdict.explanation) == ("violated", expected)
