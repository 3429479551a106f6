"""Values, types and expressions."""

from __future__ import annotations

from itertools import pairwise

import pytest
from stepping import compiled, only_system

from fsmdsl import model as m
from fsmdsl.step import FaultError, Universe, holds, initial, value
from fsmdsl.step.data import Misfit, Table, Value
from fsmdsl.step.describe import duration, fault_message, value_text
from fsmdsl.step.evaluate import (
    MAX_VALUES,
    TooManyValuesError,
    cardinality,
    default,
    domain,
    domains,
    elements,
    outside,
    rank,
)

LEVEL = m.EnumType("t.Level", ("low", "mid", "high"), True)
DIGIT = m.RangeType(0, 2)


@pytest.fixture(scope="module")
def universe() -> Universe:
    model = compiled(
        """
        module t
        machine Cell { initial state Free  state Used  user: Group? }
        machine Group { param priority: 0..9  cells: set<Cell>  initial state Idle }
        system S { groups: Group[3] { priority = index }  cells: Cell[2] }
        """
    )
    return Universe(model, only_system(model))


# Types ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "values"),
    [
        (m.BOOL, [False, True]),
        (m.RangeType(-1, 1), [-1, 0, 1]),
        (LEVEL, ["low", "mid", "high"]),
        (m.RefType("t.Group"), [0, 1, 2]),
        (m.RefType("t.Cell"), [3, 4]),
        (m.RefType("t.Nobody"), []),
        (m.OptionalType(m.RefType("t.Cell")), [None, 3, 4]),
        (m.OpaqueType("t.Pod"), ["t.Pod"]),
        (m.DurationType(), [0]),
        (m.SetType(m.RefType("t.Cell")), [frozenset(), frozenset({3}), frozenset({3, 4}), frozenset({4})]),
        (m.ListType(m.RefType("t.Cell"), 1), [(), (3,), (4,)]),
        (m.ListType(m.BOOL, 2), [(), (False,), (False, False), (False, True), (True,), (True, False), (True, True)]),
        (m.SetType(m.NeverType()), [frozenset()]),
    ],
)
def test_a_domain_lists_every_value_once_and_in_order(universe: Universe, t: m.Type, values: list[object]) -> None:
    found = domain(t, universe)
    assert list(found) == values
    assert cardinality(t, universe) == len(values)
    assert all(rank(t, a) < rank(t, b) for a, b in pairwise(found))
    assert all(outside(t, v) is None for v in found)


def test_large_domains_are_refused_before_they_are_made(universe: Universe) -> None:
    assert len(domain(m.SetType(m.RangeType(1, 16)), universe)) == MAX_VALUES
    with pytest.raises(TooManyValuesError):
        domain(m.SetType(m.RangeType(1, 17)), universe)
    with pytest.raises(TooManyValuesError):
        domain(m.SetType(m.RangeType(0, 10**9)), universe)
    with pytest.raises(TooManyValuesError):
        domains([m.RangeType(1, 1000), m.RangeType(1, 1000)], universe)
    wide = m.RecordType("t.Wide", (("a", m.RangeType(1, 1000)), ("b", m.RangeType(1, 1000)), ("c", m.BOOL)))
    with pytest.raises(TooManyValuesError):
        domain(wide, universe)
    assert len(domains([m.RangeType(1, 256), m.RangeType(1, 256)], universe)) == MAX_VALUES


def test_arguments_change_fastest_at_the_end(universe: Universe) -> None:
    assert domains([m.BOOL, DIGIT], universe)[:4] == ((False, 0), (False, 1), (False, 2), (True, 0))
    assert domains([], universe) == ((),)


@pytest.mark.parametrize(
    ("t", "value"),
    [
        (m.RangeType(3, 5), 3),
        (m.RangeType(-5, -3), -3),
        (DIGIT, 0),
        (LEVEL, "low"),
        (m.OptionalType(DIGIT), None),
        (m.SetType(DIGIT), frozenset()),
        (m.ListType(DIGIT, 2), ()),
        (m.MapType(m.BOOL, DIGIT), Table(((False, 0), (True, 0)))),
        (m.BOOL, False),
    ],
)
def test_values_begin_with(universe: Universe, t: m.Type, value: object) -> None:
    assert default(t, universe) == value


@pytest.mark.parametrize(
    ("t", "value", "misfit"),
    [
        (DIGIT, 3, Misfit("range", 3, 0, 2)),
        (m.OptionalType(DIGIT), -1, Misfit("range", -1, 0, 2)),
        (m.SetType(DIGIT), frozenset({1, 7}), Misfit("range", 7, 0, 2)),
        (m.ListType(DIGIT, 2), (0, 1, 2), Misfit("overflow", (0, 1, 2), high=2)),
        (m.ListType(DIGIT, 2), (0, 5), Misfit("range", 5, 0, 2)),
        (m.RefType("t.Cell"), None, Misfit("none", None)),
    ],
)
def test_what_does_not_fit_is_said(t: m.Type, value: Value, misfit: Misfit) -> None:
    assert outside(t, value) == misfit


def test_sets_are_visited_in_order_and_lists_as_they_stand() -> None:
    assert list(elements(m.SetType(LEVEL), frozenset({"high", "low"}))) == ["low", "high"]
    assert list(elements(m.SetType(DIGIT), frozenset({2, 0, 1}))) == [0, 1, 2]
    assert list(elements(m.SetType(m.OptionalType(DIGIT)), frozenset({1, None}))) == [None, 1]
    assert list(elements(m.ListType(DIGIT, 3), (2, 0, 2))) == [2, 0, 2]


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0ms"), (1, "1ms"), (90_000, "90s"), (300_000, "5min"), (3_600_000, "1h"), (86_400_000, "1d")],
)
def test_durations_are_written_short(milliseconds: int, text: str) -> None:
    assert duration(milliseconds) == text


def test_values_are_shown_as_the_author_writes_them(universe: Universe) -> None:
    assert value_text(universe, m.SetType(m.RefType("t.Cell")), frozenset({4, 3})) == "{c0, c1}"
    assert value_text(universe, m.OptionalType(m.RefType("t.Cell")), None) == "none"
    assert value_text(universe, m.BOOL, True) == "true"
    assert value_text(universe, m.ListType(LEVEL, 2), ("mid", "low")) == "[mid, low]"
    assert value_text(universe, m.OpaqueType("t.Pod"), "t.Pod") == "Pod"


# Expressions ---------------------------------------------------------------------------------------------------------

WORLD = """
module t
enum Level { low < mid < high }
enum Colour { red | green }
opaque Pod
let twice(n: 0..9) = n + n
machine Cell {
    param size: 0..9 = 4
    user: Group?
    level: Level = mid
    colour: Colour = green
    queue: list<0..9>[4] = [3, 1, 3]
    marks: set<0..9> = {5, 2}
    ready: bool = true
    pod: Pod
    let big = size > 3
    let bigger(n: 0..9) = size > n
    initial state Busy { initial state Used  state Held }
    state Free
}
machine Group { param priority: 0..9  initial state Idle }
system S {
    groups: Group[3] { priority = index + 1 }
    cells: Cell[2]
    one: Cell { size = 9, user = g2, level = high }
    let strongest = groups[2]
    let above(n: 0..9) = count g in groups: g.priority > n
    %s
}
"""


def universe_of(text: str) -> Universe:
    """`WORLD`, with an expression as the `let` that is called `it`."""
    model = compiled(WORLD % f"let it = {text}")
    return Universe(model, only_system(model))


def worth(text: str) -> object:
    """The value of an expression in `WORLD`; a condition too, so that it can stand in a `let`."""
    u = universe_of(text)
    let = next(x for x in u.system.lets if x.name == "it")
    return value(u, initial(u), let.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 - 5", -2),
        ("-one.size", -9),
        ("one.size", 9),
        ("c0.size", 4),
        ("c0.user", None),
        ("one.user", 2),
        ("one.user.priority", 3),
        ("one.user == g2", True),
        ("one.user != none", True),
        ("c0.user == none", True),
        ("c0 in Used", True),
        ("c0 in Busy", True),
        ("c0 in {Free, Held}", False),
        ("c0 not in Free", True),
        ("c0.user in Idle", False),
        ("one.user in Idle", True),
        ("c0.level < one.level", True),
        ("c0.level >= high", False),
        ("c0.level == mid", True),
        ("max(c0.level, one.level)", "high"),
        ("min(c0.level, one.level)", "mid"),
        ("c0.colour == green", True),
        ("min(3, 1, 2)", 1),
        ("max(3, 1, 2)", 3),
        ("size(c0.queue)", 3),
        ("size(c0.marks)", 2),
        ("first(c0.queue)", 3),
        ("rest(c0.queue)", (1, 3)),
        ("rest(rest(rest(rest(c0.queue))))", ()),
        ("1 in c0.queue", True),
        ("c0.marks has 4", False),
        ("c0.marks + {7}", frozenset({2, 5, 7})),
        ("c0.marks - {2}", frozenset({5})),
        ("c0.marks & {2, 3}", frozenset({2})),
        ("c0.marks + {7} - {2} & {5, 7}", frozenset({5, 7})),
        ("[1, 2]", (1, 2)),
        ("if c0.ready then 1 else 2", 1),
        ("if one in Free then 1 else 2", 2),
        ("true => false", False),
        ("false => false", True),
        ("not (true and false)", True),
        ("true and true and false", False),
        ("false or false or true", True),
        ("all g in groups: g.priority > 0", True),
        ("all g in groups: g.priority > 1", False),
        ("some g in groups: g.priority > 2", True),
        ("some g in groups: g.priority > 3", False),
        ("count g in groups: g.priority > 1", 2),
        ("count x in c0.queue: x == 3", 2),
        ("all g in groups, c in cells: c.size != g.priority", True),
        ("some g in groups, c in cells: c.size == g.priority + 1", True),
        ("all x in {}: false", True),
        ("some x in c0.marks - c0.marks: true", False),
        ("groups", frozenset({0, 1, 2})),
        ("groups[1]", 1),
        ("Cell", frozenset({3, 4, 5})),
        ("subsets(groups, 2)", frozenset({frozenset({0, 1}), frozenset({0, 2}), frozenset({1, 2})})),
        ("subsets(groups, 0)", frozenset({frozenset()})),
        ("subsets(groups, 4)", frozenset()),
        ("subsets(groups, 0 - 1)", frozenset()),
        ("twice(4)", 8),
        ("strongest.priority", 3),
        ("above(1)", 2),
        ("c0.big", True),
        ("c0.bigger(4)", False),
        ("one.bigger(c0.size)", True),
    ],
)
def test_expressions(text: str, expected: object) -> None:
    assert worth(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c0.user.priority", "`c0.user` is none here"),
        ("all c in cells: c.user.priority > 1", "`c.user` is none here"),
        ("first(c0.queue) > 2 and first(rest(rest(rest(c0.queue)))) > 2", "is empty here, so it has no first item"),
    ],
)
def test_what_has_no_value_is_a_fault(text: str, message: str) -> None:
    with pytest.raises(FaultError) as raised:
        worth(text)
    assert raised.value.fault.kind == "none"
    assert message in fault_message(universe_of(text), raised.value.fault)
    assert raised.value.fault.span.text in text


@pytest.mark.parametrize(
    "text",
    [
        "c0.user == none or c0.user.priority > 1",
        "not (c0.user != none and c0.user.priority > 1)",
        "c0.user != none => c0.user.priority > 1",
        "if c0.user == none then true else c0.user.priority > 1",
        "some c in Cell: c == c0 or c.user.priority > 1",
        "not all c in Cell: c != c0 and c.user.priority > 1",
    ],
)
def test_nothing_is_looked_at_further_than_needed(text: str) -> None:
    assert worth(text) is True


def test_inner_variables_hide_outer_ones_only_inside() -> None:
    assert worth("all g in groups: (some g in groups: g.priority == 3) and g.priority < 4") is True
    assert worth("some g in groups: (all g in groups: g.priority > 0) and g.priority == 3") is True


def test_a_predicate_is_read_with_what_is_bound() -> None:
    model = compiled(WORLD % "let strong(g: Group) = g.priority > 1")
    u = Universe(model, only_system(model))
    strong = next(x for x in u.system.lets if x.name == "strong")
    assert [holds(u, initial(u), strong.value, {"g": n}) for n in range(3)] == [False, True, True]


def test_subsets_beyond_counting_are_refused() -> None:
    with pytest.raises(TooManyValuesError, match="10 out of 20"):
        worth("size(subsets({0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19}, 10))")


def test_a_range_beyond_counting_is_refused() -> None:
    text = "let upto(n: 0..2) = (count x in 0..n: true)  let large = upto(65536)  let most = upto(65535)"
    model = compiled(WORLD % text)
    u = Universe(model, only_system(model))
    lets = {x.name: x.value for x in u.system.lets}
    assert value(u, initial(u), lets["most"]) == 65536
    with pytest.raises(TooManyValuesError, match="0 to 65536"):
        value(u, initial(u), lets["large"])


@pytest.mark.parametrize(
    ("of", "members", "first"),
    [
        (m.RangeType(1, 3), [-1, 0], -1),
        (m.RangeType(1, 3), [8, 2, 16, 4], 4),
        (m.OptionalType(m.RangeType(0, 7)), [None, 3, 64, 9, 32], 9),
        (m.RefType("M"), [3, None, 1], None),
        (m.ListType(m.RangeType(0, 1), 2), [(1, 5), (0, 9), (1, 0)], 9),
    ],
)
def test_of_several_elements_that_do_not_fit_the_first_in_their_order_is_named(
    of: m.Type, members: list[Value], first: Value
) -> None:
    why = outside(m.SetType(of), frozenset(members))
    assert why is not None
    assert why.value == first
