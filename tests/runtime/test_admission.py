"""Gated gangs are decided as a whole, admitted by one patch a pod, and never decided anew."""

from __future__ import annotations

import copy
import json
import os
import random
import sqlite3
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from clusters import config, nodes
from invariants import check
from stand_in.patches import json_patch
from stand_in.pods import validate_update

from generated.hived import AffinityGroupState
from runtime.annotations import BIND_INFO, ENABLE, ISOLATION, SPEC, write_bind_info, write_spec
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.service.admission import PATCH_TIMEOUT
from runtime.service.api import Api, ApiError
from runtime.service.gates import admission_patch, pin
from runtime.service.kubernetes import KubernetesSource
from runtime.service.locks import Locks
from runtime.service.messages import FilterRequest, PreemptRequest
from runtime.service.objects import NodeObject, PodObject, read_pod
from runtime.service.pod_groups import (
    COUNT,
    GATE,
    JOBSET_NAME,
    KUEUE_COUNT,
    KUEUE_GROUP,
    KUEUE_QUEUE,
    read_pod_group,
)
from runtime.service.scheduler import NotYetError, PodScheduler
from runtime.service.source import Change
from runtime.service.tracker import PodPhase, Tracked
from runtime.service.why import why

EIGHT = config(nodes(*"abcdefgh"), A={"NODE": 8})
"""Eight nodes of four devices."""
GANGS = int(os.environ.get("GATED_GANGS", "12"))
"""How many gangs are admitted with kills in between; 500 in a campaign."""


class Cluster:
    """Pods as documents, and an allocator that may be killed between any two of its patches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.time = 1000.0
        self.pods: dict[str, dict[str, Any]] = {}
        """By name."""
        self.told: dict[str, str] = {}
        self.patched = 0
        self.start()

    def start(self) -> None:
        """The next process."""
        self.allocator = DurableAllocator.open(EIGHT, self.folder / "journal")
        self.requests: list[Tracked] = []
        self.deleted: list[str] = []
        self.changes: list[Change] = []
        self.scheduler = PodScheduler(
            self.allocator,
            Locks(),
            lambda _: None,
            lambda _: None,
            now=lambda: self.time,
            delete=self._delete,
            evict=True,
            admit=self._admit,
            tell=lambda tracked, reason: self.told.update({tracked.seen.name: reason}),
        )
        with self.allocator.cycle():
            self.scheduler.recover(self._list(), lists_all=True)

    def _list(self) -> list[Change]:
        """What the cluster says to a new process."""
        nodes = [Change(NodeObject(name, healthy=True), deleted=False) for name in self.allocator.cluster.nodes]
        return [*nodes, *(Change(read_pod(pod), deleted=False) for pod in self.pods.values())]

    def _admit(self, tracked: Tracked) -> None:
        """The allocator wants a gate to be opened."""
        self.requests.append(tracked)

    def kill(self, *, lose: bool = False) -> None:
        """Without a word; `lose` its journal as well."""
        self.allocator.close()
        if lose:
            (self.folder / "journal").unlink()
        self.start()

    def create(self, name: str, labels: Any = None, annotations: Any = None, **spec: Any) -> dict[str, Any]:
        """A gated pod."""
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
        if labels is not None:
            metadata["labels"] = labels
        if annotations is not None:
            metadata["annotations"] = annotations
        pod = {"metadata": metadata, "spec": {"schedulingGates": [{"name": GATE}], **spec}, "status": {}}
        self.pods[name] = pod
        self.tell(pod)
        return pod

    def gang(self, name: str, *sizes: int, priority: int = 1) -> list[str]:
        """A gang by annotation."""
        members = [{"podNumber": sizes.count(x), "leafCellNumber": x} for x in sorted(set(sizes))]
        names = [f"{name}-{n}" for n in range(len(sizes))]
        for one, size in zip(names, sizes, strict=True):
            self.create(one, annotations=asks(size, priority, {"name": name, "members": members}))
        return names

    def _delete(self, tracked: Tracked) -> None:
        """It has its grace to end."""
        name = tracked.seen.name
        self.deleted.append(name)
        self.pods[name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.tell(self.pods[name])

    def tell(self, pod: dict[str, Any], *, deleted: bool = False) -> None:
        """The watch reports it in the next cycle."""
        self.changes.append(Change(read_pod(copy.deepcopy(pod)), deleted=deleted))

    def delete(self, *names: str) -> None:
        """They are gone."""
        for name in names:
            self.tell(self.pods.pop(name), deleted=True)

    def cycle(self) -> None:
        """One of the allocator."""
        with self.allocator.cycle():
            changes, self.changes = self.changes, []
            for change in changes:
                self.scheduler.observe(change)
            self.scheduler.expire()
            self.scheduler.tear_down()
            self.scheduler.admit()
            self.scheduler.write_history()
        self.time += 1

    def patch(self, limit: int = 10**9) -> int:
        """So many of the patches that were asked for; the API server checks them."""
        sent = 0
        while self.requests and sent < limit:
            tracked = self.requests.pop(0)
            sent += 1
            self.send(tracked)
        return sent

    def send(self, tracked: Tracked) -> None:
        """One of them."""
        assert tracked.info is not None
        assert tracked.pod is not None
        pod = self.pods.get(tracked.seen.name)
        if pod is None or not tracked.seen.gated:
            return
        annotations = {**write_bind_info(tracked.info), SPEC: write_spec(tracked.pod.spec)}
        operations = admission_patch(tracked.seen, tracked.info.node, annotations)
        after = json_patch(copy.deepcopy(pod), operations)
        validate_update(copy.deepcopy(pod), copy.deepcopy(after))
        self.pods[tracked.seen.name] = after
        self.patched += 1
        self.tell(after)

    def node(self, name: str, *, healthy: bool = True, deleted: bool = False) -> None:
        """The watch reports a node in the next cycle."""
        self.changes.append(
            Change(NodeObject(name, healthy and not deleted, reason="it is not Ready"), deleted=deleted)
        )

    def pod_group(self, name: str, count: int, *, deleted: bool = False) -> None:
        """The watch reports a PodGroup in the next cycle."""
        spec = {"schedulingPolicy": {"gang": {"minCount": count}}}
        group = read_pod_group({"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        self.changes.append(Change(group, deleted=deleted))

    def native(self, name: str, size: int, priority: int = 1) -> None:
        """A pod of PodGroup train."""
        container = {"resources": {"limits": {"nvidia.com/gpu": str(size)}}}
        notes = {SPEC: json.dumps({"virtualCluster": "A", "priority": priority})}
        self.create(name, annotations=notes, containers=[container], schedulingGroup={"podGroupName": "train"})

    def refuse_evictions(self, why: str = "a budget forbids it") -> None:
        """Until the process is killed."""

        def refuse(preemptor: Gang, victims: Mapping[Gang, tuple[Tracked, ...]]) -> None:
            self.scheduler.eviction_failed(preemptor, victims, (), why)

        self.scheduler._evict_gangs = refuse

    def fill(self) -> list[str]:
        """Every node has a gang of its own."""
        names = [name for number in range(8) for name in self.gang(f"held{number}", 4)]
        self.settle()
        return names

    def tracked(self, name: str) -> Tracked:
        """What is known of a pod."""
        tracked = self.scheduler.tracker.pod(f"uid-{name}")
        assert tracked is not None
        return tracked

    def settle(self) -> None:
        """Cycles, until there is nothing more to do."""
        for _ in range(4):
            self.cycle()
            self.patch()

    def places(self) -> dict[str, str]:
        """The bind info of each admitted pod."""
        notes = {name: pod["metadata"].get("annotations") or {} for name, pod in self.pods.items()}
        return {name: note[BIND_INFO] for name, note in notes.items() if BIND_INFO in note}

    def why(self, gang: str) -> str:
        """The same of a gang, as `runtime why` says it."""
        return str(why(self.allocator, self.scheduler.tracker, self.scheduler.history, gang)[0]["reason"])

    def reason(self, name: str) -> str:
        """Why a pod waits."""
        return self.scheduler.admission.reason(f"uid-{name}")


def asks(size: int, priority: int = 1, group: Any = None) -> dict[str, str]:
    """The annotation of a pod."""
    asked: dict[str, Any] = {"virtualCluster": "A", "priority": priority, "leafCellNumber": size}
    return {SPEC: json.dumps({**asked, **({"affinityGroup": group} if group else {})})}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def test_a_gang_is_admitted_when_all_its_pods_are_there(cluster: Cluster) -> None:
    names = cluster.gang("x", 4, 4, 2)
    last = cluster.pods.pop(names[2])
    cluster.changes.pop()
    cluster.settle()
    assert not cluster.places()
    assert cluster.reason(names[0]) == "gang x waits for its pods: 2 of 3 are there"
    assert cluster.told[names[0]] == cluster.reason(names[0])
    assert cluster.why("x") == cluster.reason(names[0])
    cluster.pods[names[2]] = last
    cluster.tell(last)
    cluster.settle()
    assert cluster.places().keys() == set(names)
    assert not any(pod["spec"]["schedulingGates"] for pod in cluster.pods.values())
    assert "its kube-scheduler has not bound default/x-0" in cluster.why("x")
    check(cluster.allocator)


def test_a_gang_that_waits_is_tried_again_only_when_something_has_changed(cluster: Cluster) -> None:
    first = cluster.gang("first", *[4] * 8)
    cluster.settle()
    cluster.gang("second", 4)
    small = [f"small{n}" for n in range(20)]
    for name in small:
        cluster.gang(name, 4)
    cluster.settle()
    asked: list[str] = []
    schedule = cluster.allocator.schedule
    cluster.allocator.schedule = lambda pod, *more: asked.append(pod.name) or schedule(pod, *more)  # type: ignore
    for _ in range(10):
        cluster.cycle()
    assert not asked
    cluster.delete(*first)
    cluster.settle()
    assert len(cluster.places()) == 8
    assert "second-0" in cluster.places(), "who came first is first"


def test_gated_pods_are_counted_by_what_they_wait_for(cluster: Cluster) -> None:
    def counted() -> dict[str, int]:
        return cluster.scheduler.admission.counts()

    holders = cluster.gang("held", *[4] * 8)
    cluster.cycle()
    assert counted() == {"incomplete": 0, "waiting": 0, "placed": 8}
    assert cluster.patch(3) == 3
    cluster.cycle()
    assert counted() == {"incomplete": 0, "waiting": 0, "placed": 5}
    waiting = cluster.gang("waits", 4, 4)
    absent = cluster.gang("lacks", 4, 4, 4)[0]
    cluster.delete(absent)
    cluster.settle()
    assert counted() == {"incomplete": 2, "waiting": 2, "placed": 0}
    cluster.delete(*holders)
    cluster.settle()
    assert cluster.places().keys() == {*waiting}
    assert counted() == {"incomplete": 2, "waiting": 0, "placed": 0}


def test_who_came_first_is_first_after_a_restart_too(cluster: Cluster) -> None:
    holders = cluster.gang("held", *[4] * 8)
    cluster.settle()
    for second, name in enumerate(("z", "a", "m")):
        (pod,) = cluster.gang(name, 4)
        cluster.pods[pod]["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:{second:02}Z"
    cluster.kill()
    cluster.settle()
    cluster.delete(*holders)
    asked: list[str] = []
    schedule = cluster.allocator.schedule
    cluster.allocator.schedule = lambda pod, *more: asked.append(pod.name) or schedule(pod, *more)  # type: ignore
    cluster.settle()
    assert asked == ["z-0", "a-0", "m-0"]


def test_strong_gangs_come_first_and_small_ones_pass_those_that_wait(cluster: Cluster) -> None:
    holders = cluster.gang("held", *[4] * 6, priority=100)
    cluster.settle()
    cluster.gang("large", *[4] * 4, priority=10)
    cluster.gang("weak", 4, priority=1)
    cluster.gang("strong", 4, 4, priority=5)
    cluster.settle()
    assert cluster.places().keys() == {*holders, "strong-0", "strong-1"}


def test_a_stronger_gang_reserves_and_its_victims_are_evicted_together(cluster: Cluster) -> None:
    weak = cluster.gang("weak", *[4] * 8, priority=1)
    cluster.settle()
    strong = cluster.gang("strong", *[4] * 2, priority=9)
    cluster.settle()
    assert sorted(cluster.deleted) == sorted(weak)
    assert "waits until weak (1 gangs) have left" in cluster.reason(strong[0])
    cluster.kill()
    cluster.settle()
    assert not cluster.places().keys() & set(strong)
    cluster.delete(*weak)
    cluster.settle()
    assert cluster.places().keys() == set(strong)
    check(cluster.allocator)


def test_a_gated_pod_is_told_what_keeps_the_gangs_that_have_to_leave(cluster: Cluster) -> None:
    cluster.gang("weak", *[4] * 8, priority=1)
    cluster.settle()
    keeps = "disruption budget default/keep covers 8 pods of gang weak, and now lets 0 go"

    def refuse(preemptor: Gang, victims: Mapping[Gang, tuple[Tracked, ...]]) -> None:
        cluster.scheduler.eviction_failed(preemptor, victims, (), keeps)

    cluster.scheduler._evict_gangs = refuse
    (strong,) = cluster.gang("strong", 4, priority=9)
    cluster.settle()
    assert cluster.reason(strong).endswith(f"waits until weak (1 gangs) have left; {keeps}")
    assert cluster.told[strong] == cluster.reason(strong)
    assert keeps in cluster.why("strong")
    keeps = "the API server is away"
    for _ in range(11):
        cluster.cycle()
    assert cluster.reason(strong).endswith("have left; the API server is away")

    def evict(preemptor: Gang, victims: Mapping[Gang, tuple[Tracked, ...]]) -> None:
        for tracked in (x for pods in victims.values() for x in pods):
            cluster._delete(tracked)

    cluster.scheduler._evict_gangs = evict
    for _ in range(12):
        cluster.cycle()
    assert len(cluster.deleted) == 8
    assert cluster.reason(strong).endswith("waits until weak (1 gangs) have left")


def test_a_gang_that_has_reserved_places_may_ask_for_something_else(cluster: Cluster) -> None:
    """It gives back what it has reserved."""
    holders = cluster.fill()
    cluster.refuse_evictions()
    (strong,) = cluster.gang("strong", 4, priority=9)
    cluster.settle()
    assert cluster.tracked(strong).phase is PodPhase.PREEMPTING
    cluster.pods[strong]["metadata"]["annotations"] = asks(
        4, 1, {"name": "strong", "members": [{"podNumber": 1, "leafCellNumber": 4}]}
    )
    cluster.tell(cluster.pods[strong])
    cluster.settle()
    assert cluster.tracked(strong).phase is PodPhase.WAITING
    assert "has no room" in cluster.reason(strong)
    assert not any(gang.state is AffinityGroupState.BEING_PREEMPTED for gang in cluster.allocator.gangs.values())
    cluster.delete(holders[0])
    cluster.settle()
    assert strong in cluster.places()


def test_a_gang_that_has_lost_its_reservation_may_ask_for_something_else(cluster: Cluster) -> None:
    cluster.fill()
    cluster.refuse_evictions()
    (strong,) = cluster.gang("strong", 4, priority=9)
    cluster.settle()
    for name in cluster.allocator.cluster.nodes:
        cluster.node(name, healthy=False)
    cluster.settle()
    assert cluster.tracked(strong).phase is PodPhase.WAITING
    cluster.pods[strong]["metadata"]["annotations"] = asks(
        4, 1, {"name": "strong", "members": [{"podNumber": 1, "leafCellNumber": 4}]}
    )
    cluster.tell(cluster.pods[strong])
    for name in cluster.allocator.cluster.nodes:
        cluster.node(name)
    cluster.settle()
    pod = cluster.tracked(strong).pod
    assert pod is not None
    assert pod.spec.priority == 1
    assert "has no room" in cluster.reason(strong), "it displaces nobody any more"


def test_a_pod_of_another_size_replaces_one_of_a_gang_that_has_reserved_places(cluster: Cluster) -> None:
    holders = cluster.fill()
    cluster.refuse_evictions()
    labels, notes = {KUEUE_GROUP: "train"}, {**asks(4, 9), KUEUE_COUNT: "3"}
    for name in "xyz":
        cluster.create(name, labels, notes)
    cluster.settle()
    cluster.delete("z")
    cluster.create("small", labels, {**asks(2, 9), KUEUE_COUNT: "3"})
    cluster.settle()
    assert "has reserved its places" in cluster.reason("small")
    cluster.delete(*holders)
    cluster.settle()
    assert cluster.places().keys() == {"x", "y", "small"}


def test_the_number_of_pods_changes_while_a_gang_has_reserved_places(cluster: Cluster) -> None:
    holders = cluster.fill()
    cluster.refuse_evictions()
    cluster.native("x", 4, priority=9)
    cluster.pod_group("train", 1)
    cluster.settle()
    cluster.native("y", 4, priority=9)
    cluster.pod_group("train", 2)
    cluster.settle()
    assert "has reserved its places" in cluster.reason("y")
    cluster.pod_group("train", 2, deleted=True)
    cluster.settle()
    assert "is not known" in cluster.reason("x")
    assert not any(not gang.assigned for gang in cluster.allocator.gangs.values())
    cluster.pod_group("train", 2)
    cluster.delete(*holders)
    cluster.settle()
    assert cluster.places().keys() == {"x", "y"}


def test_the_number_of_pods_changes_while_nobody_watches(cluster: Cluster) -> None:
    labels = {KUEUE_GROUP: "train"}
    cluster.create("x", labels, {**asks(4), KUEUE_COUNT: "2"})
    cluster.settle()
    cluster.pods["x"]["metadata"]["annotations"][KUEUE_COUNT] = "3"
    cluster.kill()
    for name in "yz":
        cluster.create(name, labels, {**asks(4), KUEUE_COUNT: "3"})
    cluster.settle()
    assert cluster.places().keys() == {"x", "y", "z"}


@pytest.mark.parametrize("sizes", [(4,), (4, 4), (4, 2)], ids=str)
def test_a_reservation_outlives_a_restart_although_the_pod_group_comes_late(
    cluster: Cluster, sizes: tuple[int, ...]
) -> None:
    cluster.fill()
    cluster.refuse_evictions()
    for number, size in enumerate(sizes):
        cluster.native(f"x-{number}", size, priority=9)
    cluster.pod_group("train", len(sizes))
    cluster.settle()
    cluster.kill()
    reserved = cluster.allocator.gangs["default/pod-groups/train"]
    cluster.refuse_evictions()
    cluster.pod_group("train", len(sizes))
    cluster.settle()
    assert cluster.allocator.gangs["default/pod-groups/train"] is reserved
    assert reserved.state is AffinityGroupState.PREEMPTING
    assert reserved.machine in cluster.allocator.cluster.system.machines


def test_nothing_is_wrong_with_a_pod_that_has_its_place_before_its_pod_group_is_known(cluster: Cluster) -> None:
    for number in range(2):
        cluster.native(f"x-{number}", 4)
    cluster.pod_group("train", 2)
    cluster.cycle()
    cluster.patch(1)
    cluster.kill()
    cluster.settle()
    assert cluster.places().keys() == {"x-0", "x-1"}
    assert not any(tracked.problem for tracked in cluster.scheduler.tracker.pods())


def test_an_event_of_a_pod_group_costs_a_look_at_its_own_pods(cluster: Cluster) -> None:
    cluster.native("x", 4)
    cluster.gang("others", *[1] * 8)
    cluster.cycle()
    looked: list[str] = []
    submit = cluster.scheduler._submit_gated
    cluster.scheduler._submit_gated = lambda tracked: looked.append(tracked.seen.name) or submit(tracked)  # type: ignore
    cluster.scheduler.tracker.pods = lambda: pytest.fail("all pods are looked at")  # type: ignore[method-assign]
    cluster.pod_group("train", 1)
    cluster.pod_group("other", 1)
    cluster.cycle()
    assert looked == ["x"]
    cluster.settle()
    assert not cluster.scheduler._pods_by_group, "an admitted pod has no group any more"


def test_a_reason_names_no_other_gang(cluster: Cluster) -> None:
    cluster.gang("held", *[4] * 8)
    cluster.settle()
    cluster.scheduler.admission._evict_for = None
    for name in ("x", "y"):
        cluster.gang(name, 4, 4, priority=9)
    cluster.settle()
    assert "evicts nobody" in cluster.reason("y-0")
    assert "gang x" not in cluster.reason("y-0")


def test_all_gangs_that_can_never_have_places_fail_and_are_not_tried_again(cluster: Cluster) -> None:
    for name in ("x", "y"):
        cluster.gang(name, *[4] * 9)
    cluster.settle()
    assert all(gang.never for gang in cluster.allocator.gangs.values())
    cluster.allocator.schedule = lambda *_: pytest.fail("nothing can have changed")  # type: ignore[method-assign]
    cluster.node("a", healthy=False)
    cluster.settle()
    assert "this can never change" in cluster.reason("y-0")


def test_a_reservation_is_kept_for_as_long_as_its_gang_waits(cluster: Cluster) -> None:
    """No kube-scheduler asks for it."""
    cluster.gang("weak", *[4] * 8, priority=1)
    cluster.settle()
    cluster.gang("strong", 4, priority=9)
    cluster.settle()
    for _ in range(5):
        cluster.time += 400
        cluster.cycle()
    assert cluster.scheduler.given_back["reservation"] == 0


def test_an_admitted_pod_keeps_its_place_however_long_nobody_binds_it(cluster: Cluster) -> None:
    names = cluster.gang("x", 4, 4)
    cluster.settle()
    cluster.kill()
    for _ in range(5):
        cluster.time += 400
        cluster.cycle()
    for name in names:
        cluster.scheduler.settle(f"uid-{name}", read_pod(cluster.pods[name]))
    assert {x.seen.name for x in cluster.scheduler.tracker.pods() if x.info is not None} == set(names)


@pytest.mark.parametrize("kind", ["kueue", "jobset", "native"])
def test_the_members_of_a_group_follow_from_its_pods(cluster: Cluster, kind: str) -> None:
    labels, notes, spec = {}, asks(4), {}
    match kind:
        case "kueue":
            labels = {KUEUE_GROUP: "train", KUEUE_QUEUE: "A"}
            notes = {KUEUE_COUNT: "3"}
        case "jobset":
            labels, notes = {JOBSET_NAME: "train"}, {COUNT: "3", SPEC: '{"virtualCluster": "A"}'}
        case _:
            notes = {SPEC: '{"virtualCluster": "A"}'}
            spec = {"schedulingGroup": {"podGroupName": "train"}}
    for number, size in enumerate((4, 2, 2)):
        container = {"resources": {"limits": {"nvidia.com/gpu": str(size)}}}
        cluster.create(f"p-{number}", labels, dict(notes), containers=[container], **spec)
    if kind == "native":
        cluster.settle()
        assert "PodGroup default/train is not known" in cluster.reason("p-0")
        with pytest.raises(UserError, match="pod default/p-0 waits, because PodGroup default/train is not known"):
            cluster.why("default/pod-groups/train")
        policy = {"schedulingPolicy": {"gang": {"minCount": 3}}}
        group = read_pod_group({"metadata": {"name": "train", "namespace": "default"}, "spec": policy})
        cluster.changes.append(Change(group, deleted=False))
    cluster.cycle()
    cluster.patch(1)
    cluster.kill(lose=True)
    cluster.time += PATCH_TIMEOUT
    if kind == "native":
        cluster.changes.append(Change(group, deleted=False))
    cluster.settle()
    places = [json.loads(x) for x in cluster.places().values()]
    assert sorted(len(x["leafCellIsolation"]) for x in places) == [2, 2, 4]
    assert len({json.dumps(x["affinityGroupBindInfo"]) for x in places}) == 1
    check(cluster.allocator)


@pytest.mark.parametrize(
    ("labels", "annotations", "spec", "reason"),
    [
        ({KUEUE_GROUP: "g"}, asks(4), {}, "must say how many pods"),
        ({KUEUE_GROUP: "g"}, {**asks(4), KUEUE_COUNT: "-1"}, {}, "must be a number from 1"),
        ({KUEUE_GROUP: "g"}, {**asks(4), KUEUE_COUNT: "9" * 500}, {}, "must be a number from 1"),
        ({JOBSET_NAME: "g"}, asks(4), {}, "must say how many pods"),
        (None, asks(4), {"schedulingGroup": {"podGroupName": "none"}}, "is not known"),
        (None, None, {}, "has no annotation"),
        (None, {SPEC: "{"}, {}, "annotation"),
        ([], {}, {}, "labels must be a mapping"),
        (None, {SPEC: '{"virtualCluster": "Z", "leafCellNumber": 1}'}, {}, "no virtual cluster Z"),
        (None, asks(1000), {}, ""),
    ],
)
def test_a_pod_that_cannot_be_understood_waits_and_is_told(
    cluster: Cluster, labels: Any, annotations: Any, spec: Any, reason: str
) -> None:
    cluster.create("odd", labels, annotations, **spec)
    for _ in range(4):
        cluster.cycle()
    assert reason in cluster.reason("odd")
    assert cluster.told["odd"] == cluster.reason("odd")
    cluster.gang("fine", 4)
    cluster.settle()
    assert "fine-0" in cluster.places()


def test_pods_that_contradict_each_other_wait_and_are_told(cluster: Cluster) -> None:
    for name, count in (("a", "2"), ("b", "3")):
        cluster.create(name, {KUEUE_GROUP: "g"}, {**asks(4), KUEUE_COUNT: count})
    cluster.settle()
    assert "disagree on the number of its pods" in cluster.reason("a")
    cluster.pods["b"]["metadata"]["annotations"][KUEUE_COUNT] = "2"
    cluster.tell(cluster.pods["b"])
    cluster.settle()
    assert cluster.places().keys() == {"a", "b"}
    cluster.create("c", {KUEUE_GROUP: "g"}, {**asks(4), KUEUE_COUNT: "2"})
    cluster.settle()
    assert "already has all its" in cluster.reason("c")
    cluster.delete("a")
    cluster.settle()
    assert "c" in cluster.places(), "it takes the place of the one that has left"


def test_kills_between_any_two_patches_change_no_decision(tmp_path: Path) -> None:
    """With the journal and without it: the remaining pods get exactly the places of the decision."""
    chance = random.Random(1)
    cluster = Cluster(tmp_path)
    for number in range(GANGS):
        sizes = [chance.choice((1, 2, 4)) for _ in range(chance.randint(2, 8))]
        names = cluster.gang(f"g{number}", *sizes)
        cluster.cycle()
        decided = {x.seen.name: write_bind_info(x.info)[BIND_INFO] for x in cluster.requests if x.info is not None}
        assert decided.keys() == set(names)
        while any(cluster.pods[name]["spec"]["schedulingGates"] for name in names):
            cluster.patch(chance.randint(0, 2))
            admitted = cluster.places()
            lose = bool(admitted) and chance.random() < 0.3
            cluster.kill(lose=lose)
            if lose:
                before = cluster.patched
                cluster.cycle()
                assert not cluster.requests, "a patch of the former process may be under way"
                assert cluster.patched == before
                cluster.time += PATCH_TIMEOUT
            cluster.cycle()
            if not lose:
                assert {x.seen.name: write_bind_info(x.info)[BIND_INFO] for x in cluster.requests if x.info} == {
                    name: place for name, place in decided.items() if name not in admitted
                }
        held = [(x["node"], n) for x in map(json.loads, cluster.places().values()) for n in x["leafCellIsolation"]]
        assert len(held) == len(set(held)) == sum(sizes)
        assert len({json.dumps(json.loads(x)["affinityGroupBindInfo"]) for x in cluster.places().values()}) == 1
        check(cluster.allocator)
        cluster.delete(*names)
        cluster.cycle()


def test_a_patch_that_fails_is_sent_again_with_pauses(cluster: Cluster) -> None:
    cluster.gang("x", 4)
    cluster.cycle()
    (tracked,) = cluster.requests
    sent = []
    for _ in range(40):
        if cluster.requests:
            cluster.requests.clear()
            sent.append(cluster.time)
            cluster.scheduler.admission.failed(tracked.seen.uid, "the API server does not answer")
        cluster.cycle()
    pauses = [later - sooner for sooner, later in pairwise(sent)]
    assert len(sent) > 3
    assert pauses == sorted(pauses)
    assert "cannot be admitted: the API server does not answer" in cluster.told["x-0"]


def test_a_pod_is_not_admitted_to_a_node_that_is_gone(cluster: Cluster) -> None:
    cluster.gang("x", 4, 4)
    cluster.cycle()
    lost, _ = (tracked.info.node for tracked in cluster.requests if tracked.info is not None)
    cluster.requests.clear()
    cluster.node(lost, deleted=True)
    for _ in range(int(PATCH_TIMEOUT) + 1):
        cluster.cycle()
    cluster.patch()
    assert cluster.places().keys() == {"x-1"}
    assert f"node {lost}, which was deleted" in cluster.told["x-0"]
    assert cluster.why("x") == cluster.reason("x-0")
    cluster.node(lost)
    for _ in range(int(PATCH_TIMEOUT) + 1):
        cluster.cycle()
    cluster.settle()
    assert cluster.places().keys() == {"x-0", "x-1"}


@pytest.mark.parametrize(("deleted", "what"), [(True, "which was deleted"), (False, "which is bad (it is not Ready)")])
def test_the_nodes_of_admitted_pods_that_cannot_be_bound_are_named(cluster: Cluster, deleted: bool, what: str) -> None:
    cluster.gang("x", 4)
    cluster.settle()
    node = json.loads(cluster.places()["x-0"])["node"]
    cluster.node(node, healthy=False, deleted=deleted)
    cluster.cycle()
    assert f"some of them on node {node}, {what}; its kube-scheduler has not bound default/x-0" in cluster.why("x")


def test_a_pod_that_is_terminating_is_not_counted_as_placed(cluster: Cluster) -> None:
    """A finalizer keeps it."""
    cluster.gang("x", 4, 4)
    cluster.cycle()
    cluster.pods["x-0"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cluster.tell(cluster.pods["x-0"])
    cluster.requests.clear()
    for _ in range(int(PATCH_TIMEOUT) + 1):
        cluster.cycle()
    assert cluster.scheduler.admission.counts()["placed"] == 1
    assert [tracked.seen.name for tracked in cluster.requests] == ["x-1"]


def test_a_pod_whose_gate_somebody_else_has_removed_is_left_to_the_extender(cluster: Cluster) -> None:
    """If it has the limit; otherwise it is no pod of the allocator any more."""

    def remove_gate(name: str) -> None:
        cluster.pods[name]["spec"]["schedulingGates"] = []
        cluster.tell(cluster.pods[name])
        cluster.cycle()

    holders = cluster.gang("held", *[4] * 8)
    cluster.settle()
    cluster.create("x", annotations=asks(4), containers=[{"resources": {"limits": {ENABLE: 1}}}])
    cluster.settle()
    remove_gate("x")
    assert not any(cluster.scheduler.admission.counts().values())
    assert not cluster.reason("x")
    cluster.delete(*holders, "x")
    cluster.create("x", annotations=asks(4), containers=[{"resources": {"limits": {ENABLE: 1}}}])
    cluster.cycle()
    assert cluster.tracked("x").phase is PodPhase.BINDING
    remove_gate("x")
    cluster.requests.clear()
    refreshed: list[str] = []
    cluster.scheduler._refresh = lambda tracked: refreshed.append(tracked.seen.name)
    cluster.time += 601
    cluster.cycle()
    assert refreshed == ["x"], "its place has a lease"


def test_a_pod_that_another_process_admitted_has_the_devices_that_are_written_on_it(cluster: Cluster) -> None:
    """On the node of our own decision."""
    cluster.gang("x", 2)
    cluster.cycle()
    pod = cluster.pods["x-0"]
    cluster.patch()
    cluster.changes.clear()
    notes = pod["metadata"]["annotations"] = cluster.pods["x-0"]["metadata"]["annotations"]
    assert notes[ISOLATION] == "0,1"
    notes.update({ISOLATION: "2,3", BIND_INFO: notes[BIND_INFO].replace("[0, 1]", "[2, 3]")})
    cluster.tell(cluster.pods["x-0"])
    cluster.cycle()
    assert [x.info.leaf_cells for x in cluster.scheduler.tracker.pods() if x.info is not None] == [(2, 3)]
    check(cluster.allocator)


def test_a_patch_that_was_carried_out_before_is_no_error_unless_it_gave_other_devices(cluster: Cluster) -> None:
    class Taken:
        """An API server that has carried out another patch before."""

        def patch(self, pod: PodObject, operations: list[dict[str, Any]]) -> None:
            raise ApiError(422, f"{pod.key}: the test of a patch failed")

        def pod(self, namespace: str, name: str) -> dict[str, Any]:
            return cluster.pods[name]

    cluster.gang("x", 2)
    cluster.cycle()
    seen = cluster.requests[0].seen
    cluster.send(cluster.requests[0])
    source = KubernetesSource(cast(Api, Taken()))
    source.admit(seen, "a", {ISOLATION: "0,1"})
    with pytest.raises(UserError, match="removed by somebody else; it is on a, with the devices 0,1"):
        source.admit(seen, "a", {ISOLATION: "2,3"})


def test_an_admitted_pod_whose_place_cannot_be_understood_waits_no_more(cluster: Cluster) -> None:
    holders = cluster.gang("held", *[4] * 8)
    cluster.settle()
    (name,) = cluster.gang("x", 4)
    cluster.settle()
    pod, other = cluster.pods[name], cluster.pods[holders[0]]
    pod["metadata"]["annotations"][BIND_INFO] = other["metadata"]["annotations"][BIND_INFO]
    pod["spec"] = {**other["spec"]}
    cluster.tell(pod)
    cluster.cycle()
    cluster.delete(*holders[1:])
    cluster.settle()
    assert cluster.tracked(name).problem
    assert cluster.tracked(name).info is None
    assert not any(cluster.scheduler.admission.counts().values())


@pytest.mark.parametrize("bound", [False, True], ids=["admitted", "bound already"])
def test_late_patches_of_the_previous_process_are_one_gang(cluster: Cluster, bound: bool) -> None:
    """Not all pods of the group are there again when it is known what the gang was."""
    labels = {KUEUE_GROUP: "train"}
    for number, size in enumerate((4, 2, 2)):
        cluster.create(f"x-{number}", labels, {**asks(size), KUEUE_COUNT: "3"})
    cluster.cycle()
    late = cluster.requests
    cluster.kill(lose=True)
    cluster.cycle()
    for tracked in late[1:]:
        cluster.send(tracked)
        if bound:
            pod = cluster.pods[tracked.seen.name]
            pod["spec"]["nodeName"] = read_pod(pod).admitted_to
            cluster.changes[-1] = Change(read_pod(pod), deleted=False)
    cluster.time += PATCH_TIMEOUT
    cluster.settle()
    assert cluster.places().keys() == {"x-0", "x-1", "x-2"}
    assert not any(tracked.problem for tracked in cluster.scheduler.tracker.pods())
    assert cluster.allocator.gangs.keys() == {"default/pod-group/train"}
    check(cluster.allocator)


def test_a_restart_does_not_end_the_time_in_which_nothing_is_decided(cluster: Cluster) -> None:
    cluster.gang("x", 4)
    cluster.cycle()
    late = cluster.requests
    cluster.kill(lose=True)
    cluster.cycle()
    cluster.kill()
    cluster.gang("y", 4, priority=9)
    cluster.settle()
    assert not cluster.places()
    cluster.send(late[0])
    cluster.time += PATCH_TIMEOUT
    cluster.settle()
    places = [json.loads(text) for text in cluster.places().values()]
    assert sorted(place["node"] for place in places) == ["a", "b"]
    cluster.kill()
    cluster.gang("z", 4)
    cluster.cycle()
    assert cluster.requests, "it is over, and the journal says so"


def test_a_pod_of_the_extender_gets_no_devices_of_a_late_patch(cluster: Cluster) -> None:
    cluster.gang("x", 4)
    cluster.cycle()
    late = cluster.requests
    cluster.kill(lose=True)
    limits = {"limits": {ENABLE: 1}}
    pod = cluster.create("y", annotations=asks(4), schedulingGates=[], containers=[{"resources": limits}])
    cluster.cycle()
    nodes = tuple(cluster.allocator.cluster.nodes)
    with pytest.raises(NotYetError, match="nothing is decided in the first 15 s"):
        cluster.scheduler.filter(FilterRequest(read_pod(pod), nodes))
    with pytest.raises(NotYetError, match="nothing is decided in the first 15 s"):
        cluster.scheduler.preempt(PreemptRequest(read_pod(pod), nodes))
    cluster.send(late[0])
    cluster.time += PATCH_TIMEOUT
    cluster.cycle()
    assert cluster.scheduler.filter(FilterRequest(read_pod(pod), nodes))["NodeNames"] == ["b"]
    assert json.loads(cluster.places()["x-0"])["node"] == "a"


@pytest.mark.parametrize("damaged", [False, True], ids=["no journal", "a damaged one"])
def test_gated_pods_are_told_that_nothing_is_decided_yet(cluster: Cluster, damaged: bool) -> None:
    cluster.gang("first", 4)
    cluster.settle()
    cluster.gang("x", 4, 4)
    cluster.gang("lacks", 4, 4)
    cluster.delete("lacks-1")
    cluster.allocator.close()
    journal = cluster.folder / "journal"
    if damaged:
        with sqlite3.connect(journal) as connection:
            connection.execute(
                "UPDATE record SET checksum = zeroblob(16) WHERE number = (SELECT max(number) FROM record)"
            )
        connection.close()
    else:
        journal.unlink()
    cluster.start()
    for _ in range(3):
        cluster.cycle()
    assert not cluster.requests
    assert cluster.scheduler.admission.counts() == {"incomplete": 1, "waiting": 2, "placed": 0}
    assert cluster.told["x-0"] == cluster.reason("x-0") == cluster.why("x")
    assert "nothing is decided" in cluster.why("x")
    assert "1 of 2 are there" in cluster.reason("lacks-0")
    cluster.time += PATCH_TIMEOUT
    cluster.settle()
    assert {"x-0", "x-1"} <= cluster.places().keys()


def test_a_namesake_or_a_changed_pod_is_not_patched(cluster: Cluster) -> None:
    """What the patch relies on is tested by the server."""
    pod = cluster.create("x", annotations=asks(4))
    operations = admission_patch(read_pod(pod), "a", {BIND_INFO: "{}"})
    for changed in ({"metadata": {**pod["metadata"], "uid": "other"}}, {"spec": {"schedulingGates": [{"name": "o"}]}}):
        with pytest.raises(Exception, match="failed"):
            json_patch(copy.deepcopy({**pod, **changed}), operations)


def test_an_affinity_is_narrowed_and_never_widened() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    zone = {"key": "zone", "operator": "In", "values": ["1"]}
    before = {
        "podAffinity": {"x": 1},
        "nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": [zone]}, {}]}},
    }
    after = pin(before, "a")
    here = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    terms = after["nodeAffinity"][required]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [zone], "matchFields": [here]}, {}]
    assert after["podAffinity"] == {"x": 1}


@pytest.mark.parametrize("named", ["abcdefgh", "a", "h"], ids=["any of them", "the one", "another one"])
def test_an_admitted_pod_that_names_nodes_itself_is_known_by_its_place(cluster: Cluster, named: str) -> None:
    """Each node has a term of its own, because Kubernetes takes one name in a requirement."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in named]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    cluster.create("x", annotations=asks(4), affinity={"nodeAffinity": required})
    cluster.settle()
    seen = read_pod(cluster.pods["x"])
    assert seen.ours
    assert seen.admitted_to == json.loads(cluster.places()["x"])["node"] == "a"


def test_other_gates_stay(cluster: Cluster) -> None:
    gates = [{"name": "first"}, {"name": GATE}, {"name": "last"}]
    cluster.create("x", annotations=asks(4), schedulingGates=gates)
    cluster.settle()
    assert cluster.pods["x"]["spec"]["schedulingGates"] == [gates[0], gates[2]]
    assert read_pod(cluster.pods["x"]).admitted_to


def test_a_pod_of_a_daemon_set_is_not_taken_for_an_admitted_one() -> None:
    """Its affinity names its node as well."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    pod = {"metadata": {"name": "x", "uid": "u", "annotations": asks(1)}, "spec": {"affinity": affinity}}
    assert not read_pod(pod).ours
    pod["metadata"]["annotations"][ISOLATION] = "0"  # type: ignore[index]
    assert read_pod(pod).admitted_to == "a"


ODD: list[Any] = [
    None,
    "",
    "x",
    -1,
    0,
    1,
    10**30,
    1.5,
    True,
    [],
    [1],
    {},
    {"a": []},
    "\u202e\x00é",
    "9" * 40,
    "1e9",
    "{",
    "null",
]


def odd(chance: random.Random, depth: int = 0) -> Any:
    """Something that does not belong there."""
    if depth > 2 or chance.random() < 0.6:
        return chance.choice(ODD)
    if chance.random() < 0.5:
        return [odd(chance, depth + 1) for _ in range(chance.randint(0, 3))]
    keys = [
        SPEC,
        BIND_INFO,
        KUEUE_GROUP,
        KUEUE_COUNT,
        COUNT,
        JOBSET_NAME,
        "name",
        "podGroupName",
        "nodeAffinity",
        ENABLE,
    ]
    return {chance.choice(keys): odd(chance, depth + 1) for _ in range(chance.randint(0, 4))}


def test_a_thousand_odd_pods_crash_nothing_and_are_told(cluster: Cluster) -> None:
    chance = random.Random(7)
    fine = 0
    for number in range(1000):
        name = f"odd-{number % 300}"
        notes = {
            SPEC: chance.choice([odd(chance), json.dumps(odd(chance)), json.dumps({"leafCellNumber": odd(chance)})]),
            KUEUE_COUNT: odd(chance),
        }
        pod = {
            "metadata": {
                "name": name,
                "uid": f"uid-{number}" if chance.random() < 0.9 else f"uid-{number // 2}",
                "namespace": "default",
                "labels": odd(chance)
                if chance.random() < 0.3
                else {KUEUE_GROUP: chance.choice(["g", "h", odd(chance)])},
                "annotations": odd(chance) if chance.random() < 0.3 else notes,
            },
            "spec": {
                "schedulingGates": chance.choice([[{"name": GATE}], [{"name": GATE}, odd(chance)]]),
                "containers": odd(chance),
                "affinity": odd(chance),
                "schedulingGroup": odd(chance),
            },
        }
        try:
            seen = read_pod(pod)
        except UserError:
            continue
        fine += seen.gated
        cluster.changes.append(Change(seen, deleted=chance.random() < 0.05))
        if number % 20 == 0:
            cluster.cycle()
    for _ in range(40):
        cluster.cycle()
    assert fine > 500
    for tracked in cluster.scheduler.tracker.pods():
        assert tracked.info is not None or cluster.scheduler.admission.reason(tracked.seen.uid)
    cluster.requests.clear()
    cluster.gang("fine", 4)
    cluster.settle()
    assert "fine-0" in cluster.places()
    check(cluster.allocator)


def test_a_gate_that_somebody_else_removes_ends_the_wait() -> None:
    """Without a bind info it is no pod of ours any more."""
    assert isinstance(read_pod({"metadata": {"name": "x", "uid": "u"}, "spec": {}}), PodObject)
    assert not read_pod({"metadata": {"name": "x", "uid": "u"}, "spec": {}}).ours
