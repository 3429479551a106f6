"""Crash and recovery of random systems, and whoever explored them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from campaign import packed
from packed_search import PLAIN
from random_specs import spec
from stepping import compiled, only_system
from test_recovery import PAIR, REDO, RIGHT, WRONG, answer, searched, steps
from test_recovery_several import LENT, TAKE_LAST
from tiers import today

from fsmdsl import model as m
from fsmdsl.model.workspace import load
from fsmdsl.runs.recovery import Answer, check, crash_graph
from fsmdsl.runs.recovery.crash_graph import Parts
from fsmdsl.runs.search_result import Edge, Finding
from fsmdsl.runs.trace import Trace
from fsmdsl.search import Limits
from fsmdsl.search.definition_search import Search
from fsmdsl.search.shapes import UnpackableError
from fsmdsl.step import CrashStep, FaultError, RecoverStep, Step, Universe, World, enabled, fire

# The same edges -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(200, 240))
def test_the_graph_has_the_edges_of_the_definition(seed: int) -> None:
    of = compiled(spec(seed))
    asked = m.Property("again", m.Recovers(()), (), finite=False, doc="")
    for crashes in (CRASHES, CRASHES[:1], CRASHES[:2], ()):
        system = replace(only_system(of), crashes=crashes, properties=(*only_system(of).properties, asked))
        try:
            search = packed(of, system, Limits(states=400), PLAIN)
        except UnpackableError:  # explored by definition
            continue
        bit = crash_graph._crash_bit(search)
        if bit is not None:
            both = crash_graph._by_graph(search, bit), crash_graph._by_definition(search.universe, search)
            assert _edges(both[0]) == _edges(both[1])


def _edges(x: Parts) -> object:
    return x.free, x.is_free, x.crashes, x.complete, x.failing


def test_the_graph_of_a_spec_has_the_edges_of_the_definition() -> None:
    """The systems of all specs that ask for it, as far as they are small."""
    of = load([str(Path(__file__).parent.parent / "specs")]).model
    assert of is not None
    compared = 0
    for system in of.systems.values():
        if any(isinstance(p.formula, m.Recovers) for p in system.properties):
            search = packed(of, system, Limits(states=700), PLAIN)
            bit = crash_graph._crash_bit(search)
            if bit is not None:
                compared += 1
                both = crash_graph._by_graph(search, bit), crash_graph._by_definition(search.universe, search)
                assert _edges(both[0]) == _edges(both[1])
    assert compared


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


@pytest.mark.parametrize("seed", today(range(120)))
def test_the_answer_is_that_of_the_book(seed: int) -> None:
    model = compiled(spec(seed))
    system = replace(only_system(model), crashes=CRASHES)
    search = searched(model, system, Limits(states=150))
    a = check(search.universe, m.Recovers(()), search)
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

    def __init__(self, search: Search) -> None:
        self.stopped, self.beyond, self.states, self.plan = search.stopped, search.beyond, search.states, None
        self.fails = search.fails
        self.last = search.states - 1
        self.begins = [self.last - n for n in search.begins]
        self.search = search
        self.edges: list[list[Edge]] = [
            [(step, None if to is None else self.last - to) for step, to in search.outgoing(self.last - n)]
            for n in range(search.states)
        ]

    def world(self, number: int) -> World:
        return self.search.world(self.last - number)

    def number(self, world: World) -> int | None:
        n = self.search.number(world)
        return None if n is None else self.last - n

    def outgoing(self, number: int) -> list[Edge]:
        return self.edges[number]

    def trace(self, finding: Finding) -> Trace:
        return self.search.trace(Finding(self.last - finding.world))


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
    there = check(search.universe, asked.formula, search)
    back = check(search.universe, asked.formula, Backwards(search))
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
    check(search.universe, m.Recovers(()), search)
    assert (search.guards_seen, search.worlds) == (seen, worlds)
