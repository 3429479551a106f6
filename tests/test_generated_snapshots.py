"""Snapshots of generated classes: through JSON, of other versions, of other classes."""

from __future__ import annotations

import json
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
    "reference": ({"fields": {"user": 9, "reserver": None}}, "KeyError(9)"),
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
