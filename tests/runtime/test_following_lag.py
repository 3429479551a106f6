"""Lives that are behind: what happened meanwhile, followed as one change, leads where each change by itself does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from clusters import config, gang, nodes
from histories import journal
from serving import node, written

from generated.grove import CliqueState, PodGangState
from runtime import Pod
from runtime.annotations import write_bind_info
from runtime.config import read_configuration
from runtime.durable import DurableAllocator
from runtime.service.lifecycle_reporter import LAG, Options
from runtime.service.locks import Locks
from runtime.service.messages import FilterRequest, PreemptRequest
from runtime.service.objects import read_node, read_pod
from runtime.service.scheduler import PodScheduler
from runtime.service.source import Change

NAMES = ("a", "b")
CONFIGURATION = read_configuration(config(nodes(*NAMES), A={"NODE": 2}))
DELAY = 30.0
nothing: Any = lambda _: None  # noqa: E731


class Side:
    """A scheduler, and the clock of its lives; `prompt` lives follow each change at once."""

    def __init__(self, folder: Path, *, prompt: bool) -> None:
        self.now, self.prompt = 1000.0, prompt
        allocator = DurableAllocator(CONFIGURATION, journal(folder))
        options = Options(delay=DELAY, clock=lambda: self.now)
        self.scheduler = PodScheduler(allocator, Locks(), nothing, nothing, 1e9, lambda: self.now, options)
        self.pods: dict[str, dict[str, Any]] = {}
        with self.cycle():
            self.scheduler.recover([Change(read_node(node(name)), deleted=False) for name in NAMES], lists_all=True)

    @contextmanager
    def cycle(self) -> Iterator[None]:
        with self.scheduler.allocator.cycle():
            self.scheduler.tear_down()
            yield
            if self.prompt:
                self.scheduler.lifecycle.catch_up()

    def tell(self, uid: str, *, gone: bool = False, **more: Any) -> None:
        pod = self.pods[uid] = {**self.pods[uid], **more}
        with self.cycle():
            self.scheduler.observe(Change(read_pod(pod), gone))

    def place(self, *pods: Pod) -> None:
        """They come, and are bound."""
        for pod in pods:
            uid = pod.uid
            self.pods[uid] = written(pod)
            self.tell(uid)
            with self.cycle():
                assert self.scheduler.filter(FilterRequest(read_pod(self.pods[uid]), NAMES))["NodeNames"]
            tracked = self.scheduler.tracker.pod(uid)
            assert tracked is not None
            assert tracked.info is not None
            metadata = self.pods[uid]["metadata"]
            notes = {**metadata["annotations"], **write_bind_info(tracked.info)}
            spec = {**self.pods[uid]["spec"], "nodeName": tracked.info.node}
            self.tell(uid, metadata={**metadata, "annotations": notes}, spec=spec)

    def run(self, *pods: Pod) -> None:
        for pod in pods:
            self.tell(pod.uid, status={"phase": "Running"})

    def preempt(self, pod: Pod) -> None:
        """It comes, and reserves what others use."""
        self.pods[pod.uid] = written(pod)
        self.tell(pod.uid)
        with self.cycle():
            self.scheduler.preempt(PreemptRequest(read_pod(self.pods[pod.uid]), NAMES))

    def life(self, name: str) -> Any:
        """As it is inspected."""
        with self.cycle():
            self.scheduler.lifecycle.catch_up()
        assert self.scheduler.lifecycle.faults == 0
        assert self.scheduler.lifecycle.follower is not None
        return self.scheduler.lifecycle.follower.registry.applications[name]


@pytest.fixture(params=[True, False], ids=["prompt", "behind"])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Side]:
    found = Side(tmp_path, prompt=request.param)
    yield found
    found.scheduler.allocator.close()


def test_a_gang_that_was_preempted_before_it_was_followed(side: Side) -> None:
    """Others are followed meanwhile, which looks at every gang that has moved."""
    weak, strong, other = gang("weak", "A", 4, priority=1), gang("strong", "A", 4, 4, priority=9), gang("o", "A", 2)
    side.place(*weak)
    side.preempt(strong[0])
    side.pods[other[0].uid] = written(other[0])
    side.tell(other[0].uid)
    side.tell(other[0].uid, gone=True)
    life = side.life("weak")
    assert life.gang.state.display == "Pending"
    assert [slot.leaving for slot in life.slots] == [False]
    assert [slot.place.state.display for slot in life.slots] == ["Queued"]


def test_what_happened_before_a_timer_rings_counts(side: Side) -> None:
    """A lost pod was replaced in the last moment: nobody is torn down."""
    pods = gang("g", "A", 4, 4)
    side.place(*pods)
    side.run(*pods)
    assert side.life("g").cliques[0].state is CliqueState.HEALTHY
    side.tell(pods[1].uid, gone=True)
    assert side.life("g").cliques[0].state is CliqueState.BREACHED
    side.now += DELAY - LAG / 2
    new = Pod("new", "new", pods[1].spec)
    side.place(new)
    side.run(new)
    side.now += LAG / 2
    with side.cycle():
        pass
    assert not side.scheduler.lifecycle.to_delete
    assert side.life("g").cliques[0].state is CliqueState.HEALTHY


def test_two_short_losses_that_overlap(side: Side) -> None:
    """The delay runs for each clique by itself."""
    pods = gang("g", "A", 2, 2, 1, 1)
    side.place(*pods)
    side.run(*pods)
    for number, later in ((0, DELAY / 2), (2, DELAY / 4)):
        side.life("g")
        side.tell(pods[number].uid, gone=True)
        side.now += later
    new = Pod("new", "new", pods[0].spec)
    side.place(new)
    side.run(new)
    side.life("g")
    side.now += DELAY / 2
    assert [x.state for x in side.life("g").cliques] == [CliqueState.BREACHED, CliqueState.HEALTHY]
    following = side.scheduler.lifecycle.follower
    assert following is not None
    assert not following.to_delete()
    side.now += DELAY / 4
    assert side.life("g").gang.state is PodGangState.UNSET
    assert set(following.to_delete()) == {"g-1", "g-3", "new"}


def test_an_application_that_is_over_is_remembered_for_three_days(side: Side) -> None:
    pods = gang("g", "A", 4)
    side.place(*pods)
    side.run(*pods)
    life = side.life("g")
    side.tell(pods[0].uid, status={"phase": "Succeeded"})
    states = []
    for seconds in (0, 29, 1, 3 * 86400 - 1, 1):
        side.now += seconds
        with side.cycle():
            pass
        states.append(life.core.state.display)
    assert states == ["Completing", "Completing", "Completed", "Completed", "Expired"]
    assert not side.scheduler.lifecycle.follower.registry.past  # type: ignore[union-attr]


def test_changes_are_followed_when_the_time_is_over(side: Side) -> None:
    side.place(*gang("g", "A", 4))
    following = side.scheduler.lifecycle.follower
    assert following is not None
    assert bool(following.registry.applications) is side.prompt
    side.now += LAG
    with side.cycle():
        pass
    assert following.registry.applications.keys() == {"g"}


def test_a_pod_that_comes_and_ends_between_is_followed_to_its_end(side: Side) -> None:
    """It has run, and has done its work, although nobody has followed it before."""
    pods = gang("g", "A", 4, 4)
    side.place(*pods)
    side.run(*pods)
    side.tell(pods[0].uid, status={"phase": "Succeeded"})
    assert [slot.done for slot in side.life("g").slots] == [True, False]
    side.tell(pods[1].uid, status={"phase": "Failed"})
    following = side.scheduler.lifecycle.follower
    assert following is not None
    assert [life.core.state.display for life in following.registry.past.values()] == ["Failed"]
