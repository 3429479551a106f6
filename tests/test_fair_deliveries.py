"""Fairness of deliveries: that a message that waits again and again is delivered."""

from __future__ import annotations

from random import Random

import pytest
from campaign import compare
from fair_runs import matters, violated
from packed_search import PLAIN, needs_compiler, own_objects
from property_runs import Explored
from stepping import compiled, only_system
from tiers import enough, today

from fsmdsl.editor.editing import completions
from fsmdsl.interop.export.runs import claims
from fsmdsl.model.resolve import resolve
from fsmdsl.search import Means, explore
from fsmdsl.step import Universe
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

LINE = """module line
machine A {
    initial state Asks
    final state Done
    event go from environment
    event ack from back
    Asks on go do send data.ping
    Asks -> Done on ack
    ignore ack in Done
}
machine B { initial state Up  event ping from data  Up on ping do send back.ack }
channel data: KIND[1] to B
channel back: KIND[2] to A
system S {
    a: A  b: B
    environment { a.go when size(data) < 1 and size(back) < 2 }
    property p: eventually a in Done under FAIR
}
"""


def outcome(text: str, means: Means = PLAIN) -> str:
    model = compiled(text)
    return next(v.outcome for v in explore(model, only_system(model), means=means).verdicts if v.kind == "property")


def line(fair: str, kind: str = "lossy fifo") -> str:
    return LINE.replace("FAIR", fair).replace("KIND", kind)


@pytest.mark.parametrize(
    ("fair", "wanted"),
    [
        ("strong fair go", "violated"),
        ("strong fair go and fair deliver data, deliver back", "violated"),
        ("strong fair go, deliver data", "violated"),
        ("strong fair go, deliver back", "violated"),
        ("strong fair go, ping, ack", "violated"),  # without a message, nothing of that is possible
        ("strong fair deliver data, deliver back", "holds"),
        ("strong fair go and strong fair deliver data.ping, deliver back.ack", "holds"),
    ],
)
def test_what_is_sent_again_and_again_arrives(fair: str, wanted: str) -> None:
    if "ping, ack" in fair:
        wanted = "holds"  # a channel of one message: what waits can be delivered at once
    assert outcome(line(fair)) == wanted
    assert outcome(line(fair, "lossy duplicating bag")) == wanted


def test_a_channel_that_loses_nothing_needs_weak_fairness() -> None:
    """The environment goes on with something else for ever."""
    text = line("FAIR", "fifo").replace("a: A  b: B", "a: A  b: B  c: C") + (
        "machine C { initial state S  event tick from environment  S on tick }"
    )
    text = text.replace("{ a.go", "{ c.tick  a.go")
    assert outcome(text.replace("under FAIR", "under fair go")) == "violated"
    assert outcome(text.replace("under FAIR", "under fair go, deliver data, deliver back")) == "holds"


BEHIND = """module behind
machine A {
    n: 0..1
    initial state Asks
    event go, alternate from environment
    Asks on go when size(data) == 1 do send data.wanted
    Asks on alternate when size(data) == 0 do send data.other
}
machine B {
    initial state Up
    final state Got
    event wanted, other from data
    Up -> Got on wanted
    ignore other in Up, Got
    ignore wanted in Got
}
channel data: lossy fifo[2] to B
system S { a: A  b: B  property p: eventually b in Got under FAIR }
"""


@pytest.mark.parametrize(
    ("fair", "wanted"),
    [
        ("strong fair go, wanted", "violated"),  # it is lost before it is the first, so it is never possible
        ("strong fair go, deliver data.other", "violated"),
        ("strong fair go, deliver data.wanted", "holds"),
        ("strong fair go, deliver data", "holds"),
    ],
)
def test_a_message_behind_another_waits_too(fair: str, wanted: str) -> None:
    assert outcome(BEHIND.replace("FAIR", fair)) == wanted


NUMBERS = """module numbers
machine A {
    initial state Asks
    event go(n: 0..2) from environment
    Asks on go(n) when size(data) == 0 do send data.value(n)
}
machine B { got: set<0..2>  initial state Up  event value(n: 0..2) from data  Up on value(n) do add n to got }
channel data: lossy fifo[1] to B
system S { a: A  b: B  property p: FORMULA under FAIR }
"""


def test_each_message_is_meant_by_itself() -> None:
    """What never waits need not arrive."""
    ends = "strong fair deliver data"
    two = "(eventually size(b.got) > 0)"
    assert outcome(NUMBERS.replace("FORMULA", two).replace("FAIR", ends)) == "holds"
    all_sent = "eventually (b.got == {0, 1, 2})"
    assert outcome(NUMBERS.replace("FORMULA", all_sent).replace("FAIR", ends)) == "violated"
    split = NUMBERS.replace("Asks on go(n) when", "zero: Asks on go(n) when n == 0 and size(data) == 0 do send data."
        "value(n)\none: Asks on go(n) when n == 1 and size(data) == 0 do send data.value(n)\ntwo: Asks on go(n) when "
        "n == 2 and")  # fmt: skip
    each = split.replace("FORMULA", all_sent).replace("FAIR", "strong fair zero, one, two, deliver data")
    assert outcome(each) == "holds"
    assert outcome(each.replace(", deliver data", "")) == "violated"


def test_while_the_receiver_waits_nothing_is_possible() -> None:
    text = (
        line("strong fair deliver data, deliver back")
        .replace(
            "machine B { initial state Up  event ping from data  Up on ping do send back.ack }",
            """machine B {
            async action look -> seen
            initial state Up
            state Looks
            event ping from data
            event poke from environment
            Up -> Looks on poke do look
            Looks -> Up on look.seen
            Up on ping do send back.ack
            ignore ping in Looks
        }""",
        )
        .replace("{ a.go when", "{ b.poke  a.go when")
    )
    assert outcome(text) == "violated"  # the message waits, and the answer never comes
    assert outcome(text.replace("under strong fair", "under strong fair look.seen,")) == "violated"  # ignored each time
    assert outcome(text.replace("{ b.poke ", "{ ")) == "holds"


def test_too_many_messages_are_not_decided() -> None:
    text = NUMBERS.replace("go(n: 0..2)", "go(n: 0..39)").replace("value(n: 0..2)", "value(n: 0..39)")
    text = text.replace("add n to got", "add n % 2 to got").replace("FORMULA", "eventually b.got == {1}")
    model = compiled(text.replace("FAIR", "fair deliver data"))
    v = next(v for v in explore(model, only_system(model), means=PLAIN).verdicts if v.kind == "property")
    assert (v.outcome, v.basis) == (
        "not checked", "`numbers.data` carries more than 31 messages that fairness would refer to"
    )  # fmt: skip


def test_of_a_channel_that_leads_nowhere_nothing_is_promised() -> None:
    text = line("strong fair deliver data").replace("a: A  b: B", "a: A").replace(" when size(data) < 1 and", " when")
    model = compiled(text)
    v = next(v for v in explore(model, only_system(model), means=PLAIN).verdicts if v.kind == "property")
    assert v.outcome == "violated"
    assert "no instance has `deliver data`, named after `under`, so that assumption has no effect" in v.explanation


# Text ----------------------------------------------------------------------------------------------------------------


def found_in(text: str) -> list[str]:
    parsed = parse(Source("test.fsm", text))
    return [d.message for d in (*parsed.diagnostics, *resolve([parsed.module]).diagnostics)]


def test_a_channel_and_its_messages_are_known() -> None:
    assert found_in(line("fair deliver dat")) == ["there is no channel `dat`"]
    assert found_in(line("fair deliver data.pong")) == ["`B` has no event `pong`"]
    assert found_in(line("fair deliver data, deliver")) == ["there is no event or label `deliver`"]


def test_an_event_may_still_be_called_deliver() -> None:
    text = (
        LINE.replace("KIND", "fifo").replace("event go ", "event go, deliver ").replace("Asks on go", "Asks on deliver")
    )
    for fair in ("fair deliver", "fair go, deliver, ack", "fair deliver and fair deliver data, deliver, deliver back"):
        model = compiled(text.replace("FAIR", fair).replace("a.go", "a.deliver"))
        (p,) = only_system(model).properties
        assert "deliver" in [name for x in p.under for name in x.names]
        assert sum(len(x.deliveries) for x in p.under) == 2 * ("data" in fair)
    behind = text.replace("FAIR", "fair deliver\n    x: B").replace("a: A  b: B", "a: A").replace("a.go", "a.deliver")
    assert [g.name for g in only_system(compiled(behind)).groups] == ["a", "x"]


def test_an_editor_offers_channels() -> None:
    text = line("fair deliver ")
    text = text[: text.index("fair deliver ") + len("fair deliver ")]
    assert [c.label for c in completions(text, len(text))][:2] == ["data", "back"]


def test_spin_is_told_why_it_is_not_asked() -> None:
    model = compiled(line("strong fair deliver data"))
    found = claims(Universe(model, only_system(model)), lambda n, _: f"c{n}", lambda kind, n: f"{kind}{n}")
    assert found.without == {"p": "`deliver` promises that what waits in a channel is delivered, which is not exported"}


def test_the_formatter_keeps_it() -> None:
    text = format_source(parse(Source("test.fsm", line("strong   fair deliver   data,deliver back . ack"))))
    assert "under strong fair deliver data, deliver back.ack\n" in text


# Both searches, and the textbook -------------------------------------------------------------------------------------


def lines(seed: int) -> str:
    """Two who talk over channels of random kinds, with random fairness of what they say."""
    r = Random(seed)
    kinds = ["fifo[1]", "fifo[2]", "lossy fifo[1]", "lossy fifo[2]", "lossy bag[2]", "duplicating fifo[2]"]
    channel, back = r.choice(kinds), r.choice(kinds[:4])
    waits = r.random() < 0.3
    if waits:
        channel = r.choice(["waiting fifo[2]", "waiting bag[2]", "lossy waiting bag[2]"])
    names = ["deliver data", "deliver data.x", "deliver data.y", "deliver back", "one", "two", "end", "x", "y"]
    weak, strong = r.sample(names, r.randrange(4)), r.sample(names, r.randrange(7))
    under = [f"fair {', '.join(weak)}"] * bool(weak) + [f"strong fair {', '.join(strong)}"] * bool(strong)
    formula = r.choice(
        ["always eventually b in L", "eventually a in D", "b in L ~> a in D", "eventually always b in K"]
    )
    return f"""module line
machine A {{
  initial state S
  state D
  event one, two, end from environment
  event ack(n: 0..1) from back
  S on one when size(data) < {channel[-2]} do send data.x
  S on two when size(data) < {channel[-2]} do send data.y({r.randrange(2)})
  S -> D on ack(n) when n == {r.randrange(2)}
  S on ack(n) when n == 2
  D -> S on end
  ignore ack in D, S
}}
machine B {{
  initial state K
  state L
  event x, y(n: 0..1) from data
  K -> L on x
  L -> K on y(n) when n == {r.randrange(2)} and size(back) < {back[-2]} do send back.ack(n)
  L on x when size(back) < {back[-2]} do send back.ack(0)
  {"" if waits else "ignore x in L ignore y in K, L"}
}}
channel data: {channel} to B
channel back: {back} to A
system S {{ a: A  b: B  property p: {formula}{" under " + " and ".join(under) if under else ""} }}
"""


def test_verdicts_are_those_of_the_textbook() -> None:
    verdicts, promised = [], 0
    for seed in today(range(300)):
        text = lines(seed)
        model = compiled(text)
        x = Explored(model, only_system(model))
        (q,) = x.plan.questions
        assert len(x.worlds) < 200
        wrong = violated(x, q)
        assert (x.answers["p"].outcome == "violated") == wrong, seed
        verdicts.append(wrong)
        promised += matters(x, q)
    assert sum(verdicts) >= enough(100)
    assert len(verdicts) - sum(verdicts) >= enough(15)
    assert promised >= enough(15)


def test_both_searches_mark_the_same() -> None:
    for seed in today(range(40)):
        model = compiled(lines(seed))
        assert compare(model, only_system(model), 300, random=Random(seed)) == ("the same", [])


@pytest.mark.full(reason="compiled searches")
@needs_compiler
def test_machine_code_marks_the_same() -> None:
    for seed in (3, 14, 22):
        model = compiled(lines(seed))
        assert compare(model, only_system(model), 300, compiled=True, random=Random(seed)) == ("the same", [])


def test_members_that_messages_name_are_told_apart() -> None:
    text = """module many
    machine A { param b: B  initial state S  event go from environment
      S on go when size(data) == 0 do send data.hi(self) }
    machine B { last: A?  initial state Up  event hi(a: A) from data  Up on hi(a) do last = a }
    channel data: lossy fifo[1] to B
    system S { as: A[3] symmetric { b = b }  b: B  property p: always eventually b.last != none under strong fair WHAT }
    """
    model = compiled(text.replace("WHAT", "deliver data"))
    x = explore(model, only_system(model), means=Means(compiled=False))
    assert x.reduced == ()
    assert x.note is not None
    assert "`p` assumes fairness of each member" in x.note
