"""Nodes that were deleted, or are no longer configured: no pod is bound to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusters import config, gang, nodes
from invariants import check
from serving import annotation

from runtime import Pod
from runtime.config import read_configuration
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.journal import Journal
from runtime.service.locks import Locks
from runtime.service.messages import COMPONENT, BindRequest, FilterRequest
from runtime.service.objects import NodeObject, PodObject
from runtime.service.scheduler import PodScheduler
from runtime.service.source import Change
from runtime.service.tracker import Tracked
from runtime.service.why import why

TWO = config(nodes("a", "b"), A={"NODE": 2})
THREE = config(nodes("a", "b", "c"), A={"NODE": 3})


class Behind:
    """A scheduler, and the requests that it makes of the cluster."""

    def __init__(self, folder: Path, configuration: dict[str, object] = THREE, present: str = "abc") -> None:
        self.bound: list[str] = []
        self.fetched: list[str] = []
        self.allocator = DurableAllocator(read_configuration(configuration), Journal(folder / "journal"))
        self.scheduler = PodScheduler(
            self.allocator, Locks(), self._bind, lambda tracked: self.fetched.append(tracked.seen.uid)
        )
        self.things: list[NodeObject | PodObject] = [NodeObject(name, healthy=True) for name in present]

    def _bind(self, tracked: Tracked) -> None:
        assert tracked.info is not None
        self.bound.append(tracked.info.node)

    def observe(self, *pods: Pod) -> None:
        self.things += [seen(pod) for pod in pods]
        for thing in self.things:
            self.scheduler.observe(Change(thing, deleted=False))

    def delete_node(self, name: str) -> None:
        self.scheduler.observe(Change(NodeObject(name, healthy=True), deleted=True))

    def filter(self, pod: Pod, *offered: str) -> Any:
        """The node, or the reason for waiting."""
        answer = self.scheduler.filter(FilterRequest(seen(pod), offered))
        assert not answer["Error"], answer
        return answer["NodeNames"][0] if answer["NodeNames"] else answer["FailedNodes"][COMPONENT]

    def close(self) -> None:
        self.scheduler.expire()
        check(self.allocator)
        self.allocator.close()


def seen(pod: Pod) -> PodObject:
    return PodObject(pod.uid, pod.namespace, pod.name, True, annotation(pod), "", "", False)


def request(pod: Pod, node: str) -> BindRequest:
    return BindRequest(pod.uid, pod.namespace, pod.name, node)


@pytest.fixture
def behind(tmp_path: Path) -> Behind:
    return Behind(tmp_path)


def test_a_pod_whose_place_is_on_a_deleted_node_waits(behind: Behind) -> None:
    """Its gang has another pod, and keeps its places: the node may come back."""
    one, other = gang("g", "A", 4, 4)
    behind.observe(one, other)
    first = behind.filter(one, "a", "b", "c")
    (second,) = {place.node for place in behind.allocator.gangs["g"].places.placements} - {first}
    behind.delete_node(second)
    assert behind.filter(other, first) == f"gang g has a place for it on node {second}, which was deleted"
    behind.scheduler.expire()
    assert behind.bound == []
    answer, _ = why(behind.allocator, behind.scheduler.tracker, behind.scheduler.history, "g")
    assert answer["reason"] == f"it has its cells, some of them on node {second}, which was deleted"
    behind.scheduler.observe(Change(NodeObject(second, healthy=True), deleted=False))
    assert behind.filter(other, first, second) == second
    behind.close()


def test_a_place_on_a_deleted_node_is_given_back(behind: Behind) -> None:
    """When the cluster has said that the pod is not bound there. A gang without another pod goes elsewhere."""
    (pod,) = gang("g", "A", 4)
    behind.observe(pod)
    node = behind.filter(pod, "a", "b", "c")
    behind.delete_node(node)
    with pytest.raises(UserError, match=f"pod default/g-0 has its place on node {node}, which was deleted"):
        behind.scheduler.to_bind(request(pod, node))
    for _ in range(5):
        assert (
            behind.filter(pod, "a", "b", "c") == f"gang g gives a place back: it is on node {node}, which was deleted"
        )
    assert behind.bound == [], "however often it is asked for"
    assert set(behind.fetched) == {pod.uid}
    behind.scheduler.settle(pod.uid, seen(pod))
    assert behind.filter(pod, "a", "b", "c") not in (node, None)
    behind.scheduler.to_bind(request(pod, behind.filter(pod, "a", "b", "c")))
    behind.close()


def test_a_place_that_was_not_offered_is_not_bound_on_a_deleted_node(behind: Behind) -> None:
    (pod,) = gang("g", "A", 4)
    behind.observe(pod)
    node = behind.filter(pod)
    behind.delete_node(node)
    behind.scheduler.expire()
    assert behind.bound == []
    behind.close()


def test_a_pod_whose_place_is_on_a_node_that_is_no_longer_configured_waits(tmp_path: Path) -> None:
    behind = Behind(tmp_path, TWO, "ab")
    one, other = gang("g", "A", 4, 4)
    behind.observe(one, other)
    first = behind.filter(one, "a", "b")
    (second,) = {"a", "b"} - {first}
    behind.close()
    again = Behind(tmp_path, config(nodes(first), A={"NODE": 1}), "ab")
    again.things += [seen(one), seen(other)]
    again.scheduler.recover([Change(thing, deleted=False) for thing in again.things], lists_all=True)
    assert again.filter(one, "a", "b") == first
    assert again.filter(other, "a", "b") == f"gang g has a place for it on node {second}, which is no longer configured"
    again.close()
