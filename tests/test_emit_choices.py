"""What generated classes are written like, where several texts would mean the same, and what is seldom needed."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest
from generating import Generated, write
from stepping import compiled

from fsmdsl import classes as emit
from fsmdsl.model.resolve import resolve
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source


def written(text: str, file: str) -> str:
    """A file of the package of a spec."""
    model = compiled(text)
    module = model.modules[0].name
    return emit.python(model, module)[f"{module}/{file}.py"]


# Which state is asked for first --------------------------------------------------------------------------------------

TRIP = """module trips
machine Trip {
    initial state Planned
    state Packed
    state Driving
    state Resting
    state Parked
    event go, turn, stop
    Planned -> Packed on go
    Packed -> Driving on go
    Resting -> Driving on go
    Planned -> Driving on turn
    Packed -> Driving on turn
    Driving -> Resting on turn
    Planned -> Packed on stop
    Packed -> Driving on stop
    Parked -> Driving on stop
}
"""


def asked(text: str, event: str) -> list[str]:
    """The tests of the state in a method, in their order."""
    body = text.split(f"def {event}(self)")[1].split("\n    def ")[0]
    lines = (line.strip() for line in body.splitlines())
    return [line.partition("if ")[2].rstrip(":") for line in lines if line.startswith(("if state", "elif state"))]


def test_states_that_a_machine_comes_back_to_are_asked_for_first() -> None:
    text = written(TRIP, "trip")
    assert asked(text, "turn") == ["state is DRIVING", "state is PLANNED or state is PACKED"]
    assert asked(text, "go") == ["state is RESTING or state is PACKED", "state is PLANNED"]
    assert asked(text, "stop") == ["state is PACKED or state is PARKED", "state is PLANNED"], "many before few"


# Names ---------------------------------------------------------------------------------------------------------------

ONE = """module one
import two
machine Node {
    other: two.Node?
    initial state On
    event go from two.Node
    On on go when state_named(2)
}
let state_named(n: 0..3) = n == 2
"""
TWO = """module two
import one
machine Node {
    other: one.Node?
    initial state On
    event go from environment
    On on go when other != none do other.go
}
"""


def test_an_import_whose_name_is_taken_is_called_after_its_module(tmp_path: Path) -> None:
    model = resolve([parse(Source("x.fsm", text)).module for text in (ONE, TWO)]).model
    assert model is not None
    files = {path: text for x in model.modules for path, text in emit.python(model, x.name).items()}
    assert "from ..two.node import Node as TwoNode\n" in files["one/node.py"]
    assert "state_named as machinery_state_named" in files["one/node.py"]
    write(tmp_path / "called_after", files)
    sys.path.insert(0, str(tmp_path))
    one, two = (importlib.import_module(f"called_after.{x}") for x in ("one", "two"))
    system = one.System()
    below = one.Node(system)
    two.Node(system, other=below).go()
    assert json.loads(json.dumps(below.snapshot()))["state"] == "On"


HIDDEN = """module hidden
machine Row {
    those: list<0..3>[3]
    initial state On
    event go(those: list<0..3>[3])
    On on go(given) when all first in given: first == first(given) do those = given
    On on go(given) when some first in given: first != first(given) do those = []
}
"""


def test_a_variable_may_be_called_what_a_function_is_called(tmp_path: Path) -> None:
    row = Generated(tmp_path, HIDDEN).Row()
    row.go((2, 2))
    assert row.those == (2, 2)
    row.go((2, 1))
    assert row.those == ()


# Seldom --------------------------------------------------------------------------------------------------------------

QUIET = """module quiet
channel wire: fifo[2] to Sink
machine Sink {
    initial state On
    event go from environment
    On on go
}
system S { sink: Sink }
"""


def test_a_channel_through_which_nothing_is_sent_refuses_what_a_snapshot_has(tmp_path: Path) -> None:
    quiet = Generated(tmp_path, QUIET)
    wire = quiet.Wire(quiet.System())
    assert wire._encode() == []
    with pytest.raises(ValueError, match="there is no message 'go'"):
        wire._send("go", [], {})


LIMITED = """module limited
enum Colour { red | green }
machine Place {
    at: 0..3?
    other: 0..9? = 2
    rows: list<set<Colour>>[2]
    initial state On
    event go, turn(rows: list<set<Colour>>[2])
    On on go do at = other
    On on turn(given) do rows = given
}
"""


def test_a_number_that_may_be_none_is_looked_at_once(tmp_path: Path) -> None:
    assert 'in_range_or_none(self._other, 0, 3, "at")' in written(LIMITED, "place")


def test_variables_of_loops_inside_loops_are_numbered(tmp_path: Path) -> None:
    text = written(LIMITED, "place")
    assert "for x1 in x" in text
    assert "x2" not in text


INSIDE = """module inside
machine Heater {
    asked: bool
    initial state Down
    state Up { initial state Slow  state Fast }
    state Off
    event go, ask
    Down -> Slow on go
    Slow -> Off on go
    let warm = Up
    let away = not Up
    let apart = self not in Up
    Down, Off, Up on ask when not Up do asked = true
    ignore ask in Up
}
"""


def test_a_machine_is_in_a_state_that_holds_others_or_is_not(tmp_path: Path) -> None:
    heater = Generated(tmp_path, INSIDE).Heater()
    known = []
    for _ in range(3):
        known.append((heater.warm, heater.away, heater.apart))
        if len(known) < 3:
            heater.go()
    assert known == [(False, True, True), (True, False, False), (False, True, True)]


def test_so_is_a_model_of_the_transitions_library(tmp_path: Path) -> None:
    made = Generated(tmp_path, INSIDE, emit.transitions)["heater"]
    heater, known = made.Heater(), []
    made.build(heater)
    for _ in range(3):
        known.append((heater.warm, heater.away, heater.apart))
        if len(known) < 3:
            heater.go()
    assert known == [(False, True, True), (True, False, False), (False, True, True)]
    assert heater.state == "Off"


def test_the_tables_of_all_machines_of_a_module_are_told_of() -> None:
    text = """module several
machine Round { initial state A  state B  event go from environment  A -> B on go  B -> A when true }
machine Lamp { lit: bool initial state Off  event go from environment  Off on go do lit = true
               invariant dark: not lit }
"""
    model = compiled(text)
    lost = [x.text for x in emit.left_out("transitions", model, "several")]
    assert lost == ["the machine `Round`: it has rows without events", "the invariant `not lit`"]


CHAIN = """module chain
machine Link {
    param next: Link?
    initial state S
    final state T
    event go from environment, Link
    S -> T on go do if next != none { next.go }
}
"""


@pytest.mark.parametrize("links", [65, 66])
def test_sends_are_nested_64_deep_and_no_deeper(tmp_path: Path, links: int) -> None:
    """As in the definition: `test_packed_cases` asks it about the same chains."""
    made = Generated(tmp_path, CHAIN)
    system = made.System()
    chain = [made.Link(system, next=None)]
    while len(chain) < links:
        chain.append(made.Link(system, next=chain[-1]))
    if links == 65:
        chain[-1].go()
    else:
        with pytest.raises(made["machinery"].EndlessRound, match="gets go after 64 nested sends"):
            chain[-1].go()
    assert {x.state.name for x in chain} == {"T" if links == 65 else "S"}
