"""What HiveD answers who inspects it, and what we answer: the same, byte for byte, in the same situation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import config, gang, nodes, rack
from hived import HiveD, bind_info, needs_hived, to_hived

from runtime import Bind, Phase, Pod, Preempt
from runtime.durable import DurableAllocator
from runtime.service import status

pytestmark = needs_hived

ONE = config(nodes("a"), A={"NODE": 1})
RACK = config([rack("a", "b")], A={"RACK.NODE": 1}, B={"RACK.NODE": 1})
PINNED = config([rack("a", "b", pinnedCellId="pin1"), rack("c", "d")], A={"pin1": 0}, B={"RACK": 1})
SWITCHES = config(nodes("a"), A={"NODE.SWITCH": 2})
LENT = config(nodes("a"), A={"NODE": 1}, B={"NODE": 0})


class Both:
    """The same on both sides; HiveD chooses."""

    def __init__(self, hived: HiveD, ours: DurableAllocator, configuration: dict[str, Any]) -> None:
        self.hived, self.ours = hived, ours
        self.nodes = sorted(ours.cluster.nodes)
        hived.begin(configuration, self.nodes)
        for name in self.nodes:
            ours.node_healthy(name)

    def run(self, pods: list[Pod]) -> None:
        for pod in pods:
            info = self.hived.schedule(pod, "Filtering", self.nodes)["bind"]
            self.hived.add(pod, info)
            assert isinstance(self.ours.schedule(pod), Bind)
            self.ours.allocate(pod, bind_info(info))

    def run_ours(self, pods: list[Pod]) -> None:
        """We choose."""
        for pod in pods:
            answer = self.ours.schedule(pod)
            assert isinstance(answer, Bind)
            self.ours.allocate(pod, answer.info)
            assert self.hived.schedule(pod, "Filtering", self.nodes)["bind"]
            self.hived.add(pod, to_hived(answer.info))

    def preempt(self, pods: list[Pod]) -> None:
        for pod in pods:
            assert self.hived.schedule(pod, "Preempting", self.nodes)["victims"]
            assert isinstance(self.ours.schedule(pod, None, Phase.PREEMPTING), Preempt)

    def end(self, pods: list[Pod]) -> None:
        for pod in pods:
            self.hived.delete(pod)
            self.ours.delete(pod)

    def bad(self, *names: str) -> None:
        for name in names:
            self.hived.ask("node", name=name, healthy=False)
            self.ours.node_bad(name)

    def compare(self) -> None:
        groups, cells = self.hived.status()
        mine = sorted((x for x in self.ours.groups() if status.has_cells(x)), key=lambda x: x.name)
        groups = sorted(map(_in_order, groups), key=lambda x: str(x["metadata"]["name"]))
        assert _text([status.gang(x) for x in mine]) == _text(groups)
        tops = status.physical_cluster(self.ours.cluster)
        assert _text(_sorted(tops)) == _text(_sorted(cells["physicalCluster"]))
        tenants = status.virtual_clusters(self.ours)
        assert tenants.keys() == cells["virtualClusters"].keys()
        for name, own in tenants.items():
            assert _text(_sorted(own)) == _text(_sorted(cells["virtualClusters"][name])), name


def _sorted(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(cells, key=lambda cell: cell["cellAddress"])


def _text(found: object) -> str:
    """As bytes, but for the time of a demotion."""
    return re.sub(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"', '"a time"', json.dumps(found, indent=1))


def _in_order(group: dict[str, Any]) -> dict[str, Any]:
    """HiveD has the pods of different sizes in the order of a map, drawn anew each time."""
    for placement in ("physicalPlacement", "virtualPlacement"):
        for cells in group["status"].get(placement, {}).values():
            cells.sort()
    return group


def strong(*sizes: int, **more: Any) -> list[Pod]:
    return gang("strong", "A", *sizes, priority=9, **more)


def weak(*sizes: int, **more: Any) -> list[Pod]:
    return gang("weak", "A", *sizes, priority=1, **more)


def opportunistic(*sizes: int, tenant: str = "A") -> list[Pod]:
    return gang("opp", tenant, *sizes, priority=-1)


Situation = tuple[dict[str, Any], Callable[[Both], object]]


def reserving(both: Both) -> None:
    both.run(weak(2, 2))
    both.preempt(strong(4))


def reserved(both: Both) -> None:
    reserving(both)
    both.end(weak(2, 2))


def called_off(both: Both) -> None:
    reserving(both)
    both.end(strong(4))


def proceeded(both: Both) -> None:
    reserved(both)
    both.run(strong(4))


def demoted(both: Both) -> None:
    both.run(gang("lazy", "A", 1, priority=1, lazy_preemption=True))
    both.run_ours(gang("next", "A", 1, priority=5))


def over_opportunistic(both: Both) -> None:
    both.run(opportunistic(2, 2, tenant="B"))
    both.preempt(strong(4))


def half_gone(both: Both) -> None:
    both.run(weak(2, 2))
    both.end(weak(2, 2)[:1])


def all_gone(both: Both) -> None:
    both.run(weak(2, 2))
    both.end(weak(2, 2))


def two_switches(both: Both) -> None:
    both.run(weak(2))
    both.run(strong(2))


def beside(both: Both) -> None:
    both.run(strong(2))
    both.run(opportunistic(1))


def one_bad(both: Both) -> None:
    both.run(strong(4))
    both.bad("a")


SITUATIONS: dict[str, Situation] = {
    "nothing": (ONE, lambda both: None),
    "nothing in racks": (RACK, lambda both: None),
    "nothing in pinned cells": (PINNED, lambda both: None),
    "one device": (ONE, lambda both: both.run(weak(1))),
    "a node": (ONE, lambda both: both.run(weak(4))),
    "two pods": (ONE, lambda both: both.run(weak(2, 2))),
    "half of a gang": (ONE, lambda both: both.run(weak(2, 2)[:1])),
    "half of a gang is gone": (ONE, half_gone),
    "all is gone": (ONE, all_gone),
    "a switch": (SWITCHES, lambda both: both.run(weak(2))),
    "two switches": (SWITCHES, two_switches),
    "opportunistic": (ONE, lambda both: both.run(opportunistic(1))),
    "opportunistic, of somebody with nothing": (LENT, lambda both: both.run(opportunistic(4, tenant="B"))),
    "opportunistic beside guaranteed": (ONE, beside),
    "in a pinned cell": (PINNED, lambda both: both.run(strong(4, pinned_cell="pin1"))),
    "two nodes of a pinned cell": (PINNED, lambda both: both.run(strong(4, 4, pinned_cell="pin1"))),
    "a rack of nodes of one": (PINNED, lambda both: both.run(gang("g", "B", 4, 4))),
    "reserving": (ONE, reserving),
    "reserved": (ONE, reserved),
    "a preemption that is over": (ONE, proceeded),
    "reserving from opportunistic": (LENT, over_opportunistic),
    "demoted": (config(nodes("a"), A={"NODE.SWITCH.GPU": 1}), demoted),
    "on a bad node": (ONE, one_bad),
}


@pytest.fixture(scope="module")
def hived() -> Iterator[HiveD]:
    process = HiveD()
    yield process
    process.close()


@pytest.mark.parametrize(("configuration", "act"), SITUATIONS.values(), ids=SITUATIONS)
def test_the_same_is_answered(
    configuration: dict[str, Any], act: Callable[[Both], object], hived: HiveD, tmp_path: Path
) -> None:
    ours = DurableAllocator.open(configuration, tmp_path / "journal", now=lambda: 1000.0)
    both = Both(hived, ours, configuration)
    act(both)
    both.compare()
    ours.close()


def test_a_preemption_that_is_called_off_leaves_its_victim_as_it_was(hived: HiveD, tmp_path: Path) -> None:
    """A fault of HiveD's: the victim stays BeingPreempted, although nobody wants its cells any more."""
    ours = DurableAllocator.open(ONE, tmp_path / "journal")
    both = Both(hived, ours, ONE)
    called_off(both)
    (theirs,), (mine,) = hived.status()[0], [status.gang(x) for x in ours.groups()]
    assert (theirs["status"].pop("state"), mine["status"].pop("state")) == ("BeingPreempted", "Allocated")
    assert _text(mine) == _text(theirs)
    ours.close()
