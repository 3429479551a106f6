"""Generated classes at run time: machines that stand alone, names of machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generating import ALONE, HIVED, Calls, Generated


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Generated]:
    return lambda text: Generated(tmp_path, text)


def test_a_machine_that_stands_alone_needs_no_system(made: Callable[[str], Generated]) -> None:
    package = made(ALONE)
    light = package.Light()
    told: list[Any] = []
    light.listen(told.append)
    light.toggle()
    light.toggle()
    assert [x.label for (x,) in told] == ["t1", "t2"]
    with pytest.raises(package.UnhandledEvent, match=r"Light is Off and does not handle dim \(handled in On\)"):
        light.dim(1)
    assert "alone/machinery/system.py" not in package.files
    assert sys.getsizeof(light) <= 120


def test_a_fault_changes_nothing_in_a_machine_that_stands_alone(made: Callable[[str], Generated]) -> None:
    package = made(ALONE)
    light = package.Light(left=1)
    light.toggle()
    with pytest.raises(package["machinery"].OutOfRange, match="left must be from 0 to 3, not -1"):
        light.dim(2)
    saved = json.loads(json.dumps(light.snapshot()))
    assert saved == {"version": package["light"].VERSION, "state": "On", "fields": {"level": 0, "left": 1}}
    light.toggle()
    light.restore(saved)
    assert light.state.display == "On"


def test_a_machine_that_stands_alone_is_told_apart_by_its_name(made: Callable[[str], Generated]) -> None:
    package = made(ALONE)
    light = package.Light(name="porch")
    told: list[Any] = []
    light.listen(told.append)
    light.toggle()
    assert (repr(light), light.name, repr(told[0][0])) == ("<Light porch: On>", "porch", "Light porch t1: Off -> On")
    light.toggle()
    with pytest.raises(package.UnhandledEvent, match=r"^Light porch is Off and does not handle dim \(handled in On\)$"):
        light.dim(1)
    assert (repr(package.Light()), package.Light().name) == ("<Light: Off>", "")


def test_an_event_of_a_machine_that_stands_alone_can_be_tried(made: Callable[[str], Generated]) -> None:
    light = made(ALONE).Light(left=1)
    told: list[Any] = []
    light.listen(told.append)
    before = light.snapshot()
    assert light.can(light.toggle)
    assert not light.can(light.dim, 1)
    assert (light.snapshot(), told) == (before, [])
    light.toggle()
    assert [light.can(light.dim, n) for n in (1, 2)] == [True, False]
    assert (light.level, light.left, len(told)) == (0, 1, 1)
    with pytest.raises(TypeError):
        light.can(light.dim)
    light.dim(1)
    assert len(told) == 2


def test_a_listener_of_a_machine_that_stands_alone_is_taken_away(made: Callable[[str], Generated]) -> None:
    light = made(ALONE).Light()
    told: list[Any] = []
    other: list[Any] = []
    light.listen(told.append)
    light.listen(other.append)
    light.unlisten(told.append)
    light.toggle()
    assert (len(told), len(other)) == (0, 1)
    with pytest.raises(ValueError, match="does not listen to this machine"):
        light.unlisten(told.append)


def test_a_snapshot_of_a_machine_that_stands_alone_is_converted(made: Callable[[str], Generated]) -> None:
    package = made(ALONE)
    light = package.Light()
    light.toggle()
    saved = json.loads(json.dumps(light.snapshot()))
    old = {"version": "older", "state": "ON", "fields": {"dimmed": 2}}
    before = light.snapshot()
    with pytest.raises(
        package.ForeignSnapshot, match=f"`migrate` does not convert version older to {saved['version']}"
    ):
        light.restore(old, migrate={})
    with pytest.raises(package.ForeignSnapshot, match=r"<Light: On>: .ON. is not a valid LightState, which has Off"):
        light.restore(old)
    assert light.snapshot() == before

    def newer(data: dict[str, Any]) -> dict[str, Any]:
        return {"state": data["state"].capitalize(), "fields": {"level": data["fields"]["dimmed"], "left": 0}}

    light.restore(old, migrate={"older": newer})
    assert (light.level, light.left) == (2, 0)
    light.restore(saved)
    assert light.snapshot() == saved


def test_a_version_of_a_machine_that_stands_alone_is_its_own(tmp_path: Path) -> None:
    """Another machine of the module may change: the snapshots of this one stay as they are."""
    other = "machine Door { initial state Shut  state Open  event push  Shut -> Open on push }"
    texts = [ALONE, ALONE + other, ALONE.replace("level: 0..3", "level: 0..4")]
    same, still, different = (Generated(tmp_path, x).Light().snapshot()["version"] for x in texts)
    assert same == still != different


# Names ---------------------------------------------------------------------------------------------------------------


def test_a_machine_in_a_system_has_a_name(made: Callable[[str], Generated]) -> None:
    package = made(HIVED)
    system, calls = package.System(), Calls()
    group, other = package.AffinityGroup(system, priority=1, name="gang-7"), package.AffinityGroup(system, priority=2)
    cell = package.Cell(system, calls, name="gpu-0")
    told: list[Any] = []
    system.listen(told.append)
    group.schedule(frozenset([cell]))
    assert [repr(x) for x in told[0]] == [
        "AffinityGroup gang-7 e0: Pending -> Allocated",
        "Cell gpu-0 e0: Free -> Used",
    ]
    assert [x.machine.name for x in told[0]] == ["gang-7", "gpu-0"]
    assert list(map(repr, system.machines)) == [
        "<AffinityGroup gang-7: Allocated>", "<AffinityGroup 1: Pending>", "<Cell gpu-0: Used>",
    ]  # fmt: skip
    with pytest.raises(package.UnhandledEvent, match=r"^AffinityGroup gang-7 is Allocated and does not handle"):
        group.schedule(frozenset())
    with pytest.raises(package.UnhandledEvent, match=r"^AffinityGroup is Pending"):
        other.pods_deleted()
    cell._user = None
    with pytest.raises(package["machinery"].InvariantBroken, match=r"^<Cell gpu-0: Used>: used"):
        system.check_invariants()
    with pytest.raises(package.ForeignSnapshot, match="does not fit <Cell gpu-0: Used>"):
        cell.restore({})


def test_a_name_is_no_part_of_a_snapshot(made: Callable[[str], Generated]) -> None:
    package = made(HIVED)
    saved = []
    for name in ("", "gang-7"):
        system = package.System()
        package.AffinityGroup(system, priority=1, name=name)
        saved.append(system.snapshot())
    assert saved[0] == saved[1]


def test_a_field_called_name_gives_way(made: Callable[[str], Generated]) -> None:
    package = made("module n machine M { name: 0..3  initial state A  event can  A on can do name = 2 }")
    machine = package.M(name_=1, name="first")
    machine.can_()
    assert (machine.name, machine.name_, repr(machine)) == ("first", 2, "<M first: A>")
    assert machine.snapshot()["fields"] == {"name": 2}


def test_a_machine_that_reads_wait_does_not_stand_alone(made: Callable[[str], Generated]) -> None:
    text = "module alone machine M { initial state A state B event go from environment A -> B on go when wait }"
    package = made(text)
    machine = package.M(package.System())
    machine.go()
    assert machine.state.display == "B"
