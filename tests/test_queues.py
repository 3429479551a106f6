"""Channels `to each` instance of a machine: a queue for each, in every reader of a model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from generating import Generated
from random_mail import mail
from stepping import Run, compiled, only_system
from test_explain import explained, log, steps
from test_meanings import explored_alike
from test_symmetry import PLAIN, compare
from tiers import enough, today

from fsmdsl.model.resolve import resolve
from fsmdsl.search import explore, play
from fsmdsl.step.describe import describe
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

RING = """module ring
channel inbox: KIND[2] to each Process
machine Process {
    param next: Process?
    param number: 0..9
    heard: list<0..9>[4]
    initial state Up
    state Down
    event start, tell, down from environment
    event arrive(id: 0..9)  from inbox
    go:   Up -> Up    on start       do send inbox.arrive(number) to next
    tell: Up -> Up    on tell        do send inbox.arrive(size(inbox of self)) to self
    hear: Up -> Up    on arrive(id)  do { add id to heard; if id > number { send inbox.arrive(id) to next } }
    fall: Up -> Down  on down
    Up -> Up  on crash
}
machine Other { initial state Idle }
"""
SYSTEM = """
system Ring {
    a: Process { next = b[0], number = 1 }
    other: Other
    b: Process[2] { next = a, number = 2 + index }
    environment { a.start  a.tell  some x in b: x.start  a.down  crash  crash of a }
}
"""


def text(kind: str = "fifo", system: str = SYSTEM) -> str:
    return RING.replace("KIND", kind) + system


# What it means -------------------------------------------------------------------------------------------------------


def test_a_message_reaches_whom_it_is_sent_to_and_nobody_else() -> None:
    run = Run(text())
    assert run.take("a.start")[1:] == ["a posts inbox.arrive(1) to b0"]
    run.take("b0.start", "b1.start")
    assert [len(held) for held in run.world.channels] == [2, 1, 0]
    assert run.take("deliver inbox of b0") == ["b0: hear Up → Up", "b0.heard = [1]"]
    assert run.take("deliver inbox of a")[2:] == ["a posts inbox.arrive(2) to b0"]
    assert (run.field("a.heard"), run.field("b0.heard"), run.field("b1.heard")) == ("[2]", "[1]", "[]")
    assert describe(run.universe, run.called("deliver inbox of a"), run.world) == "deliver inbox.arrive(3) of a"


def test_each_queue_holds_as_many_as_the_channel_says() -> None:
    run = Run(text())
    run.take("b0.start", "b1.start", "a.start")
    fault = run.attempt("b0.start").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("overflow", "channel `inbox of a` is full: it holds 2")
    run.take("a.start")


def test_its_size_is_that_of_one_queue() -> None:
    run = Run(text())
    run.take("a.start", "b0.start", "a.tell")
    assert run.take("deliver inbox of a", "deliver inbox of a")[1:] == ["a.heard = [2, 1]"]


def test_to_none_is_the_fault_of_using_none() -> None:
    run = Run(text(system=SYSTEM.replace("next = b[0], ", "next = none, ")))
    fault = run.attempt("a.start").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("none", "`next` is none here")
    assert run.take("a.tell") != []


def test_messages_are_lost_and_repeated_in_one_queue() -> None:
    run = Run(text("lossy duplicating fifo"))
    run.take("a.start", "b0.start", "duplicate inbox of b0")
    assert [len(held) for held in run.world.channels] == [1, 2, 0]
    run.take("lose inbox of a")
    assert [len(held) for held in run.world.channels] == [0, 2, 0]


def test_a_crash_of_all_empties_all_queues_and_that_of_one_none() -> None:
    run = Run(text())
    run.take("a.start", "b0.start", "crash of a")
    assert [len(held) for held in run.world.channels] == [1, 1, 0]
    run.take("crash")
    assert [len(held) for held in run.world.channels] == [0, 0, 0]


def test_what_a_state_has_no_row_for_is_a_fault_at_its_delivery() -> None:
    run = Run(text())
    run.take("b0.start", "a.down")
    fault = run.attempt("deliver inbox of a").fault
    assert fault is not None
    assert fault.kind == "unhandled"


@pytest.mark.parametrize("kind", ["fifo", "bag", "lossy fifo", "lossy duplicating bag", "duplicating fifo"])
def test_the_packed_search_finds_what_the_definition_does(kind: str) -> None:
    """Also where instances of the machine do not come one after the other."""
    small = text(kind).replace("heard: list<0..9>[4]", "heard: list<0..9>[1]").replace("a.tell  ", "")
    assert explored_alike(small)["states"] > 50  # type: ignore[operator]


@pytest.mark.parametrize("seed", today(range(0, 120, 20)))
def test_random_mail_is_explored_alike(seed: int) -> None:
    explored_alike(mail(seed))


# Symmetry ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(4))
def test_members_with_queues_are_exchanged_together_with_them(part: int) -> None:
    """240 systems in all: as many states as there are orbits, and the same verdicts."""
    went = Counter(compare(compiled(mail(seed))) for seed in today(range(part * 60, part * 60 + 60)))
    assert went["fewer"] >= enough(10)
    assert went["told apart"] >= enough(2)


PROMISED = """module promised
channel inbox: lossy fifo[1] to each Node
machine Node {
    seen: bool
    initial state A
    event go   from environment
    event take from inbox
    A on go   when size(inbox of self) == 0 do send inbox.take to self
    A on take do seen = true
}
system S {
    nodes: Node[2] symmetric
    property every: all n in nodes: eventually n.seen under fair go and strong fair deliver inbox
    property weak:  all n in nodes: eventually n.seen under fair go, deliver inbox
    property some_: some n in nodes: eventually n.seen under fair go and strong fair deliver inbox
    property alone: all n in nodes: eventually n.seen under fair go
}
"""


def test_fairness_is_of_the_messages_of_each_queue() -> None:
    """Weakly fair, a message may be lost each time; and nothing is promised without `deliver`."""
    model = compiled(PROMISED)
    x = explore(model, only_system(model), means=PLAIN)
    assert x.reduced == ()
    assert "assumes fairness of each member" in str(x.note)
    found = {v.name: v.outcome for v in x.verdicts if v.kind == "property"}
    assert found == {"every": "holds", "weak": "violated", "some_": "holds", "alone": "violated"}


# Generated classes ---------------------------------------------------------------------------------------------------


def test_a_class_for_the_channel_and_an_object_for_each_queue(tmp_path: Path) -> None:
    made = Generated(tmp_path, text("lossy bag"))

    def system() -> tuple[object, ...]:
        system = made.System()
        a = made.Process(system, number_=1)
        b = made.Process(system, number_=2)
        a._next, b._next = b, a
        return system, a, b, made.Inbox(system, a), made.Inbox(system, b)

    s, a, b, of_a, of_b = (x for x in system())
    a.start()  # type: ignore[attr-defined]
    b.start()  # type: ignore[attr-defined]
    assert (len(of_a), len(of_b)) == (1, 1)  # type: ignore[arg-type]
    assert s.channel(made.Inbox, a) is of_a  # type: ignore[attr-defined]
    of_b.deliver()  # type: ignore[attr-defined]
    assert (b.heard, a.heard) == ((1,), ())  # type: ignore[attr-defined]
    kept = s.snapshot()  # type: ignore[attr-defined]
    assert [*kept["channels"]] == ["Inbox of 0", "Inbox of 1"]
    again = system()
    again[0].restore(kept)  # type: ignore[attr-defined]
    assert [len(x) for x in again[3:]] == [1, 0]  # type: ignore[arg-type]
    again[3].deliver()  # type: ignore[attr-defined]
    assert again[1].heard == (2,)  # type: ignore[attr-defined]
    s.remove(b)  # type: ignore[attr-defined]
    a.start()  # type: ignore[attr-defined]
    assert len(of_b) == 0  # type: ignore[arg-type]


# What is written wrong -----------------------------------------------------------------------------------------------

WRONG = """module wrong
channel inbox: fifo[1] to each Node
channel plain: fifo[1] to Hub
machine Node {
    param hub: Hub
    initial state A
    event go  from environment
    event get from inbox
    A on go  do WHAT
    A on get
}
machine Hub { initial state A  event note from plain  A on note }
system S { nodes: Node[2] { hub = hub }  hub: Hub  SYSTEM }
"""


@pytest.mark.parametrize(
    ("what", "system", "message", "help"),
    [
        (
            "send inbox.get",
            "",
            "`inbox` has one queue for each Node; specify which",
            "`send inbox.get to x`",
        ),
        ("send plain.note to hub", "", "`plain` has one receiver, which must not be named", "`to each Hub`"),
        ("send inbox.get to hub", "", "expected `Node`, got `Hub`", ""),
        ("send inbox.get to 3", "", "unexpected `3` here", "expected an instance"),
        (
            "hub.x",
            "invariant size(inbox) == 0",
            "`inbox` has one queue for each Node; specify which",
            "`size(inbox of x)`",
        ),
        ("hub.x", "invariant size(plain of hub) == 0", "`plain` has one receiver, which must not be named", ""),
        ("hub.x", "invariant size(nodes of hub) == 0", "`nodes` is not a channel", ""),
        ("hub.x", "more: Hub", "channel `plain` leads to Hub, of which there are 2 here", "`to each Hub` gives each a"),
        ("hub.x", "invariant (inbox of hub) == 0", "", ""),
        ("hub.x", "invariant min(inbox of hub, 1) == 0", "`inbox of hub` is a queue, which has no value", ""),
    ],
)
def test_errors_say_what_to_write(what: str, system: str, message: str, help: str) -> None:
    what = "if size(inbox of self) > 0 { send inbox.get to self }" if what == "hub.x" else what
    parsed = parse(Source("wrong.fsm", WRONG.replace("WHAT", what).replace("SYSTEM", system)))
    resolved = resolve([parsed.module])
    (first, *_) = [*parsed.diagnostics, *resolved.diagnostics]
    assert message in first.message, first
    assert help in (first.advice or ""), first


SCENARIO = """
scenario One "a message is delivered, lost, repeated" of Ring {
    a.start
    b[0].start
    duplicate inbox.arrive of b[0]
    deliver inbox.arrive of b[0]
    lose inbox of a
    expect size(inbox of b[0]) == 1 and size(inbox of a) == 0
    via go, go, hear
}
"""


def test_a_scenario_names_whose_queue_it_is() -> None:
    model = compiled(text("lossy duplicating fifo") + SCENARIO)
    (scenario,) = model.scenarios.values()
    played = play(model, scenario)
    assert played.passed, played.failure


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("deliver inbox", "`inbox` has one queue for each Process; specify which"),
        ("deliver inbox of other", "expected `Process`, got `Other`"),
    ],
)
def test_a_scenario_that_does_not_say_whose_is_wrong(step: str, message: str) -> None:
    source = Source("wrong.fsm", text() + f'scenario One "one" of Ring {{ {step} }}')
    found = resolve([parse(source).module]).diagnostics
    assert [d.message for d in found] == [message]


def test_in_a_scenario_there_may_be_no_such_message() -> None:
    model = compiled(text() + 'scenario One "one" of Ring { a.start  deliver inbox of a }')
    (scenario,) = model.scenarios.values()
    failure = play(model, scenario).failure
    assert failure is not None
    assert failure.message == "`One`: there is no message in channel `inbox of a`"


# Logs ----------------------------------------------------------------------------------------------------------------

LINE = '[[line]]\nwhen = {{ msg = "{0}" }}\n{1}event = "{2}"\n'
WHOSE = 'of = "b"\ninstance = "{id}"\n'
MAPPING = LINE.format("start", WHOSE, "start") + LINE.format(
    "got", 'of = "a"\ninstance = "{id}"\n', "deliver inbox.arrive"
)


def test_a_line_of_a_log_says_whose_queue_delivers() -> None:
    x = explained(log("b1 start", "x got"), MAPPING, text())
    assert x.outcome == "explained"
    assert steps(x) == ["b1.start 1", "deliver inbox of a 2"]
    other = explained(log("b1 start", "x got"), MAPPING.replace('of = "a"', 'of = "b"'), text())
    assert steps(other) == ["b1.start 1", "a.start hidden", "deliver inbox of b0 2"]


def test_a_line_that_names_no_such_queue_is_a_mistake_of_the_mapping() -> None:
    for line in (LINE.format("got", "", "deliver inbox"), MAPPING.replace("inbox.arrive", "inbox.start")):
        with pytest.raises(Exception, match="deliver inbox"):
            explained(log("b1 start"), line, text())
