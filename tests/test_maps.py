"""Maps: a value for every key, in every reader of a model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from campaign import compare as compared
from generating import Generated
from random_polls import poll
from stepping import Run, compiled, only_system
from test_meanings import explored_alike
from test_symmetry import compare
from tiers import enough, today

from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.runs.trace import plain
from fsmdsl.search import explore, play
from fsmdsl.search.shapes import from_number, shape, to_number
from fsmdsl.step import Universe
from fsmdsl.step.data import Table
from fsmdsl.step.values import cardinality, domain, keys
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

SPEC = """module maps
enum Colour { red | green | blue }
machine Node {
    param limit: map<Colour, 0..3> = 2
    votes: map<Node, 0..3>
    next:  map<Node, 1..4> = 1
    seen:  map<Colour, bool>
    peer:  map<0..3, Node?>
    signs: map<bool, Colour>
    durable below: map<-2..1, -1..1> = -1
    n: 0..9
    initial state A
    event vote(x: Node), reset(k: 0..9), look(c: Colour), meet(i: 0..9, x: Node), of(i: 0..9) from environment
    event take(v: map<Node, 0..3>) from Node, environment
    event low(i: -9..9, x: -9..9), sign(b: bool, c: Colour), ask(x: Node?), give(x: Node)  from environment
    vote:  A on vote(x)    do votes[x] = votes[x] + 1
    reset: A on reset(k)   do votes = k
    look:  A on look(c)    when limit[c] > 1 do seen[c] = not seen[c]
    meet:  A on meet(i, x) do { peer[i] = x; next[x] = i }
    of:    A on of(i)      do n = if peer[i] == none then 0 else votes[peer[i]] + 5
    take:  A on take(v)    do votes = v
    low:   A on low(i, x)  do below[i] = x
    sign:  A on sign(b, c) do signs[b] = c
    ask:   A on ask(x)     do n = votes[x]
    give:  A on give(x)    do x.take(votes)
    same:  A on crash      do n = if votes == next_votes then 1 else 2
    let next_votes = votes
}
"""
SYSTEM = "system S { a: Node  b: Node[2] { next = 3 }  invariant a.votes == a.votes }\n"


# What it means -------------------------------------------------------------------------------------------------------


def test_every_key_has_a_value_and_one_is_written_at_a_time() -> None:
    run = Run(SPEC + SYSTEM)
    assert run.field("a.votes") == "{a: 0, b0: 0, b1: 0}"
    assert (run.field("a.next"), run.field("b0.next")) == ("{a: 1, b0: 1, b1: 1}", "{a: 3, b0: 3, b1: 3}")
    assert run.field("a.seen") == "{red: false, green: false, blue: false}"
    assert run.field("a.peer") == "{0: none, 1: none, 2: none, 3: none}"
    assert run.field("a.signs") == "{false: red, true: red}"
    assert run.field("a.below") == "{-2: -1, -1: -1, 0: -1, 1: -1}"
    run.take("a.vote(b0)", "a.vote(b0)", "a.vote(b1)")
    assert run.field("a.votes") == "{a: 0, b0: 2, b1: 1}"
    assert run.field("b0.votes") == "{a: 0, b0: 0, b1: 0}"
    run.take("a.meet(3, b0)", "a.of(3)", "a.look(green)", "a.low(-1, 1)", "a.sign(true, blue)")
    assert run.field("a.n") == "7"
    assert run.field("a.peer") == "{0: none, 1: none, 2: none, 3: b0}"
    assert run.field("a.next") == "{a: 1, b0: 3, b1: 1}"
    assert run.field("a.seen") == "{red: false, green: true, blue: false}"
    assert run.field("a.below") == "{-2: -1, -1: 1, 0: -1, 1: -1}"
    assert run.field("a.signs") == "{false: red, true: blue}"
    run.take("a.give(b1)", "a.reset(3)")
    assert (run.field("b1.votes"), run.field("a.votes")) == ("{a: 0, b0: 2, b1: 1}", "{a: 3, b0: 3, b1: 3}")


@pytest.mark.parametrize(
    ("event", "kind", "why"),
    [
        ("reset(4)", "range", "every entry of a map would become 4, outside 0..3"),
        ("low(0, 2)", "range", "an entry of `below` would become 2, outside -1..1"),
        ("low(2, 0)", "none", "`below` has the keys -2..1, and none of them is 2"),
        ("low(2, 2)", "none", "`below` has the keys -2..1, and none of them is 2"),
        ("meet(4, a)", "none", "`peer` has the keys 0..3, and none of them is 4"),
        ("meet(0, a)", "range", "an entry of `next` would become 0, outside 1..4"),
        ("of(7)", "none", "`peer` has the keys 0..3, and none of them is 7"),
        ("ask(none)", "none", "`x` is none here"),
    ],
)
def test_what_a_map_has_not_or_cannot_hold_is_a_fault(event: str, kind: str, why: str) -> None:
    run = Run(SPEC + SYSTEM)
    fault = run.attempt(f"a.{event}").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == (kind, why)


@pytest.mark.full(reason="size; random polls are explored in any case")
def test_it_is_explored_alike() -> None:
    environment = """
    environment {
        some x in b: a.vote(x) when a.votes[x] < 3
        a.meet(1, b[0])  a.meet(4, b[1])
        a.of(1)
        some c in Colour: a.look(c)
        a.low(0, 1)
        a.low(1, 2)
        a.give(b[0])
        crash
    }
    reachable alike: b[0].votes == a.votes and a.votes[b[0]] == 2
    reachable unlike: b[0].votes != a.votes and a.next[b[0]] == b[0].next[a]
    invariant few: (count c in Colour: a.seen[c]) < 3
    invariant all x in b: a.votes[x] < 3
    invariant all i in 0..3: a.peer[i] == none
    """
    found = explored_alike(SPEC + SYSTEM.replace("a.votes == a.votes }", f"a.votes == a.votes {environment} }}"))
    assert found["states"] > 300  # type: ignore[operator]


def test_messages_that_are_sorted_stand_by_their_first_keys() -> None:
    found = explored_alike("""module sorted
    channel c: bag[3] to Reader
    machine Reader {
        last: map<bool, 0..2>
        initial state A
        event x(t: map<bool, 0..2>) from c
        A on x(t) do last = t
    }
    machine Writer {
        n: 0..3
        t: map<bool, 0..2>
        initial state A
        event go(k: bool, v: 0..2) from environment
        A on go(k, v) when n < 3 do { n = n + 1; t[k] = v; send c.x(t) }
    }
    system S { r: Reader  w: Writer }
    """)
    assert found["states"] > 400  # type: ignore[operator]


@pytest.mark.parametrize("seed", today(range(0, 100, 10)))
def test_random_polls_are_explored_alike(seed: int) -> None:
    explored_alike(poll(seed))


@pytest.mark.full(reason="compiled searches")
def test_compiled_code_finds_the_same() -> None:
    """Also where a map has more bits than a word."""
    wide = """module wide
    machine Node {
        n: 0..3
        votes: map<0..60, 0..3> = 2
        far: map<-3..3, -1000..1000>
        initial state A
        event go(i: 0..3) from environment
        A on go(i) when votes[20 * i] < 3 do { votes[20 * i] = votes[20 * i] + 1; far[i - 3] = far[0] - 300 * i - 1 }
        A on go(i) when votes[20 * i] == 3 do { votes[60] = i; if votes[40] == 3 { votes = 2 } }
    }
    system S { node: Node  invariant node.votes[60] != 1 or node.far[-3] > -2  reachable node.votes[59] == 3 }
    """
    for text in (wide, poll(4), poll(12)):
        model = compiled(text)
        assert compared(model, only_system(model), 2000, compiled=True)[0] == "the same"


# Values --------------------------------------------------------------------------------------------------------------


def test_numbers_stand_for_maps_and_back() -> None:
    model = compiled(SPEC + SYSTEM)
    u = Universe(model, only_system(model))
    of_nodes, of_numbers = m.MapType(m.RefType("maps.Node"), m.BOOL), m.MapType(m.RangeType(-1, 1), m.RangeType(2, 4))
    for t, count in ((of_nodes, 8), (of_numbers, 27)):
        listed = domain(t, u)
        assert len(set(listed)) == len(listed) == cardinality(t, u) == count
        numbers = [to_number(t, x, u) for x in listed]
        assert len(set(numbers)) == count
        assert all(0 <= n <= shape(t, u).high for n in numbers)
        assert [from_number(t, n, u) for n in numbers] == list(listed)
    assert keys(of_numbers, u) == (-1, 0, 1)
    assert plain(u, of_nodes, Table(((0, True), (1, False), (2, True)))) == {"a": True, "b0": False, "b1": True}


def test_instances_of_a_machine_need_not_follow_one_another() -> None:
    text = """module apart
    machine Node { votes: map<Node, 0..2> = 1  initial state A  event go(x: Node) from environment
        A on go(x) do votes[x] = (votes[x] + 1) % 3 }
    machine Other { initial state A }
    system S { a: Node  o: Other  b: Node  reachable a.votes == b.votes and a.votes[b] == 2  invariant a.votes[a] < 2 }
    """
    assert explored_alike(text)


# Symmetry ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(3))
def test_entries_move_with_their_keys_and_change_with_their_values(part: int) -> None:
    """120 systems in all: as many states as there are orbits, and the same verdicts."""
    went = Counter(compare(compiled(poll(seed))) for seed in today(range(part * 40, part * 40 + 40)))
    assert went["fewer"] >= enough(10)
    assert went["told apart"] >= enough(2)


def test_a_map_from_members_to_members_is_not_reduced_and_that_is_said() -> None:
    text = """module pairs
    machine Node { pair: map<Node, Node?>  initial state A  event go(x: Node, y: Node) from environment
        A on go(x, y) do pair[x] = y }
    system S { nodes: Node[2] symmetric }
    """
    model = compiled(text)
    x = explore(model, only_system(model))
    assert (x.reduced, x.states) == ((), 81)
    assert "`pair` of Node maps the members to members of a symmetric set" in str(x.note)


# Generated classes ---------------------------------------------------------------------------------------------------


def test_classes_hold_what_differs_from_the_rest(tmp_path: Path) -> None:
    made: Any = Generated(tmp_path, SPEC)
    system = made.System()
    a, b = made.Node(system), made.Node(system)
    a.vote(b)
    a.vote(b)
    a.vote(a)
    a.meet(2, b)
    assert [a.votes[x] for x in (a, b)] == [1, 2]
    assert [a.peer[i] for i in range(4)] == [None, None, b, None]
    assert a.next[b] == 2
    later = made.Node(system)
    assert (a.votes[later], a.next[later]) == (0, 1)
    kept = system.snapshot()
    a.reset(3)
    assert [a.votes[x] for x in (a, b, later)] == [3, 3, 3]
    system.restore(kept)
    assert [a.votes[x] for x in (a, b, later)] == [1, 2, 0]
    assert system.snapshot() == kept
    for event, given, error in (
        ("meet", (4, b), "MissingReference"),
        ("low", (0, 2), "OutOfRange"),
        ("reset", (4,), "OutOfRange"),
        ("take", (made.Table(0, {a: 4}),), "OutOfRange"),
        ("take", (made.Table(4),), "OutOfRange"),
    ):
        with pytest.raises(made.StepRefused) as refused:
            getattr(a, event)(*given)
        assert type(refused.value).__name__ == error
    assert [a.votes[x] for x in (a, b, later)] == [1, 2, 0]
    b.take(a.votes)
    assert [b.votes[x] for x in (a, b, later)] == [1, 2, 0]


def test_classes_compare_maps_for_the_keys_that_there_are(tmp_path: Path) -> None:
    text = """module alike
    machine Node {
        one: map<Node, 0..3>
        two: map<Node, 0..3> = 1
        a: map<bool, 0..1>
        b: map<bool, 0..1> = 1
        n: 0..1
        initial state A
        event put(x: Node), flip(k: bool), look, other from environment
        A on put(x) do one[x] = 1
        A on flip(k) do a[k] = 1
        A on look when one == two do n = 1
        A on look when one != two do n = 0
        A on other when a == b do n = 1
        A on other when a != b do n = 0
    }
    """
    made: Any = Generated(tmp_path, text)
    system = made.System()
    a, b = made.Node(system), made.Node(system)
    a.put(a)
    a.look()
    assert a.n == 0
    a.put(b)
    a.look()
    assert a.n == 1
    made.Node(system)
    a.look()
    assert a.n == 0
    a.flip(True)
    a.other()
    assert a.n == 0
    a.flip(False)
    a.other()
    assert a.n == 1


@pytest.mark.parametrize(("keys", "each"), [("1..3", (1, 2, 3)), ("Colour", ("red", "amber"))])
def test_classes_compare_maps_for_all_keys_and_no_others(
    tmp_path: Path, keys: str, each: tuple[int | str, ...]
) -> None:
    text = f"""module alike
    enum Colour {{ red | amber }}
    machine Table {{
        one: map<{keys}, 0..1>
        two: map<{keys}, 0..1> = 1
        same: bool
        initial state A
        event put(x: {keys}), look from environment
        A on put(x) do one[x] = 1
        A on look do same = one == two
    }}
    """
    made: Any = Generated(tmp_path, text)
    table = made.Table()
    for key in each:
        table.look()
        assert not table.same
        table.put(made.Colour[key.upper()] if isinstance(key, str) else key)
    table.look()
    assert table.same


# What is written wrong -----------------------------------------------------------------------------------------------

WRONG = """module wrong
enum Colour { red | green }
opaque Thing
machine Node {
    votes: map<Node, 0..3>
    other: map<Node, 0..2>
    FIELD
    let double(v: map<Node, 0..3>) = v[self]
    n: 0..5
    initial state A
    event go(x: Node?) from environment
    A on go(x) WHAT
}
"""


@pytest.mark.parametrize(
    ("field", "what", "message", "help"),
    [
        ("f: map<duration, bool>", "", "these keys cannot be listed", "must be a range, an enum, a machine or `bool`"),
        ("f: map<set<bool>, bool>", "", "these keys cannot be listed", ""),
        ("f: map<Node?, bool>", "", "these keys cannot be listed", ""),
        ("f: map<Thing, bool>", "", "these keys cannot be listed", ""),
        ("f: map<0..10000, bool>", "", "the map has 10,001 keys; the maximum is 10,000", ""),
        ("f: map<bool, map<bool, bool>>", "", "a map cannot be part of another value", "of its own"),
        ("f: set<map<bool, bool>>", "", "a map cannot be part of another value", ""),
        ("f: list<map<bool, bool>>[2]", "", "a map cannot be part of another value", ""),
        ("f: map<bool, bool>?", "", "a map cannot be part of another value", ""),
        ("f: map<bool, Node>", "", "`f` has no initial value", ""),
        ("f: map<bool, 0..3> = red", "", "expected a number 0..3, got `Colour`", ""),
        ("f: map<bool, 0..3> = true", "", "expected a number 0..3, got true or false", ""),
        ("", "do votes = other", "expected `map<Node, 0..3>`, got `map<Node, 0..2>`", ""),
        ("", "do votes[3] = 1", "expected `Node`, got the number 3", ""),
        ("", "do votes[none] = 1", "expected `Node`, got none", ""),
        ("", "do n[3] = 1", "`n` is not a map, so it has no entries to assign to", "`add x to`"),
        ("", "do x.votes[self] = 1", "an effect can assign only to fields of its own machine", ""),
        ("", "do add 1 to votes", "`votes` is neither a set nor a list", ""),
        ("", "when votes == 1", "`map<Node, 0..3>` and the number 1 cannot be compared", "`votes[k]`"),
        (
            "",
            "when votes == other",
            "`map<Node, 0..3>` and `map<Node, 0..2>` cannot be compared",
            "two maps of one type",
        ),
        ("", "when votes < votes", "`map<Node, 0..3>` has no order", ""),
        ("", "when self in votes", "expected a set, a list or a state, got `map<Node, 0..3>`", ""),
        ("", "when all v in votes: v > 1", "expected a set or list, got `map<Node, 0..3>`", ""),
        ("", "when double(n) == 1", "this value fills a map, but may be outside 0..3", "`max("),
        ("", "when n[1] == 1", "a number 0..5 cannot be indexed", "named sets of instances"),
    ],
)
def test_errors_say_what_to_write(field: str, what: str, message: str, help: str) -> None:
    parsed = parse(Source("wrong.fsm", WRONG.replace("FIELD", field).replace("WHAT", what)))
    assert parsed.diagnostics == ()
    (first, *_) = resolve([parsed.module]).diagnostics
    assert message in first.message, first
    assert help in (first.advice or ""), first


SCENARIO = """
scenario One "an entry at a time" of S {
    a.vote(b[0])
    a.vote(b[0])
    expect a.votes[b[0]] == 2 and a.votes[b[1]] == 0
    a.take(1)
    expect a.votes[a] == 1 and a.votes != b[0].votes
    fails a.low(2, 0) with none
    fails a.low(0, 2) with range
}
"""


def test_a_scenario_sends_maps_and_looks_into_them() -> None:
    model = compiled(SPEC + SYSTEM + SCENARIO)
    (scenario,) = model.scenarios.values()
    played = play(model, scenario)
    assert played.passed, played.failure


def test_the_formatter_leaves_a_space_behind_the_comma() -> None:
    text = "machine M {\n    f: map<bool, 0..3>\n    initial state A\n}\n"
    assert format_source(parse(Source("x.fsm", text.replace(", ", ",")))) == text
