"""What the core works out of a model, beside what the definition works out of it by itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import cast

import pytest
from loading import ROOT, SPECS, model_of
from random_specs import spec
from random_systems import text_of
from stepping import compiled
from tiers import today

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.core import guards, lets, presence, triggers
from fsmdsl.core.elaborate import SEVERAL, Body, Elaboration, _Uses
from fsmdsl.core.selection import Selection
from fsmdsl.model.typing import holds
from fsmdsl.model.walk import expressions
from fsmdsl.step import Universe, World, enabled, fire, universe
from fsmdsl.step.evaluate import Frame, evaluate
from fsmdsl.step.values import cardinality, outside
from fsmdsl.step.world import FaultError


@cache
def written_by_hand() -> m.Model:
    return model_of(SPECS, ROOT / "tests" / "twin", ROOT / "benchmarks" / "application.fsm")


def models() -> Iterator[tuple[str, m.Model]]:
    yield "by hand", written_by_hand()
    yield from ((f"spec {seed}", compiled(spec(seed))) for seed in today(range(60)))
    yield from ((f"system {seed}", compiled(text_of(seed))) for seed in today(range(40)))


@cache
def compared() -> list[tuple[str, Universe, int, Selection]]:
    """Every machine of every system, once for each system: its universe, an instance, its selection."""
    return [
        (name, found, found.machines.index(machine), Selection(machine))
        for name, model in models()
        for system in model.systems.values()
        for found in [Universe(model, system)]
        for machine in dict.fromkeys(found.machines)
    ]


def names_of(machine: m.Machine) -> set[str]:
    return {x for t in machine.transitions if (x := triggers.trigger_name(t.trigger)) is not None}


def test_triggers_are_called_as_in_the_definition() -> None:
    assert (triggers.CRASH, triggers.EVENTLESS) == (universe.CRASH, universe.EVENTLESS)
    for _, _, _, selection in compared():
        for t in selection.machine.transitions:
            assert triggers.trigger_name(t.trigger) == universe.trigger_name(t.trigger)


def test_levels_and_timers_are_those_of_the_definition() -> None:
    levels = 0
    for name, found, instance, selection in compared():
        for leaf in selection.machine.leaves:
            for trigger in names_of(selection.machine):
                mine = selection.levels(leaf.name, trigger)
                assert mine == found.candidates(instance, leaf.name, trigger), (name, leaf.name, trigger)
                levels += len(mine)
            timers = sorted(selection.timers(selection.hierarchy.around[leaf.name]), key=lambda t: t.index)
            assert tuple(timers) == found.timers(instance, leaf.name)
    assert levels > 1000


def test_priority_is_that_of_the_definition() -> None:
    ordered = 0
    for name, found, instance, selection in compared():
        for level in selection.rivals():
            for a in level:
                for b in level:
                    before = selection.priority.before(a, b)
                    assert before == found.before(instance, a, b), (name, a.name, b.name)
                    ordered += before
            listed = selection.priority.best_first(level)
            assert sorted(t.index for t in listed) == [t.index for t in level]
            if not selection.priority.circular(level):
                assert not any(selection.priority.before(b, a) for n, a in enumerate(listed) for b in listed[n + 1 :])
    assert ordered > 100


def test_moves_are_those_of_the_definition() -> None:
    moves = 0
    for name, found, instance, selection in compared():
        for t in selection.machine.transitions:
            for leaf in selection.hierarchy.inside[t.source]:
                mine = selection.move(leaf, t)
                if t.target is None:
                    assert (mine.left, mine.exits, mine.target, mine.entered, mine.entries) == ((), (), None, (), ())
                    continue
                other = found.move(instance, leaf, t)
                assert (mine.exits, mine.target, mine.entries) == (other.exits, other.after, other.entries), name
                moves += 1
    assert moves > 1000


def test_leaves_of_a_group_do_the_same_and_no_other_group_does() -> None:
    """As the definition sees it: the same candidates, which leave and enter with the same effects."""

    def behaviour(found: Universe, instance: int, leaf: str, trigger: str) -> object:
        def moved(t: m.Transition) -> object:
            if t.target is None:
                return t.index
            move = found.move(instance, leaf, t)
            return t.index, [id(x) for x in (*move.exits, *move.entries)], move.after

        return [[moved(t) for t in level] for level in found.candidates(instance, leaf, trigger)]

    for _, found, instance, selection in compared():
        for trigger in names_of(selection.machine):
            groups = selection.groups(trigger)
            by_leaf = {x: behaviour(found, instance, x, trigger) for g in groups for x in g.leaves}
            for g in groups:
                assert all(by_leaf[x] == by_leaf[g.leaves[0]] for x in g.leaves)
                assert all(g.levels == selection.levels(x, trigger) for x in g.leaves)
            handled = [x.name for x in selection.machine.leaves if selection.levels(x.name, trigger)]
            assert sorted(x for g in groups for x in g.leaves) == sorted(handled)
            assert len({repr(by_leaf[g.leaves[0]]) for g in groups}) == len(groups)


def test_leaves_in_which_a_timer_does_the_same_are_together() -> None:
    text = """module timed
    machine M {
        initial state A { initial state A1  state A2  state A3 }
        state B
        event go from environment
        A1 -> A2 on go
        A2 -> A3 on go
        on exit(A3) do n = 1
        n: 0..1
        late:  A -> B after 5s
        again: A after 3s do n = 0
        A2 -> B after 1s
    }
    """
    selection = Selection(compiled(text).machines["timed.M"])
    late, again, own = triggers.triggered_by(selection.machine, m.OnTimer)
    assert [g.leaves for g in selection.timer_groups(late)] == [("A1", "A2"), ("A3",)]
    assert [g.leaves for g in selection.timer_groups(again)] == [("A1", "A2", "A3")]
    assert [(g.leaves, g.levels) for g in selection.timer_groups(own)] == [(("A2",), ((own,),))]


def test_what_a_state_says_of_crashes_is_what_the_definition_reads() -> None:
    for _, _, _, selection in compared():
        for leaf in selection.machine.leaves:
            assert (selection.hierarchy.endurance(leaf.name) or "") == universe.flag(selection.machine, leaf.name)


# Priority in circles, guards -----------------------------------------------------------------------------------------

RANKED = """module ranked
machine M {{
    n: 0..9
    x: M?
    initial state A
    let big = n > 5
    event go from environment
    a: A -> A on go when {a}
    b: A -> A on go when {b}
    c: A -> A on go when {c}
    {priority}
}}
"""


def ranked(a: str = "n == 1", b: str = "n == 1", c: str = "n == 2", priority: str = "") -> Selection:
    model = compiled(RANKED.format(a=a, b=b, c=c, priority=priority))
    return Selection(model.machines["ranked.M"])


def disputed(selection: Selection) -> set[str]:
    (level,) = selection.rivals()
    return {f"{a.label}{b.label}" for a, b in selection.disputed(level)}


def test_priority_read_backwards_ranks_as_well() -> None:
    selection = ranked(priority="priority b > a")
    a, b, _ = selection.machine.transitions
    assert (selection.priority.before(a, b), selection.priority.before(b, a)) == (False, True)
    assert [t.label for t in selection.priority.best_first(selection.machine.transitions)] == ["b", "a", "c"]
    assert disputed(selection) == set()


def test_chains_that_contradict_each_other_are_circular() -> None:
    (level,) = ranked(priority="priority a > b\n    priority b > a").rivals()
    selection = ranked(priority="priority a > b\n    priority b > a")
    assert [t.label for t in selection.priority.circular(level)] == ["a", "b"]
    assert ranked(priority="priority a > b > c").priority.circular(level) == ()


def test_pairs_that_chains_rank_both_ways_are_disputed() -> None:
    assert disputed(ranked(priority="priority a > b\n    priority b > a > c")) == {"ab"}
    everything = {"a": "x == none", "b": "n > 0", "c": "n > 1"}
    circle = "priority a > b > c\n    priority c > a"
    assert disputed(ranked(**everything, priority=circle)) == {"ab", "ac", "bc"}
    assert disputed(ranked("n == 1", "n == 2", "n == 3", priority=circle)) == set()


def test_guards_are_compared_by_what_their_names_stand_for() -> None:
    text = """module swapped
    machine M { initial state A  event go(p: M, q: M) from environment
        a: A -> A on go(x, y) when x in A
        b: A -> A on go(y, x) when x not in A
        c: A -> A on go(x, _) when x not in A }
    """
    (level,) = (selection := Selection(compiled(text).machines["swapped.M"])).rivals()
    assert {f"{a.label}{b.label}" for a, b in selection.disputed(level)} == {"ab", "bc"}


@pytest.mark.parametrize(
    ("a", "b", "exclusive"),
    [
        ("n == 1", "n == 2", True),
        ("n == 1", "n == 1", False),
        ("n != 1", "n == 1", True),
        ("n < 3", "n > 2", True),
        ("n <= 3", "n >= 3", False),
        ("n < 3", "n >= 3", True),
        ("n <= 2", "n > 2", True),
        ("n <= 3", "n > 2", False),
        ("n > 8", "n < 8", True),
        ("n != 1", "n != 2", False),
        ("big", "n < 5", True),
        ("big", "n < 7", False),
        ("x == none", "x != none", True),
        ("x == none", "x in A", False),
        ("not big", "big", True),
        ("x.n < n", "x.n >= n", True),
        ("x.n <= n", "x.n >= n", False),
        ("x.n <= n", "x.n > n", True),
        ("x.n == n", "x.n != n", True),
        ("x.n < n", "x.n == n", True),
        ("x.n <= n", "x.n == n", False),
        ("n > 1 and n < 3", "n > 3 and n < 9", True),
        ("n > 1 or n < 3", "n == 2", False),
    ],
)
def test_exclusive_guards(a: str, b: str, exclusive: bool) -> None:
    assert ("ab" not in disputed(ranked(a, b, "n == 9 and n == 8"))) is exclusive
    assert ("ab" not in disputed(ranked(b, a, "n == 9 and n == 8"))) is exclusive


def test_who_always_loses_is_in_no_dispute() -> None:
    assert "ab" in disputed(ranked("n > 1", "n > 2", "n > 3"))
    selection = ranked("n > 1", "n > 2", "true", "priority c > a")
    assert disputed(selection) == {"ab", "bc"}  # `true` is a guard like any other
    sure = RANKED.replace(" when {c}", "").format(a="n > 1", b="n > 2", priority="priority c > a")
    assert disputed(Selection(compiled(sure).machines["ranked.M"])) == {"bc"}


# Values that may be none ---------------------------------------------------------------------------------------------


def guard(text: str) -> m.Expr:
    found = ranked(a=text).machine.transitions[0].guard
    assert found is not None
    return found


X = m.Read("field", "x", None, m.OptionalType(m.RefType("ranked.M")))


@pytest.mark.parametrize(
    ("text", "holds", "known"),
    [
        ("x != none", True, True),
        ("x != none", False, False),
        ("x == none", False, True),
        ("x == none", True, False),
        ("none != x", True, True),
        ("x in A", True, True),
        ("x in A", False, False),
        ("x not in A", False, True),
        ("x != none and n > 1", True, True),
        ("x != none and n > 1", False, False),
        ("x == none or n > 1", False, True),
        ("x == none or n > 1", True, False),
        ("x != none => n > 1", False, True),
        ("x != none => n > 1", True, False),
        ("not (x == none)", True, True),
    ],
)
def test_what_a_condition_says_of_none(text: str, holds: bool, known: bool) -> None:
    assert (X in presence.present_if(guard(text), holds)) is known


def test_effects_end_what_is_known_of_what_they_may_change() -> None:
    local, n = m.Local("y", X.type), m.Constant(1, m.RangeType(0, 9))
    other = m.Read("field", "x", X, X.type)
    known: presence.Known = frozenset({X, local, other})
    sets_x = m.Assign("x", None, X, X.type)
    sets_n = m.Assign("n", None, n, m.RangeType(0, 9))
    assert presence.after(known, sets_n) == {X, local}
    assert presence.after(known, sets_x) == {local}
    assert presence.after(known, m.If(guard("n > 1"), (sets_x,), ())) == {local}
    assert presence.after(known, m.If(guard("n > 1"), (), (sets_x,))) == {local}
    assert presence.after(known, m.If(guard("n > 1"), (sets_n,), ())) == {X, local}
    assert presence.after(known, m.ForEach("z", X, (sets_x,))) == {local}
    assert presence.without(known, "y") == {X, other}


# Derived values ------------------------------------------------------------------------------------------------------


def test_lets_that_use_each_other_many_times_are_looked_at_once() -> None:
    chain = "\n".join(f"    let v{n} = v{n - 1} and v{n - 1}" for n in range(1, 200))
    text = f"module chain\nmachine M {{\n    f: M?\n    initial state A\n    let v0 = f.f == none\n{chain}\n}}\n"
    model = compiled(text)
    last = model.machines["chain.M"].let_named["v199"].value
    assert lets.may_lack_value(model, last)
    assert sum(1 for _ in lets.throughout(model, last)) < 1000


def test_conjuncts_are_what_must_hold() -> None:
    assert len(guards.conjuncts(guard("n > 1 and (n < 5 and x != none) and (n == 2 or n == 3)"))) == 4
    assert guards.conjuncts(None) == []


# Elaboration ---------------------------------------------------------------------------------------------------------

WIDE = """machine Box {
    held: set<0..2>
    items: list<0..2>[4]
    n: 0..2
    let up(k: 0..2) = k + 1
    let twice(k: 0..2) = up(k) + up(k + 1)
    initial state Idle
    event go from environment
    Idle -> Idle on go do held = {n + 1}
    Idle -> Idle on go do n = up(n + 5)
    Idle -> Idle on go do n = twice(2)
    Idle -> Idle on go do n = min(n, 1) - size(items)
    Idle -> Idle on go do n = if n > 1 then -n else 7
    Idle -> Idle on go do for k in {n + 1} { n = k - 1 }
}
"""


def of(low: int, high: int) -> m.RangeType:
    return m.RangeType(low, high)


def test_elaborated_types_are_as_wide_as_the_values_and_no_wider() -> None:
    model = compiled(WIDE)
    elaboration = Elaboration(model)
    types = []
    for t in next(iter(model.machines.values())).transitions:
        (effect,) = elaboration.effects(t.effects)
        while isinstance(effect, m.ForEach):
            (effect,) = effect.body
        assert isinstance(effect, m.Assign)
        types.append(effect.value.type)
    assert types == [m.SetType(of(1, 3)), of(6, 8), of(3, 7), of(-4, 1), of(-2, 7), of(0, 2)]


def doubling(count: int) -> m.Model:
    """Each `let` uses the one before it with two more ranges than it is used with itself."""
    rest = (f"    let f{k}(n: 0..1) = max(f{k - 1}(n + n), f{k - 1}(n + 1))" for k in range(1, count))
    line = f"    initial state S\n    event go from environment\n    S -> S on go do a = min(f{count - 1}(a), 1)"
    return compiled("\n".join(["machine M {", "    a: 0..1", "    let f0(n: 0..1) = n * 2", *rest, line, "}"]))


@pytest.mark.parametrize("count", [4, 8, 50])
def test_lets_that_are_used_with_many_ranges_are_elaborated_for_few(count: int) -> None:
    elaboration = Elaboration(model := doubling(count))
    (effect,) = elaboration.effects(next(iter(model.machines.values())).transitions[0].effects)
    assert isinstance(effect, m.Assign)
    assert isinstance(effect.value, m.Apply)
    called = effect.value.arguments[0].type
    assert isinstance(called, m.RangeType)
    largest = 2**count  # doubled each time, and once more
    assert largest <= called.high <= (largest if count == 4 else 4 * largest)
    assert "FSM115" not in {d.rule.code for d in check(model)}


def test_numbers_that_are_too_large_are_found_wherever_a_let_makes_them() -> None:
    assert "FSM115" in {d.rule.code for d in check(doubling(70))}


def few_worlds(found: Universe) -> Iterator[World]:
    world = found.start
    for _ in range(4):
        yield world
        try:
            steps = list(enabled(found, world))
        except FaultError:  # of the environment's conditions
            return
        if not steps:
            return
        world = fire(found, world, steps[0]).world


def test_values_are_of_their_elaborated_types() -> None:
    """Whatever the definition finds a value to be, its elaborated type holds it."""
    seen = 0
    for name, found, instance, selection in compared():
        elaboration = Elaboration(found.model, found.system, lambda t, u=found: cardinality(t, u))  # type: ignore[misc]
        effects = [x for t in selection.machine.transitions for x in t.effects if isinstance(x, m.Assign)]
        values = [x.value for x in effects if not any(isinstance(y, m.Local) for y in expressions(x.value))]
        for world in few_worlds(found):
            for value in values:
                try:
                    result = evaluate(Frame(found, world, instance), value)
                except FaultError:
                    continue
                assert outside(elaboration.expression(value).type, result) is None, (name, value)
                seen += 1
    assert seen > 500


@pytest.mark.parametrize("low", [0, -1])
def test_the_types_of_many_uses_hold_every_argument_and_are_few(low: int) -> None:
    """A `let` whose arguments are wider with each use, also below zero."""
    types = [m.ListType(m.RangeType(low * n, n), 1 + n) for n in range(4 * SEVERAL)]
    uses = _Uses((types[0],))
    for of in types:
        (widened,) = uses.widened((of,))
        assert holds(widened, of)
        uses.bodies[(widened,)] = cast("Body", None)
    assert len(uses.bodies) <= SEVERAL + 2 * SEVERAL.bit_length()
