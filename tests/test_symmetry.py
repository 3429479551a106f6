"""Symmetry: fewer states and the same verdicts, or none fewer and why."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from math import inf
from operator import and_, or_
from pathlib import Path

import pytest
from hived_lite import hived_lite
from orbits import orbits
from random_crowds import alike, crowd
from stepping import compiled, only_system
from tiers import enough, today

from fsmdsl import model as m
from fsmdsl.model.resolve import resolve
from fsmdsl.program.native import missing
from fsmdsl.runs.disagreement import DisagreementError
from fsmdsl.runs.liveness.explanation import _Reader as Reader
from fsmdsl.runs.liveness.grounding import questions
from fsmdsl.runs.liveness.plan import Plan
from fsmdsl.runs.liveness.record import Marks
from fsmdsl.runs.search_result import Searched
from fsmdsl.runs.verdicts.judge import coverage, judge
from fsmdsl.search import Exploration, Limits, Means, Trace, compose, cross_check, explore
from fsmdsl.search import layout as layouts
from fsmdsl.search.lower.symmetry import orders
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.shapes import UnpackableError
from fsmdsl.search.symmetry import reducible
from fsmdsl.step import FaultError, Universe, World, enabled, fire
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

PLAIN = Means(compiled=False)
APART = Means(compiled=False, symmetry=False)
STATES = 1500
"""Random systems with more are left out."""


def explored(text: str, means: Means = PLAIN) -> Exploration:
    model = compiled(text)
    return explore(model, only_system(model), means=means)


# Numbers known from elsewhere ----------------------------------------------------------------------------------------

QUOTIENTS = [
    ((2, 3, 2), 14, 46),
    ((3, 4, 2), 109, 670),
    ((3, 5, 2), 119, 938),
    ((4, 5, 2), 611, 6_014),
    ((3, 6, 3), 120, 1_368),
    ((4, 6, 3), 560, 8_198),
    ((4, 6, 2), 879, 10_080),
    ((5, 6, 2), 5_132, 69_640),
    ((5, 7, 2), 6_296, 101_228),
]


@pytest.mark.parametrize(("size", "states", "transitions"), QUOTIENTS)
def test_hived_has_the_known_numbers_up_to_symmetry(size: tuple[int, int, int], states: int, transitions: int) -> None:
    """In plain Python, and the larger ones in machine code, where that can be had."""
    x = explored(hived_lite(*size, symmetric=True), Means() if states > 1000 else PLAIN)
    assert (x.states, x.transitions, x.reduced) == (states, transitions, ("cells",))
    assert {v.outcome for v in x.verdicts} == {"holds"}
    assert {v.basis for v in x.verdicts if v.kind == "invariant"} == {
        f"exhaustive: {states} states up to symmetry of cells"
    }


def test_who_wants_them_told_apart_has_them_told_apart() -> None:
    x = explored(hived_lite(3, 4, 2, symmetric=True), APART)
    assert (x.states, x.transitions, x.reduced, x.note) == (812, 4572, (), None)


# The same verdicts ---------------------------------------------------------------------------------------------------


def model_of(text: str) -> m.Model | None:
    """The model of a random text; None where a parameter has got no value."""
    parsed = parse(Source("random.fsm", text))
    resolved = resolve([parsed.module])
    return None if parsed.diagnostics or resolved.diagnostics else resolved.model


def facts(search: Searched) -> tuple[object, ...]:
    """What a reduction must not change; in which order faults are told does not matter."""
    verdicts = Counter(
        (
            *(v.kind, v.name, v.outcome, str(v.span), v.untested),
            None if v.trace is None or v.kind == "property" else len(v.trace.entries),
        )
        for v in judge(search)
    )
    # Where the environment itself has no value, which guards were looked at before is nobody's business.
    unasked = any(f.step is None for f in search.faults.values())
    return verdicts, search.depth, None if unasked else coverage(search)


def replayed(universe: Universe, trace: Trace) -> None:
    """A trace is a run by definition, whatever was exchanged in finding it."""
    world = trace.start
    for entry in trace.entries:
        assert entry.step in enabled(universe, world)
        result = fire(universe, world, entry.step)
        assert (result.world, result.fault) == (entry.world, entry.fault)
        world = result.world


def breaks(plan: Plan, name: str, trace: Trace) -> None:
    """A run that breaks a property: by the formula read along it, and by what is promised."""
    q = next(q for q in plan.questions if q.property.name == name)
    assert not isinstance(q.property.formula, m.Recovers)
    assert Reader(plan.universe, trace, {}, {}).values(q.property.formula, {})[0] is False
    if trace.loop is None or trace.loop == len(trace.entries):
        return
    loop, marks = trace.entries[trace.loop :], Marks(plan)
    worlds = [trace.start, *(e.world for e in trace.entries)]
    assert worlds[trace.loop] == trace.end
    befores = worlds[trace.loop :]
    done = reduce(or_, (marks.of(w, e.step, e.cascade) for w, e in zip(befores, loop, strict=False)))
    possible = [possible_in(plan, marks, e.world) for e in loop]
    assert q.weak & ~done & reduce(and_, possible) == 0
    assert q.strong & ~done & reduce(or_, possible) == 0


def possible_in(plan: Plan, marks: Marks, world: World) -> int:
    """The obligations that some step fulfils."""
    results = [(step, fire(plan.universe, world, step)) for step in enabled(plan.universe, world)]
    found = reduce(or_, (marks.of(world, step, x.cascade) for step, x in results if x.fault is None), 0)
    return found | (found >> 1 & plan.deliveries)


def compare(model: m.Model, how: Means = PLAIN) -> str:
    """Explore a system with and without reduction, and compare; how it went, in a word."""
    system = only_system(model)
    plan = questions(Universe(model, system)) if system.properties else None
    try:
        full = PackedSearch(Universe(model, system), Limits(states=STATES), APART, None, plan)
        full.run()
    except UnpackableError:
        return "unpackable"
    if full.stopped is not None:
        return "large"
    search = compose.packed(Universe(model, system), Limits(), how, None, plan)
    assert facts(search) == facts(full)
    worlds = [full.world(n) for n in range(full.states)]
    found = orbits(full.universe, worlds, search.reduced)
    assert search.states == len(found)
    assert search.levels[:1] == [1]
    steps = {world: offered(full.universe, world) for world in worlds}
    assert all(len({steps[x] for x in orbit}) == 1 for orbit in found)
    assert search.transitions == sum(steps[next(iter(orbit))] for orbit in found)
    for v in judge(search):
        if v.trace is not None:
            replayed(full.universe, v.trace)
        if v.kind == "property" and v.trace is not None and plan is not None:
            breaks(plan, v.name, v.trace)
    if not search.reduced:
        return "told apart"
    return "fewer" if search.states < full.states else "as many"


def offered(universe: Universe, world: World) -> int:
    """How many steps there are from a world."""
    try:
        return len(enabled(universe, world))
    except FaultError:
        return 0


@pytest.mark.parametrize("part", range(6))
def test_crowds_have_the_same_verdicts(part: int) -> None:
    """300 systems in all."""
    went = Counter(compare(compiled(crowd(seed))) for seed in today(range(part * 50, part * 50 + 50)))
    assert went["fewer"] >= enough(5)
    assert went["told apart"] >= enough(10)


@pytest.mark.parametrize("part", range(4))
def test_crowds_have_the_same_verdicts_about_runs(part: int) -> None:
    """200 systems in all."""
    went = Counter(compare(compiled(crowd(seed, runs=True))) for seed in today(range(part * 50, part * 50 + 50)))
    assert went["fewer"] >= enough(3)


@pytest.mark.parametrize("part", range(4))
def test_random_specs_have_the_same_verdicts(part: int) -> None:
    """200 systems in all, some of which give a parameter no value and are left out."""
    models = (model_of(alike(seed)) for seed in today(range(part * 50, part * 50 + 50)))
    went = Counter(compare(x) for x in models if x is not None)
    assert went["fewer"] >= enough(5)


@pytest.mark.full(reason="compiled searches")
@pytest.mark.parametrize("seed", [4, 5, 55, 90, 111, 147, 162, 172])
def test_machine_code_finds_the_same(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets that are sorted and sets that are arranged, bags, crashes (of some, too), recovery, loops in every order."""
    if missing() is not None:
        pytest.skip("there is no compiler here")
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path))
    assert compare(compiled(crowd(seed)), Means(compiled=True, workers=2)) == "fewer"


def test_orders_of_members_may_follow_more_than_the_definition_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """All states are compared. A loop in another order follows other rows, as a world with members exchanged does."""
    monkeypatch.setattr(cross_check, "SHARE", inf)
    assert explored(hived_lite(4, 5, 2, symmetric=True)).states == 611


def test_what_is_not_looked_at_would_be_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The random systems do tell orders apart: with every loop taken for harmless, they differ."""
    monkeypatch.setattr(orders, "independent", lambda *_: True)
    wrong = 0
    for seed in today(range(40)):
        try:
            compare(compiled(crowd(seed)))
        except (AssertionError, DisagreementError):
            wrong += 1
    assert wrong >= enough(4)


# Told apart ----------------------------------------------------------------------------------------------------------

CROWD = """
channel box: fifo[2] to Hub
machine Item {
    param weight: 0..9
    n: 0..2
    owner: Boss?
    %(item)s
    initial state A
    state B
    event poke(by: Boss) from Boss
    event go from environment
    A -> B on poke(by) do owner = by
    B -> B on poke(by)
    A -> A on go when n < 1 do n = n + 1
}
machine Boss {
    items: set<Item>
    last: Item?
    queue: list<Item>[5]
    n: 0..3
    initial state Idle
    state Busy
    event tick from environment
    Idle -> Busy on tick do { %(boss)s }
    Busy -> Idle on tick
}
machine Hub {
    last: Item?
    initial state On
    event note(who: Item) from box
    On on note(who) do last = who
}
system Crowd {
    items: Item[%(count)s] symmetric %(begin)s
    boss: Boss { items = items, %(held)s }
    hub: Hub
    %(system)s
}
"""
DEFAULTS = {"item": "", "boss": "n = 1", "count": "3", "begin": "{ weight = 2 }", "held": "n = 0", "system": ""}


CRASH = "environment { some i in items: i.go  boss.tick  crash } recover { boss.n = 0 }"
LOST = "volatile state C volatile state D A -> C, B -> D on go when n == 1"
PEER = "peer: Item? A -> A on crash do { if peer != none { n = peer.n } }"
SHIFT = "let ahead = if owner == none or owner.last == none then 0 else owner.last.n A -> A on crash do n = ahead"


ASKING = """
    action ask -> ok
    state C
    A -> C on go when n == 1
    C -> B on poke(by) do ask
    B on ask.ok
    B -> A when true
"""
ONE_ASKS = """environment {
    some i in items: i.go when all j in items: not (j in C)
    boss.tick when boss in Busy or ((some i in items: i in C) and (some i in items: i in A))
}"""
"""Of those who are poked one awaits an answer, and the other goes on: no two could."""


def crowded(**parts: str) -> str:
    return CROWD % {**DEFAULTS, **parts}


REFUSED = [
    ({"system": "invariant i1 in A or i1 in B"}, "`i1` is referred to individually (test.fsm:37:15)"),
    ({"system": "let one = items[2] in B reachable one"}, "`items[2]` is referred to individually (test.fsm:37:15)"),
    ({"system": "environment { i0.go boss.tick }"}, "`i0` is referred to individually (test.fsm:37:19)"),
    ({"system": "environment { boss.tick crash } recover { i0.n = 0 }"}, "`i0` is referred to individually"),
    ({"begin": "{ weight = index }"}, "i0 and i1 begin with different `weight`"),
    ({"begin": "{ weight = 1, n = min(index, 1) }"}, "i0 and i1 begin with different `n`"),
    ({"held": "last = i2"}, "`last` of boss tells i1 from i2 in the beginning"),
    ({"item": PEER, "system": CRASH}, "in a crash, `peer.n` may read what another member has just changed"),
    ({"item": SHIFT, "system": CRASH}, "in a crash, `ahead` may read what another member has just changed"),
    ({"boss": "for p in subsets(items, 2) { n = size(p) }"}, "a loop visits subsets of them one after the other"),
    (
        {"system": "property soon: all i in items: i in A ~> i in B"},
        "`soon` follows the members one by one through a run",
    ),
    ({"system": "property soon: boss in Idle ~> boss in Busy under fair go"}, "`soon` assumes fairness of each member"),
    (
        {"system": "property soon: boss in Idle ~> some i in items: i.owner.n == 2"},
        "whether `some i in items: i.owner.n == 2` has a value depends on the order of the members",
    ),
    ({"system": f"{CRASH} property back: recovers on n"}, "`back` is about recovery"),
    (
        {"item": "peer: Item?", "count": "7"},
        "5,040 arrangements would have to be compared in every state, more than 720",
    ),
    # By what comes up in the search.
    (
        {"boss": "for i in items { last = i }"},
        "what `for i in items` comes to depends on the order of the members (test.fsm:24:31)",
    ),
    (
        {"boss": "for i in items { add i to queue }"},
        "what `for i in items` comes to depends on the order of the members",
    ),
    ({"boss": "for i in items { n = i.n + 1 }"}, "what `for i in items` comes to depends on the order of the members"),
    ({"boss": "for i in items { if size(box) < 2 { send box.note(i) } }"}, "what `for i in items` comes to depends"),
    ({"boss": "for i in items { if n == 0 { i.poke(self); n = 1 } }"}, "what `for i in items` comes to depends on"),
    ({"boss": "for i in items { for j in items - {i} { last = j } }"}, "what `for j in items - {i}` comes to depends"),
    (
        {"boss": "for i in items { n = min(n + i.n, 3) }", "count": "9"},
        "`for i in items` visits too many members to try",
    ),
    (
        {"system": "reachable rich: some i in items: i.owner.n == 2"},
        "whether `some i in items: i.owner.n == 2` has a value depends on the order of the members (test.fsm:37:21)",
    ),
    (
        {"system": "environment { some i in items: i.go when some j in items: j.owner.n == i.n }"},
        "whether `some j in items: j.owner.n == i.n` has a value depends on the order of the members",
    ),
    (
        {"item": "B -> A when wait and n == 0", "boss": "for i in items { i.poke(self) }"},
        "which member steps first without an event may make a difference",
    ),
    (
        {"item": LOST, "boss": "for i in items { if i in A { i.poke(self) } }", "system": CRASH},
        "which member is lost first in a crash makes a difference",
    ),
    (
        {"item": "A -> A on crash when owner.n == 0", "system": CRASH},
        "which member fails first in a crash may make a difference",
    ),
]


@pytest.mark.parametrize(("parts", "why"), REFUSED)
def test_members_that_are_told_apart_are_not_exchanged(parts: dict[str, str], why: str) -> None:
    text = crowded(**parts)
    x, apart = explored(text), explored(text, APART)
    assert x.note is not None
    assert x.note.startswith("not reduced by symmetry of items: ")
    assert why in x.note
    assert (x.states, x.transitions, x.verdicts, x.coverage) == (
        apart.states,
        apart.transitions,
        apart.verdicts,
        apart.coverage,
    )
    assert x.reduced == ()


REDUCED = [
    {},
    {"system": "environment { some i in items: i.go when i in A or i.owner.n == 0  boss.tick }"},
    {"system": "property soon: boss in Idle ~> some i in items: i in B under fair tick"},
    {"system": "property soon: always eventually all i in items: i.n > 0"},
    {"boss": "for i in items { i.poke(self) }"},
    {"boss": "for i in items { n = min(n + i.n, 3) }"},
    {"boss": "for i in items { remove i from items; last = none }"},
    {"boss": "for i in items { if i.n == 0 { i.poke(self) } else { n = 2 } }"},
    {"boss": "for i in items { for j in items - {i} { if i.n > j.n { n = 3 } } }"},
    {"item": "B -> A when wait and n == 1", "boss": "for i in items { if i.n == 0 { i.poke(self) } }"},
    {"item": "volatile state C A -> C on go when n == 1", "system": CRASH},
    {"item": "B -> A on crash when n == 0 do n = 2", "boss": "for i in items { i.poke(self) }", "system": CRASH},
    {"item": "peer: Item? B -> B on go do peer = self", "boss": "for i in items { i.poke(self) }"},
    {"system": f"{CRASH} invariant all i in items: i.owner == none or i.owner.n < 3"},
    {"item": ASKING, "boss": "for i in items { i.poke(self) }", "count": "2", "system": ONE_ASKS},
    {"item": "volatile state C volatile state D A -> D, B -> C on go when n == 1", "system": CRASH},
]


@pytest.mark.parametrize("parts", REDUCED)
def test_members_that_are_not_told_apart_are_exchanged(parts: dict[str, str]) -> None:
    assert compare(compiled(crowded(**parts))) == "fewer"
    x = explored(crowded(**parts))
    assert (x.note, x.reduced) == (None, ("items",))


@pytest.mark.parametrize("parts", REDUCED[:11])
def test_masks_of_several_words_tell_the_same(parts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 62 instances: here, more than one, with two in each word."""
    monkeypatch.setattr(layouts, "ONE_WORD", 1)
    monkeypatch.setattr(layouts, "PER_WORD", 2)
    assert compare(compiled(crowded(**parts))) == "fewer"
    rivals, why = next(x for x in REFUSED if "steps first" in x[1])
    note = explored(crowded(**rivals)).note
    assert note is not None
    assert why in note


READY = """
machine Item {
    n: 0..1
    initial state A
    state B
    event go from environment
    A on go
    B on go do n = 1
    A -> B when n == 0
}
system Ready { items: Item[3] symmetric  environment { some i in items: i.go } }
"""


@pytest.mark.parametrize("per_word", [2, 62])
def test_who_takes_no_part_in_a_step_is_no_rival(per_word: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At first all could go on without an event, but only who has got one does: `several` and `rivals` see to it."""
    if per_word < 62:
        monkeypatch.setattr(layouts, "ONE_WORD", 1)
    monkeypatch.setattr(layouts, "PER_WORD", per_word)
    assert compare(compiled(READY)) == "fewer"


def test_a_bag_of_sets_is_kept_in_order() -> None:
    text = """
    channel box: bag[2] to Hub
    machine Item {
        initial state A
    }
    machine Hub {
        got: set<Item>
        last: Item?
        initial state On
        event say(these: set<Item>) from environment
        event told(these: set<Item>, what: Item?) from box
        On on say(these) when size(box) < 2 do send box.told(these, last)
        On on told(these, what) do { got = these; last = none; if size(these) == 1 { for i in these { last = i } } }
    }
    system Sets {
        items: Item[3] symmetric
        hub: Hub
        environment {
            some p in subsets(items, 2): hub.say(p)
            some p in subsets(items, 1): hub.say(p) when hub.last == none
        }
    }
    """
    assert compare(compiled(text)) == "fewer"


@pytest.mark.parametrize("parameters", ["n: 0..2, what: Item", "what: Item, n: 0..2"])
def test_where_a_member_stands_in_a_message_is_seen_beside_other_arguments(parameters: str) -> None:
    given = parameters.replace(": 0..2", "").replace(": Item", "")
    text = f"""
    channel box: fifo[2] to Hub
    machine Item {{
        initial state A
    }}
    machine Hub {{
        last: Item?
        initial state On
        event say({parameters}) from environment
        event told({parameters}) from box
        On on say({given}) when size(box) < 2 do send box.told({given})
        On on told({given}) do last = what
    }}
    system Told {{
        items: Item[3] symmetric
        hub: Hub
        environment {{ some i in items: hub.say({given.replace("n", "2").replace("what", "i")}) }}
    }}
    """
    assert compare(compiled(text)) == "fewer"
    x = explored(text)
    assert (x.states, x.reduced) == (12, ("items",)), "4 ways before anyone was last, 8 behind that"


def test_what_is_visited_alone_comes_in_no_order() -> None:
    """Without a value, whoever it is: the step fails, and nothing depends on who would have been asked first."""
    text = """
    machine Item {
        next: Hub?
        initial state A
    }
    machine Hub {
        n: 0..3
        initial state On
        state Off
        event pick(what: Item) from environment
        On -> Off on pick(what) when some i in {what}: i.next.n == 0
    }
    system Alone {
        items: Item[3] symmetric
        hub: Hub
        environment { some i in items: hub.pick(i) }
    }
    """
    x = explored(text)
    assert (x.note, x.reduced) == (None, ("items",))


@pytest.mark.parametrize("before", [0, 1, 2])
def test_of_arrangements_of_many_words_one_is_chosen(before: int) -> None:
    """Wherever among them those words are that differ."""
    wide = [f"w{n}: 0..{10**11} = {n + 1}" for n in range(2)]
    fields = "  ".join([*wide[:before], "peer: Item?", *wide[before:]])
    text = f"""
    machine Item {{
        {fields}
        initial state A
        event meet(other: Item), part from environment
        A on meet(other) do peer = other
        A on part do {{ peer = none; w0 = 5 - w0; w1 = 7 - w1 }}
    }}
    system Ring {{ items: Item[3] symmetric }}
    """
    assert compare(compiled(text)) == "fewer"


def test_subsets_are_visited_in_some_order() -> None:
    """Of those that are not out: whether one has a value may depend on who is asked first."""
    text = """
    machine Hub {
        all_of_them: set<Item>
        out: set<Item>
        n: 0..1
        initial state On
        state Off
        event drop(what: Item), check from environment
        On on drop(what) when size(out) == 0 do add what to out
        On -> Off on check when size(out) == 1 and (some p in subsets(all_of_them - out, 1): some i in p: i.next.n == 0)
    }
    machine Item {
        next: Hub?
        initial state A
        event link(to: Hub) from environment
        A on link(to) do next = to
    }
    system Asked {
        hub: Hub { all_of_them = items }
        items: Item[3] symmetric
        environment { some i in items: hub.drop(i)  some i in items: i.link(hub)  hub.check when size(hub.out) == 1 }
    }
    """
    x = explored(text)
    assert x.note is not None
    assert "whether `some p in subsets(all_of_them - out, 1)" in x.note
    assert "has a value depends on the order of the members" in x.note


@pytest.mark.parametrize("groups", ["one: Item  items: Item[3] symmetric", "items: Item[3] symmetric  one: Item"])
def test_a_loop_goes_through_members_and_others(groups: str) -> None:
    """Through each of them once, wherever the others stand."""
    text = f"""
    machine Item {{
        n: 0..1
        initial state A
        event go from environment
        A on go when n == 0 do n = 1
    }}
    machine Boss {{
        items: set<Item>
        n: 0..7
        initial state Idle
        event tick from environment
        Idle on tick do {{ n = 0; for i in items {{ n = min(n + i.n, 7) }} }}
    }}
    system Mixed {{
        {groups}
        boss: Boss {{ items = items + {{one}} }}
        environment {{ some i in items: i.go  one.go  boss.tick }}
        reachable all_of_them: boss.n == 4
        invariant each_once: boss.n <= 4
    }}
    """
    assert compare(compiled(text)) == "fewer"
    x = explored(text)
    assert (x.note, x.reduced) == (None, ("items",))
    assert {v.outcome for v in x.verdicts} == {"holds"}


def test_a_loop_is_repeated_until_everybody_is_back() -> None:
    """One state with the item held and one step from it, but no step comes back to the same world at once."""
    text = """
    machine Item {
        initial state A
        state B
        event take, leave from Boss
        A -> B on take
        B -> A on leave
    }
    machine Boss {
        last: Item?
        initial state Idle
        event give(given: Item) from environment
        Idle on give(given) do { if last != none { last.leave } last = given; given.take }
    }
    system Ring {
        items: Item[3] symmetric
        boss: Boss
        environment { some i in items: boss.give(i) when boss.last != i }
        property rest: eventually always boss.last == none
    }
    """
    assert compare(compiled(text)) == "fewer"
    x = explored(text)
    assert (x.states, x.reduced, x.note) == (2, ("items",), None)
    (v,) = (v for v in x.verdicts if v.name == "rest")
    assert v.trace is not None
    assert v.trace.steps() == ["boss.give(i0)", "boss.give(i1)", "boss.give(i0)"]
    assert v.trace.loop == 1


def test_only_loops_that_need_it_are_run_in_every_order() -> None:
    """A cell that is released, freed or let go concerns itself alone; one that is taken may overwrite another group."""
    model = compiled(hived_lite(3, 4, 2, symmetric=True))
    search = PackedSearch(
        universe := Universe(model, only_system(model)), Limits(), PLAIN, reduction=reducible(universe)
    )
    text = search.lowered.text
    assert (text.count("def loop_"), text.count("def orders_")) == (7, 3)


def test_a_limit_is_a_limit_with_symmetry_too() -> None:
    model = compiled(hived_lite(4, 6, 2, symmetric=True))
    x = explore(model, only_system(model), Limits(states=100), means=PLAIN)
    assert (x.states, x.stopped) == (100, "stopped at 100 states")
    assert {v.basis for v in x.verdicts if v.outcome == "unknown"} == {"bounded: stopped at 100 states"}
