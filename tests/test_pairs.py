"""Channels `from each` instance of a machine `to each` of another: a queue for each pair, in every reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from generating import Generated
from stepping import Run, compiled, only_system
from test_explain import explained, log, steps
from test_meanings import explored_alike
from test_symmetry import PLAIN, compare

from fsmdsl.model.resolve import resolve
from fsmdsl.search import explore, play
from fsmdsl.step.describe import describe
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

PEERS = """module peers
channel link: KIND[2] from each Peer to each Peer
machine Peer {
    param others: set<Peer>
    param number: 0..9
    heard: list<0..9>[4]
    initial state Up
    state Down
    event say(to_: Peer), count_, down from environment
    event word(n: 0..9), more from link
    say: Up -> Up    on say(to_)  do { send link.word(number) to to_; send link.more to to_ }
    sum:  Up          on count_     do { for x in others { send link.word(size(link from x to self)) to x } }
    hear: Up          on word(n)    do add n to heard
    Up on more
    fall: Up -> Down  on down
    ignore word, more in Down
    Up -> Up  on crash
}
machine Other { initial state Idle }
"""
SYSTEM = """
system Three {
    a: Peer { others = {b[0]}, number = 1 }
    other: Other
    b: Peer[2] { others = {a}, number = 2 + index }
    environment { a.say(b[0])  some x in b: x.say(b[0])  a.count_  b[1].down  crash of a }
}
"""


def text(kind: str = "fifo", system: str = SYSTEM) -> str:
    return PEERS.replace("KIND", kind) + system


def held(run: Run) -> dict[str, int]:
    """How many messages wait, where some do."""
    return {run.universe.queue_name(n): len(x) for n, x in enumerate(run.world.channels) if x}


# What it means -------------------------------------------------------------------------------------------------------


def test_messages_of_one_sender_keep_their_order_and_others_overtake_them() -> None:
    run = Run(text())
    assert run.take("a.say(b0)")[1:] == ["a posts link.word(1) to b0", "a posts link.more to b0"]
    run.take("b1.say(b0)", "b0.say(b0)")
    assert held(run) == {"link from a to b0": 2, "link from b0 to b0": 2, "link from b1 to b0": 2}
    told = [describe(run.universe, run.called(x), run.world) for x in run.steps() if x.startswith("deliver")]
    assert told == [
        "deliver link.word(1) from a to b0", "deliver link.word(2) from b0 to b0", "deliver link.word(3) from b1 to b0",
    ]  # fmt: skip
    run.take("deliver link from b1 to b0", "deliver link from a to b0")
    assert run.field("b0.heard") == "[3, 1]"
    run.take("deliver link from a to b0", "deliver link from b0 to b0")
    assert run.field("b0.heard") == "[3, 1, 2]"


def test_each_pair_holds_as_many_as_the_channel_says() -> None:
    run = Run(text())
    run.take("a.say(b0)", "b1.say(b0)")
    fault = run.attempt("a.say(b0)").fault
    assert fault is not None
    assert (fault.kind, run.why(fault)) == ("overflow", "channel `link from a to b0` is full: it holds 2")


def test_its_size_is_that_of_one_pair() -> None:
    run = Run(text().replace("a.say(b[0])", "a.say(b[0]) b[0].say(a)"))
    run.take("b0.say(a)")
    assert run.take("a.count_")[1:] == ["a posts link.word(2) to b0"]
    assert held(run) == {"link from a to b0": 1, "link from b0 to a": 2}


def test_the_crash_of_one_leaves_the_network_alone() -> None:
    run = Run(text())
    run.take("a.say(b0)", "crash of a")
    assert held(run) == {"link from a to b0": 2}


def test_a_message_is_lost_and_repeated_in_one_queue() -> None:
    run = Run(text("lossy duplicating waiting bag"))
    run.take("a.say(b0)", "b1.say(b0)", "lose link from a to b0", "duplicate link from a to b0")
    assert held(run) == {"link from a to b0": 2, "link from b1 to b0": 2}


CLIENTS = """module clients
channel ask: KIND[1] from each Client to each Server
channel answer: waiting fifo[1] from each Server to each Client
machine Client {
    chosen: Server?
    initial state Idle
    state Asks
    event go(s: Server) from environment
    event yes, no from answer
    Idle -> Asks  on go(s) when size(ask from self to s) == 0  do { send ask.please to s; chosen = s }
    Asks -> Idle  on yes  do chosen = none
    Asks -> Idle  on no   do chosen = none
}
machine Server {
    last: Client?
    param clients: set<Client>
    initial state Free
    state Taken
    event please from ask
    event serve(c: Client), release from environment
    Free  -> Taken  on please
    Taken           on serve(c) when c.chosen == self and last == none and size(answer from self to c) == 0 do {
        send answer.yes to c
        last = c
    }
    Taken -> Free   on release when last != none  do last = none
    Taken           on please do {
        for c in clients {
            if c.chosen == self and c != last and size(answer from self to c) == 0 { send answer.no to c }
        }
    }
}
system S {
    clients: Client[CLIENTS] symmetric
    servers: Server[SERVERS] symmetric { clients = clients }
    environment {
        some c in clients, s in servers: c.go(s)
        some s in servers, c in clients: s.serve(c)
        some s in servers: s.release
    }
    invariant one: all s in servers: (count c in clients: size(ask from c to s) > 0) <= size(clients)
    reachable both: some s in servers, c in clients: size(ask from c to s) > 0 and c.chosen == s
}
"""


def clients(count: int, servers: int, kind: str = "fifo") -> str:
    return CLIENTS.replace("CLIENTS", str(count)).replace("SERVERS", str(servers)).replace("KIND", kind)


@pytest.mark.parametrize("kind", ["fifo", "waiting fifo", "bag", "lossy duplicating waiting bag"])
def test_the_packed_search_finds_what_the_definition_does(kind: str) -> None:
    """Also where instances of the machine do not come one after the other."""
    small = text(kind).replace("heard: list<0..9>[4]", "heard: list<0..9>[1]")
    assert explored_alike(small)["states"] > 20  # type: ignore[operator]


@pytest.mark.parametrize("kind", ["fifo", "lossy waiting bag"])
def test_two_machines_are_explored_alike(kind: str) -> None:
    assert explored_alike(clients(2, 1, kind))["states"] > 20  # type: ignore[operator]
    assert explored_alike(clients(1, 2, kind))["states"] > 20  # type: ignore[operator]


# Symmetry ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "servers"), [(2, 1), (1, 2)])
def test_queues_are_exchanged_by_both_ends(count: int, servers: int) -> None:
    """As many states as there are orbits, and the same verdicts."""
    assert compare(compiled(clients(count, servers))) == "fewer"


GOSSIP = """module gossip
channel link: KIND[1] from each Node to each Node
machine Node {
    initial state A
    state B
    event go(to_: Node) from environment
    event flip, flop from link
    A, B on go(to_) when size(link from self to to_) == 0 do send link.flip to to_
    A -> B on flip do if size(link from self to self) == 0 { send link.flop to self }
    B -> A on flop
}
system S {
    nodes: Node[COUNT] symmetric
    let busy = count x in nodes: some y in nodes: size(link from x to y) > 0
    environment { some a in nodes, b in nodes: a.go(b) when a != b and busy < 2 }
}
"""


@pytest.mark.parametrize(("count", "kind"), [(2, "fifo"), (3, "waiting fifo"), (3, "waiting bag")])
def test_queues_between_members_of_one_set_are_exchanged_in_both_indices(count: int, kind: str) -> None:
    assert compare(compiled(GOSSIP.replace("COUNT", str(count)).replace("KIND", kind))) == "fewer"


# Fairness ------------------------------------------------------------------------------------------------------------


def test_fairness_is_of_the_messages_of_each_pair() -> None:
    promised = """module promised
channel link: lossy fifo[1] from each Node to each Hub
machine Node {
    initial state A
    param hub: Hub
    event go from environment
    A on go when size(link from self to hub) == 0 do send link.take to hub
}
machine Hub { seen: 0..3  initial state A  event take from link  A on take do seen = min(seen + 1, 1) }
system S {
    nodes: Node[2] { hub = hub }
    hub: Hub
    property every: eventually hub.seen > 0 under fair go and strong fair deliver link
    property weak:  eventually hub.seen > 0 under fair go, deliver link
}
"""
    explored_alike(promised)
    model = compiled(promised)
    found = {v.name: v.outcome for v in explore(model, only_system(model), means=PLAIN).verdicts}
    assert (found["every"], found["weak"]) == ("holds", "violated")


# Generated classes, scenarios, logs ----------------------------------------------------------------------------------


def test_a_class_for_the_channel_and_an_object_for_each_pair(tmp_path: Path) -> None:
    made = Generated(tmp_path, text("lossy fifo"))
    system = made.System()
    a, b = (made.Peer(system, others=frozenset(), number_=n) for n in (1, 2))
    links = {(x, y): made.Link(system, x, y) for x in (a, b) for y in (a, b)}
    a.say(b)
    b.say(b)
    assert [len(x) for x in links.values()] == [0, 2, 0, 2]
    assert system.channel(made.Link, a, b) is links[a, b]
    assert (links[a, b].sender, links[a, b].receiver) == (a, b)
    links[b, b].deliver()
    links[a, b].deliver()
    assert b.heard == (2, 1)
    kept = system.snapshot()
    assert [*kept["channels"]] == ["Link from 0 to 0", "Link from 0 to 1", "Link from 1 to 0", "Link from 1 to 1"]
    links[a, b].lose()
    system.restore(kept)
    assert [len(x) for x in links.values()] == [0, 1, 0, 1]
    system.remove(b)
    assert [*system.snapshot()["channels"]] == ["Link from 0 to 0"]
    a.say(b)  # leaves the system
    assert len(links[a, b]) == 1


SCENARIO = """
scenario One "a message is delivered, lost, repeated" of Three {
    a.say(b[0])
    b[1].say(b[0])
    deliver link.word from b[1] to b[0]
    lose link from a to b[0]
    duplicate link.more from a to b[0]
    expect size(link from a to b[0]) == 2 and size(link from b[1] to b[0]) == 1
    fails deliver link from b[0] to a
}
"""


def test_a_scenario_names_both_ends() -> None:
    model = compiled(text("lossy duplicating fifo") + SCENARIO.replace("    fails deliver link from b[0] to a\n", ""))
    (scenario,) = model.scenarios.values()
    played = play(model, scenario)
    assert played.passed, played.failure


def test_in_a_scenario_there_may_be_no_such_message() -> None:
    model = compiled(text() + 'scenario One "one" of Three { a.say(b[0])  deliver link from b[0] to a }')
    (scenario,) = model.scenarios.values()
    failure = play(model, scenario).failure
    assert failure is not None
    assert failure.message == "`One`: there is no message in channel `link from b0 to a`"


def test_the_formatter_keeps_it() -> None:
    printed = format_source(
        parse(Source("test.fsm", (text("lossy   fifo") + SCENARIO).replace("from each", "from  each")))
    )
    assert "channel link: lossy fifo[2] from each Peer to each Peer\n" in printed
    assert "size(link from x to self)" in printed
    assert "deliver link.word from b[1] to b[0]\n" in printed


MAPPING = """[[line]]
when = { msg = "told" }
instance = "{id}"
event = "say"

[[line]]
when = { msg = "got" }
of = "b"
instance = "{id}"
event = "deliver link.word"
"""


def test_a_line_of_a_log_says_to_whom_a_message_is_delivered() -> None:
    x = explained(log("a told", "b0 got"), MAPPING, text())
    assert x.outcome == "explained"
    assert steps(x) == ["a.say(b0) 1", "deliver link from a to b0 2"]


# What is written wrong -----------------------------------------------------------------------------------------------

WRONG = """module wrong
channel link: fifo[1] from each Node to each Node
channel half: fifo[1] to each Node
channel plain: fifo[1] to Hub
ODD
machine Node {
    param hub: Hub
    initial state A
    event go  from environment
    event get from link
    event one from half
    A on go  do WHAT
    A on get
    A on one
}
machine Hub { initial state A  event note from plain  event e from environment A on note  A on e do HUB }
system S { nodes: Node[2] { hub = hub }  hub: Hub  SYSTEM }
"""


@pytest.mark.parametrize(
    ("place", "what", "message", "help"),
    [
        (
            "WHAT",
            "send link.get",
            "`link` has one queue for each pair of Node and Node; specify which",
            "`send link.get to x`",
        ),
        ("WHAT", "send link.get to hub", "expected `Node`, got `Hub`", ""),
        (
            "HUB",
            "send link.get to self",
            "`link` leads from each Node, but this is sent by Hub",
            "without `from each`",
        ),
        (
            "SYSTEM",
            "recover { send link.get to nodes[0] }",
            "`link` leads from each Node, but this is sent by the system",
            "",
        ),
        (
            "SYSTEM",
            "invariant size(link) == 0",
            "`link` has one queue for each pair of Node and Node; specify which",
            "`size(link from x to y)`",
        ),
        (
            "SYSTEM",
            "invariant size(link of nodes[0]) == 0",
            "`link` has one queue for each pair, which must be written differently",
            "`size(link from x to y)`",
        ),
        (
            "SYSTEM",
            "invariant size(half from nodes[0] to nodes[1]) == 0",
            "`half` has one queue for each receiver, which must be",
            "`size(half of x)`",
        ),
        ("SYSTEM", "invariant size(link from nodes[0] to hub) == 0", "expected `Node`, got `Hub`", ""),
        (
            "SYSTEM",
            "invariant size(plain from hub to hub) == 0",
            "`plain` has one receiver, which must not be named",
            "",
        ),
        ("SYSTEM", "invariant (link from hub to hub) == 0", "", ""),
        (
            "ODD",
            "channel odd: fifo[1] from each Node to Hub",
            "each Node has a queue here, but Hub has only one",
            "`to each Hub`",
        ),
        ("ODD", "channel odd: fifo[1] from each Nod to each Hub", "there is no machine `Nod`", "`Node`"),
        ("ODD", "channel odd: fifo[1] from Node to each Hub", "unexpected `Node` here", "`each`"),
    ],
)
def test_errors_say_what_to_write(place: str, what: str, message: str, help: str) -> None:
    blank = {"WHAT": "send half.one to self", "HUB": "send plain.note", "SYSTEM": "", "ODD": ""}
    written = WRONG
    for name, otherwise in blank.items():
        written = written.replace(name, what if name == place else otherwise)
    parsed = parse(Source("wrong.fsm", written))
    resolved = resolve([parsed.module])
    (first, *_) = [*parsed.diagnostics, *resolved.diagnostics]
    assert message in first.message, first
    assert help in (first.advice or ""), first
