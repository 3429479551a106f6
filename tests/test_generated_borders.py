"""What comes into generated classes from outside: values of enums, states, snapshots. What does not fit is refused,
with what it was, where it came in and what is allowed there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generating import Calls, Generated

PAINTED = """module painted
enum Colour { red | green | blue }
enum Grade { low < mid < high }

channel orders: lossy bag[3] to Wall

machine Wall {
    colour: Colour = red
    under:  list<Colour>[3]
    last:   Colour?
    tints:  set<Colour>
    coats:  0..3
    grade:  Grade = low
    initial state Dry
    state Wet
    event paint(c: Colour), mix(few: set<Colour>), rank(g: Grade?)  from environment
    event order(c: Colour, n: 0..3)  from orders
    Dry, Wet -> Wet on paint(c) when size(under) < 3 do { add colour to under; colour = c; last = c }
    Dry, Wet -> Dry on mix(few) do tints = few
    Dry on rank(g) when g != none and g > grade do grade = high
    ignore rank in Wet
    Dry, Wet -> Wet on order(c, n) do { colour = c; coats = n }
}

machine Painter {
    initial state Here
    event send from environment
    Here on send do send orders.order(green, 2)
}
"""

LAMP = """module lamps
enum Colour { red | green }
machine Lamp {
    param tint: Colour
    colour: Colour = red
    initial state Off
    state On
    event switch(c: Colour)
    Off -> On on switch(c) do colour = c
}
"""


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Generated]:
    return lambda text: Generated(tmp_path, text)


@pytest.fixture
def painted(made: Callable[[str], Generated]) -> tuple[Generated, Any, Any]:
    package = made(PAINTED)
    system = package.System()
    return package, system, package.Wall(system, name="north")


ALLOWED = "Colour.RED, Colour.GREEN or Colour.BLUE"


@pytest.mark.parametrize(
    ("event", "given", "told"),
    [
        ("paint", "red", f"<Wall north: Dry>: c must be {ALLOWED}, not 'red'"),
        ("paint", None, f"<Wall north: Dry>: c must be {ALLOWED}, not None"),
        ("mix", frozenset(["red"]), f"<Wall north: Dry>: an element of few must be {ALLOWED}, not 'red'"),
        ("mix", ["red"], f"<Wall north: Dry>: few must be a frozenset, with elements that are {ALLOWED}, not ['red']"),
        ("rank", 2, "<Wall north: Dry>: g must be Grade.LOW, Grade.MID or Grade.HIGH, not 2"),
    ],
)
def test_an_argument_of_no_enum(event: str, given: Any, told: str, painted: tuple[Generated, Any, Any]) -> None:
    """`red` is the name of a colour, and 2 the number of a grade: neither is one."""
    package, system, wall = painted
    before = system.snapshot()
    with pytest.raises(package["machinery"].OutOfRange) as caught:
        getattr(wall, event)(given)
    assert str(caught.value) == told
    assert system.snapshot() == before
    assert not system.can(getattr(wall, event), given)


def test_arguments_of_an_enum(painted: tuple[Generated, Any, Any]) -> None:
    package, _, wall = painted
    colour, grade = package.Colour, package.Grade
    wall.paint(colour.BLUE)
    wall.mix(frozenset([colour.RED, colour.GREEN]))
    wall.rank(grade.HIGH)
    assert (wall.colour, wall.tints, wall.grade) == (colour.BLUE, {colour.RED, colour.GREEN}, grade.HIGH)


def test_an_argument_of_another_enum_of_the_same_names(painted: tuple[Generated, Any, Any], tmp_path: Path) -> None:
    package, _, wall = painted
    other = Generated(tmp_path, LAMP).Colour
    with pytest.raises(package["machinery"].OutOfRange, match=r"not <Colour.RED: 'red'>"):
        wall.paint(other.RED)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"colour": "red"}, f"Wall: colour must be {ALLOWED}, not 'red'"),
        ({"under": ("blue",)}, f"Wall: an item of under must be {ALLOWED}, not 'blue'"),
        ({"last": "red"}, f"Wall: last must be {ALLOWED}, not 'red'"),
        ({"grade": 0}, "Wall: grade must be Grade.LOW, Grade.MID or Grade.HIGH, not 0"),
        ({"state": "Wet"}, "Wall: state must be WallState.DRY or WallState.WET, not 'Wet'"),
    ],
)
def test_a_first_value_of_no_enum(given: dict[str, Any], told: str, painted: tuple[Generated, Any, Any]) -> None:
    package, system, _ = painted
    with pytest.raises(package["machinery"].OutOfRange) as caught:
        package.Wall(system, **given)
    assert str(caught.value) == told
    assert len(system.machines) == 1


def test_a_machine_that_stands_alone_looks_at_them_too(made: Callable[[str], Generated]) -> None:
    package = made(LAMP)
    refused = package["machinery"].OutOfRange
    with pytest.raises(refused, match=r"Lamp: tint must be Colour.RED or Colour.GREEN, not 'red'"):
        package.Lamp(tint="red")
    with pytest.raises(refused, match=r"Lamp: state must be LampState.OFF or LampState.ON, not 'On'"):
        package.Lamp(tint=package.Colour.RED, state="On")
    lamp = package.Lamp(tint=package.Colour.RED)
    with pytest.raises(refused, match=r"<Lamp: Off>: c must be Colour.RED or Colour.GREEN, not 1"):
        lamp.switch(1)
    assert (lamp.state.display, lamp.colour) == ("Off", package.Colour.RED)


def test_a_message_with_a_value_of_no_enum(painted: tuple[Generated, Any, Any]) -> None:
    package, system, wall = painted
    orders = package.Orders(system, wall)
    with pytest.raises(
        package["machinery"].OutOfRange, match=f"<Orders of 0 messages>: c must be {ALLOWED}, not 'green'"
    ):
        orders.order("green", 2)
    assert len(orders) == 0


# Snapshots -----------------------------------------------------------------------------------------------------------

FOREIGN: dict[str, tuple[dict[str, Any], str]] = {
    "state": ({"state": "Damp"}, "'Damp' is not a valid WallState, which has Dry, Wet"),
    "enum": ({"colour": "pink"}, "colour must be RED, GREEN or BLUE, not 'pink'"),
    "number of an enum": ({"grade": 1}, "grade must be LOW, MID or HIGH, not 1"),
    "optional": ({"last": "pink"}, "last must be RED, GREEN or BLUE, not 'pink'"),
    "set": ({"tints": ["RED", "pink"]}, "tints must be RED, GREEN or BLUE, not 'pink'"),
    "list": ({"under": ["pink"]}, "under must be RED, GREEN or BLUE, not 'pink'"),
    "long list": ({"under": ["RED"] * 4}, "under holds at most 3, not 4"),
    "range": ({"coats": 4}, "coats must be a whole number from 0 to 3, not 4"),
    "kind": ({"coats": "many"}, "coats must be a whole number from 0 to 3, not 'many'"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_value_that_a_snapshot_cannot_have(kind: str, painted: tuple[Generated, Any, Any]) -> None:
    package, system, wall = painted
    saved = json.loads(json.dumps(system.snapshot()))
    change, told = FOREIGN[kind]
    machine = saved["machines"][0]
    (machine if "state" in change else machine["fields"]).update(change)
    wall.paint(package.Colour.BLUE)
    before = system.snapshot()
    for restore, data in ((system.restore, saved), (wall.restore, machine)):
        with pytest.raises(package.ForeignSnapshot) as caught:
            restore(data)
        assert str(caught.value).startswith("what the snapshot has does not fit <Wall north: Wet>: ")
        assert told in str(caught.value)
        assert system.snapshot() == before


@pytest.mark.parametrize("data", [None, [], {}, {"machines": None}, {"machines": [{}]}, {"machines": [[]]}])
def test_what_is_no_snapshot_at_all(data: Any, painted: tuple[Generated, Any, Any]) -> None:
    package, system, wall = painted
    before = system.snapshot()
    for restore in (system.restore, wall.restore):
        with pytest.raises(package.ForeignSnapshot, match="what the snapshot has does not fit <"):
            restore(data)
    assert system.snapshot() == before


TIMED = """module timed
machine Egg {
    async action boil -> done
    initial state Raw
    state Hot
    Raw -> Hot after 5s
    event cook from environment
    Raw on cook do boil
    Hot on boil.done
    Raw on boil.done
}
"""


@pytest.mark.parametrize(
    "change",
    [
        {"machines": [{"number": 0, "state": "Raw"}]},
        {"machines": [{"number": 0, "state": "Raw", "timers": {"Raw after 5s": "soon"}}]},
        {"pending": [{"machine": 7, "action": "boil", "ticket": 1, "async": True}]},
        {"pending": [{}]},
        {"pending": None},
    ],
)
def test_timers_and_awaited_answers_that_do_not_fit(change: dict[str, Any], made: Callable[[str], Generated]) -> None:
    package = made(TIMED)
    system = package.System(package.VirtualClock())
    egg = package.Egg(system, Calls())
    egg.cook()
    saved = json.loads(json.dumps(system.snapshot()))
    assert saved["machines"][0]["timers"] == {"Raw after 5s": 5.0}
    with pytest.raises(package.ForeignSnapshot):
        system.restore({**saved, **change})
    assert system.snapshot() == saved
    system.restore(saved)
    assert system.snapshot() == saved


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"event": "order", "arguments": ["pink", 2]}, "c must be RED, GREEN or BLUE, not 'pink'"),
        ({"event": "order", "arguments": ["RED", 4]}, "n must be a whole number from 0 to 3, not 4"),
        ({"event": "order", "arguments": []}, "<Orders of 1 messages>: order must be a list of 2, not []"),
        ({"event": "cancel", "arguments": []}, "there is no message 'cancel'"),
    ],
)
def test_a_message_that_does_not_fit(message: dict[str, Any], told: str, painted: tuple[Generated, Any, Any]) -> None:
    package, system, wall = painted
    orders = package.Orders(system, wall)
    orders.order(package.Colour.GREEN, 2)
    saved = json.loads(json.dumps(system.snapshot()))
    assert saved["channels"] == {"Orders": [{"event": "order", "arguments": ["GREEN", 2]}]}
    with pytest.raises(package.ForeignSnapshot) as caught:
        system.restore({**saved, "channels": {"Orders": [message]}})
    assert told in str(caught.value)
    assert system.snapshot() == saved


def test_messages_of_a_snapshot_are_no_step_under_way(painted: tuple[Generated, Any, Any]) -> None:
    """A step that fails after a snapshot was restored takes back what it has done, and nothing else."""
    package, system, wall = painted
    orders = package.Orders(system, wall)
    orders.order(package.Colour.GREEN, 2)
    saved = json.loads(json.dumps(system.snapshot()))
    orders.lose()
    system.restore(saved)
    with pytest.raises(package.StepRefused):
        orders.lose(5)
    assert system.snapshot() == saved
