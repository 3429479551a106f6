"""Fairness of each argument: that an event is not put off for ever with this value."""

from __future__ import annotations

from random import Random

import pytest
from campaign import compare
from fair_runs import matters, violated
from packed_search import PLAIN, needs_compiler, own_objects
from property_runs import Explored, explored
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

LOCK = """module lock
machine Actor {
    initial state Out
    state In
    event enter, leave from Controller
    Out -> In on enter
    In -> Out on leave
}
machine Controller {
    held: Actor?
    initial state Up
    event try_read(n: 0..1, a: Actor), done from environment
    grant: Up on try_read(_, x) when held == none do { held = x; x.enter }
    Up on done when held != none do { held.leave; held = none }
    ignore try_read, done in Up
}
system S {
    actors: Actor[2]
    c: Controller
    environment { some n in {0, 1}, a in actors: c.try_read(n, a)  c.done }
    property p: FORMULA under FAIR
}
"""


def lock(fair: str, formula: str = "all a in actors: always eventually a in In") -> str:
    return LOCK.replace("FORMULA", formula).replace("FAIR", fair)


def outcome(text: str, means: Means = PLAIN) -> str:
    model = compiled(text)
    return next(v.outcome for v in explore(model, only_system(model), means=means).verdicts if v.kind == "property")


@pytest.mark.parametrize(
    ("fair", "wanted"),
    [
        ("strong fair try_read, done", "violated"),  # of one actor again and again
        ("strong fair try_read for each n, strong fair done", "violated"),
        ("fair try_read for each a, fair done", "violated"),  # not possible while the other is in
        ("strong fair try_read for each a, strong fair done", "holds"),
        ("strong fair done, fair done, strong fair lock.Controller.grant for each a", "holds"),
        ("strong fair grant for each n, a and fair done", "holds"),
        ("strong fair grant for each n and strong fair try_read for each a, n, fair done", "holds"),
    ],
)
def test_each_value_is_meant_by_itself(fair: str, wanted: str) -> None:
    assert outcome(lock(fair)) == wanted
    assert explored(lock(fair)).outcomes() == {"p": wanted}


def test_there_is_a_promise_for_each_instance_and_combination_of_values() -> None:
    x = explored(lock("fair grant for each a, n"))
    told = [(o.instance, o.name, [(p.name, v) for p, v in o.arguments]) for o in x.plan.obligations]
    assert told == [(2, "grant", [("n", n), ("a", a)]) for n in (0, 1) for a in (0, 1)]
    one = explored(lock("fair grant for each a"))
    assert [[(p.name, v) for p, v in o.arguments] for o in one.plan.obligations] == [[("a", 0)], [("a", 1)]]


SENT = """module sent
machine Boss {
    initial state On
    event tell(n: 0..2) from environment
    On on tell(n) do worker.work(MADE)
    param worker: Worker
}
machine Worker {
    got: set<0..2>
    initial state Up
    event work(k: 0..2) from Boss
    got: Up on work(k) when k != 2 do add k to got
    ignore work in Up
}
system S {
    boss: Boss { worker = worker }
    worker: Worker
    property p: eventually worker.got == {0, 1} under strong fair FAIR
}
"""


@pytest.mark.parametrize(
    ("made", "fair", "wanted"),
    [
        ("n", "tell", "violated"),
        ("n", "work", "violated"),
        ("n", "tell for each n", "holds"),
        ("n", "work for each k", "holds"),
        ("n", "Worker.got for each k", "holds"),
        ("max(n, 1)", "work for each k", "violated"),  # 0 is never possible
        ("max(n, 1) - 1", "work for each k", "holds"),
        ("max(n, 1) - 1", "tell for each n", "holds"),
    ],
)
def test_an_event_that_is_sent_inside_a_step_counts_with_its_own_arguments(made: str, fair: str, wanted: str) -> None:
    text = SENT.replace("MADE", made).replace("FAIR", fair)
    assert outcome(text) == wanted
    assert explored(text).outcomes() == {"p": wanted}


def test_what_is_ignored_happens_with_its_arguments() -> None:
    """Of work(2) the worker makes nothing, but it has come."""
    text = SENT.replace("MADE", "n").replace("eventually worker.got == {0, 1}", "eventually worker.got == {0, 1, 2}")
    x = explored(text.replace("FAIR", "work for each k"))
    loop = x.trace("p")
    assert loop.loop is not None
    assert set(loop.steps()[loop.loop :]) == {"boss.tell(0)", "boss.tell(1)", "boss.tell(2)"}


def test_a_message_that_is_delivered_has_arguments() -> None:
    text = """module told
    machine A { initial state S  event go(n: 0..1) from environment
      S on go(n) when size(data) < 2 do send data.hi(n) }
    machine B { got: set<0..1>  initial state Up  event hi(k: 0..1) from data  Up on hi(k) do add k to got }
    channel data: bag[2] to B
    system S { a: A  b: B  property p: eventually b.got == {0, 1} under FAIR }
    """
    assert outcome(text.replace("FAIR", "strong fair go, hi")) == "violated"
    assert outcome(text.replace("FAIR", "strong fair go, fair hi for each k")) == "violated"  # 1 is never sent
    assert outcome(text.replace("FAIR", "strong fair go for each n, strong fair hi for each k")) == "holds"


def test_too_many_values_are_not_decided() -> None:
    text = SENT.replace("MADE", "n").replace("0..2", "0..62").replace("add k to got", "add k % 2 to got")
    text = text.replace("set<0..62>", "set<0..1>").replace("FAIR", "work for each k")
    model = compiled(text)
    v = next(v for v in explore(model, only_system(model), means=PLAIN).verdicts if v.kind == "property")
    assert (v.outcome, v.basis) == ("not checked", "`work` has more than 62 values to be fair to, behind `for each`")
    assert outcome(text.replace("0..62", "0..61")) == "holds"
    twice = text.replace("0..62", "0..40").replace("work for each k", "work for each k, strong fair tell for each n")
    model = compiled(twice)
    v = next(v for v in explore(model, only_system(model), means=PLAIN).verdicts if v.kind == "property")
    assert v.basis == (
        "fairness has more than 62 obligations here, one for each instance, name and value behind `for each`, "
        "two for each message"
    )


def verdicts(text: str) -> dict[str, tuple[str, str]]:
    model = compiled(text)
    found = explore(model, only_system(model), means=PLAIN).verdicts
    return {v.name: (v.outcome, v.basis) for v in found if v.kind == "property"}


def properties(first: str, second: str, values: str) -> dict[str, tuple[str, str]]:
    """The verdicts on two properties that differ in their fairness, where the event has so many values."""
    text = SENT.replace("MADE", "n").replace("0..2", values).replace("add k to got", "add k % 2 to got")
    text = text.replace(f"set<{values}>", "set<0..1>").replace("FAIR", first)
    return verdicts(f"{text.strip()[:-1]} property q: eventually worker.got == {{0, 1}} under strong fair {second} }}")


def test_a_property_that_promises_too_much_by_itself_takes_no_room_from_the_others() -> None:
    found = properties("tell for each n, strong fair work for each k", "work for each k", "0..40")
    assert found["p"][0] == "not checked"
    assert found["q"][0] == "holds"


def test_properties_that_promise_too_much_together_are_named() -> None:
    found = properties("tell for each n", "work for each k", "0..40")
    why = "together with that of `p`, its fairness has more than 62 obligations, the limit for one system"
    assert found["p"][0] == "holds"
    assert found["q"] == ("not checked", why)
    assert {x for x, _ in properties("tell for each n", "work for each k", "0..30").values()} == {"holds"}


# Text ----------------------------------------------------------------------------------------------------------------


def found_in(text: str) -> list[str]:
    parsed = parse(Source("test.fsm", text))
    return [d.message for d in (*parsed.diagnostics, *resolve([parsed.module]).diagnostics)]


@pytest.mark.parametrize(
    ("fair", "message"),
    [
        ("fair try_read for each b", "`try_read` has no parameter `b`"),
        ("fair grant for each x", "`try_read` has no parameter `x`"),
        ("fair try_read, done for each a", "`done` has no parameter `a`"),
        ("fair try_read for each a, done", "`try_read` has no parameter `done`"),
        ("fair try_read for each Controller.a", "`try_read` has no parameter `Controller.a`"),
        ("fair tick for each a", "there is no event or label `tick`"),
        ("fair late for each a", "`late` is not an event of Controller, so it has no parameter `a`"),
        (
            "fair deliver mail, try_read for each a",
            "`deliver` cannot be combined with `for each`: it already applies to each message separately",
        ),
    ],
)
def test_what_stands_behind_for_each_is_a_parameter(fair: str, message: str) -> None:
    text = lock(fair).replace("    ignore try_read", "    late: Up after 5s\n    ignore try_read")
    assert message in found_in(text.replace("machine Actor", "channel mail: fifo[1] to Controller\nmachine Actor"))


def test_an_editor_offers_the_parameters() -> None:
    for fair in ("fair done, fair try_read for each ", "strong fair Controller.grant, try_read for each a, "):
        text = lock(fair)
        text = text[: text.index(fair) + len(fair)]
        assert {c.label for c in completions(text, len(text)) if c.kind == "parameter"} == {"n", "a"}


def test_spin_is_told_why_it_is_not_asked() -> None:
    model = compiled(lock("strong fair grant for each a"))
    found = claims(Universe(model, only_system(model)), lambda n, _: f"c{n}", lambda kind, n: f"{kind}{n}")
    assert found.without == {
        "p": "`for each` promises something for each value of an argument, which is not exported"
    }  # fmt: skip


def test_the_formatter_keeps_it() -> None:
    text = format_source(parse(Source("test.fsm", lock("strong   fair  grant for   each a,n and fair done"))))
    assert "under strong fair grant for each a, n and fair done\n" in text


# Both searches, and the textbook -------------------------------------------------------------------------------------


def talks(seed: int) -> str:
    """One who tells another values, from outside, inside a step and through a channel; with random fairness."""
    r = Random(seed)
    names = ["go", "go for each n", "go for each a", "go for each a, n", "row", "row for each n", "hear for each k"]
    names += ["heard for each k", "hear", "hi for each k", "hi", "end", "meet for each b"]
    weak, strong = r.sample(names, r.randrange(3)), r.sample(names, r.randrange(4))
    under = [f"fair {x}" for x in weak] + [f"strong fair {x}" for x in strong]
    formula = r.choice(
        [
            "always eventually b in L",
            "eventually b in L",
            "b in L ~> b in K",
            "b in K ~> b in L",
            "eventually always b in K",
        ]
    )
    sent = r.choice(["b.hear(n)", "b.hear(1 - n)", f"b.hear({r.randrange(2)})", "send data.hi(n)"])
    crash = r.choice(["", " crash", " crash between writes"])
    free = "when size(data) == 0 " if "data" in sent else ""
    rows = [
        f"row: S on go(n, a) when n == {r.randrange(2)} and {r.choice(['a', 'not a', 'true'])} "
        f"{'and size(data) == 0 ' if free else ''}do {sent}",
        f"T on go(n, a) {r.choice(['when a ', 'when n == 0 ', ''])}do b.meet({r.choice(['a', 'not a', 'true'])})",
        f"S -> T on end  T -> {r.choice('ST')} on end",
    ]
    return f"""module talks
machine A {{
  param b: B
  initial persistent state S
  persistent state T
  event go(n: 0..1, a: bool), end from environment
  {(chr(10) + "  ").join(rows)}
  ignore go in S, T
}}
machine B {{
  {r.choice(["durable ", ""])}n: 0..1
  initial persistent state K
  persistent state L
  event hear(k: 0..1), meet(b: bool) from A
  event hi(k: 0..1) from data
  heard: K -> L on hear(k) when k == {r.randrange(2)} do {{ n = k; n = 0 }}
  L -> K on hear(k) when k == {r.randrange(2)}
  {r.choice("KL")} -> {r.choice("KL")} on hi(k) when k == {r.randrange(2)}
  K -> {r.choice("KL")} on meet(b) when b
  {r.choice("KL")} -> K on crash
  ignore hear, hi, meet in K, L
}}
channel data: {r.choice(["fifo[1]", "lossy bag[1]"])} to B
system S {{
  a: A {{ b = b }}
  b: B
  environment {{ some n in {{0, 1}}, x in {{false, true}}: a.go(n, x)  a.end{crash} }}
  property p: {formula}{" under " + " and ".join(under) if under else ""}
}}
"""


def test_verdicts_are_those_of_the_textbook() -> None:
    verdicts, promised = [], 0
    for seed in today(range(300)):
        model = compiled(talks(seed))
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
    for seed in today(range(60)):
        model = compiled(talks(seed))
        assert compare(model, only_system(model), 300, random=Random(seed)) == ("the same", []), seed


@pytest.mark.full(reason="compiled searches")
@needs_compiler
def test_machine_code_marks_the_same() -> None:
    for seed in (3, 14, 22):
        model = compiled(talks(seed))
        assert compare(model, only_system(model), 300, compiled=True, random=Random(seed)) == ("the same", [])


def test_members_that_arguments_name_are_told_apart() -> None:
    text = """module many
    machine A { n: 0..1  initial state S  event go from environment  S on go do n = 1 - n }
    machine Hub { last: A?  initial state Up  event hi(a: A) from environment  Up on hi(a) do last = a }
    system S { as: A[3] symmetric  hub: Hub
      environment { some a in as: hub.hi(a)  some a in as: a.go }
      property p: always eventually hub.last != none under strong fair hi WHAT }
    """
    model = compiled(text.replace("WHAT", "for each a"))
    x = explore(model, only_system(model), means=Means(compiled=False))
    assert x.reduced == ()
    assert x.note is not None
    assert "`p` assumes fairness of each member" in x.note
    model = compiled(text.replace("WHAT", ""))
    assert explore(model, only_system(model), means=Means(compiled=False)).reduced == ("as",)
