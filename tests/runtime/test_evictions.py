"""Preemption behind a kube-scheduler: no more victims than are needed, and all of them leave together, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters import config, gang, nodes
from invariants import check
from kube_scheduler import KubeScheduler

from generated.hived import AffinityGroupState
from runtime import Pod
from runtime.durable import DurableAllocator
from runtime.gangs import Gang
from runtime.service.locks import Locks
from runtime.service.messages import FilterRequest, PreemptRequest
from runtime.service.objects import NodeObject, PodObject
from runtime.service.scheduler import EVICTION_RETRY_INTERVAL, PodScheduler
from runtime.service.source import Change
from runtime.service.tracker import Tracked

EIGHT = config(nodes(*"abcdefgh"), A={"NODE": 8})


def allocator(folder: Path) -> DurableAllocator:
    return DurableAllocator.open(EIGHT, folder / "journal")


def uids(*gangs: list[Pod]) -> list[str]:
    return [pod.uid for pods in gangs for pod in pods]


@pytest.mark.parametrize("evict", [True, False], ids=["evicts", "leaves it to the kube-scheduler"])
@pytest.mark.parametrize("strict", [True, False], ids=["offered nodes only", "any node"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole nodes", "nothing that Kubernetes knows of"])
@pytest.mark.parametrize("is_current", [True, False], ids=["1.36", "1.20"])
def test_a_gang_of_four_nodes_has_four_victims(
    tmp_path: Path, strict: bool, evict: bool, whole: bool, is_current: bool
) -> None:
    """Neither an emptied node nor that of a sibling is offered: the reservation stays, and nobody else is killed."""
    if is_current and not evict and not whole:
        pytest.skip("version 1.36 does not ask which pods to preempt")
    cluster = KubeScheduler(allocator(tmp_path), evict=evict, whole=whole, is_current=is_current)
    weak = [gang(f"weak{i}", "A", 4, priority=1) for i in range(8)]
    strong = gang("strong", "A", 4, 4, 4, 4, priority=9, ignore_suggested=not strict)
    for pods in weak:
        cluster.create(pods, 0, grace=3)
    cluster.run(uids(*weak))
    cluster.create(strong, 10)
    assert cluster.run(uids(strong)) <= 5, "a grace, and a step or two"
    assert len(cluster.left) == 4
    assert len(set(cluster.left.values())) == 1, "siblings were told of other nodes"
    check(cluster.allocator)


@pytest.mark.parametrize("is_current", [True, False], ids=["1.36", "1.20"])
def test_all_of_a_gang_leaves_at_once_for_a_single_pod(tmp_path: Path, is_current: bool) -> None:
    cluster = KubeScheduler(allocator(tmp_path), evict=True, is_current=is_current)
    weak, strong = gang("weak", "A", *[4] * 8, priority=1), gang("strong", "A", 4, priority=9)
    cluster.create(weak, 0, grace=5)
    cluster.run(uids(weak))
    cluster.create(strong, 10)
    assert cluster.run(uids(strong)) <= 6
    assert cluster.left.keys() == set(uids(weak))
    assert len(set(cluster.left.values())) == 1
    check(cluster.allocator)


def test_without_the_right_to_delete_it_takes_a_grace_for_each_node(tmp_path: Path) -> None:
    """The kube-scheduler does not preempt twice for one pod at a time; but nobody is told to go twice."""
    cluster = KubeScheduler(allocator(tmp_path), evict=False)
    weak, strong = gang("weak", "A", *[4] * 8, priority=1), gang("strong", "A", 4, priority=9)
    cluster.create(weak, 0, grace=5)
    cluster.run(uids(weak))
    cluster.create(strong, 10)
    assert 8 * 5 <= cluster.run(uids(strong)) <= 8 * 6 + 2
    assert cluster.left.keys() == set(uids(weak))


@pytest.mark.parametrize("strict", [True, False], ids=["offered nodes only", "any node"])
def test_a_waiting_pod_is_not_asked_for_again_while_nothing_changes(tmp_path: Path, strict: bool) -> None:
    """Whether it waits for victims, or for room that preemption does not make."""
    cluster = KubeScheduler(allocator(tmp_path), evict=True, is_current=True)
    weak, equal = gang("weak", "A", *[4] * 8, priority=1), gang("equal", "A", 4, priority=1)
    cluster.create(weak, 0, grace=100)
    cluster.run(uids(weak))
    cluster.create(equal, 10)
    cluster.create(gang("never", "A", *[4] * 9), 10)
    strong = gang("strong", "A", 4, priority=9, ignore_suggested=not strict)
    cluster.create(strong, 10)
    cluster.step()
    cluster.step()
    asked = dict(cluster.filtered)
    for _ in range(20):
        cluster.step()
    assert dict(cluster.filtered) == asked


def test_a_reservation_on_a_node_that_turns_bad_is_called_off(tmp_path: Path) -> None:
    """Nobody asks which pods to preempt; the next time that the pod is filtered, it reserves other cells."""
    cluster = KubeScheduler(allocator(tmp_path), evict=True, is_current=True)
    weak = [gang(f"weak{i}", "A", 4, priority=1) for i in range(8)]
    for pods in weak:
        cluster.create(pods, 0, grace=5)
    cluster.run(uids(*weak))
    strong = gang("strong", "A", 4, priority=9)
    cluster.create(strong, 10)
    cluster.step()
    (reserved,) = cluster.allocator.gangs["strong"].places.nodes
    cluster._observe(Change(NodeObject(reserved, healthy=False), deleted=False))
    cluster.run(uids(strong))
    assert cluster.pods["strong-0"].seen.node != reserved
    check(cluster.allocator)


def test_a_victim_whose_preemption_was_called_off_is_not_deleted_again(tmp_path: Path) -> None:
    """The requests were lost on the way: by the time they would be sent again, nobody wants the place any more."""
    cluster = KubeScheduler(allocator(tmp_path), evict=True)
    weak, strong = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", *[4] * 8, priority=9)
    cluster.create(weak, 0)
    cluster.run(uids(weak))
    asked: list[str] = []
    cluster.scheduler._delete = lambda tracked: asked.append(tracked.seen.uid)
    now = [0.0]
    cluster.scheduler._now = lambda: now[0]
    cluster.create(strong, 10)
    cluster.step()
    assert asked == uids(weak)
    now[0] = 31.0
    cluster.scheduler.tear_down()
    assert asked == 2 * uids(weak), "again, as long as they have to go"
    for pod in strong:
        cluster.delete(pod.uid)
        cluster.pods[pod.uid].gone_at = cluster.time
    cluster.step()
    now[0] = 62.0
    cluster.scheduler.tear_down()
    assert asked == 2 * uids(weak)


class Budgets:
    """Evictions of gangs, and whether their disruption budgets permit them."""

    def __init__(self, cluster: KubeScheduler) -> None:
        self.permit = False
        self.asked: list[str] = []
        """Gangs, in order."""
        self.why = "disruption budget default/b covers 2 pods"
        self.seconds = EVICTION_RETRY_INTERVAL
        self._cluster = cluster
        cluster.scheduler._evict_gangs = self._evict

    def _evict(self, preemptor: Gang, victims: Mapping[Gang, tuple[Tracked, ...]]) -> None:
        self.asked += sorted(x.name for x in victims)
        if not self.permit:
            self._cluster.scheduler.eviction_failed(preemptor, victims, (), self.why, self.seconds)
            return
        for tracked in (x for pods in victims.values() for x in pods):
            self._cluster.delete(tracked.seen.uid)


def test_while_a_budget_forbids_it_nobody_leaves_and_the_pod_is_told_why(tmp_path: Path) -> None:
    cluster = KubeScheduler(allocator(tmp_path), evict=True, is_current=True)
    weak, strong = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", *[4] * 8, priority=9)
    cluster.create(weak, 0, grace=2)
    cluster.run(uids(weak))
    budgets, now = Budgets(cluster), [0.0]
    cluster.scheduler._now = lambda: now[0]
    cluster.create(strong, 10)
    cluster.step()
    answer = cluster.scheduler.filter(FilterRequest(cluster.pods["strong-1"].seen, tuple(cluster.nodes)))
    assert "weak (2 pods); disruption budget default/b covers 2" in answer["FailedNodes"]["hivedscheduler"]
    assert answer["FailedAndUnresolvableNodes"].keys() == set(cluster.nodes)
    assert (budgets.asked, cluster.left) == (["weak"], {})
    now[0] = 11.0
    cluster.step()
    assert (budgets.asked, cluster.left) == (["weak"] * 2, {}), "it is tried again"
    budgets.permit, now[0] = True, 22.0
    cluster.run(uids(strong))
    assert cluster.left.keys() == set(uids(weak))
    assert len(set(cluster.left.values())) == 1
    check(cluster.allocator)


def test_what_is_left_of_a_gang_leaves_whatever_its_budget_says(tmp_path: Path) -> None:
    """Somebody else has deleted one of its pods."""
    cluster = KubeScheduler(allocator(tmp_path), evict=True, is_current=True)
    weak, strong = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", *[4] * 8, priority=9)
    cluster.create(weak, 0, grace=2)
    cluster.run(uids(weak))
    Budgets(cluster)
    cluster.create(strong, 10)
    cluster.step()
    assert not cluster.left
    cluster.delete("weak-0")
    cluster.run(uids(strong))
    assert cluster.left.keys() == set(uids(weak))


def test_a_gang_of_the_name_of_one_that_was_evicted_has_a_budget_of_its_own(tmp_path: Path) -> None:
    cluster = KubeScheduler(allocator(tmp_path), evict=True, is_current=True)
    budgets = Budgets(cluster)
    for n, permit in enumerate((True, False)):
        budgets.permit = permit
        weak, strong = gang("weak", "A", 4, 4, priority=1), gang(f"strong{n}", "A", *[4] * 8, priority=9)
        cluster.create(weak, 0, grace=2)
        cluster.run(uids(weak))
        cluster.create(strong, 10, grace=2)
        for _ in range(6):
            cluster.step()
        assert ("weak-0" in cluster.left) == permit
        if permit:
            for pod in strong:
                cluster.delete(pod.uid)
            for _ in range(4):
                cluster.step()
            cluster.left.clear()
            cluster.bound.clear()
    check(cluster.allocator)


def preempting(folder: Path) -> tuple[KubeScheduler, list[str], list[str]]:
    """A gang of two has to go, and a budget keeps it; with the uids that are deleted all the same."""
    cluster = KubeScheduler(allocator(folder), evict=True)
    weak, strong = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", *[4] * 8, priority=9)
    cluster.create(weak, 0)
    cluster.run(uids(weak))
    asked: list[str] = []
    cluster.scheduler._delete = lambda tracked: asked.append(tracked.seen.uid)
    Budgets(cluster)
    cluster.create(strong, 10)
    request = PreemptRequest(cluster.pods["strong-0"].seen, tuple(cluster.nodes))
    assert cluster.scheduler.preempt(request)["NodeNameToMetaVictims"] == {}, "they are evicted from here"
    assert not asked
    return cluster, uids(weak), asked


def restarted(folder: Path, asked: list[str]) -> PodScheduler:
    """The next process; `asked` takes the uids of pods that it has deleted."""
    again = allocator(folder)
    return PodScheduler(
        again, Locks(), lambda _: None, lambda _: None, delete=lambda x: asked.append(x.seen.uid), evict=True
    )


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_victim_that_is_gone_at_once_takes_the_others_with_it(tmp_path: Path, how: str) -> None:
    """Its deletion was forced, or the watch has missed that it was leaving."""
    cluster, (first, second), asked = preempting(tmp_path)
    seen = cluster.pods[first].seen
    if how == "deleted":
        cluster.scheduler.observe(Change(seen, deleted=True))
    else:
        cluster.scheduler.observe(Change(replace(seen, uid="another", node="", bind_info=""), deleted=False))
    assert asked == [second]


def test_a_victim_that_has_done_its_work_takes_nobody_with_it(tmp_path: Path) -> None:
    cluster, (first, _), asked = preempting(tmp_path)
    seen = replace(cluster.pods[first].seen, completed=True, phase="Succeeded")
    cluster.scheduler.observe(Change(seen, deleted=False))
    assert asked == []


def test_a_victim_whose_end_is_journaled_takes_the_others_with_it_after_a_crash(tmp_path: Path) -> None:
    """The requests to delete them were lost."""
    cluster, (first, second), asked = preempting(tmp_path)
    cluster.scheduler._delete = lambda tracked: None
    cluster.scheduler.observe(Change(cluster.pods.pop(first).seen, deleted=True))
    cluster.allocator.close()
    again = restarted(tmp_path, asked)
    things = [NodeObject(name, healthy=True) for name in cluster.nodes] + [pod.seen for pod in cluster.pods.values()]
    again.recover([Change(thing, deleted=False) for thing in things], lists_all=True)
    assert asked == [second]


WEAK = ("weak-0", "weak-1")


def recovered(cluster: KubeScheduler, folder: Path, seen: list[PodObject]) -> list[str]:
    """The uids of the pods that the next process deletes, where the cluster has these pods."""
    asked: list[str] = []
    cluster.allocator.close()
    things = [NodeObject(name, healthy=True) for name in cluster.nodes] + seen
    again = restarted(folder, asked)
    again.recover([Change(thing, deleted=False) for thing in things], lists_all=True)
    again.tear_down()
    again.allocator.close()
    return asked


@pytest.mark.parametrize(
    ("first", "follows"),
    [
        ({"leaving": True}, True),
        ({"leaving": True, "completed": True, "phase": "Failed"}, True),
        (None, True),
        ({"completed": True, "phase": "Succeeded"}, False),
        ({}, False),
    ],
    ids=["leaving", "ended because it was leaving", "gone", "has done its work", "as it was"],
)
def test_after_a_crash_the_rest_of_a_gang_follows_though_its_preemptor_is_gone(
    tmp_path: Path, first: dict[str, Any] | None, follows: bool
) -> None:
    """What has become of the first pod tells whether the eviction of its gang had begun."""
    cluster, (_, second), _ = preempting(tmp_path)
    seen = [cluster.pods[uid].seen for uid in WEAK]
    pods = seen[1:] if first is None else [replace(seen[0], **first), seen[1]]
    assert recovered(cluster, tmp_path, pods) == ([second] if follows else [])


@pytest.mark.parametrize("replaced", [False, True])
def test_after_a_crash_a_gang_that_has_all_its_pods_again_stays(tmp_path: Path, replaced: bool) -> None:
    """The end of its first pod is journaled, and its preemptor is gone. Another pod may wait for the empty place."""
    cluster, (first, second), _ = preempting(tmp_path)
    cluster.scheduler._delete = lambda tracked: None
    seen = cluster.pods.pop(first).seen
    cluster.scheduler.observe(Change(seen, deleted=True))
    again = replace(seen, uid="another", node="", bind_info="", phase="Pending")
    pods = [cluster.pods[second].seen, *([again] if replaced else [])]
    assert recovered(cluster, tmp_path, pods) == ([] if replaced else [second])


def test_after_a_crash_a_gang_that_never_had_all_its_pods_placed_stays(tmp_path: Path) -> None:
    """Its second pod still waited when it was preempted: nothing was evicted."""
    cluster = KubeScheduler(allocator(tmp_path), evict=True)
    weak, strong = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", *[4] * 8, priority=9)
    cluster.create(weak, 0)
    cluster._attempt(cluster.pods["weak-0"])
    Budgets(cluster)
    cluster.create(strong, 10)
    cluster.scheduler.preempt(PreemptRequest(cluster.pods["strong-0"].seen, tuple(cluster.nodes)))
    assert cluster.allocator.gangs["weak"].state is AffinityGroupState.BEING_PREEMPTED
    assert recovered(cluster, tmp_path, [cluster.pods[uid].seen for uid in WEAK]) == []


def test_while_one_victim_cannot_leave_the_others_stay(tmp_path: Path) -> None:
    """They are asked for in one request, and so is what has not begun to leave when it is tried again."""
    cluster = KubeScheduler(allocator(tmp_path), evict=True, is_current=True)
    weak = [gang(f"weak{n}", "A", 4, 4, priority=1) for n in range(4)]
    for pods in weak:
        cluster.create(pods, 0, grace=2)
    cluster.run(uids(*weak))
    budgets, now = Budgets(cluster), [0.0]
    cluster.scheduler._now = lambda: now[0]
    cluster.create(gang("strong", "A", *[4] * 8, priority=9), 10)
    cluster.step()
    names = [f"weak{n}" for n in range(4)]
    assert (budgets.asked, cluster.left) == (names, {})
    cluster.delete("weak2-1")
    cluster.step()
    assert cluster.left.keys() == {"weak2-0", "weak2-1"}
    assert budgets.asked == [*names, "weak0", "weak1", "weak3"], "one gang fewer: perhaps the others may go now"
    budgets.permit, now[0] = True, 11.0
    cluster.run(uids(gang("strong", "A", *[4] * 8)))
    assert budgets.asked[7:] == ["weak0", "weak1", "weak3"]
    check(cluster.allocator)


def test_two_gangs_that_wait_for_the_same_victim_are_both_told_why(tmp_path: Path) -> None:
    cluster = KubeScheduler(allocator(tmp_path), evict=True, is_current=True)
    weak = gang("weak", "A", *[4] * 8, priority=1)
    cluster.create(weak, 0, grace=2)
    cluster.run(uids(weak))
    budgets, now = Budgets(cluster), [0.0]
    cluster.scheduler._now = lambda: now[0]
    stronger = [gang(f"strong{n}", "A", 4, priority=9) for n in range(2)]
    for pods in stronger:
        cluster.create(pods, 10)
    cluster.step()
    for (pod,) in stronger:
        answer = cluster.scheduler.filter(FilterRequest(cluster.pods[pod.uid].seen, tuple(cluster.nodes)))
        assert "weak (8 pods); disruption budget default/b" in answer["FailedNodes"]["hivedscheduler"]
    assert budgets.asked == ["weak", "weak"], "once for each"
    budgets.permit, now[0] = True, 11.0
    cluster.run(uids(*stronger))
    assert len(set(cluster.left.values())) == 1
    check(cluster.allocator)


def test_a_gang_is_asked_for_again_for_the_next_one_that_waits_for_it(tmp_path: Path) -> None:
    """That came while it was asked for, and what it came to was not known."""
    cluster = KubeScheduler(allocator(tmp_path), evict=True, is_current=True)
    weak = gang("weak", "A", *[4] * 8, priority=1)
    cluster.create(weak, 0, grace=2)
    cluster.run(uids(weak))
    asked: list[tuple[Gang, Mapping[Gang, tuple[Tracked, ...]]]] = []
    cluster.scheduler._evict_gangs = lambda preemptor, victims: asked.append((preemptor, victims))
    for n in range(2):
        cluster.create(gang(f"strong{n}", "A", 4, priority=9), 10)
    cluster.step()
    ((preemptor, victims),) = asked
    cluster.scheduler.eviction_failed(preemptor, victims, (), "the API server is away")
    assert sorted(x.name for x, _ in asked) == ["strong0", "strong1"]


@pytest.mark.parametrize(("asked_for", "seconds"), [(0.0, 1.0), (30.0, 30.0), (3600.0, 60.0)])
def test_a_cluster_that_is_busy_is_left_alone_for_as_long_as_it_wants(
    tmp_path: Path, asked_for: float, seconds: float
) -> None:
    """But for a minute at most, and never without a pause."""
    cluster = KubeScheduler(allocator(tmp_path), evict=True)
    weak, strong = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", *[4] * 8, priority=9)
    cluster.create(weak, 0)
    cluster.run(uids(weak))
    budgets, now = Budgets(cluster), [0.0]
    budgets.seconds = asked_for
    cluster.scheduler._now = lambda: now[0]
    cluster.create(strong, 10)
    cluster.step()
    assert budgets.asked == ["weak"]
    now[0] = seconds - 0.5
    cluster.step()
    assert budgets.asked == ["weak"]
    now[0] = seconds
    cluster.step()
    assert budgets.asked == ["weak", "weak"]
