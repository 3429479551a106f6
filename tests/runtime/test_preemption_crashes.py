"""The allocator crashes during a preemption: no gang is half alive for longer than its grace and five seconds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from clusters import config, gang, nodes
from invariants import check
from kube_scheduler import KubeScheduler
from tiers import today

from runtime import Pod
from runtime.config import read_configuration
from runtime.durable import DurableAllocator
from runtime.journal import Journal
from runtime.service.locks import Locks
from runtime.service.messages import FilterRequest, PreemptRequest
from runtime.service.objects import NodeObject
from runtime.service.scheduler import PodScheduler
from runtime.service.source import Change
from runtime.service.tracker import Tracked

CONFIGURATION = read_configuration(config(nodes(*"abcdefgh"), A={"NODE": 8}))
GRACE = 2
MARGIN = 5
"""Seconds, the restart included, that a gang may be half alive beyond its grace."""
FLUSH = 60
"""Seconds after which a kube-scheduler asks again for a pod whose extender did not answer."""
DOWNTIMES = (1, 3, 2)
"""Seconds until the next process begins. A victim is leaving, or is gone, by then."""

Result = TypeVar("Result")


class CrashError(BaseException):
    """The process ends at once: no handler of errors runs."""


class UnreachableError(Exception):
    """The allocator does not answer."""


class CrashingAllocator(KubeScheduler):
    """The allocator's process crashes once; the cluster does not. Requests for the API server are lost with it.

    A process passes a point before and after each call, before and after each request for the API server, and at each
    stage of writing the journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.points, self.crash_at = 0, 0
        self.restart_at: int | None = None
        self.requests: list[str] = []
        self.retry_at: dict[str, int] = {}
        self.gone: dict[str, int] = {}
        super().__init__(self._open(), evict=True)

    def _open(self) -> DurableAllocator:
        return DurableAllocator(CONFIGURATION, Journal(self.path, lambda _: self._point(), synchronised=False))

    def _point(self) -> None:
        self.points += 1
        if self.points == self.crash_at:
            raise CrashError

    @contextmanager
    def _process(self) -> Iterator[None]:
        """What the process does; afterwards, the requests for the API server that have come of it."""
        if self.restart_at is not None:
            raise UnreachableError
        try:
            self._point()
            with self.allocator.cycle(sync=False):
                yield
            self._point()
            while self.requests:
                self._point()
                self.delete(self.requests.pop(0))
                self._point()
        except CrashError:
            self.restart_at = self.time + DOWNTIMES[self.crash_at % len(DOWNTIMES)]
            self.crash_at = -1
            self.requests.clear()
            self.allocator.close()
            raise UnreachableError from None

    def _restart(self) -> None:
        self.restart_at = None
        self.allocator = self._open()
        self.scheduler = PodScheduler(
            self.allocator, Locks(), lambda _: None, lambda _: None, delete=self._delete, evict=True
        )
        things = [NodeObject(name, healthy=True) for name in self.nodes] + [x.seen for x in self.pods.values()]
        self.late.clear()
        with self._process():
            self.scheduler.recover([Change(thing, deleted=False) for thing in things], lists_all=True)

    def _delete(self, tracked: Tracked) -> None:
        self.requests.append(tracked.seen.uid)

    def delete(self, uid: str) -> None:
        """Of one that is gone by now, the API server says that there is none."""
        if uid in self.pods:
            super().delete(uid)

    # The calls of the allocator

    def _observe(self, change: Change) -> None:
        if change.deleted:
            self.gone[change.thing.uid] = self.time  # type: ignore[union-attr]
        self._quietly(lambda: self.scheduler.observe(change))

    def _tick(self) -> None:
        self._quietly(super()._tick)

    def _quietly(self, call: Callable[[], object]) -> None:
        try:
            with self._process():
                call()
        except UnreachableError:
            pass

    def _answer(self, call: Callable[[], Result]) -> Result:
        with self._process():
            return call()

    def _filter(self, request: FilterRequest) -> dict[str, Any]:
        return self._answer(lambda: self.scheduler.filter(request))

    def _preempt(self, request: PreemptRequest) -> dict[str, Any]:
        return self._answer(lambda: self.scheduler.preempt(request))

    def step(self) -> None:
        if self.restart_at is not None and self.time + 1 >= self.restart_at:
            self._restart()
        super().step()

    def _attempt(self, pod: Any) -> None:
        uid = pod.seen.uid
        if self.time < self.retry_at.get(uid, 0):
            return
        try:
            super()._attempt(pod)
        except UnreachableError:
            self.retry_at[uid] = self.time + FLUSH


@dataclass(frozen=True)
class Scenario:
    """Who runs, and who displaces them."""

    weak: tuple[tuple[int, ...], ...]
    strong: tuple[int, ...]


SCENARIOS = {
    "one pod displaces a gang of eight nodes": Scenario(((4,) * 8,), (4,)),
    "a gang of three displaces a gang of eight nodes": Scenario(((4,) * 8,), (4, 4, 4)),
    "a gang displaces two gangs": Scenario(((4,) * 5, (4,) * 3), (4,) * 8),
    "a gang displaces gangs of one pod": Scenario(((4,),) * 8, (4,) * 8),
}


def play(folder: Path, scenario: Scenario, crash_at: int) -> CrashingAllocator:
    """The preemption, from the arrival of the stronger gang until it is bound."""
    cluster = CrashingAllocator(folder / "journal")
    weak = [gang(f"weak{i}", "A", *sizes, priority=1) for i, sizes in enumerate(scenario.weak)]
    strong = gang("strong", "A", *scenario.strong, priority=9)
    for pods in weak:
        cluster.create(pods, 0, grace=GRACE)
    cluster.run(_uids(*weak))
    cluster.points, cluster.crash_at = 0, crash_at
    cluster.create(strong, 10)
    cluster.run(_uids(strong))
    cluster.crash_at = -1
    while cluster.restart_at is not None:
        cluster.step()
    check(cluster.allocator)
    cluster.allocator.close()
    return cluster


def _uids(*gangs: list[Pod]) -> list[str]:
    return [pod.uid for pods in gangs for pod in pods]


def half_alive(cluster: CrashingAllocator, scenario: Scenario) -> int:
    """For how long a gang was half alive, at most: from the first deletion until all its pods were gone."""
    longest = 0
    for number, sizes in enumerate(scenario.weak):
        uids = [f"weak{number}-{i}" for i in range(len(sizes))]
        left = [cluster.left[uid] for uid in uids if uid in cluster.left]
        if left:
            assert len(left) == len(uids), "the whole gang goes"
            longest = max(longest, max(cluster.gone[uid] for uid in uids) - min(left))
    return longest


@cache
def _points(name: str, folder: Path) -> int:
    return play(folder, SCENARIOS[name], 0).points


def test_there_are_enough_points_to_crash_at(tmp_path: Path) -> None:
    counts = {}
    for name in SCENARIOS:
        folder = tmp_path / name
        folder.mkdir()
        counts[name] = _points(name, folder)
    assert sum(counts.values()) >= 200, counts


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_crash_leaves_no_gang_half_alive(name: str, tmp_path: Path) -> None:
    """At every point of a preemption, one run for each."""
    scenario = SCENARIOS[name]
    (tmp_path / "0").mkdir()
    longest = defaultdict[int, list[int]](list)
    for point in today(range(1, _points(name, tmp_path / "0") + 1)):
        folder = tmp_path / str(point)
        folder.mkdir()
        longest[half_alive(play(folder, scenario, point), scenario)].append(point)
    assert max(longest) <= GRACE + MARGIN, {seconds: points for seconds, points in longest.items() if seconds > MARGIN}
