"""Systems of members that are exchanged: as many states as there are orbits, and doubts only where there are some."""

from __future__ import annotations

from pathlib import Path

import pytest
from stepping import compiled
from test_meanings import explored_alike
from test_symmetry import compare, crowded, explored

from fsmdsl.program.nodes import Var
from fsmdsl.search.lower.symmetry.canonical import _words
from fsmdsl.search.shapes import LARGEST

# What concerns a member ----------------------------------------------------------------------------------------------

LARGE = """
machine Item {
    x: 0..1000000000000
    y: 0..1000000000000
    initial state A
    event low, high from environment
    A on low when x == 0 do x = 65536
    A on high when y == 0 do y = 549755813888
}
system Many { items: Item[3] symmetric }
"""


def test_members_of_more_bits_than_a_word_has_are_exchanged() -> None:
    assert compare(compiled(LARGE)) == "fewer"


def test_keys_have_as_few_words_as_need_be_and_none_too_large_for_machine_code() -> None:
    one, two, three = Var("one"), Var("two"), Var("three")
    assert len(_words([(one, LARGEST - 1), (two, 1), (three, 1)])) == 2
    assert _words([(one, LARGEST), (two, 3)]) == [one, two]
    assert _words([(one, 3), (two, 40)]) == [one | two << 3]


LINKED = """
machine Item {
    x: 0..1000000000000
    peer: Item?
    y: 0..1000000000000
    initial state A
    event link(to: Item) from environment
    A on link(to) do peer = to
}
system Linked {
    items: Item[3] symmetric
    environment { some i in items, j in items: i.link(j) when i.peer == none }
}
"""


def test_of_arrangements_in_several_words_there_is_one_least() -> None:
    """Two ways round: each is referred to by one other, and only the whole tells them apart."""
    assert compare(compiled(LINKED)) == "fewer"


TOLD = """
channel box: fifo[2] to Hub
machine Item {
    initial state A
    state B
    event go from environment
    A -> B on go when size(box) < 2 do send box.note(1, self, 2)
}
machine Hub {
    last: Item?
    initial state On
    event note(before: 0..3, who: Item, behind: 0..3) from box
    On on note(before, who, behind) do last = who
}
system Told {
    items: Item[3] symmetric
    hub: Hub
}
"""


def test_members_that_messages_in_line_are_about_are_exchanged() -> None:
    assert compare(compiled(TOLD)) == "fewer"


# Loops ---------------------------------------------------------------------------------------------------------------

BESIDE = """
machine Item {
    n: 0..2 = 1
    initial state A
    event go from environment
    A on go when n < 2 do n = n + 1
}
machine Boss {
    param those: set<Item>
    n: 0..9
    seen: 0..9
    initial state Idle
    event tick from environment
    Idle on tick do { n = 0  seen = 0  for i in those { n = n + 1  seen = min(seen + i.n, 9) } }
    invariant each_once: n == 0 or n == 5
}
system Beside {
    first_one: Item
    items: Item[3] symmetric
    other_one: Item
    boss: Boss { those = items + {first_one, other_one} }
    environment { boss.tick  some i in items: i.go }
    reachable all_of_them: boss.seen == 8
}
"""


def test_a_loop_visits_those_beside_a_set_once_each() -> None:
    assert compare(compiled(BESIDE)) == "fewer"
    x = explored(BESIDE)
    assert (x.note, x.reduced) == (None, ("items",))
    assert {v.outcome for v in x.verdicts} == {"holds"}


CHOSEN = """
machine Item {
    owner: Boss?
    initial state A
}
machine Boss {
    param items: set<Item>
    those: set<Item>
    n: 0..2
    initial state Idle
    event say(these: set<Item>), tick from environment
    Idle on say(these) do those = these
    Idle on tick when some i in %s: i.owner.n == 2 do n = 1
    ignore tick in Idle
}
system Chosen {
    items: Item[3] symmetric
    boss: Boss { items = items }
    environment { some p in subsets(items, %d): boss.say(p) when boss.those == {}
                  boss.tick when boss.those != {} }
}
"""


@pytest.mark.parametrize("asked", [("those", 1), ("items - those", 2)])
def test_where_only_one_is_asked_nothing_depends_on_their_order(asked: tuple[str, int]) -> None:
    assert compare(compiled(CHOSEN % asked)) == "fewer"
    x = explored(CHOSEN % asked)
    assert (x.note, x.reduced) == (None, ("items",))


def test_subsets_are_asked_one_after_the_other() -> None:
    x = explored(crowded(system="reachable rich: some p in subsets(items, 1): some i in p: i.owner.n == 2"))
    assert x.note is not None
    assert "whether `some p in subsets(items, 1): some i in p: i.owner.n == 2` has a value depends" in x.note


# Rounds and crashes --------------------------------------------------------------------------------------------------

WAITING = """
machine Item {
    initial state A
    state B
    state V
    state W
    event go from environment
    event poke(by: Boss) from Boss
    action work -> ok | err
    A -> B on go
    A -> W on poke(by) do work
    B -> V on poke(by)
    V -> A when true
    W -> A when true
    ignore work.ok, work.err in A, B, V, W
    ignore poke in V, W
}
machine Boss {
    param items: set<Item>
    initial state Idle
    event tick from environment
    Idle on tick do for i in items { i.poke(self) }
}
system Waiting {
    items: Item[2] symmetric
    boss: Boss { items = items }
    environment { some i in items: i.go when all j in items: j in A  boss.tick when some j in items: j in B }
}
"""


def test_who_waits_for_an_answer_takes_no_step_without_an_event() -> None:
    assert compare(compiled(WAITING)) == "fewer"
    x = explored(WAITING)
    assert (x.note, x.reduced) == (None, ("items",))


FRAGILE = """
machine Boss {
    n: 0..9 = 7
    m: 0..9 = 8
    initial state Idle
    event tick from environment
    Idle on tick do n = m
}
machine Item {
    n: 0..9 = 5
    initial state A
    state B
    volatile state C
    event go, leave from environment
    A -> B on go
    B -> C on go
    C -> B on leave
}
system Fragile {
    boss: Boss
    items: Item[3] symmetric
    environment { some i in items: i.go  crash }
}
"""


def test_whoever_of_those_in_one_state_is_lost_first_is_alike() -> None:
    x = explored(FRAGILE)
    assert (x.note, x.reduced) == (None, ("items",))
    assert compare(compiled(FRAGILE)) == "fewer"


# Not symmetric -------------------------------------------------------------------------------------------------------

OPTIONAL = """module numbers
machine Row {
    low: set<2..5?>
    all_of: set<0..5?>
    initial state On
    event take(n: 2..5?), copy from environment
    On on take(n) do add n to low
    On on copy do all_of = low
    invariant equal: all_of == {} or all_of == low or size(all_of) < size(low)
}
system S { row: Row  reachable full: size(row.all_of) == 5 }
"""


def test_a_set_with_none_in_it_is_kept_where_more_fits_in(tmp_path: Path) -> None:
    explored_alike(OPTIONAL, tmp_path)


BAG = """module bag
channel box: bag[2] to Hub
machine Hub {
    initial state On
    event say(these: set<0..1>?) from environment
    event told(these: set<0..1>?) from box
    On on say(these) when size(box) < 2 do send box.told(these)
    On on told(these)
}
system S { hub: Hub }
"""


def test_messages_of_a_bag_without_a_set_come_before_those_with_one(tmp_path: Path) -> None:
    explored_alike(BAG, tmp_path)
