"""Values of more bits than a word has: packed, in Python and in machine code, and explored as `step` defines."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from campaign import compare, systems
from packed_search import HASTY, PLAIN, explored, needs_compiler, own_objects
from random_systems import text_of
from stepping import compiled, only_system
from tiers import today

from fsmdsl.search import Limits, Means, lower
from fsmdsl.search import word_layout as words
from fsmdsl.search.shapes import width

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

LISTS = """module lists
machine Log {{
    entries: list<bool>[{0}] = []
    initial state Open
    event add(x: bool), drop from environment
    Open on add(x) when size(entries) < 9 do add x to entries
    Open on drop when size(entries) > 0 do entries = rest(entries)
}}
system One {{
    log: Log
    invariant short: size(log.entries) < 10
    reachable full:  size(log.entries) == 9 and last(log.entries) and not first(log.entries)
}}
"""

EVERYWHERE = """module wide
channel ch: fifo[2] to Keeper
machine Keeper {
    marks:  set<0..130> = {0, 64}
    before: set<0..130>?
    queue:  list<-3..999>[9] = [999]
    initial state Awake
    state Full
    event mark(x: 0..130), swap, clear from environment
    event told(every: set<0..130>, x: 0..999?) from ch
    let some_last = if size(queue) > 2 then none else 64
    Awake on mark(x) when x in {1, 63, 64, 65, 130} and not (x in marks) do add x to marks
    Awake -> Full on swap when size(marks) > 3 do { before = marks - {0}  send ch.told(marks, some_last) }
    Awake on clear when marks != {0} and size(queue) < 8 do { marks = marks & {0, 1, 130} + {0}  queue = [-3] + queue }
    Awake on told(every, x) when size(queue) < 9 do { marks = marks + every  add if x == none then 7 else x to queue }
    Full -> Awake on told(every, x) when every == marks do { marks = {}  before = none }
    Full -> Awake on clear when before != none do marks = before
    ignore mark, swap, told in Full
    ignore clear, told in Awake
}
system Two {
    keepers: Keeper[1]
    invariant room: all k in keepers: size(k.queue) <= 9
    reachable r:    some k in keepers: 130 in k.marks and 63 in k.marks and not (0 in k.marks)
}
"""


@pytest.mark.full(reason="compiled searches")
@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("seed", today(range(60, 80)))
def test_wider_numbers_say_what_narrow_ones_say(seed: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All numbers of random systems wider than needed, and their words smaller, so that values stand in several."""
    monkeypatch.setattr(lower, "width", lambda _: bits)
    monkeypatch.setattr(words, "WORD", 3)
    for model, system in systems(text_of(seed, newer=seed % 2 == 0)):
        assert compare(model, system, 80, random=Random(seed), compiled=seed % 5 == 0) == ("the same", [])


@pytest.mark.parametrize("means", [PLAIN, pytest.param(HASTY, marks=needs_compiler)], ids=["plain", "compiled"])
@pytest.mark.parametrize("room", [56, 57, 58, 63, 64, 100, 120, 121, 500, 1000])
def test_a_long_list_has_the_states_of_a_short_one(room: int, means: Means) -> None:
    x = explored(LISTS.format(room), means)
    assert (x.states, x.transitions, x.note) == (1023, 2044, None)
    assert {v.outcome for v in x.verdicts} == {"holds"}


@pytest.mark.full(reason="size")
def test_wide_values_in_fields_messages_and_effects_are_explored_as_defined() -> None:
    model = compiled(EVERYWHERE)
    assert compare(model, only_system(model), 4000, random=Random(1), compiled=True) == ("the same", [])


@needs_compiler
def test_wide_values_are_explored_by_workers_too() -> None:
    alone, together = (explored(LISTS.format(100), Means(workers=n, symmetry=False)) for n in (1, 2))
    assert (alone.states, alone.transitions) == (together.states, together.transitions) == (1023, 2044)


def test_numbers_are_a_power_of_two_wide_with_two_bits_to_spare() -> None:
    assert [width(x) for x in (0, 62, 63, 126, 127, 1022)] == [64, 64, 128, 128, 256, 1024]


def test_beyond_the_widest_the_definition_explores() -> None:
    x = explored(LISTS.format(1100), Means(), Limits(states=20))
    assert x.note == "explored by definition, slowly: a list that is too long: 1111 bits, more than 1022"


CROWD = """module crowd
machine M {{
    a: 0..{0}
    b: 0..{0}
    c: 0..{0}
    initial state S
    event toggle_a, toggle_b, toggle_c from environment
    S on toggle_a do a = {0} - a
    S on toggle_b do b = {0} - b
    S on toggle_c do c = {0} - c
}}
system Crowd {{ ms: M[3] symmetric }}
"""


@pytest.mark.parametrize("how", [PLAIN, pytest.param(HASTY, marks=needs_compiler)], ids=["plain", "compiled"])
@pytest.mark.parametrize("most", [1, 1_000_000_000, 2**36, 10**11])
def test_members_of_a_crowd_are_told_apart_by_all_their_bits(most: int, how: Means) -> None:
    """Three of eight states each, whoever has which: 120 ways. What they are compared by has up to 111 bits."""
    x = explored(CROWD.format(most), replace(how, symmetry=True))
    assert (x.states, x.note) == (120, None)
