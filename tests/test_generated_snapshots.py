"""Snapshots of generated classes: through JSON, of other versions, of other classes."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generating import Generated, hived


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Generated]:
    return lambda text: Generated(tmp_path, text)


def test_snapshots_go_through_json(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    saved = json.loads(json.dumps(system.snapshot()))
    assert saved["machines"][2] == {"number": 2, "state": "Used", "fields": {"user": 0, "reserver": None}}
    groups[1].schedule(frozenset(cells[:1]))
    system.restore(saved)
    assert system.snapshot() == saved
    other = hived(made)[1]
    other.restore(saved)
    assert other.snapshot() == saved
    with pytest.raises(package.ForeignSnapshot, match="a snapshot of 4 machines for a system that has 0"):
        package.System().restore(saved)


OTHERS = {
    "state": ({"state": "Lent"}, "'Lent' is not a valid CellState"),
    "field": ({"fields": {"user": 0}}, "KeyError('reserver')"),
    "reference": ({"fields": {"user": 9, "reserver": None}}, "user must be the number of a machine, not 9"),
    "kind of number": ({"fields": {"user": True, "reserver": None}}, "user must be the number of a machine, not True"),
    "kind of machine": (
        {"fields": {"user": 3, "reserver": None}},
        "user must be the number of a machine with AffinityGroupState, not of <Cell 3: Free>",
    ),
    "shape": ({"fields": None}, "TypeError"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_foreign_snapshot_says_what_does_not_fit(kind: str, made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    saved = json.loads(json.dumps(system.snapshot()))
    change, message = OTHERS[kind]
    saved["machines"][0]["state"] = "Deleted"
    saved["machines"][2] |= change
    before = system.snapshot()
    with pytest.raises(package.ForeignSnapshot) as caught:
        system.restore(saved)
    assert str(caught.value).startswith("what the snapshot has does not fit <Cell 2: Used>: ")
    assert message in str(caught.value)
    assert system.snapshot() == before
    with pytest.raises(package.ForeignSnapshot, match="does not fit <Cell 2: Used>"):
        cells[0].restore(saved["machines"][2])


def test_a_snapshot_of_another_version_is_converted(made: Callable[[str], Generated]) -> None:
    package, system, groups, cells = hived(made)
    groups[0].schedule(frozenset(cells[:1]))
    saved = json.loads(json.dumps(system.snapshot()))
    version = saved["version"]
    old = {**saved, "version": "older", "machines": [{**x, "state": x["state"].upper()} for x in saved["machines"]]}
    with pytest.raises(package.ForeignSnapshot, match=f"`migrate` does not convert version older to {version}"):
        system.restore(old, migrate={})
    with pytest.raises(package.ForeignSnapshot, match="does not fit <AffinityGroup 0: Allocated>"):
        system.restore(old)
    system.restore({**saved, "version": "older"})
    groups[0].pods_deleted()

    def newer(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "machines": [{**x, "state": x["state"].capitalize()} for x in data["machines"]]}

    system.restore(old, migrate={"older": newer})
    assert system.snapshot() == saved
    del saved["version"]
    system.restore(saved)
    assert system.snapshot()["version"] == version


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("// notes", "// other notes", True),
        ("n: 0..5", "n: 0..6", False),
        ("state Idle", "state Idle  state Other", False),
        ("n: 0..5", "n: 0..5  m: bool", False),
        ("A -> A on go  ", "A -> Idle on go  ", True),
    ],
)
def test_a_version_is_of_states_and_fields(before: str, after: str, same: bool, tmp_path: Path) -> None:
    text = """
    module v  // notes
    machine M { n: 0..5  initial state A  state Idle  event go, x  A -> A on go  Idle -> A on x }
    machine N { m: M?  initial state A  event go from environment  A -> A on go when m != none do m.x }
    """
    versions = [Generated(tmp_path, x)["machinery"].VERSION for x in (text, text.replace(before, after))]
    assert before in text
    assert (versions[0] == versions[1]) is same


# Exactly one type ----------------------------------------------------------------------------------------------------

EXACT = """
module exact
enum Colour { Red | Green }
record Pair { up: bool  n: 0..3 }
machine M {
    up: bool  n: 0..3  m: -1..1?  maybe: bool?  pair: Pair  every: set<bool>
    few: list<0..3>[2]  colour: Colour = Red  votes: map<Colour, bool>  time: duration = 1s
    initial state A
    event go from environment
    A -> A on go
}
"""

UNFIT: dict[str, list[tuple[object, str]]] = {
    "up": [
        (1, "up must be true or false, not 1"),
        ("x", "up must be true or false"),
        (None, "up must be true or false"),
    ],
    "n": [(True, "n must be a whole number from 0 to 3, not True"), (1.0, "not 1.0"), ("1", "not '1'"), (4, "not 4")],
    "m": [(False, "m must be a whole number from -1 to 1, not False"), (0.0, "not 0.0")],
    "maybe": [(0, "maybe must be true or false, not 0"), ("none", "not 'none'"), ([], r"not \[\]")],
    "pair": [
        ({"up": 0, "n": 0}, "pair.up must be true or false, not 0"),
        ({"up": True, "n": True}, "pair.n must be a whole num"),
    ],
    "every": [
        ([1], "every must be true or false, not 1"),
        ("", "every must be a list, not ''"),
        ({}, "every must be a list, not {}"),
    ],
    "few": [
        ([True], "few must be a whole number from 0 to 3, not"),
        ([0, 0, 0], "few holds at most 2, not 3"),
        ("12", "a list"),
    ],
    "colour": [(0, "colour must be RED or GREEN, not 0"), ([], "unhashable")],
    "votes": [
        ({"rest": 0, "entries": []}, "votes must be true or false"),
        ({"rest": True, "entries": [[1, False]]}, "not 1"),
    ],
    "time": [(True, "time must be a number of seconds, not True"), ("1", "not '1'"), (float("nan"), "not nan")],
}


@pytest.mark.parametrize("field", UNFIT)
def test_a_value_of_another_type_is_refused(field: str, made: Callable[[str], Generated]) -> None:
    package = made(EXACT)
    machine = package.M()
    saved = json.loads(json.dumps(machine.snapshot()))
    for value, message in UNFIT[field]:
        with pytest.raises(package.ForeignSnapshot, match=message):
            machine.restore({**saved, "fields": {**saved["fields"], field: value}})
        assert machine.snapshot() == saved
    machine.restore(saved)
    assert machine.snapshot() == saved


ASKING = """
module asking
channel Inbox: bag[3] to Server
machine Server {
    n: 0..3
    initial state Idle
    state Busy
    event go from environment
    event word(up: bool) from Inbox
    action look -> ok | err
    Idle -> Busy on go do look
    Busy -> Idle on look.ok
    Busy -> Idle on look.err
    * on word(up) when up do n = 1
    ignore word in *
    Busy -> Idle after 5s
}
system Main { server: Server  environment { server.go  crash }  recover { server.n = 0 } }
"""

WRONG: list[tuple[str, object, str]] = [
    ("down", 0, "down must be true or false, not 0"),
    ("pending", {}, "pending must be a list, not {}"),
    (
        "pending",
        [{"machine": 0, "action": "look", "ticket": True, "async": False}],
        "a request must have a machine, an action",
    ),
    ("pending", [{"machine": 0, "action": "look", "ticket": 1, "async": 0}], "async must be true or false, not 0"),
    ("channels", {"Inbox": "word"}, "Inbox must be a list, not 'word'"),
    ("channels", {"Inbox": [{"event": "word", "arguments": [1]}]}, "up must be true or false, not 1"),
    ("channels", {"Inbox": [{"event": "word", "arguments": [True, True]}]}, "word must be a list of 1, not"),
    ("machines", {}, "machines must be a list, not {}"),
    ("machines", [{"number": False}], r"the machines of a snapshot must have different numbers, not \[False\]"),
    (
        "machines",
        [{"number": 0, "state": "Idle", "fields": {"n": 0}, "timers": {"x": "5"}}],
        "there is no timer 'x'",
    ),
]


@pytest.mark.parametrize(("entry", "value", "message"), WRONG)
def test_a_system_refuses_what_is_of_another_type(
    entry: str, value: object, message: str, made: Callable[[str], Generated]
) -> None:
    package = made(ASKING)
    system = package.System(package.VirtualClock())
    server = package.Server(system, object())
    package.Inbox(system, server).word(True)
    saved = json.loads(json.dumps(system.snapshot()))
    with pytest.raises(package.ForeignSnapshot, match=message):
        system.restore({**saved, entry: value})
    assert system.snapshot() == saved
    system.restore(saved)
    assert system.snapshot() == saved


class Idle:
    """Actions that do nothing, and can be pickled."""

    def look(self, server: object) -> str:
        return "ok"


def test_a_system_can_be_pickled(made: Callable[[str], Generated]) -> None:
    package = made(ASKING)
    system = package.System(package.VirtualClock())
    server = package.Server(system, Idle(), state=package.ServerState.BUSY)
    package.Inbox(system, server).word(True)
    copy = pickle.loads(pickle.dumps(system))
    assert copy.snapshot() == system.snapshot()
    (other,) = copy.machines
    copy.channel(package.Inbox).deliver()
    copy.clock.advance(6)
    assert (other.n, other.state, copy.channel(package.Inbox).messages) == (1, package.ServerState.IDLE, ())
    assert (server.n, server.state, len(system.channel(package.Inbox))) == (0, package.ServerState.BUSY, 1)


def test_a_machine_that_stands_alone_can_be_pickled(made: Callable[[str], Generated]) -> None:
    package = made(EXACT)
    machine = package.M(n=2)
    assert pickle.loads(pickle.dumps(machine)).snapshot() == machine.snapshot()
