"""The packed explorer finds what the definition of the language says, number for number."""

from __future__ import annotations

import sys
from itertools import combinations
from random import Random

import campaign
import pytest
from campaign import compare, packed, systems
from hived_lite import hived_lite
from packed_search import HASTY, PLAIN, SWITCH, explored, needs_compiler, own_objects
from random_specs import spec
from random_systems import text_of
from random_unevaluated import unevaluated_spec, unevaluated_system
from stepping import compiled, only_system
from test_faithful_hived import REFERENCE, TEXT, sized, without_way_back
from test_faithful_hived import model as hived_model
from test_random_specs import some_value
from tiers import today

from fsmdsl import model as m
from fsmdsl.search import Limits, Means, explore
from fsmdsl.search import layout as layouts
from fsmdsl.search.layout import Layout, lay_out
from fsmdsl.search.lower import lower
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import row as plain_row
from fsmdsl.step import Universe, World
from fsmdsl.step.cascade import put
from fsmdsl.step.world import Message, Pending

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

# Random systems ------------------------------------------------------------------------------------------------------
# `python tests/campaign.py packed --seeds 0:5000` is the same at length.


@pytest.mark.parametrize("seed", today(range(35)))
def test_random_systems_are_explored_as_defined(seed: int) -> None:
    for model, system in systems(text_of(seed)):
        assert compare(model, system, 150, random=Random(seed)) == ("the same", [])


@pytest.mark.parametrize("seed", today(range(1000, 1030)))
def test_random_specs_are_explored_as_defined(seed: int) -> None:
    for model, system in systems(spec(seed)):
        assert compare(model, system, 100, random=Random(seed)) == ("the same", [])


@pytest.mark.parametrize("seed", today(range(35, 60)))
def test_masks_of_several_words_say_what_one_word_says(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 62 instances: here, more than one, with two in each word."""
    monkeypatch.setattr(layouts, "ONE_WORD", 1)
    monkeypatch.setattr(layouts, "PER_WORD", 2)
    for model, system in [*systems(text_of(seed)), *systems(spec(1000 + seed))]:
        assert compare(model, system, 100, random=Random(seed), compiled=seed % 12 == 0) == ("the same", [])


@pytest.mark.parametrize("seed", today(range(14)))
def test_random_systems_in_which_much_is_not_evaluated_are_explored_as_defined(seed: int) -> None:
    for model, system in [*systems(unevaluated_system(seed)), *systems(unevaluated_spec(seed))]:
        assert compare(model, system, 80, random=Random(seed)) == ("the same", [])


@pytest.mark.parametrize("seed", today(range(14)))
def test_random_systems_with_newer_words_are_explored_as_defined(seed: int) -> None:
    for model, system in [*systems(text_of(seed, newer=True)), *systems(spec(seed, newer=True))]:
        assert compare(model, system, 80, random=Random(seed)) == ("the same", [])


MANY = """
machine M {
  initial state S
  state T
  state U
  event go from environment
  event step from N
  b: bool
  S -> T on go do b = true
  T -> U when b
  U -> S on step
  ignore step in S, T
}
machine N {
  param m: M
  initial state S
  state T
  event go from environment
  event done from environment
  S -> T on go
  T -> S on done do m.step
  ignore go in T
  ignore done in S
}
system X {
  m: M[70]
  n: N { m = m1 }
  k: N { m = m68 }
  environment { m1.go m68.go n.go k.go n.done k.done }
  reachable two: m1 in U and m68 in U
  invariant never: all x in m: x.b or x in S
  invariant few: (count x in m: x in U) <= 2
}
"""


@pytest.mark.full(reason="size")
def test_seventy_instances_are_explored_as_defined() -> None:
    """Rounds, sends and quantifiers over more instances than a word has bits."""
    model, system = next(systems(MANY))
    assert compare(model, system, 400, random=Random(1), compiled=True) == ("the same", [])


@needs_compiler
@pytest.mark.full(reason="compiled searches")
@pytest.mark.parametrize("seed", [4, 15, 26, 31])
def test_machine_code_finds_the_same(seed: int) -> None:
    """With one, two and three workers, with little room, with limits, and taking over from plain Python on the way."""
    model, system = next(systems(text_of(seed)))
    assert compare(model, system, 400, compiled=True, random=Random(seed)) == ("the same", [])


def test_the_campaign_tells_differences(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["campaign.py", "packed", "--seeds", "2:3", "--compiled", "0", "--states", "20"])
    assert campaign.main() == 0
    assert "  the same\n" in capsys.readouterr().out
    monkeypatch.setattr(PackedSearch, "levels", [1, 2, 3])
    assert campaign.main() == 1
    told = capsys.readouterr().out
    assert "seed 2, " in told
    assert ": plain, Limits(states=20, " in told
    assert "  different\n" in told


# Known numbers -------------------------------------------------------------------------------------------------------

PEERS = [
    ((2, 3, 2), 37, 115, 4),
    ((3, 4, 2), 812, 4_572, 11),
    ((3, 5, 2), 3_348, 20_612, 11),
    ((4, 5, 2), 23_756, 196_932, None),
    ((3, 6, 3), 5_768, 48_812, None),
    ((4, 6, 3), 32_976, 406_552, None),
    ((4, 6, 2), 129_406, 1_135_532, None),
]
"""Groups, cells, cells for each group; states, transitions, depth: as six other programs count them."""


@needs_compiler
@pytest.mark.parametrize(("size", "states", "transitions", "depth"), today(PEERS))
def test_hived_lite_has_the_states_that_others_count(
    size: tuple[int, int, int], states: int, transitions: int, depth: int | None
) -> None:
    for means in (Means(compiled=None if states < 1000 else True, symmetry=False), HASTY):
        x = explored(hived_lite(*size), means)
        assert (x.states, x.transitions, x.complete, x.note) == (states, transitions, True, None)
        assert depth is None or x.depth == depth
        assert sum(x.levels) == states
        assert x.violations == ()


@pytest.mark.parametrize(("needs", "cells", "literal", "repaired"), REFERENCE)
def test_the_counts_are_those_of_the_reference(needs: tuple[int, ...], cells: int, literal: int, repaired: int) -> None:
    """Each state of the reference says for each cell in use whether its pod is present, which the spec leaves out."""
    for text, expected in ((TEXT, repaired), (without_way_back(), literal)):
        model = hived_model(text + sized(needs, cells))
        search = packed(model, model.systems["hived.Sized"], Limits(), PLAIN)
        worlds = [search.world(n) for n in range(search.states)]
        user = [f.name for f in search.universe.machines[-1].fields].index("user")
        assert sum(2 ** sum(x[user] is not None for x in world.fields[len(needs) :]) for world in worlds) == expected


# Layout --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", today(range(60)))
def test_worlds_come_back_as_they_were(seed: int) -> None:
    random = Random(seed)
    for model, system in systems(text_of(seed)):
        universe = Universe(model, system)
        layout = lay_out(universe)
        search = PackedSearch(universe, Limits(), PLAIN)
        pack, unpack = (search.engine.functions[name] for name in ("pack", "unpack"))  # type: ignore[attr-defined]
        for _ in range(10):
            world = some_world(universe, layout, random)
            row = layout.encode(world)
            assert layout.decode(row) == world
            words = layout.pack(row)
            assert layout.unpack(words) == row
            assert all(0 <= x < 1 << 63 for x in words)
            again, out = plain_row(search.lowered), [0] * layout.words
            unpack(words, 0, again)
            assert layout.decode(again) == world
            pack(row, out, 0)
            assert tuple(out) == words


def some_world(universe: Universe, layout: Layout, random: Random) -> World:
    """Whatever the layout has room for, whether it can be reached or not."""
    states = tuple(random.choice(x.leaves).name for x in universe.machines)
    fields = tuple(tuple(some_value(universe, f.type, random) for f in x.fields) for x in universe.machines)
    pending: list[Pending] = []
    for p in random.sample(layout.awaited, min(len(layout.awaited), layout.pending_places)):
        if random.random() < 0.5:
            pending.append(p)
    waited = frozenset(p.instance for p in pending if random.random() < 0.5)
    channels = []
    for box in layout.boxes:
        held: tuple[Message, ...] = ()
        for _ in range(random.randint(0, box.channel.bound) if box.events else 0):
            event = random.choice(box.events)
            arguments = tuple(some_value(universe, p.type, random) for p in event.parameters)
            held = put(universe, box.channel, held, Message(event.name, arguments))
        channels.append(held)
    down = layout.down is not None and random.random() < 0.3
    return World(states, fields, waited, tuple(channels), tuple(pending), down)


def test_subsets_come_in_order() -> None:
    model = compiled(f"module x\n{SWITCH}system X {{ a: Switch }}")
    search = PackedSearch(Universe(model, only_system(model)), Limits(), PLAIN)
    functions = search.engine.functions  # type: ignore[attr-defined]
    for of in (0, 0b1, 0b1011, 0b1111111, 0b1010011010001, 1 << 61 | 0b101):
        places = [n for n in range(62) if of >> n & 1]
        for size in range(len(places) + 2):
            listed = [sum(1 << n for n in chosen) for chosen in combinations(places, size)]
            assert functions["first_subset"](of, size) == (listed[0] if listed else -1)
            for x, after in zip(listed, [*listed[1:], -1], strict=False):
                if functions["highest"](of) & x or after == -1:  # the others are told apart where they are needed
                    assert functions["next_subset"](of, x) == after


# Where it cannot -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "machine A { s: set<0..1999>  initial state S  event go from environment  S on go do add 7 to s }\n"
            "system X { a: A }",
            "a set of too many possible elements: 2000 bits, more than 1022",
        ),
        (
            "machine A { l: list<0..999>[200]  initial state S  event go from environment  S on go do l = [7] }\n"
            "system X { a: A }",
            "a list that is too long: 2008 bits, more than 1022",
        ),
        (
            "machine A { ss: set<set<A>>  initial state S  event go from environment  S on go do add {self} to ss }\n"
            "system X { as: A[2] }",
            "a set of sets or lists",
        ),
    ],
)
def test_what_does_not_fit_is_explored_by_definition(text: str, why: str) -> None:
    x = explored(f"module x\n{text}", Means(), Limits(states=20))
    assert x.note is not None
    assert x.note.startswith("explored by definition, slowly: ")
    assert x.note.endswith(why)
    assert x.states >= 1


SHARED = """module x
machine A {{
    others: set<A>
    other: A?
    n: 0..3
    let first = some x in others: x in S
    let l0 = first and (other.n < 2 or n == 0)
    let f0(k: 0..3) = k + n < 4
{lets}
    initial state S
    state T
    event go, back, take(x: A?), add(x: A) from environment
    S -> T on go when l{last} do n = (if n < 3 then n + 1 else 0)
    T -> S on back when f6(n)
    S on take(x) do other = x
    S on add(x) do add x to others
    ignore go, take, add in T
    ignore back in S
}}
system X {{
    a: A[2]
    environment {{ some x in a: x.go  some x in a: x.back  some x in a, y in a: x.take(y)  a0.add(a1) }}
    invariant i: a0.l{last} or not a1.f6(2)
}}
"""


def shared(levels: int) -> m.Model:
    """A `let` that uses the one before twice, and so on; some have no value, some have parameters."""
    lets = [f"    let l{n} = (l{n - 1} or n == 1) and l{n - 1}" for n in range(1, levels + 1)]
    lets += [f"    let f{n}(k: 0..3) = f{n - 1}(k) == (f{n - 1}(0) or f{n - 1}(k))" for n in range(1, 7)]
    return compiled(SHARED.format(lets="\n".join(lets), last=levels))


def test_lets_that_use_others_twice_are_explored_as_defined() -> None:
    model = shared(6)
    assert compare(model, only_system(model), 150, compiled=True) == ("the same", [])


def test_lets_that_use_others_twice_cost_a_function_each() -> None:
    """2 ** 40 if each were written out, or computed wherever it is used."""
    model = shared(40)
    x = explore(model, only_system(model), Limits(100), means=PLAIN)
    assert x.note is None
    assert x.states == explore(shared(6), only_system(shared(6)), Limits(100), means=PLAIN).states
    lowered = lower(Universe(model, only_system(model)), ())
    assert len([f for f in lowered.functions if f.name.startswith("let_")]) < 2 * 40


def nested(levels: int) -> m.Model:
    """So many quantifiers in one another, and so many `for`; the innermost may have no value, or go beyond a range."""
    names = [f"x{n}" for n in range(levels)]
    quantified = " ".join(f"{('all', 'some')[n % 2]} {x} in s:" for n, x in enumerate(names))
    loops = " ".join(f"for {x} in s {{" for x in names)
    same = " and ".join(f"{x} == x0" for x in names)
    return compiled(f"""module x
machine A {{
    s: set<0..2>
    n: 0..2
    other: A?
    initial state S
    event go, in_all, get from environment
    event put(k: 0..2) from environment
    S on put(k) do add k to s
    S on get do other = self
    S on in_all when {quantified} {same} and (n < 1 or other.n == 2) do n = (if n < 2 then n + 1 else 0)
    S on go do {{ {loops} if {same} {{ n = n + 1 }} {"}" * levels} }}
}}
system X {{
    a: A
    environment {{ a.go a.in_all a.get some k in {{1, 2}}: a.put(k) }}
}}
""")


@pytest.mark.full(reason="size")
def test_twenty_loops_in_one_another_are_explored_as_defined() -> None:
    """Python has room for 20 blocks, some of which the lowering needs itself."""
    model = nested(22)
    assert explore(model, only_system(model), Limits(100), means=PLAIN).note is None
    model = nested(9)
    assert compare(model, only_system(model), 40, compiled=True) == ("the same", [])


@pytest.mark.full(reason="size")
def test_ten_thousand_choices_are_explored_as_defined() -> None:
    """An environment without limits, with more combinations of arguments than 4,096."""
    model = compiled("""module x
machine M {
    n: 0..99
    initial state S
    event e(a: 0..99, b: 0..99) from environment
    S on e(a, b) when a + 1 == b and a == n do n = b
}
system X { m: M  reachable r: m.n == 99 }
""")
    assert compare(model, only_system(model), 5) == ("the same", [])
    x = explore(model, only_system(model), means=PLAIN)
    assert (x.stopped, x.states, x.transitions) == (None, 100, 99)


def test_conditions_inside_one_another_are_no_matter() -> None:
    condition = "(some x in others: x in S)"
    for n in range(12):
        condition = f"(({condition} or n == {n}) and not (n == {n + 1}))"
    text = f"""module x
machine A {{
    others: set<A>
    n: 0..20
    initial state S
    event go from environment
    S on go when not {condition} do n = n + 1
}}
system X {{ a: A }}
"""
    model = compiled(text)
    assert compare(model, only_system(model)) == ("the same", [])
