"""Channels that wait: a message is delivered only where its receiver handles or ignores it."""

from __future__ import annotations

from pathlib import Path

import pytest
from generating import Generated
from stepping import Run, compiled, only_system
from test_meanings import explored_alike

from fsmdsl.check import check
from fsmdsl.search import explore, play
from fsmdsl.step import ChannelStep, enabled
from fsmdsl.step.describe import describe
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

SHOP = """module shop
channel orders: KIND[3] to Clerk
machine Clerk {
    served: 0..3
    initial state Ready
    state Busy
    state Shut
    event order(n: 0..3), done, late from orders
    event shut from environment
    Ready -> Busy   on order(n) when n > 0          do served = n
    Busy  -> Ready  on done
    Ready -> Ready  on order(n) when 6 / n < 1      // a guard that may have no value
    Ready -> Shut   on shut
    ignore late in Ready
}
machine Client {
    initial state On
    event ask(n: 0..3), finish, tarry from environment
    On on ask(n)  do send orders.order(n)
    On on finish  do send orders.done
    On on tarry   do send orders.late
}
system S { clerk: Clerk  client: Client
    environment { some n in {0, 1, 2}: client.ask(n)  client.finish  client.tarry  clerk.shut }
}
"""


def shop(kind: str = "waiting fifo") -> Run:
    return Run(SHOP.replace("KIND", kind).replace(" when 6 / n < 1", " when n == 3"))


def transmissions(run: Run) -> list[str]:
    steps = (s for s in enabled(run.universe, run.world) if isinstance(s, ChannelStep))
    return [describe(run.universe, s, run.world) for s in steps]


def deliveries(run: Run) -> list[str]:
    return [x for x in transmissions(run) if x.startswith("deliver")]


# What it means -------------------------------------------------------------------------------------------------------


def test_a_message_waits_until_a_transition_for_it_is_enabled() -> None:
    run = shop()
    run.take("client.finish")
    assert deliveries(run) == []  # `done` is handled in Busy alone
    run = shop()
    run.take("client.ask(0)")
    assert deliveries(run) == []  # no guard holds
    run = shop()
    run.take("client.ask(1)", "client.finish")
    assert deliveries(run) == ["deliver orders.order(1)"]
    run.take("deliver orders")
    assert deliveries(run) == ["deliver orders.done"]


def test_what_is_ignored_is_taken() -> None:
    run = shop()
    run.take("client.tarry")
    assert deliveries(run) == ["deliver orders.late"]
    run.take("deliver orders", "client.tarry", "clerk.shut")
    assert deliveries(run) == []


def test_the_first_of_a_fifo_blocks_the_others() -> None:
    run = shop()
    run.take("client.finish", "client.ask(1)", "client.tarry")
    assert deliveries(run) == []


def test_of_a_bag_any_message_comes_that_is_taken() -> None:
    run = shop("waiting bag")
    run.take("client.finish", "client.ask(1)", "client.ask(0)")
    assert deliveries(run) == ["deliver orders.order(1)"]
    run.take("deliver orders[1]")
    assert deliveries(run) == ["deliver orders.done"]


def test_without_the_word_it_is_a_fault() -> None:
    run = shop("fifo")
    run.take("client.finish")
    assert deliveries(run) == ["deliver orders.done"]
    fault = run.attempt("deliver orders").fault
    assert fault is not None
    assert fault.kind == "unhandled"


def test_what_waits_is_lost_and_repeated_all_the_same() -> None:
    run = shop("lossy duplicating waiting fifo")
    run.take("client.finish", "client.ask(0)")
    assert transmissions(run) == [
        "lose orders.done", "lose orders.order(0)", "duplicate orders.done", "duplicate orders.order(0)",
    ]  # fmt: skip
    run.take("duplicate orders")
    assert len(run.world.channels[0]) == 3


def test_a_guard_without_a_value_shows_its_fault() -> None:
    run = Run(SHOP.replace("KIND", "waiting fifo"))
    run.take("client.ask(0)")
    assert deliveries(run) == ["deliver orders.order(0)"]
    fault = run.attempt("deliver orders").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("none", "division by zero: `n` is 0 here")


def test_what_two_transitions_would_take_is_an_overlap() -> None:
    run = Run(SHOP.replace("KIND", "waiting fifo").replace("when 6 / n < 1", "when n == 2"))
    run.take("client.ask(2)")
    fault = run.attempt("deliver orders").fault
    assert fault is not None
    assert fault.kind == "overlap"


# Deadlock ------------------------------------------------------------------------------------------------------------

ENDS = """module ends
channel inbox: waiting KIND[2] to each Node
machine Node {
    param peer: Node
    initial state A
    state B
    final state Done
    event go from environment
    event one, two from inbox
    A -> B     on go do { send inbox.FIRST to peer; send inbox.SECOND to peer }
    B -> Done  on one
    IGNORES
}
system S { a: Node { peer = b }  b: Node { peer = a } }
"""


def ends(kind: str, first: str, second: str, ignores: str = "") -> str:
    text = ENDS.replace("KIND", kind).replace("IGNORES", ignores)
    return text.replace("FIRST", first).replace("SECOND", second)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ends("fifo", "two", "one"), "a in B, b in B, inbox of a = [two, one] waits, inbox of b = [two, one] waits"),
        (ends("bag", "two", "one"), "a in Done, b in Done, inbox of a = [two] waits, inbox of b = [two] waits"),
        (ends("fifo", "one", "two"), "a in Done, b in Done, inbox of a = [two] waits, inbox of b = [two] waits"),
        (ends("fifo", "two", "one", "ignore two in B"), None),
        (ends("bag", "one", "two", "ignore two in Done"), None),
    ],
)
def test_messages_that_nobody_takes_are_a_deadlock(text: str, why: str | None) -> None:
    explored_alike(text)
    model = compiled(text)
    (found,) = (v for v in explore(model, only_system(model)).verdicts if v.kind == "deadlock")
    assert found.outcome == ("holds" if why is None else "violated")
    assert found.explanation[:1] == (() if why is None else (f"no step is possible here: {why}",))


def test_an_instance_whose_message_is_never_taken_is_stuck() -> None:
    """Also while others move."""
    text = ends("fifo", "two", "one").replace(
        "system S {", "machine C { initial state C event t from environment C on t } system S { c: C"
    )
    text = text.replace("peer = a } }", "peer = a } property free: all n in Node: always not stuck(n) }")
    text = text.replace("all n in Node", "all n in {a, b}")
    model = compiled(text)
    found = {v.name: v.outcome for v in explore(model, only_system(model)).verdicts}
    assert (found["free"], found["no deadlock"]) == ("violated", "holds")


# Fairness ------------------------------------------------------------------------------------------------------------

READY = """module ready
channel inbox: waiting KIND[2] to Server
machine Server {
    got: bool
    initial state Off
    state On
    event flip from environment
    event job, other from inbox
    Off -> On, On -> Off  on flip
    On   on job    do got = true
    Off  on other
}
machine Client {
    initial state A
    state B
    event go, more from environment
    A -> B  on go    do send inbox.job
    B       on more  when size(inbox) < 2 do send inbox.other
}
system S {
    server: Server
    client: Client
    property weak:   eventually server.got under fair go, deliver inbox
    property strong: eventually server.got under fair go and strong fair deliver inbox
    property flips:  eventually server.got under fair go, flip and strong fair deliver inbox
}
"""


@pytest.mark.parametrize(
    ("kind", "never", "flips"),
    [
        ("fifo", ("violated", "holds"), "holds"),  # when it is full, nothing but `flip` is left
        ("bag", ("violated", "violated"), "holds"),
    ],
)
def test_nobody_is_promised_that_a_receiver_becomes_ready(kind: str, never: tuple[str, str], flips: str) -> None:
    """Without `flip` the server stays off for ever, and takes others: that the job waits is then no unfair run. With it
    the job can be delivered again and again, so it is."""
    text = READY.replace("KIND", kind)
    explored_alike(text)
    model = compiled(text)
    found = {v.name: v.outcome for v in explore(model, only_system(model)).verdicts if v.kind == "property"}
    assert found == {"weak": never[0], "strong": never[1], "flips": flips}


# Both searches, and SPIN ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["waiting fifo", "waiting bag", "lossy waiting bag", "duplicating waiting fifo"])
@pytest.mark.parametrize("crash", ["", "crash between writes"])
def test_the_packed_search_finds_what_the_definition_does(kind: str, crash: str) -> None:
    text = SHOP.replace("KIND[3]", f"{kind}[2]").replace("clerk.shut }", f"clerk.shut {crash} }}")
    assert explored_alike(text.replace("served:", "durable served:"))["states"] > 20  # type: ignore[operator]


# Everything else -----------------------------------------------------------------------------------------------------


def test_generated_classes_refuse_what_is_not_taken_and_keep_it(tmp_path: Path) -> None:
    made = Generated(tmp_path, SHOP.replace("KIND", "waiting bag"))
    system = made.System()
    clerk = made.Clerk(system)
    orders = made.Orders(system, clerk)
    client = made.Client(system)
    client.finish()
    client.ask(2)
    assert not system.can(orders.deliver)
    with pytest.raises(made.UnhandledEvent):
        orders.deliver()
    assert len(orders) == 2
    orders.deliver(1)
    assert (clerk.state.name, len(orders)) == ("BUSY", 1)
    assert system.can(orders.deliver)
    assert "delivers what the receiver handles or ignores" in " ".join(made.Orders.__doc__.split())


def test_the_environment_of_a_scenario_may_not_deliver_it() -> None:
    steps = "client.finish fails deliver orders with unhandled client.ask(1) deliver orders.order deliver orders.done"
    model = compiled(SHOP.replace("KIND", "waiting bag") + f'scenario A "a" of S {{ {steps} expect clerk in Ready }}')
    (scenario,) = model.scenarios.values()
    played = play(model, scenario)
    assert played.passed, played.failure


def test_what_waits_is_no_fault_in_a_state_that_does_not_take_it() -> None:
    """FSM215 lists states in which an event would be a fault."""
    for kind, told in (("fifo", 1), ("waiting fifo", 0)):
        found = [d for d in check(compiled(SHOP.replace("KIND", kind))) if d.rule.code == "FSM215"]
        assert len(found) == told


def test_words_may_stand_in_any_order_and_stay_names() -> None:
    text = SHOP.replace("KIND", "waiting   lossy fifo").replace("Busy", "waiting")
    printed = format_source(parse(Source("test.fsm", text)))
    assert "channel orders: waiting lossy fifo[3] to Clerk\n" in printed
    (channel,) = compiled(printed).channels.values()
    assert (channel.waiting, channel.lossy, channel.duplicating) == (True, True, False)
