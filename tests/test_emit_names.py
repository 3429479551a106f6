"""Names of a spec that come close to one another in Python."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from generating import Generated
from stepping import compiled

from fsmdsl.classes import TARGETS, folder


def test_a_variable_does_not_hide_the_function_of_another_name(tmp_path: Path) -> None:
    """`class` and `class_` are two names in a spec, and one in Python."""
    text = """module names
    let class(n: 0..3) = n > 1
    machine Node {
        n: 0..3
        initial state A
        event go(class_: 0..3), all_(few: list<0..3>[2]) from environment
        A on go(class_) when class(class_) do n = class_
        A on all_(few) do for class_ in few { if class(class_) { n = class_ } }
    }
    """
    made: Any = Generated(tmp_path, text)
    node = made.Node()
    node.go(2)
    node.all_((3, 1))
    assert node.n == 3


def test_names_with_an_underscore_are_those_of_the_page() -> None:
    spec = """module shelf
    let max(a: 0..3) = a
    machine Reader {
        param object: 0..3 = 1
        initial resting state Idle
        event class, print(list: 0..3), snapshot from environment
        Idle on class
        Idle on snapshot
        Idle on print(list) when max(list) < object
    }
    """
    page = (Path(__file__).parent.parent / "docs" / "generated-code.md").read_text("utf-8")
    files = TARGETS["python"](compiled(spec), "shelf")
    assert "def print(self, list_: int)" in files["shelf/reader.py"]
    for name, renamed in (("class", "class_"), ("object", "object_"), ("list", "list_"), ("snapshot", "snapshot_")):
        assert re.search(rf"\b{renamed}\b", files["shelf/reader.py"])
        assert re.search(rf"`{name}` →\s`{renamed}`", page)
    assert "def max_(a: int)" in files["shelf/derived.py"]
    assert re.search(r"`let max`\s→ `max_`", page)


def test_a_function_does_not_hide_the_file_of_a_machine(tmp_path: Path) -> None:
    """`cell` is exported beside the file of `Cell`, which the file of `Group` imports as a whole."""
    text = """module names
    let cell(c: Cell) = c in Used
    machine Cell {
        initial state Free
        state Used
        event take from environment
        Free -> Used on take
    }
    machine Group {
        wanted: map<Cell, bool>
        given: map<Cell, bool> = true
        initial state Idle
        state Done
        event give(c: Cell), end from environment
        Idle on give(c) when cell(c) do given[c] = false
        Idle -> Done on end when given == wanted
    }
    """
    made: Any = Generated(tmp_path, text)
    system = made.System()
    cell, group = made.Cell(system), made.Group(system)
    for event in (lambda: group.give(cell), group.end):
        with pytest.raises(made.StepRefused):
            event()
    cell.take()
    group.give(cell)
    group.end()
    assert group.state is made.GroupState.DONE


def test_a_field_may_be_called_like_the_check_of_its_value(tmp_path: Path) -> None:
    """The constructor of a class has parameters that are called as its fields are."""
    text = """module names
    machine Node {
        type: 0..3 = 3
        isinstance: bool
        in_range: 0..3 = 1
        in_range_or_none: 0..3?
        each_in_range: set<0..3>
        not_longer: list<0..3>[2]
        initial state A
        event go(in_range: 0..3) from environment
        A on go(in_range) do not_longer = [in_range]
    }
    """
    made: Any = Generated(tmp_path, text)
    node = made.Node(in_range_=2, in_range_or_none_=3, each_in_range_=frozenset({1}), type=1, isinstance_=True)
    node.go(2)
    assert (node.in_range_, node.not_longer_, node.type, node.isinstance_) == (2, (2,), 1, True)
    with pytest.raises(made.StepRefused):
        made.Node(in_range_=4)


def test_no_package_takes_the_place_of_a_module_of_python() -> None:
    for name in sys.stdlib_module_names:
        if not name.startswith("_"):
            assert folder(name) == (f"{name}_",)
            assert folder(f"core.{name}")[0] == "core"


@pytest.mark.parametrize("name", ["typing", "queue", "dataclasses", "collections", "json", "asyncio", "heapq", "re"])
def test_a_package_called_like_a_module_of_python_can_be_imported(tmp_path: Path, name: str) -> None:
    """From the folder in which it is, where it comes before the standard library."""
    text = f"""module {name}
    record Pair {{ n: 0..3 }}
    machine Door {{
        pair: Pair
        doors: set<Door>
        initial state Open
        state Shut
        event push(n: 0..3) from environment
        Open -> Shut on push(n) do pair = Pair(n)
        Shut -> Open after 5s
    }}
    """
    for path, content in TARGETS["python"](compiled(text), name).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    code = f"""if True:
        import {name}_ as made, {name} as theirs
        made.Door(made.System(made.VirtualClock()))
        assert not hasattr(theirs, "Door")
    """
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, env={"PYTHONPATH": str(tmp_path)})


def test_an_event_may_be_called_like_an_end_of_its_channel(tmp_path: Path) -> None:
    text = """module ends
    channel link: fifo[2] from each Node to each Node
    machine Node {
        param peer: Node? = none
        n: 0..3
        initial state Up
        event go from environment
        event sender(x: 0..3), receiver(x: 0..3) from link
        Up on go          do { send link.sender(1) to peer; send link.receiver(2) to peer }
        Up on sender(x)   do n = n + x
        Up on receiver(x) do n = n + x
    }
    system S { b: Node  a: Node { peer = b } }
    """
    package = Generated(tmp_path, text)
    world = package.System()
    second = package.Node(world)
    first = package.Node(world, peer=second)
    channel = package.Link(world, first, second)
    first.go()
    channel.deliver()
    channel.deliver()
    assert second.n == 3
