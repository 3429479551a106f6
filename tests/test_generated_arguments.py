"""Generated classes refuse whatever is not of a declared type, wherever it comes in, and nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from generating import Calls, Generated

from fsmdsl import classes as emit

OFFICE = """module office
enum Colour { red | green }
enum Grade { low < high }
opaque Blob
record Entry { term: 0..3  fine: bool }
record Link { peer: Desk?  term: 0..3 }

channel mail: duplicating bag[2] to Desk

machine Desk {
    param size: 0..9 = 4
    param owner: Clerk? = none
    flag: bool
    seen: set<Clerk>
    initial state Idle
    state Busy
    event flip(x: bool), count(x: 1..3), paint(x: Colour), rank(x: Grade), hold(x: Blob)  from environment
    event note(x: Entry)  from environment
    event meet(x: Clerk), gather(x: set<Clerk>), queue(x: list<1..3>[2])                  from environment
    event vote(x: map<bool, 0..3>)  from environment
    event maybe(x: Clerk?), few(x: set<1..3>), pairs(x: list<Clerk?>[2])                  from environment
    event move(x: state of Clerk), join(x: Link), perhaps(x: 1..3?), fill(x: map<Clerk, bool>)  from environment
    event letter(x: Clerk, n: 1..3)  from mail
    * on flip(x) when x or not x do flag = x
    * on count(x) when x > 0
    * on paint(x) when x == red or x == green
    * on rank(x) when x >= low
    * on hold(x)
    * on note(x) when x.term >= 0
    * on meet(x) when x in Here or x not in Here do seen = {x}
    * on gather(x) when all c in x: c in Here do seen = x
    * on queue(x) when size(x) >= 0
    * on vote(x) when x[true] >= 0
    * on maybe(x) when x == none or x != none
    * on few(x) when all n in x: n > 0
    * on pairs(x) when size(x) >= 0
    * on move(x) when x == x
    * on join(x) when x.term >= 0
    * on perhaps(x) when x == none or x != none
    * on fill(x)
    * on letter(x, n) when n > 0 do seen = {x}
}

machine Clerk {
    initial state Here
    state Gone
    event leave from environment
    Here -> Gone on leave
}
"""


class Office:
    """A desk and a clerk, and another system with the same."""

    def __init__(self, package: Generated) -> None:
        self.package = package
        self.system, self.elsewhere = package.System(), package.System()
        self.clerk, self.stranger = package.Clerk(self.system), package.Clerk(self.elsewhere)
        self.desk, self.far_desk = package.Desk(self.system, name="north"), package.Desk(self.elsewhere)
        self.mail = package.Mail(self.system, self.desk)
        self.table = package.Table

    def right(self) -> dict[str, Any]:
        """A value for the parameter of each event."""
        package = self.package
        return {
            "flip": True, "count": 2, "paint": package.Colour.RED, "rank": package.Grade.HIGH, "hold": "anything",
            "note": package.Entry(1, True), "meet": self.clerk, "gather": frozenset([self.clerk]), "queue": (1, 3),
            "vote": self.table(0, {True: 3}), "maybe": None, "few": frozenset([1, 2]), "pairs": (self.clerk, None),
            "move": package.ClerkState.GONE, "join": package.Link(self.desk, 1), "perhaps": 3,
            "fill": self.table(False, {self.clerk: True}),
        }  # fmt: skip

    def wrong(self) -> dict[str, list[Any]]:
        """Values that the parameter of an event does not take: those that are right nowhere, those of other types, and
        those that are nearly right."""
        package = self.package
        alien = SimpleNamespace(state=package.ClerkState.HERE, name="Here")
        nowhere: list[Any] = ["red", "", 2.0, float("nan"), 4, 0, -1, 10**400, b"", object(), alien, Unprintable()]
        nowhere += [[], {}, set(), {1: 2}, [self.clerk], (1, 2, 3), (4,), (True,), frozenset([7]), frozenset(["red"])]
        nowhere += [self.stranger, self.desk, self.system, package.DeskState.IDLE, package.Clerk, int, Colour.RED]
        nowhere += [frozenset([self.stranger]), frozenset([None]), (self.stranger,), (None, None, None), (None, 7)]
        nowhere += [self.table(4), self.table(None), self.table(0, {True: 4}), self.table(0, {"yes": 1})]
        nowhere += [self.table(False, {self.stranger: True}), package.Link(self.far_desk, 1)]
        others = self.right()
        takes_none = {"maybe", "perhaps"}
        alike = {"count": {"perhaps"}, "perhaps": {"count", "maybe"}, "maybe": {"meet"}, "few": set()}
        values = {
            event: [
                *nowhere,
                *([] if event in takes_none else [None]),
                *(x for other, x in others.items() if other != event and other not in alike.get(event, ())),
            ]
            for event in others
        }
        values["hold"] = [None, [], {}, set(), {1: 2}]
        return values


class Colour:
    RED = "red"


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


EVENTS = (
    "flip", "count", "paint", "rank", "hold", "note", "meet", "gather", "queue", "vote", "maybe", "few", "pairs",
    "move", "join", "perhaps", "fill",
)  # fmt: skip


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    return Generated(tmp_path_factory.mktemp("office"), OFFICE)


@pytest.fixture
def office(package: Generated) -> Office:
    return Office(package)


@pytest.mark.parametrize("event", EVENTS)
def test_an_argument_of_another_type_is_refused(event: str, office: Office) -> None:
    refusals = office.package["machinery"]
    method = getattr(office.desk, event)
    method(office.right()[event])
    assert office.system.can(method, office.right()[event])
    before = office.system.snapshot()
    for value in office.wrong()[event]:
        with pytest.raises((refusals.OutOfRange, refusals.Full), match=r"<Desk north: Idle>: .*\bx[ .]") as caught:
            method(value)
        assert isinstance(caught.value, office.package.StepRefused)
        assert not office.system.can(method, value)
        assert office.system.snapshot() == before
    method(office.right()[event])


def test_a_refusal_says_what_came_and_what_is_expected(office: Office) -> None:
    package, table = office.package, office.table
    clerk = "a Clerk of this system, not <Clerk 0: Here>"
    desk = "a Desk of this system, not <Desk 1: Idle>"
    messages = {
        ("flip", 1): "x must be True or False, not 1",
        ("count", True): "x must be a whole number from 1 to 3, not True",
        ("paint", "red"): "x must be Colour.RED or Colour.GREEN, not 'red'",
        ("meet", office.stranger): f"x must be {clerk} of another system",
        ("meet", None): "x must be a Clerk of this system, not None",
        ("gather", frozenset([office.desk])): "an element of x must be a Clerk of this system, not <Desk north: Idle>",
        ("gather", ()): "x must be a frozenset, with elements that are a Clerk of this system, not ()",
        ("queue", (1, 2, 3)): "x holds at most 2, not 3",
        ("queue", (1, None)): "an item of x must be a whole number from 1 to 3, not None",
        ("vote", table(0, {1.5: 1})): "a key of x must be True or False, not 1.5",
        ("join", package.Link(office.far_desk, 1)): f"x.peer must be {desk} of another system",
        ("hold", None): "x must be a value that has a hash, not None",
    }  # fmt: skip
    for (event, value), message in messages.items():
        with pytest.raises(office.package.StepRefused) as caught:
            getattr(office.desk, event)(value)
        assert str(caught.value) == f"<Desk north: Idle>: {message}"


def test_a_long_value_is_cut(office: Office) -> None:
    with pytest.raises(office.package.StepRefused) as caught:
        office.desk.count("x" * 10_000)
    assert len(str(caught.value)) < 300


def test_a_message_is_looked_at_when_it_is_sent_and_when_its_place_is_named(office: Office) -> None:
    refused = office.package.StepRefused
    for clerk, n in [
        (office.stranger, 1),
        (None, 1),
        ("x", 1),
        (office.clerk, True),
        (office.clerk, 4),
        (office.clerk, None),
    ]:
        with pytest.raises(refused):
            office.mail.letter(clerk, n)
        assert not office.system.can(office.mail.letter, clerk, n)
    office.mail.letter(office.clerk, 3)
    for position in (None, "0", 0.0, True, 1, -1, []):
        for method in (office.mail.deliver, office.mail.duplicate):
            with pytest.raises(refused, match="holds no message at"):
                method(position)
    assert len(office.mail) == 1
    office.mail.deliver()
    assert office.desk.seen == {office.clerk}


@pytest.mark.parametrize(
    "values",
    [
        {"size": None}, {"size": True}, {"size": 10}, {"size": "4"}, {"flag": 1}, {"flag": None}, {"seen": {1}},
        {"seen": None}, {"seen": frozenset([None])}, {"owner": "me"}, {"state": "Idle"}, {"state": None},
    ],
)  # fmt: skip
def test_a_constructor_refuses_them_too(values: dict[str, Any], office: Office) -> None:
    with pytest.raises(office.package.StepRefused, match=rf"Desk: .*{next(iter(values))}"):
        office.package.Desk(office.system, **values)
    assert len(office.system.machines) == 2


def test_constructors_refuse_machines_of_another_system_and_what_is_no_system(office: Office) -> None:
    package, refused = office.package, office.package.StepRefused
    with pytest.raises(refused, match="owner must be a Clerk of this system, not <Clerk 0: Here> of another system"):
        package.Desk(office.system, owner=office.stranger)
    with pytest.raises(refused, match="receiver must be a Desk of this system"):
        package.Mail(office.system, office.far_desk)
    for system in (None, "system", office.desk):
        for kind in (package.Clerk, package.Mail):
            with pytest.raises(refused, match="system must be a System of this package, not"):
                kind(system)
    for values in ((None, True), (4, True), (1, None), (1, 1)):
        with pytest.raises(refused, match=r"Entry: (term|fine) must be"):
            package.Entry(*values)
    assert (len(office.system.machines), len(office.elsewhere.machines)) == (2, 2)


def test_an_event_of_another_system_is_not_tried(office: Office) -> None:
    steps: list[Any] = []
    office.elsewhere.listen(steps.append)
    with pytest.raises(office.package.StepRefused, match="<Clerk 0: Here> belongs to another system"):
        office.system.can(office.stranger.leave)
    assert (office.stranger.state.display, steps) == ("Here", [])
    for machine in (office.stranger, None, "x", []):
        with pytest.raises(ValueError, match="is not in this system"):
            office.system.remove(machine)


CRASHING = """module crashing
machine Server {
    durable n: 0..3
    peer: Server?
    initial state Up
    event go(n: 0..3), late(x: bool) from environment
    action look -> ok | bad
    async action fetch -> ok | bad
    Up on go(n) do { look }
    Up on late(x) do fetch
    Up on look.ok
    Up on look.bad
    Up on fetch.ok
    Up on fetch.bad
}
system Two {
    servers: Server[2]
    environment { some s in servers: crash of s }
    invariant fine: all s in servers: s in Up
}
"""


def test_what_crashes_is_a_machine_of_the_system(tmp_path: Path) -> None:
    package = Generated(tmp_path, CRASHING)
    system = package.System()
    server = package.Server(system, Calls())
    other = package.Server(package.System(), Calls())
    for machine in (other, None, "x"):
        with pytest.raises(package.StepRefused, match="only machines of this system can crash"):
            system.crash(machine)
    system.crash(server)
    for servers in (None, 3, [other], [None], [server, "x"]):
        with pytest.raises(package.StepRefused, match=r"Two: .*servers"):
            package.Two(system, servers=servers)
    package.Two(system, servers=[server]).check_invariants()


@pytest.mark.parametrize("answer", [None, "", "perhaps", 1, [], b"ok"])
def test_an_answer_that_is_none_is_refused(answer: Any, tmp_path: Path) -> None:
    package = Generated(tmp_path, CRASHING)
    server = package.Server(package.System(), Calls(answer, "ok"))
    with pytest.raises(package["machinery"].OutOfRange, match="<Server 0: Up>: look must answer ok or bad, not"):
        server.go(1)
    with pytest.raises(package["machinery"].Busy):
        server.go(1)
    server.look_ok()
    server.go(1)


@pytest.mark.parametrize("ticket", [None, "1", 1.0, True, 2, []])
def test_a_late_answer_needs_its_own_ticket(ticket: Any, tmp_path: Path) -> None:
    package = Generated(tmp_path, CRASHING)
    server = package.Server(package.System(), Calls())
    server.late(True)
    with pytest.raises(package["machinery"].StaleAnswer):
        server.fetch_ok(ticket)
    server.fetch_ok(1)


# Snapshots -----------------------------------------------------------------------------------------------------------


def _places(data: Any, replace: Callable[[Any], None]) -> Iterator[Callable[[Any], None]]:
    """A function for each value inside JSON, which puts another in its place."""
    yield replace
    for key, x in list(data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()):
        yield from _places(x, lambda value, data=data, key=key: data.__setitem__(key, value))  # type: ignore[misc]


def test_a_snapshot_with_any_value_in_any_place_is_refused_or_fits(office: Office) -> None:
    office.desk.gather(frozenset([office.clerk]))
    office.mail.letter(office.clerk, 2)
    before = office.system.snapshot()
    values = [None, True, -1, 10**400, 1.5, float("inf"), float("nan"), "", "x", [], [[]], {}, {"x": 1}]
    whole: list[Any] = [before]
    places = len(list(_places(before, lambda x: None)))
    for n in range(places):
        for value in values:
            whole = [office.system.snapshot()]
            list(_places(whole[0], lambda x, whole=whole: whole.__setitem__(0, x)))[n](value)  # type: ignore[misc]
            try:
                office.system.restore(whole[0], migrate={"x": lambda data: data})
            except office.package.ForeignSnapshot:
                assert office.system.snapshot() == before
            else:
                office.system.restore(before)


# Machines that stand alone, and `transitions` ------------------------------------------------------------------------

LAMP = """module lamps
enum Colour { red | green }
record Entry { term: 0..3 }
machine Lamp {
    n: 0..3
    initial state Off
    state On
    event flip(x: bool), count(x: 1..3), paint(x: Colour), queue(x: list<1..3>[2]), few(x: set<1..3>)
    event note(x: Entry), perhaps(x: 1..3?)
    Off -> On on flip(x)
    Off, On on count(x) when x > 1 do n = x
    Off, On on count(x) when x < 2
    Off, On on paint(x) when x == red
    Off, On on queue(x) when size(x) > 0
    Off, On on few(x) when 1 in x
    Off, On on note(x) when x.term > 0
    Off, On on perhaps(x) when x != none
}
"""


@pytest.mark.parametrize("target", [emit.python, emit.transitions])
def test_machines_without_a_system(target: Any, tmp_path: Path) -> None:
    package = Generated(tmp_path, LAMP, target)
    if target is emit.python:
        lamp, values = package.Lamp(), package
    else:
        lamp, values = package["lamp"].Lamp(), package["values"]
        package["lamp"].build(lamp)
    refusals = package["machinery"]
    right = {
        "flip": True, "count": 3, "paint": values.Colour.RED, "queue": (2,), "few": frozenset([1]),
        "note": values.Entry(2), "perhaps": 2,
    }  # fmt: skip
    wrong: list[Any] = ["red", 7, 1.0, [], {1}, (1, 2, 3), (None,), frozenset([9]), object(), lamp, values.Entry]
    alike = {"count": "perhaps", "perhaps": "count"}
    for event, method in ((x, getattr(lamp, x)) for x in right):
        others = [x for other, x in right.items() if other not in (event, alike.get(event))]
        for value in (*wrong, *others, *([] if event == "perhaps" else [None])):
            with pytest.raises((refusals.OutOfRange, refusals.Full), match=r"Lamp.*: .*x "):
                method(value)
        method(right[event])
    for value in (None, True, 4):
        with pytest.raises(refusals.OutOfRange, match="Lamp: n must be a whole number from 0 to 3, not"):
            type(lamp)(n=value)


REFERRING = """module referring
machine Pair {
    peer: Pair?
    initial state A
    event meet(x: Pair), gather(x: set<Pair>) from environment
    A on meet(x) when x in A do peer = x
    A on gather(x) when size(x) > 0
}
"""


def test_models_of_transitions_that_refer_to_others(tmp_path: Path) -> None:
    package = Generated(tmp_path, REFERRING, emit.transitions)
    one, other = (package["pair"].Pair() for _ in range(2))
    for model in (one, other):
        package["pair"].build(model)
    for value in (None, "A", object(), package["pair"].Pair, [other]):
        for event in (one.meet, one.gather):
            with pytest.raises(package["machinery"].OutOfRange, match="Pair: x must be "):
                event(value)
    one.meet(other)
    one.gather(frozenset([other]))
    assert one.peer is other


def test_a_list_of_another_machine_has_to_fit(tmp_path: Path) -> None:
    """Its length and its elements: the parameter takes less than what the sender may have."""
    package = Generated(
        tmp_path,
        """module lists
machine Sink {
    got: list<0..3>[2]
    initial state S
    event put(xs: list<0..3>[2])  from Source
    S on put(xs) do got = xs
}
machine Source {
    param sink: Sink
    initial state S
    event pass(xs: list<0..9>[4])  from environment
    S on pass(xs) do sink.put(xs)
}
""",
    )
    system = package.System()
    sink = package.Sink(system)
    source = package.Source(system, sink=sink)
    source.pass_((3, 0))
    assert sink.got == (3, 0)
    refusals = package["machinery"]
    for given in ((7,), (1, 4), (1, 1, 1)):
        with pytest.raises((refusals.OutOfRange, refusals.Full)):
            source.pass_(given)
        assert sink.got == (3, 0)
