"""Places and reservations that nobody asks for any more are given back: a service whose clock is moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import kube
import pytest
from clusters import config, gang, nodes
from invariants import check
from serving import node, until, written

from runtime import Pod
from runtime.annotations import write_bind_info
from runtime.config import Configuration, read_configuration
from runtime.journal import Journal
from runtime.service.leases import Leases
from runtime.service.messages import BindRequest, FilterRequest, PreemptRequest
from runtime.service.objects import PodObject, read_node, read_pod
from runtime.service.scheduler import PodScheduler
from runtime.service.service import Service
from runtime.service.source import Change, MemorySource
from runtime.service.tracker import PodPhase, Tracked

CONFIGURATION = read_configuration(config(nodes("a", "b"), A={"NODE": 2}))
LEASE = 600.0


class Watched(MemorySource):
    """A cluster that is looked at directly, and may not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.truth: dict[str, PodObject | None] = {}
        self.away = False

    def fetch(self, pod: PodObject) -> PodObject | None:
        self.fetched.append(pod.uid)
        if self.away:
            raise ConnectionError("away")
        return self.truth[pod.uid] if pod.uid in self.truth else super().fetch(pod)


class Served:
    """A service, the time of which is `now`."""

    def __init__(self, path: Path) -> None:
        self.now = 0.0
        self.path = path
        self.source = Watched()
        self.start()

    def start(self, configuration: Configuration = CONFIGURATION) -> None:
        self.source.tell(Change(read_node(node(name)), deleted=False) for name in "ab")
        self.service = Service(configuration, lambda: Journal(self.path), self.source, LEASE, lambda: self.now)
        self.service.start()
        until(lambda: self.service.ready()[0])

    def ask(self, call: Callable[[PodScheduler], Any]) -> Any:
        return asyncio.run(asyncio.wait_for(self.service.ask(call), 10))

    def pass_time(self, seconds: float) -> None:
        """And whatever comes of it has come."""
        self.now += seconds
        for _ in range(2):
            self.ask(lambda _: None)
            self.service._binders.submit(lambda: None).result(10)
        self.ask(lambda scheduler: check(scheduler.allocator))

    def add(self, *pods: Pod) -> None:
        self.source.tell(Change(read_pod(written(pod)), deleted=False) for pod in pods)

    def filter(self, pod: Pod) -> str:
        """Where it goes, or why it does not."""
        asked = FilterRequest(read_pod(written(pod)), ("a", "b"))
        answer = self.ask(lambda scheduler: scheduler.filter(asked))
        return str(answer["NodeNames"][0] if answer["NodeNames"] else answer["FailedNodes"])

    def preempt(self, pod: Pod) -> Mapping[str, Any]:
        asked = PreemptRequest(read_pod(written(pod)), ("a", "b"))
        return dict(self.ask(lambda scheduler: scheduler.preempt(asked))["NodeNameToMetaVictims"])

    def bind(self, pod: Pod, place: str) -> None:
        asked = BindRequest(pod.uid, pod.namespace, pod.name, place)
        self.service.bind(self.ask(lambda scheduler: scheduler.to_bind(asked)))

    def run(self, pods: list[Pod]) -> list[str]:
        self.add(*pods)
        places = [self.filter(pod) for pod in pods]
        for pod, place in zip(pods, places, strict=True):
            self.bind(pod, place)
        self.ask(lambda _: None)
        return places

    def state(self, name: str) -> str:
        found = self.ask(lambda scheduler: scheduler.allocator.group(name))
        return str(found.state.display) if found is not None else "absent"

    def phase(self, uid: str) -> PodPhase | None:
        found = self.ask(lambda scheduler: scheduler.tracker.pod(uid))
        return found.phase if found is not None else None

    def given_back(self) -> dict[str, int]:
        return dict(self.ask(lambda scheduler: scheduler.given_back))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    found = Served(tmp_path / "journal")
    yield found
    found.service.stop()


def test_leases_end_in_the_order_in_which_they_were_renewed() -> None:
    leases = Leases(10)
    for time, name in ((0, "a"), (1, "b"), (2, "c"), (3, "a")):
        leases.renew(name, time)
    leases.drop("c")
    assert leases.over(10) == []
    assert leases.over(11) == ["b"]
    assert "b" not in leases
    assert leases.over(100) == ["a"]
    assert leases.over(100) == []


def test_a_place_that_is_neither_bound_nor_asked_for_is_given_back(served: Served) -> None:
    first, second, third = (gang(x, "A", 4)[0] for x in ("first", "second", "third"))
    served.add(first, second, third)
    place = served.filter(first)
    served.filter(second)
    assert "no room" in served.filter(third)
    served.pass_time(LEASE - 1)
    assert served.filter(second) in "ab"
    assert served.source.fetched == []
    served.pass_time(1)
    assert served.source.fetched == ["first-0"], "the second was asked for"
    assert (served.state("first"), served.state("second")) == ("Pending", "Allocated")
    assert served.filter(third) == place
    assert "no room" in served.filter(first), "it may ask again, as anybody"
    assert served.given_back() == {"place": 1, "reservation": 0}
    assert b'allocator_given_back_total{what="place"} 1.0' in served.service.metrics.text()


def test_a_binding_that_is_under_way_keeps_the_place(served: Served) -> None:
    (pod,) = gang("g", "A", 4)
    served.add(pod)
    place = served.filter(pod)
    served.pass_time(LEASE - 1)
    tracked = served.ask(lambda scheduler: scheduler.to_bind(BindRequest("g-0", "default", "g-0", place)))
    served.pass_time(LEASE - 1)
    assert served.state("g") == "Allocated"
    served.service.bind(tracked)
    served.pass_time(2 * LEASE)
    assert served.phase("g-0") is PodPhase.BOUND
    assert served.source.fetched == []


def test_what_the_cluster_knows_better_counts(served: Served) -> None:
    """Events may be late: one pod was bound, another one deleted, and a third completed."""
    bound, gone, done = (gang(x, "A", 2)[0] for x in ("bound", "gone", "done"))
    served.add(bound, gone, done)
    places = {pod.uid: served.filter(pod) for pod in (bound, gone, done)}
    tracked: Tracked = served.ask(lambda scheduler: scheduler.tracker.pod(bound.uid))
    assert tracked.info is not None
    thing = written(bound, nodeName=places[bound.uid])
    thing["metadata"]["annotations"] |= write_bind_info(tracked.info)
    served.source.truth = {
        bound.uid: read_pod(thing),
        gone.uid: None,
        done.uid: read_pod(written(done) | {"status": {"phase": "Failed"}}),
    }
    served.pass_time(LEASE)
    assert served.phase(bound.uid) is PodPhase.BOUND
    assert served.phase(gone.uid) is served.phase(done.uid) is None
    assert [served.state(x) for x in ("bound", "gone", "done")] == ["Allocated", "absent", "absent"]
    assert served.given_back()["place"] == 0


def test_a_cluster_that_does_not_answer_is_asked_again_later(served: Served) -> None:
    (pod,) = gang("g", "A", 4)
    served.add(pod)
    served.filter(pod)
    served.source.away = True
    served.pass_time(LEASE)
    assert served.state("g") == "Allocated", "it may be bound"
    served.pass_time(LEASE - 1)
    assert served.source.fetched == ["g-0"]
    served.source.away = False
    served.pass_time(1)
    assert served.source.fetched == ["g-0"] * 2
    assert served.state("g") == "Pending"


def test_a_pod_that_asks_while_it_is_looked_at_keeps_its_place(served: Served) -> None:
    (pod,) = gang("g", "A", 4)
    served.add(pod)
    place = served.filter(pod)
    seen = read_pod(written(pod))
    served.ask(lambda scheduler: scheduler.settle(pod.uid, seen))
    assert served.state("g") == "Allocated", "its lease is not over"
    assert served.filter(pod) == place


def test_of_a_gang_that_runs_only_the_place_of_the_pod_is_free(served: Served) -> None:
    pods = gang("g", "A", 4, 4)
    served.run(pods[:1])
    served.add(pods[1])
    place = served.filter(pods[1])
    served.pass_time(LEASE)
    assert served.state("g") == "Allocated"
    assert served.phase("g-1") is PodPhase.WAITING
    other = gang("other", "A", 1)
    served.add(*other)
    assert "no room" in served.filter(other[0]), "the gang keeps its leaf cells"
    assert served.filter(pods[1]) == place
    served.bind(pods[1], place)
    served.pass_time(2 * LEASE)
    assert served.phase("g-1") is PodPhase.BOUND


def test_a_reservation_that_nobody_asks_for_is_called_off(served: Served) -> None:
    weak = gang("weak", "A", 4, 4, priority=1)
    strong = gang("strong", "A", 4, 4, priority=2)
    served.run(weak)
    served.add(*strong)
    assert served.preempt(strong[0])
    assert (served.state("weak"), served.state("strong")) == ("Being preempted", "Preempting")
    served.pass_time(LEASE - 1)
    assert "have to go first" in served.filter(strong[1]), "any pod of the gang may ask"
    served.pass_time(LEASE - 1)
    assert served.state("strong") == "Preempting"
    served.pass_time(1)
    assert (served.state("weak"), served.state("strong")) == ("Allocated", "Pending")
    assert served.phase("strong-0") is PodPhase.WAITING
    assert served.given_back() == {"place": 0, "reservation": 1}
    assert served.preempt(strong[0]), "it may begin again"
    assert served.state("weak") == "Being preempted"


def test_a_reservation_that_has_come_to_something_is_forgotten(served: Served) -> None:
    weak, strong = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, 4, priority=2)
    served.run(weak)
    served.add(*strong)
    served.preempt(strong[0])
    served.source.tell(Change(read_pod(written(pod)), deleted=True) for pod in weak)
    for pod in strong:
        served.bind(pod, served.filter(pod))
    served.pass_time(2 * LEASE)
    assert served.state("strong") == "Allocated"
    assert served.given_back() == {"place": 0, "reservation": 0}


def test_a_restart_gives_everybody_as_long_again(served: Served) -> None:
    weak, half = gang("weak", "A", 4, priority=1), gang("half", "A", 4, priority=5)
    strong = gang("strong", "A", 4, priority=9)
    served.run(weak)
    served.add(*half, *strong)
    served.filter(half[0])
    assert list(served.preempt(strong[0]))
    served.pass_time(LEASE - 1)
    before = served.state("strong"), served.state("half")
    served.service.stop()
    served.start()
    assert (served.state("strong"), served.state("half")) == before == ("Preempting", "Allocated")
    served.pass_time(LEASE - 1)
    assert (served.state("strong"), served.state("half")) == before
    served.pass_time(1)
    assert (served.state("weak"), served.state("half"), served.state("strong")) == ("Allocated", "Pending", "Pending")
    served.service.stop()
    served.start()
    assert (served.state("weak"), served.state("half"), served.state("strong")) == ("Allocated", "Pending", "Pending")


def test_who_gives_back_what_nobody_can_have_any_more_disturbs_nobody(served: Served) -> None:
    """Its virtual cluster is not configured any more."""
    (pod,) = gang("g", "A", 4)
    served.add(pod)
    served.filter(pod)
    served.service.stop()
    served.start(read_configuration(config(nodes("a", "b"), B={"NODE": 2})))
    assert served.state("g") == "Allocated"
    served.pass_time(LEASE)
    assert served.state("g") == "absent"
    (other,) = gang("other", "B", 4)
    served.add(other)
    assert served.filter(other) in "ab"
    assert served.service.failure is None


def test_a_scheduler_that_gave_up_in_a_cluster_of_kubernetes(tmp_path: Path) -> None:
    with kube.serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a", "--lease", "0.5") as cluster:
        first, second = gang("first", "A", 4)[0], gang("second", "A", 4)[0]
        cluster.add(first, second)
        assert cluster.filter(first)["NodeNames"] == ["a"]
        until(lambda: cluster.group("first")["state"] == "Pending")
        assert "GET /api/v1/namespaces/default/pods/first-0" in cluster.api.requests
        assert cluster.filter(second)["NodeNames"] == ["a"]
        assert not cluster.bind(second, "a")
        assert "nobody has asked for default/first-0 in 0.5 s: it gives its place back" in cluster.log()
