"""The packed explorer finds what the definition of the language says, number for number."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import threading
from array import array
from collections.abc import Callable, Iterator
from itertools import combinations, cycle
from math import inf
from pathlib import Path
from random import Random
from time import monotonic, sleep

import campaign
import pytest
from campaign import by_definition, compare, differences, found, narrow, own_cache, packed, systems
from hived_lite import hived_lite
from random_specs import spec
from random_systems import text_of
from stepping import compiled, only_system
from test_faithful_hived import REFERENCE, TEXT, sized, without_way_back
from test_faithful_hived import model as hived_model
from test_random_specs import some_value

from fsmdsl import model as m
from fsmdsl.budget import available
from fsmdsl.explore import Exploration, Limits, Means, Progress, explore
from fsmdsl.explore.packed import layout as layouts
from fsmdsl.explore.packed import machine_code, native
from fsmdsl.explore.packed import search as packed_search
from fsmdsl.explore.packed.compiled import Compiled
from fsmdsl.explore.packed.layout import Layout, lay_out
from fsmdsl.explore.packed.lower import lower
from fsmdsl.explore.packed.machine_code import MachineCode
from fsmdsl.explore.packed.memory import Memory
from fsmdsl.explore.packed.plain import Plain
from fsmdsl.explore.packed.plain import row as plain_row
from fsmdsl.explore.packed.search import PackedSearch
from fsmdsl.explore.packed.shapes import UnpackableError
from fsmdsl.explore.program import cache as objects_cache
from fsmdsl.explore.program import native as program_native
from fsmdsl.step import Universe, World
from fsmdsl.step.cascade import put
from fsmdsl.step.world import Message, Pending

PLAIN = Means(compiled=False, symmetry=False)
COMPILED = Means(compiled=True, workers=1, symmetry=False)
HASTY = Means(compiled="hastily", workers=1, once=True, symmetry=False)

needs_compiler = pytest.mark.skipif(program_native.missing() is not None, reason="needs the extra `fast`")


@pytest.fixture(scope="module", autouse=True)
def cache() -> Iterator[None]:
    with own_cache():
        yield


# Random systems ------------------------------------------------------------------------------------------------------
# `python tests/campaign.py packed --seeds 0:5000` is the same at length.


@pytest.mark.parametrize("seed", range(35))
def test_random_systems_are_explored_as_defined(seed: int) -> None:
    for model, system in systems(text_of(seed)):
        assert compare(model, system, 150, random=Random(seed)) == ("the same", [])


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_random_specs_are_explored_as_defined(seed: int) -> None:
    for model, system in systems(spec(seed)):
        assert compare(model, system, 100, random=Random(seed)) == ("the same", [])


@pytest.mark.parametrize("seed", range(35, 60))
def test_masks_of_several_words_say_what_one_word_says(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 62 instances: here, more than one, with two in each word."""
    monkeypatch.setattr(layouts, "ONE_WORD", 1)
    monkeypatch.setattr(layouts, "PER_WORD", 2)
    for model, system in [*systems(text_of(seed)), *systems(spec(1000 + seed))]:
        assert compare(model, system, 100, random=Random(seed), compiled=seed % 12 == 0) == ("the same", [])


@pytest.mark.parametrize("seed", range(14))
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


def test_seventy_instances_are_explored_as_defined() -> None:
    """Rounds, sends and quantifiers over more instances than a word has bits."""
    model, system = next(systems(MANY))
    assert compare(model, system, 400, random=Random(1), compiled=True) == ("the same", [])


@needs_compiler
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
@pytest.mark.parametrize(("size", "states", "transitions", "depth"), PEERS)
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


def explored(text: str, means: Means, limits: Limits | None = None) -> Exploration:
    model = compiled(text)
    return explore(model, only_system(model), limits, means=means)


# What once went wrong ------------------------------------------------------------------------------------------------

SWITCH = "machine Switch { initial state Off  state On  event flip from environment  Off -> On, On -> Off on flip }\n"

CASES = {
    "an event ignored twice": """
machine A {
    initial state P
    state Q
    event go from environment
    event never from B
    P -> Q, Q -> P on go
    ignore never in P
    ignore never in *
    P on never when false
}
machine B { a: A?  initial state S  event poke(x: A) from environment  S on poke(x) do x.never }
system X { a: A  bs: B[2] }
""",
    "a crash goes through instances in their order, not machine by machine": """
machine A { n: 0..3  initial volatile state P  event go from environment  P on go do n = 1  P -> P on crash do n = 2 }
machine B {
    param a: A
    durable m: 0..3
    initial volatile state P
    event go from environment
    P on go do m = 1
    P -> P on crash when m < 2 do m = a.n
}
system X {
    b: B { a = a }
    a: A
    c: B { a = a }
    environment { b.go  c.go  a.go  crash  crash between writes }
}
""",
    "an argument out of range, offered only where a guard lets it through": """
machine A {
    n: 0..5
    initial state S
    event set(x: 0..2), many(s: set<0..2>) from environment
    S on set(x) when x < 4 do n = x
    S on many(s) when size(s) < 2 do n = size(s)
}
system X { a: A  environment { some k in {1, 3, 5}: a.set(k)  some k in {0, 7}: a.many({k, k + 1})  a.many({9}) } }
""",
    "a condition of the environment without a value, behind a step that fails": """
machine A {
    other: A?
    n: 0..2
    initial state S
    event up, meet(x: A) from environment
    S on up do n = n + 1
    S on meet(x) do other = x
}
system X {
    as: A[2]
    environment { some a in as: a.up  some a in as: a.meet(a)  some a in as: a.up when a.other.n > 0 }
}
""",
    "an argument is looked at after whether the receiver is free": """
machine A {
    n: 0..2
    initial state S
    event go from environment
    event back(x: 0..2) from B
    param b: B
    S on go do b.hit(n)
    S on back(x) do n = x
    event up from environment
    S on up do n = n + 1
}
machine B {
    param a: A
    initial state S
    event hit(x: 0..3) from A
    S on hit(x) do a.back(x + 2)
    event poke from environment
    S on poke do a.back(3)
}
system X { a: A { b = b }  b: B { a = a } }
""",
    "a derived value is asked about numbers that it does not expect": """
let twice(n: 0..2) = n + n
let among(n: 0..2, s: set<0..2>) = n in s
machine A {
    n: 0..9
    s: set<0..9>
    initial state S
    event up from environment
    S on up when twice(n) < 15 do { n = n + 1  s = s + {n} }
    S -> T on up when not among(n, {n}) or among(n + 1, s)
    state T
    priority T > up
}
system X { a: A  reachable five: twice(a.n) == 10  invariant small: twice(a.n) in {0, 2, 4, 6, 8, 10} }
""",
    "a set of more than its place allows": """
machine A {
    n: 0..2
    s: set<0..2>
    l: list<0..2>[2]
    initial state S
    event up, put, list_, clear from environment
    S on up do n = n + 1
    S on put do s = {n, n + 1}
    S on list_ do l = [n, n - 1, n]
    S on clear do { s = s - {n + 2}  l = rest(l)  n = 0 }
}
system X { a: A }
""",
    "priorities that contradict one another": """
machine A {
    n: 0..3
    initial state S
    event go, up from environment
    a: S on go when n != 1 do n = 0
    b: S on go when n != 2 do n = 1
    c: S on go when n != 3 do n = 2
    S on up when n < 3 do n = n + 1
    priority a > b
    priority b > c
    priority c > a
}
system X { a: A }
""",
    "messages in a bag are sorted by what their sets hold": """
channel box: bag[3] to A
machine A {
    seen: list<set<0..2>>[1]
    last: 0..3
    initial state S
    event note(s: set<0..2>, l: list<0..1>[2], o: set<0..1>?) from box
    S on note(s, l, o) do last = size(s) + size(l)
    event send_ from environment
    S on send_ when size(box) < 3 do {
        send box.note({0, 2}, [1], none)
        send box.note({1}, [0, 1], {0})
        send box.note({0, 1}, [], {1})
    }
}
system X { a: A }
""",
    "values with gaps to choose among": """
machine A {
    n: -1..1?
    s: set<-1..1?>
    l: list<A?>[2]
    initial state S
    event set(x: -1..1?, l: list<A?>[1]), many(s: set<-1..1?>) from environment
    S on set(x, given) do { n = x  l = given + [] }
    S on many(given) when n in given do s = given - s
}
system X { b: Switch  as: A[2]  c: Switch }
""".replace("given + []", "given")
    + SWITCH,
    "few numbers out of many": """
machine A {
    n: 0..1000
    waits: duration = 5s
    initial state S
    event set(x: 0..1000), odd from environment
    S on set(x) when x not in {100, 300} do n = x
    S on odd when waits in {5s, 10s} or n in [250, 251] do { waits = 10s  for k in {7, 900} { n = k } }
}
system X { a: A  environment { some k in {0, 100, 250}: a.set(k)  a.odd }  reachable r: some k in {900, 5}: a.n == k }
""",
    "`wait` in an invariant": """
machine A { initial state S  event go from environment  S on go  invariant waits: wait }
system X { a: A }
""",
    "a round that comes back to where it was, but for who has waited": """
machine A {
    initial state S
    state T
    param b: B
    event go from environment
    S -> T on go do b.nudge
    T -> S when wait
}
machine B { n: 0..1  initial state S  event nudge from A  S on nudge  S -> S when wait do n = n }
system X { as: A[2] { b = b }  b: B }
""",
    "a crash that a fair label waits for": """
machine A {
    n: 0..2
    initial volatile state S
    persistent state T
    event go, on_ from environment
    S on go do n = 1
    T -> S on on_
    down: S -> T on crash
}
system X {
    as: A[2]
    environment { some a in as: a.go  some a in as: a.on_  crash  crash between writes }
    property falls: all a in as: a in S ~> a in T under strong fair down
    property goes: always eventually as[0].n == 1 under fair go and strong fair on_
}
""",
    "crashes between writes, in the order of the environment": """
machine A {
    durable n: 0..2
    durable m: 0..2
    initial state S
    event go from environment
    async action work -> ok | err
    S on go when n < 2 do { n = n + 1  m = n  work }
    S on work.ok do m = 0
    S on work.err do { n = 0  m = 0 }
}
system X {
    as: A[2]
    environment {
        crash between writes when as[0].n > 0
        some a in as: a.go
        crash when as[1].m > 0
        some a in as, k in [1, 1, 2]: a.go
        crash between writes
        crash
        crash during recovery
        crash during recovery when as[0].n == as[0].m
    }
    recover { for a in as { a.m = a.n  a.n = 0 } }
    property comes_back: recovers on n
}
""",
    "what can have one value only": """
machine A {
    param only: C
    one: 3..3
    all_: set<C>
    listed: list<C>[3]
    kind: Kind
    initial state S
    event go(x: C) from environment
    S on go(x) when x == only do { x.hit(one, self)  one = only.two + 1  add x to all_  send box.told(x, only_one) }
    event told(x: C, k: Kind) from box
    S on told(x, k) when k == kind and x.two == 2 do { if size(listed) < 3 { add x to listed } }
}
machine B { initial state S }
machine C {
    two: 2..2
    initial state S
    event hit(x: 3..3, a: A) from A
    S on hit(x, a) when a.only == self do two = x - 1
}
enum Kind { only_one }
channel box: fifo[1] to A
system X { b: B  a: A { only = c }  c: C }
""",
    "a list of sets": """
machine A {
    held: list<set<0..2>>[2]
    maybe: set<A>?
    initial state S
    event put(n: 0..2), turn from environment
    S on put(n) when {n} not in held do { add {n, 1} to held  maybe = {self} }
    S on turn when size(held) > 0 do { held = rest(held) maybe = none  remove {0, 1} from held }
}
system X { as: A[2] }
""",
    "subsets are taken from the first element on": """
machine A {
    held: list<B>[2]
    initial state S
    event take(s: set<B>) from environment
    S on take(s) do { held = []  for b in s { if size(held) < 2 { add b to held } } }
}
machine B { initial state S }
system X { a: A  bs: B[4]  environment { some s in subsets(bs, 2): a.take(s)  some s in subsets(bs, 3): a.take(s) } }
""",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_what_once_went_wrong(text: str) -> None:
    model = compiled(f"module x\n{text}")
    assert compare(model, only_system(model)) == ("the same", [])


def test_which_instance_it_was_makes_no_difference_to_a_fault() -> None:
    text = """module x
machine A { initial state S  event go(b: B) from environment  S on go(b) do b.hit }
machine B {
    initial state reaches
    state c
    event hit from A
    event flip from environment
    reaches -> c on flip
    c on hit
}
system X { s: A  c: B  r: B  reach: B }
"""
    assert len(explored(text, PLAIN).violations) == 1


# Layout --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
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


# Machine code --------------------------------------------------------------------------------------------------------


def found_by(means: Means, *, late: int | None = None, size: tuple[int, int, int] = (3, 4, 2)) -> PackedSearch:
    model = compiled(hived_lite(*size, progress=True))
    return packed(model, only_system(model), Limits(), means, late)


@needs_compiler
@pytest.mark.parametrize(
    ("workers", "cap", "bits"), [(1, 1, 3), (2, 1, 3), (3, 7, 4), (1, 64, 6), (3, 64, 6), (2, 1 << 15, 17)]
)
def test_tables_and_buffers_grow(workers: int, cap: int, bits: int) -> None:
    wanted = found(found_by(PLAIN))
    with narrow(cap, bits):
        search = found_by(Means(compiled=True, workers=workers, symmetry=False))
        assert differences(wanted, found(search)) == []
    engine = search.engine
    assert isinstance(engine, Compiled)
    assert [engine.find(engine.state(n)) for n in range(search.states)] == list(range(search.states))
    assert engine.find((0x123456789,) * search.lowered.layout.words) is None


@needs_compiler
@pytest.mark.parametrize("late", [1, 64, 300, 811])
def test_machine_code_takes_over_wherever_it_is_ready(late: int) -> None:
    wanted = found(found_by(PLAIN))
    with narrow(64, 6):
        search = found_by(Means(compiled=False, workers=2, symmetry=False), late=late)
        assert differences(wanted, found(search)) == []
    assert isinstance(search.engine, Compiled)


@needs_compiler
@pytest.mark.parametrize(("workers", "states"), [(1, 1), (2, 2), (3, 17), (1, 400), (2, 811), (3, 812)])
def test_a_limit_stops_at_the_same_place(workers: int, states: int) -> None:
    model = compiled(hived_lite(3, 4, 2, progress=True))
    system, limits = only_system(model), Limits(states)
    wanted = found(by_definition(model, system, limits))
    assert wanted["states"] == states
    assert (wanted["stopped"] is None) is (states == 812)
    for how in (False, True, "hastily"):
        means = Means(compiled=how, workers=workers, symmetry=False)
        assert differences(wanted, found(packed(model, system, limits, means))) == []


@needs_compiler
@pytest.mark.parametrize("once", [True, False])
def test_what_outgrows_python_is_compiled_in_a_hurry(
    once: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At once where it was before; and nothing is kept of what is looked at only once."""
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(machine_code, "LOADING", 0)
    monkeypatch.setattr(machine_code, "IN_A_HURRY", (0, 0))
    monkeypatch.setattr(machine_code, "IN_USE", (inf, inf))
    native._of_everyone.cache_clear()
    wanted = found(found_by(PLAIN))
    search = found_by(Means(workers=1, once=once, symmetry=False))
    assert isinstance(search.engine, Compiled)
    assert differences(wanted, found(search)) == []
    assert isinstance(search.engines, MachineCode)
    assert search.engines.compilation is None
    assert {x.name[64:] for x in tmp_path.iterdir()} == (set() if once else {".hasty.obj"})
    monkeypatch.setattr(machine_code, "IN_A_HURRY", (inf, inf))
    search = found_by(Means(workers=1, symmetry=False))
    assert isinstance(search.engine, Plain if once else Compiled)


def test_an_engine_that_gives_way_for_nothing_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A better engine may be in sight and, a moment later, be out of reach: compiled too late for a limit of time."""
    answers = cycle([True, False])
    monkeypatch.setattr(MachineCode, "better", lambda self, engine: next(answers))
    search = found_by(PLAIN)
    assert search.stopped is None
    assert isinstance(search.engine, Plain)


@needs_compiler
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_compiled_well_takes_over(workers: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And stays in the cache in the place of what was compiled in a hurry."""
    done = native.Compilation.done
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(machine_code, "LOADING", 0)
    monkeypatch.setattr(machine_code, "IN_A_HURRY", (0, 0))
    monkeypatch.setattr(machine_code, "IN_USE", (0, 0))
    monkeypatch.setattr(native.Compilation, "done", lambda self: done(self, wait=True))
    native._of_everyone.cache_clear()
    wanted = found(found_by(PLAIN))
    with narrow(64, 6):
        search = found_by(Means(workers=workers, symmetry=False))
    assert isinstance(search.engines, MachineCode)
    assert search.engines.well
    assert differences(wanted, found(search)) == []
    assert [x.name[64:] for x in tmp_path.iterdir()] == [".obj", ".obj"]


def test_memory_is_zero_and_is_given_back() -> None:
    for kind, largest in (("q", (1 << 63) - 1), ("I", (1 << 32) - 1)):
        memory = Memory(1000, kind)  # type: ignore[arg-type]
        assert len(memory.numbers) == 1000
        assert set(memory.numbers) == {0}
        memory.numbers[999] = largest
        memory.numbers[:2] = memoryview(array(kind, [1, 2]))
        assert (memory.numbers[0], memory.numbers[1], memory.numbers[999]) == (1, 2, largest)
        memory.fill(0)
        assert set(memory.numbers) == {0}
        memory.close()
    assert len(Memory(0).numbers) == 1
    assert available() > 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says of memory")
def test_reserved_memory_does_not_count_as_used() -> None:
    """Else a process that has reserved much cannot fork."""
    memory = Memory(1 << 24)
    regions = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.MULTILINE)
    found = [
        x for x in regions if x and int(x.split("-")[0], 16) <= memory.address < int(x.split("-")[1].split()[0], 16)
    ]
    assert [re.search(r"^VmFlags:.* nr\b", x, re.MULTILINE) is not None for x in found] == [True]
    memory.close()


@needs_compiler
@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_leaves_neither_memory_nor_threads_behind(workers: int) -> None:
    model, means = compiled(hived_lite(3, 4, 2, progress=True)), Means(compiled="hastily", workers=workers)
    gc.collect()
    before = threading.active_count(), sum(isinstance(x, Memory) for x in gc.get_objects())
    for _ in range(3):
        assert explore(model, only_system(model), means=means).complete
    gc.collect()
    deadline = monotonic() + 20
    while threading.active_count() > before[0] and monotonic() < deadline:
        sleep(0.01)
    assert (threading.active_count(), sum(isinstance(x, Memory) for x in gc.get_objects())) == before


# Where it cannot -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "machine A { s: set<0..99>  initial state S  event go from environment  S on go do add 7 to s }\n"
            "system X { a: A }",
            "a set of too many possible elements: 100 bits, more than 62",
        ),
        (
            "machine A { l: list<0..999>[9]  initial state S  event go from environment  S on go do l = [7] }\n"
            "system X { a: A }",
            "a list that is too long: 94 bits, more than 62",
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


def test_twenty_loops_in_one_another_are_explored_as_defined() -> None:
    """Python has room for 20 blocks, some of which the lowering needs itself."""
    model = nested(22)
    assert explore(model, only_system(model), Limits(100), means=PLAIN).note is None
    model = nested(9)
    assert compare(model, only_system(model), 40, compiled=True) == ("the same", [])


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


# Where compiling goes wrong ------------------------------------------------------------------------------------------

SMALL = hived_lite(2, 3, 2)


def compiled_anyway() -> PackedSearch:
    """A search that would rather be compiled, which finds what it should."""
    model = compiled(SMALL)
    search = packed(model, only_system(model), Limits(), COMPILED)
    assert (search.states, search.transitions, search.stopped) == (37, 115, None)
    return search


def test_without_the_extra_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_native, "find_spec", lambda _: None)
    search = compiled_anyway()
    assert isinstance(search.engine, Plain)
    assert search.note == program_native.MISSING


@needs_compiler
def test_a_cache_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path / "file" / "cache"))
    search = compiled_anyway()
    assert isinstance(search.engine, Compiled)
    assert search.note is None


@needs_compiler
@pytest.mark.parametrize("damage", [lambda x: b"", lambda x: x[: len(x) // 2], lambda x: x[:-1] + b"!"])
def test_a_damaged_object_is_made_anew(
    damage: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    compiled_anyway()
    objects = sorted(tmp_path.iterdir())
    assert [x.suffix for x in objects] == [".obj", ".obj"]
    before = [x.read_bytes() for x in objects]
    for x in objects:
        x.write_bytes(damage(x.read_bytes()))
    search = compiled_anyway()
    assert isinstance(search.engine, Compiled)
    assert [len(x.read_bytes()) for x in objects] == [len(x) for x in before]
    assert all(objects_cache.read(x.name) for x in objects)


@needs_compiler
def test_the_object_of_another_system_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whole, but under a name that is not its own."""
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    right = found(compiled_anyway())
    mine = set(tmp_path.iterdir())
    large = compiled(hived_lite(3, 4, 2))
    packed(large, only_system(large), Limits(500), COMPILED)
    others = set(tmp_path.iterdir()) - mine
    assert len(mine) == 2
    assert others
    for x in mine:
        for other in others:
            x.write_bytes(other.read_bytes())
            assert differences(right, found(compiled_anyway())) == []


@needs_compiler
@pytest.mark.skipif(sys.platform == "win32", reason="needs modes")
def test_a_cache_that_others_can_write_to_is_not_used_and_a_note_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    tmp_path.chmod(0o777)
    try:
        x = explored(SMALL, COMPILED, Limits())
        assert list(tmp_path.iterdir()) == []
    finally:
        tmp_path.chmod(0o700)
    assert x.complete
    assert f"compiled code is not cached: others may write to it (mode 0777): `{tmp_path}`" in str(x.note)


@needs_compiler
@pytest.mark.parametrize(
    ("compiler", "why"),
    [("/bin/false", "the compiler ended with exit code 1"), ("/no/such/file", "No such file or directory")],
)
def test_a_compiler_that_dies(compiler: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(program_native.sys, "executable", compiler)
    search = compiled_anyway()
    assert isinstance(search.engine, Plain)
    assert search.note is not None
    assert search.note.startswith("compiling failed: ")
    assert why in search.note
    assert [x for x in tmp_path.iterdir() if x.suffix == ".obj"] == []


@needs_compiler
def test_code_that_cannot_be_made_in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(lowered: object, *, kept: bool) -> dict[str, native.Function]:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(machine_code, "hastily", broken)
    search = packed(compiled(SMALL), only_system(compiled(SMALL)), Limits(), HASTY)
    assert isinstance(search.engine, Plain)
    assert (search.states, search.note) == (37, "compiled code cannot be used: no such instruction")


@needs_compiler
def test_code_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(code: bytes, wanted: object) -> dict[str, native.Function]:
        raise RuntimeError("this is not for this machine")

    monkeypatch.setattr(native, "loaded", broken)
    search = compiled_anyway()
    assert isinstance(search.engine, Plain)
    assert search.note == "compiled code cannot be used: this is not for this machine"


# Enough --------------------------------------------------------------------------------------------------------------

LARGE = hived_lite(4, 6, 2)


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_search, "REPORT_EVERY", 0)


def interrupted(means: Means, how: Callable[[], None], text: str = LARGE) -> Exploration:
    def progress(p: Progress) -> None:
        if p.states > 1000:
            how()

    model = compiled(text)
    return explore(model, only_system(model), None, progress, means)


def pressed() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def raised() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("how", [pressed, raised])
@pytest.mark.parametrize("means", [PLAIN, *(pytest.param(x, marks=needs_compiler) for x in (COMPILED, HASTY))])
@pytest.mark.usefixtures("talkative")
def test_an_interruption_keeps_what_was_found(means: Means, how: Callable[[], None]) -> None:
    before = signal.getsignal(signal.SIGINT)
    x = interrupted(means, how)
    assert x.stopped == "interrupted"
    assert 1000 < x.states < 129_406
    assert {v.outcome for v in x.verdicts if v.kind == "invariant"} == {"unknown"}
    assert {v.basis for v in x.verdicts if v.kind == "invariant"} == {"bounded: interrupted"}
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interruption_in_the_middle_of_a_state() -> None:
    model = compiled(hived_lite(3, 4, 2, progress=True))
    whole = packed(model, only_system(model), Limits(), PLAIN)
    search = PackedSearch(Universe(model, only_system(model)), Limits(), PLAIN, None, whole.plan)
    assert isinstance(search.engine, Plain)
    arrive, count = search.engine._arrive, 0

    def interrupted(words: tuple[int, ...], origin: int) -> None:
        nonlocal count
        count += 1
        if count == 500:
            search.engine.number[words] = -1  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        arrive(words, origin)

    search.engine._arrive = interrupted  # type: ignore[method-assign]
    search.run()
    assert search.stopped == "interrupted"
    assert [search.world(n) for n in range(search.states)] == [whole.world(n) for n in range(search.states)]
    assert [search.number(search.world(n)) for n in range(search.states)] == list(range(search.states))
    graph = search.graph()
    assert graph.expanded is not None
    assert list(graph.offsets[: graph.expanded + 1]) == list(whole.graph().offsets[: graph.expanded + 1])  # type: ignore[index]


@pytest.mark.parametrize("means", [PLAIN, *(pytest.param(x, marks=needs_compiler) for x in (COMPILED, HASTY))])
def test_memory_that_is_used_up_stops_the_search(means: Means) -> None:
    x = explored(LARGE, means, Limits(memory=4_000_000))
    assert x.stopped is not None
    assert x.stopped.startswith("stopped at 0.0 GiB of memory, ")
    assert 1000 < x.states < 129_406
    assert all(v.outcome != "holds" for v in x.verdicts if v.kind == "invariant")


@needs_compiler
def test_time_that_is_used_up_stops_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 86400\n")
    sleeper.chmod(0o700)
    monkeypatch.setattr(program_native.sys, "executable", str(sleeper))
    x = explored(SMALL, COMPILED, Limits(seconds=0.2))
    assert x.stopped == "stopped after 0.2 seconds", "and not at the end of the day, as the compiler would"


def test_a_state_with_more_steps_than_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsmdsl.explore.packed.plain.CAP", 2)
    wanted = found(by_definition(compiled(SMALL), only_system(compiled(SMALL)), Limits()))
    assert differences(wanted, found(packed(compiled(SMALL), only_system(compiled(SMALL)), Limits(), PLAIN))) == []


def test_more_answers_than_there_is_room_for() -> None:
    """An answer that leads to two more questions: there is no end of them."""
    text = """module x
machine A {
    initial state S
    state T
    event go from environment
    action ask -> yes
    S -> T on go do ask
    T -> T on ask.yes do ask
    on exit(T) do ask
}
system X { a: A }
"""
    with pytest.raises(UnpackableError, match="more answers awaited"):
        packed(compiled(text), only_system(compiled(text)), Limits(), PLAIN)
    x = explored(text, Means(), Limits(states=10))
    assert x.note is not None
    assert (x.states, x.stopped) == (10, "stopped at 10 states")
