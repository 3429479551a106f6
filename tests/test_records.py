"""Records: values with named parts, in every reader of a model."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from campaign import by_definition, differences, found, packed
from generating import Generated
from random_records import members
from stepping import Run, compiled, only_system
from test_editing import renamed
from test_explain import explained, steps
from test_meanings import explored_alike
from test_symmetry import PLAIN, compare
from tiers import enough, today

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.core.lets import may_lack_value
from fsmdsl.editor.editing import explanation
from fsmdsl.interop.export import MACHINE_TARGETS, TARGETS
from fsmdsl.interop.export.refusals import RefusedError
from fsmdsl.interop.export.values import Values
from fsmdsl.model.resolve import resolve
from fsmdsl.report.compare.parts import changes, of_module
from fsmdsl.search import Limits, explore, play
from fsmdsl.search.shapes import UnpackableError, from_number, shape, to_number
from fsmdsl.search.symmetry import reducible
from fsmdsl.step import RecordValue, Universe
from fsmdsl.step.values import domain
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.testing.plain_values import fields, same
from fsmdsl.text.source import NOWHERE, Source

LOG = """module log
record Entry { term: 0..3  value: bool }
record Vote { who: Node?  entry: Entry  bits: -1..1 }
machine Node {
    log:   list<Entry>[2]
    best:  Entry = Entry(term = 1, value = true)
    vote:  Vote
    maybe: Entry?
    seen:  set<Entry>
    order: list<0..3>[4]
    step:  0..4
    initial state Up
    event put(e: Entry), raise, swap, take, visit, more  from environment
    put:   Up on put(e)  when size(log) < 2                     do { log = log + [e]; add e to seen }
    swap:  Up on swap    when log != []
        do { vote = Vote(self, last(log), 1); vote.entry.value = false }
    raise: Up on raise                                          do self.best.term = best.term + 1
    take:  Up on take    when maybe == none or maybe.term == 1  do { maybe = first(log); best = maybe }
    visit: Up on visit                                          do { order = []; for e in seen { add e.term to order } }
    more:  Up on more    when maybe.value                       do log = [Entry(value = step > 0, term = step)]
    invariant Entry(3, true) not in seen or best.term <= 3
}
"""
SYSTEM = """
system S {
    node: Node
    environment {
        some t in 0..3, v in {true, false}: node.put(Entry(t, v))
        node.raise
        node.swap
        node.take
        node.visit
        node.more
    }
}
"""


def node(run: Run) -> dict[str, str]:
    return {name: run.field(f"node.{name}") for name in ("log", "best", "vote", "maybe", "order")}


# What it means -------------------------------------------------------------------------------------------------------


def test_a_record_begins_with_its_parts_and_is_written_as_it_is_made() -> None:
    run = Run(LOG + SYSTEM)
    assert node(run) == {
        "log": "[]",
        "best": "Entry(term = 1, value = true)",
        "vote": "Vote(who = none, entry = Entry(term = 0, value = false), bits = 0)",
        "maybe": "none",
        "order": "[]",
    }


def test_a_part_is_written_and_the_others_stay() -> None:
    run = Run(LOG + SYSTEM)
    assert run.take("node.raise") == ["node: raise in Up", "node.best = Entry(term = 2, value = true)"]
    run.take("node.put(Entry(term = 3, value = true))", "node.swap")
    assert node(run)["vote"] == "Vote(who = node, entry = Entry(term = 3, value = false), bits = 1)"


def test_what_a_part_cannot_hold_is_a_fault_of_making_the_record() -> None:
    run = Run(LOG + SYSTEM)
    run.take("node.raise", "node.raise")
    fault = run.attempt("node.raise").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("range", "`term` of a new `Entry` would be 4, outside 0..3")


def test_a_part_of_none_is_the_fault_of_using_none() -> None:
    run = Run(LOG + SYSTEM)
    fault = run.send("node", "more").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("none", "`maybe` is none here")
    other = run.attempt("node.take").fault
    assert other is not None
    assert other.kind == "none"
    run.take("node.put(Entry(term = 1, value = false))", "node.take", "node.take")


def test_all_parts_are_computed_before_it_is_looked_at_whether_they_fit() -> None:
    text = LOG.replace("[Entry(value = step > 0, term = step)]", "[Entry(best.term + 9, first(log).value)]")
    run = Run(text.replace("when maybe.value ", "") + SYSTEM)
    fault = run.attempt("node.more").fault
    assert fault is not None
    assert fault.kind == "none"
    run.take("node.put(Entry(term = 1, value = false))")
    fault = run.attempt("node.more").fault
    assert fault is not None
    assert fault.kind == "range"


def test_records_of_a_set_are_visited_by_their_parts_from_the_first() -> None:
    run = Run(LOG.replace("add e.term to order", "add e.term to order; if e.value { add 3 to order }") + SYSTEM)
    run.take("node.put(Entry(term = 2, value = false))", "node.put(Entry(term = 0, value = true))", "node.visit")
    assert node(run)["order"] == "[0, 3, 2]"


def test_the_values_of_a_record_are_those_of_its_parts_the_last_changing_fastest() -> None:
    universe = Universe(model := compiled(LOG + SYSTEM), only_system(model))
    entry = model.modules[0].records[0].type
    values = domain(entry, universe)
    assert [x.parts for x in values if isinstance(x, RecordValue)][:3] == [(0, False), (0, True), (1, False)]
    assert len(values) == 8


@pytest.mark.parametrize("name", ["Entry", "Vote"])
def test_a_record_is_one_number_and_its_numbers_are_in_the_order_of_its_values(name: str) -> None:
    universe = Universe(model := compiled(LOG + SYSTEM), only_system(model))
    t = next(x.type for x in model.modules[0].records if x.name == name)
    values = domain(t, universe)
    numbers = [to_number(t, x, universe) for x in values]
    assert numbers == sorted(set(numbers))
    assert [from_number(t, n, universe) for n in numbers] == list(values)
    assert (min(numbers), max(numbers)) == (shape(t, universe).low, shape(t, universe).high)


def test_the_packed_search_finds_what_the_definition_does() -> None:
    text = LOG.replace("0..3", "0..1").replace("Entry(3,", "Entry(1,") + SYSTEM.replace("0..3", "0..1")
    assert explored_alike(text)["states"] == 2113


EACH = """module each
record Inner { xs: list<0..2>[2]  far: -1..1 }
record Outer { inner: Inner  all_: set<bool>  maybe: Inner?  colour: Colour  none_: 0..1? }
enum Colour { red | green | blue }
channel mail: CHANNEL to Box
machine Box {
    outer: Outer
    boxes: list<Outer>[1]
    sent:  Outer?
    let xs = outer.inner.xs
    initial state A
    event turn, keep, send_, back  from environment
    event got(o: Outer)            from mail
    turn: A on turn  do {
        outer.inner.xs = if size(outer.inner.xs) < 2 then outer.inner.xs + [size(xs)] else rest(xs)
        outer.inner.far = -1 - outer.inner.far
        outer.all_ = outer.all_ + {outer.inner.far == 0}
        outer.colour = if outer.colour == red then blue else red
        outer.maybe = if outer.maybe == none then outer.inner else none
    }
    keep: A on keep  when outer not in boxes    do boxes = [outer]
    send: A on send_ when size(mail) < 2        do send mail.got(outer)
    got:  A on got(o)                           do { sent = o; outer.none_ = 1 }
    back: A on back  when boxes != []           do {
        outer = boxes[0]
        if sent != none and sent.maybe != none { outer = Outer(sent.maybe, {}, none, green, 0) }
    }
}
system S { box: Box }
"""


@pytest.mark.parametrize("channel", ["fifo[2]", "bag[2]", "lossy bag[2]"])
def test_parts_of_every_type_are_packed(channel: str) -> None:
    """Lists and sets in records in lists, messages and optionals; negative numbers; none of two kinds."""
    model = compiled(EACH.replace("CHANNEL", channel))
    limits = Limits(states=400)
    search = packed(model, only_system(model), limits, PLAIN)
    assert search.note is None
    assert differences(found(by_definition(model, only_system(model), limits)), found(search)) == []


OTHERS = """module others
record Vote { who: Node  n: 0..2 }
record Entry { term: 0..3  value: bool }
machine Node {
    param peer:   Vote
    durable best: Entry
    durable last: Vote = any
    let score(e: Entry) = if e.value then e.term else 0
    initial state A
    event go    from environment
    event ping  from Node
    go: A on go   when score(best) < 2 and best in {Entry(0, false), Entry(1, true)}  do {
        self.best.term = Entry(1, true).term
        self.best.value = true
        last.who.ping
    }
    ping: A on ping  do last.n = peer.n
    A -> A on crash  do best.value = false
}
system S {
    nodes: Node[2] { peer = Vote(nodes[(index + 1) % 2], index), best = Entry(index, false) }
    start when all n in nodes: n.last.n == 0 and n.last.who != n
    environment { some n in nodes: n.go  crash }
    recover { for n in nodes { n.best.term = 0 } }
    invariant all n in nodes: n.peer.who.best.term < 3 and nodes[0].peer.n == 0
}
"""


def test_records_of_others_are_read_and_recovery_writes_their_parts() -> None:
    assert explored_alike(OTHERS)["states"] == 14


ANY = """module any
record R { n: 0..2  b: bool }
machine A {
    durable r: R = any
    initial state Up
    event go from environment
    Up on go when r.n > 0 do r.n = r.n - 1
}
system S { a: A  start when a.r.n == 2 or a.r.b }
"""


def test_a_field_begins_with_any_record() -> None:
    assert explored_alike(ANY)["states"] == 6


# Symmetry ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(4))
def test_members_that_records_refer_to_are_exchanged(part: int) -> None:
    """160 systems in all: as many states as there are orbits, and the same verdicts."""
    went = Counter(compare(compiled(members(seed))) for seed in today(range(part * 40, part * 40 + 40)))
    assert went["fewer"] >= enough(30)


def test_a_set_of_records_that_refer_to_members_tells_them_apart() -> None:
    text = next(x for x in map(members, range(200)) if "seen: set<Pair>" in x)
    model = compiled(text)
    why = reducible(Universe(model, only_system(model))).refused["nodes"]
    assert why.startswith("`seen` holds sets of records that refer to the members (")
    assert explore(model, only_system(model), means=PLAIN).reduced == ()


def test_a_set_of_them_in_an_expression_does_so_too() -> None:
    text = next(x for x in map(members, range(200)) if "    pair: Pair\n" in x)
    text = text.replace("H on tell(p) do {", "H on tell(p) do { for q in {p, pair} { pair = q };")
    model = compiled(text)
    why = reducible(Universe(model, only_system(model))).refused["nodes"]
    assert why.startswith("`{p, pair}` is a set of records that refer to the members (")


# Generated classes ---------------------------------------------------------------------------------------------------


def test_a_record_is_a_frozen_class_that_looks_at_its_parts(tmp_path: Path) -> None:
    made = Generated(tmp_path, LOG)
    one = made.Entry(term=1, value=True)
    assert one == made.Entry(1, True) != made.Entry(1, False)
    assert len({one, made.Entry(1, True)}) == 1
    with pytest.raises(AttributeError):
        one.term = 2
    with pytest.raises(made["machinery"].OutOfRange, match=r"Entry: term must be a whole number from 0 to 3, not 4"):
        made.Entry(4, True)
    with pytest.raises(made["machinery"].OutOfRange, match=r"Vote: bits must be a whole number from -1 to 1, not 2"):
        made.Vote(who=None, entry=one, bits=2)


def test_a_machine_of_a_class_takes_gives_and_keeps_records(tmp_path: Path) -> None:
    made = Generated(tmp_path, LOG)
    system = made.System()
    a = made.Node(system)
    a.put(made.Entry(2, True))
    a.swap()
    assert a.vote == made.Vote(who=a, entry=made.Entry(2, False), bits=1)
    a.raise_()
    assert a.best == made.Entry(2, True)
    a.raise_()
    with pytest.raises(made["machinery"].OutOfRange):
        a.raise_()
    assert a.best == made.Entry(3, True)
    a.put(made.Entry(0, True))
    kept = json.loads(json.dumps(system.snapshot()))
    again = made.System()
    b = made.Node(again)
    again.restore(kept)
    assert (b.log, b.best, b.seen) == (a.log, a.best, a.seen)
    assert b.vote == made.Vote(who=b, entry=made.Entry(2, False), bits=1)


ORDER = """module order
enum Colour { red | green | blue }
enum Level { low < high }
record Key { colour: Colour  level: Level  maybe: 0..1?  who: Node?  xs: list<bool>[2] }
machine Node {
    keys:  set<Key>
    order: list<Key>[9]
    initial state Up
    event visit
    Up on visit do for k in keys { add k to order }
}
"""


def test_a_class_visits_the_records_of_a_set_in_the_order_of_the_definition(tmp_path: Path) -> None:
    made = Generated(tmp_path, ORDER)
    system = made.System()
    node, other = made.Node(system), made.Node(system)
    (red, green, blue), (low, high) = made.Colour, made.Level
    listed = [
        made.Key(red, low, None, None, ()),
        made.Key(red, low, None, None, (False,)),
        made.Key(red, low, None, None, (False, True)),
        made.Key(red, low, None, node, ()),
        made.Key(red, low, None, other, ()),
        made.Key(red, low, 0, None, ()),
        made.Key(red, high, None, None, ()),
        made.Key(green, low, 1, None, ()),
        made.Key(blue, low, None, None, ()),
    ]
    visitor = made.Node(system, keys=frozenset(listed))
    visitor.visit()
    assert list(visitor.order) == listed


# Exports -------------------------------------------------------------------------------------------------------------


def test_spin_and_tlc_get_records() -> None:
    sure = EACH.replace("CHANNEL", "fifo[2]").replace(
        "if size(outer.inner.xs) < 2 then outer.inner.xs + [size(xs)] else", ""
    )
    sure = sure.replace("= -1 - outer.inner.far", "= if outer.inner.far == 0 then -1 else 1")
    for text in (sure, LOG + SYSTEM):
        model = compiled(text)
        for target in TARGETS.values():
            assert target(model, only_system(model))


def test_numbers_for_spin_are_in_the_order_of_the_values() -> None:
    universe = Universe(model := compiled(LOG + SYSTEM), only_system(model))
    numbers = Values(1, NOWHERE)
    for t in (x.type for x in model.modules[0].records):
        listed = [numbers.number(t, x) for x in domain(t, universe)]
        assert listed == sorted(set(listed))
        assert max(listed) < numbers.size(t)


def test_spin_is_not_given_sets_of_records_that_have_no_order_there() -> None:
    text = EACH.replace("boxes: list<Outer>[1]", "boxes: set<Inner>").replace("[outer]", "{outer.inner}")
    text = text.replace("outer not in boxes", "outer.inner not in boxes").replace("boxes != []", "boxes == {}")
    text = text.replace("outer = boxes[0]", "").replace("CHANNEL", "fifo[2]")
    model = compiled(text)
    with pytest.raises(RefusedError, match="no order"):
        TARGETS["promela"](model, only_system(model))
    universe = Universe(model, only_system(model))
    with pytest.raises(UnpackableError, match="a set of sets or lists"):
        shape(m.SetType(model.modules[0].records[0].type), universe)


def test_statecharts_have_parts_where_they_are_written() -> None:
    model = compiled(LOG.replace("[Entry(value = step > 0, term = step)]", "[]"))
    text, _ = MACHINE_TARGETS["scxml"](model, model.machines["log.Node"])
    assert '<assign location="best.term" expr="best.term + 1" />' in text
    assert '<assign location="vote.entry.value" expr="false" />' in text
    assert '<assign location="vote" expr="Vote(self, last(log), 1)" />' in text
    assert '<data id="vote" expr="Vote(none, Entry(0, false), 0)" />' in text
    text, _ = MACHINE_TARGETS["xstate"](model, model.machines["log.Node"])
    assert json.loads(text)["context"]["best"] == {"term": 1, "value": True}


# What is written wrong -----------------------------------------------------------------------------------------------

WRONG = """module wrong
record Entry { term: 0..3  value: bool }
RECORDS
machine Node {
    best: Entry
    maybe: Entry?
    initial state A
    event go(e: Entry)  from environment
    A on go(e)  do EFFECT
    invariant CLAIM
}
"""


@pytest.mark.parametrize(
    ("records", "effect", "claim", "message", "help"),
    [
        ("record A { b: B }  record B { a: list<A>[1] }", "", "", "a record `A` would hold another `A`", "an instance"),
        ("record A { a: A? }", "", "", "a record `A` would hold another `A`, and so on without end", ""),
        ("record A { }", "", "", "`A` has no parts", ""),
        ("record A { a: bool  a: 0..1 }", "", "", "`a` is already a part", ""),
        ("record Entry { a: bool }", "", "", "`Entry` is already declared", ""),
        ("record A { a: Entri }", "", "", "there is no type `Entri`", "did you mean `Entry`?"),
        ("", "best = Entry(1)", "", "`Entry` has 2 parts, not 1", "write `Entry(term = …, value = …)`"),
        ("", "best = Entry(term = 1)", "", "`Entry` is made of all its parts: `value` missing", ""),
        ("", "best = Entry(1, value = true)", "", "name all parts, or none", "write `Entry(term = …, value = …)`"),
        ("", "best = Entry(term = 1, term = 2, value = true)", "", "`term` already has a value", ""),
        ("", "best = Entry(term = 1, vlue = true)", "", "`Entry` has no part `vlue`", "did you mean `value`?"),
        ("", "best = Entry(true, true)", "", "expected a number 0..3, got true or false", ""),
        ("", "best = 3", "", "expected `Entry`, got the number 3", ""),
        ("", "best.trem = 1", "", "`Entry` has no part `trem`", "did you mean `term`?"),
        ("", "best.term = true", "", "expected a number 0..3, got true or false", ""),
        ("", "maybe.term = 1", "", "`maybe` may be none, which has no parts", "assign a whole record: `maybe = …`"),
        ("", "e.term = 1", "", "an effect can assign only to fields of its own machine", ""),
        ("", "add 1 to best.term", "", "an effect can assign only to fields of its own machine", ""),
        ("", "", "best < best", "`Entry` has no order", "only numbers and ordered enums have one"),
        ("", "", "min(best, best) == best", "`min` does not take these", ""),
        ("", "", "best == 1", "`Entry` and the number 1 cannot be compared", ""),
        ("", "", "best.term.x", "`best.term` is not an instance, so it has no `x`", ""),
        ("", "", "Entry == best", "there is no name `Entry`", ""),
        ("", "", "size(best = best) == 1", "`best = …` is allowed only in a record constructor", "leave out `best =`"),
    ],
)
def test_errors_say_what_to_write(records: str, effect: str, claim: str, message: str, help: str) -> None:
    text = WRONG.replace("RECORDS", records).replace("EFFECT", effect or "best = e").replace("CLAIM", claim or "A")
    parsed = parse(Source("wrong.fsm", text))
    told = [*parsed.diagnostics, *resolve([parsed.module]).diagnostics]
    assert [message in d.message for d in told] == [True], [d.message for d in told]
    assert help in (told[0].advice or ""), told[0].advice


def test_a_record_is_imported() -> None:
    raft = Source("raft.fsm", "module raft\nrecord Entry { term: 0..3 }")
    user = """module user
import raft
import raft { Entry }
machine A {
    e: raft.Entry = raft.Entry(1)
    f: Entry
    initial state S
    event go from environment
    S on go do { f = Entry(term = 2); f.term = e.term }
}
"""
    resolved = resolve([parse(raft).module, parse(Source("user.fsm", user)).module])
    assert resolved.diagnostics == ()


def test_a_part_that_may_be_beyond_its_range_is_a_warning_and_a_guard_or_constant_makes_it_sure() -> None:
    def warned(effect: str, guard: str = "") -> list[tuple[str, str]]:
        text = WRONG.replace("RECORDS", "").replace("A on go(e)  do EFFECT", f"A on go(e) {guard} do {effect}")
        findings = check(compiled(text.replace("CLAIM", "A")))
        return [(d.rule.code, d.message) for d in findings if "outside" in d.message]

    assert warned("best = Entry(e.term + 1, true)") == [
        ("FSM222", "`term` may be given a value outside 0..3 when `e.term` is 3")
    ]
    assert warned("best.term = e.term + 1", "when e.term < 3") == []
    assert [x[0] for x in warned("best = Entry(4, true)")] == ["FSM221"]
    assert warned("{ best = Entry(2, true); best.term = best.term + 1 }") == []
    assert len(warned("{ best = e; best.term = best.term + 1 }", "when best.term < 3")) == 1


def test_a_record_that_is_made_may_be_a_fault_where_a_part_may_not_fit() -> None:
    text = WRONG.replace("RECORDS", "let wide(n: 0..3) = Entry(n, true)").replace("EFFECT", "best = e")
    for claim, may in (
        ("best == Entry(best.term, true)", False),
        ("best == Entry(3, best.value)", False),
        ("best == Entry(best.term + 1, true)", True),
        ("best == wide(5)", True),
    ):
        model = compiled(text.replace("CLAIM", claim))
        condition = model.machines["wrong.Node"].invariants[0].condition
        assert may_lack_value(model, condition) is may, claim


# Scenarios, logs, values for others ----------------------------------------------------------------------------------

SCENARIO = """
scenario One "a record is taken and written" of S {
    node.put(Entry(term = 2, value = true))
    node.raise
    expect node.best == Entry(2, true) and first(node.log).value
    fails node.more with none
    via put, raise
}
"""


def test_a_scenario_gives_and_expects_records() -> None:
    model = compiled(LOG + SYSTEM + SCENARIO)
    (scenario,) = model.scenarios.values()
    played = play(model, scenario)
    assert played.passed, played.failure


MAPPING = """
[[line]]
when = { msg = "put" }
event = "put"
instance = "node"
arguments = { e = "{entry}" }
"""


@pytest.mark.parametrize(
    ("entry", "explained_as"),
    [
        ({"term": 2, "value": True}, ["node.put(Entry(term = 2, value = true)) 1"]),
        ({"term": 3, "value": False}, ["node.put(Entry(term = 3, value = false)) 1"]),
    ],
)
def test_a_log_tells_the_parts_of_a_record(entry: dict[str, object], explained_as: list[str]) -> None:
    line = json.dumps({"msg": "put", "entry": entry})
    assert steps(explained(f"{line}\n".encode(), MAPPING, LOG + SYSTEM)) == explained_as


def test_a_log_need_not_tell_all_parts() -> None:
    line = json.dumps({"msg": "put", "entry": {"term": 2}})
    assert explained(f"{line}\n".encode(), MAPPING, LOG + SYSTEM).outcome == "explained"
    other = json.dumps({"msg": "put", "entry": {"term": 4}})
    assert explained(f"{other}\n".encode(), MAPPING, LOG + SYSTEM).outcome != "explained"


def test_others_see_a_record_by_its_parts() -> None:
    universe = Universe(model := compiled(LOG + SYSTEM), only_system(model))
    best = fields(universe, universe.start, 0)["best"]
    assert best == {"term": 1, "value": True}
    assert same(best, SimpleNamespace(term=1, value=True), {})
    assert same(best, {"term": 1, "value": True}, {})
    assert not same(best, SimpleNamespace(term=2, value=True), {})
    assert not same(best, SimpleNamespace(term=1), {})
    assert not same(best, {"term": 1}, {})
    assert len({best, fields(universe, universe.start, 0)["best"]}) == 1


# Editors -------------------------------------------------------------------------------------------------------------


def test_records_and_parts_are_renamed_wherever_they_are() -> None:
    text = LOG + SYSTEM
    assert renamed(text, "term: 0..3", 0, "epoch") == text.replace("term", "epoch")
    assert renamed(text, ".term + 1", 1, "epoch") == text.replace("term", "epoch")
    assert renamed(text, "Entry(t, v)", 0, "Line") == text.replace("Entry", "Line")


def test_an_editor_explains_a_part() -> None:
    text = LOG.replace("term: 0..3", "term: 0..3 /// when it was written\n")
    found = explanation(text, text.index("maybe.term") + 6)
    assert found is not None
    assert "term: 0..3" in found.text
    assert "when it was written" in found.text


def test_a_record_that_has_changed_is_told() -> None:
    old, new = compiled(LOG), compiled(LOG.replace("term: 0..3", "term: 0..4"))
    told = [(c.kind, c.what, c.name) for c in changes(of_module(old.modules[0]), of_module(new.modules[0]), {})]
    assert told == [("changed", "record", "Entry")]


def formatted_as(text: str) -> str:
    return format_source(parse(Source("x.fsm", text)))


def test_a_record_stays_on_its_line_or_has_a_line_for_each_part() -> None:
    one = "record Entry { term: 0..3  value: bool }\n"
    several = "record Entry {\n    term:  0..3    /// when\n    value: bool\n}\n"
    assert formatted_as("record Entry{term:0..3 value:bool}") == one
    assert formatted_as("record Entry{term:0..3 /// when\nvalue:bool}") == several
    assert formatted_as("record Entry{term:0..3\nvalue:bool }") == several.replace("    /// when", "")
    assert formatted_as(one) == one
    assert formatted_as(several) == several
