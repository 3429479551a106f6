"""The service without HTTP: cycles, their failures, beginning and end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest
from clusters import config, gang, nodes
from invariants import check
from serving import node, written

from generated.yunikorn.locks import LockOrderBroken
from runtime.config import read_configuration
from runtime.cycle import Cycle
from runtime.durable import DurableAllocator
from runtime.journal import Journal, JournalError
from runtime.service import web
from runtime.service.engine import NotServingError
from runtime.service.locks import Locks
from runtime.service.messages import BindRequest, FilterRequest
from runtime.service.objects import read_node, read_pod
from runtime.service.scheduler import PodScheduler
from runtime.service.service import Service
from runtime.service.source import Change, FileSource, MemorySource

CONFIGURATION = read_configuration(config(nodes("a", "b"), A={"NODE": 2}))


class Served:
    """A service with a cluster in memory."""

    def __init__(self, path: Path, *, evict: bool = False) -> None:
        self.path = path
        self.source = MemorySource()
        self.source.tell(Change(read_node(node(name)), deleted=False) for name in "ab")
        self.failed = Event()
        self.service = Service(CONFIGURATION, lambda: Journal(path), self.source, evict=evict)
        self.service.on_failure = self.failed.set

    def start(self) -> None:
        self.service.start()
        self.service._beginning.join()

    def ask(self, call: Callable[[PodScheduler], Any]) -> Any:
        return asyncio.run(asyncio.wait_for(self.service.ask(call), 10))

    def filter(self, uid: str) -> dict[str, Any]:
        (pod,) = gang(uid, "A", 1)
        thing = read_pod(written(pod))
        self.source.tell([Change(thing, deleted=False)])
        return dict(self.ask(lambda scheduler: scheduler.filter(FilterRequest(thing, ("a", "b")))))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    found = Served(tmp_path / "journal")
    yield found
    found.service.stop()


def test_before_it_has_begun_nothing_is_served(served: Served) -> None:
    assert served.service.ready() == (False, "New")
    with pytest.raises(NotServingError):
        served.ask(lambda scheduler: None)
    with pytest.raises(NotServingError):
        _ = served.service.allocator
    served.start()
    assert served.service.ready() == (True, "Running")
    assert served.filter("g")["NodeNames"] == ["a"]


def test_what_was_taken_is_served_before_the_end(served: Served) -> None:
    served.start()
    served.filter("first")
    engine = served.service._engine
    assert engine is not None
    seen: list[int] = []
    futures = [engine.submit(lambda _, i=i: seen.append(i)) for i in range(300)]  # type: ignore[misc]
    served.service.stop()
    assert all(future.done() and future.exception() is None for future in futures)
    assert seen == list(range(300))
    assert served.service.ready() == (False, "stopping")
    with pytest.raises(NotServingError):
        engine.submit(lambda _: None)
    again = DurableAllocator(CONFIGURATION, Journal(served.path))
    assert again.group("first") is not None
    again.close()


def test_an_answer_comes_when_it_is_on_the_disk(served: Served) -> None:
    served.start()
    stages: list[str] = []
    served.service.allocator.journal._watch = stages.append
    served.filter("g")
    assert stages[-2:] == ["committed", "sync"]


def test_nothing_is_asked_of_the_cluster_before_its_cycle_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash in between would have evicted a pod for a reservation that nobody remembers."""
    served = Served(tmp_path / "journal", evict=True)
    served.start()
    weak, (strong,) = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, priority=9)
    seen = [read_pod(written(pod)) for pod in weak]
    served.source.tell(Change(thing, deleted=False) for thing in seen)
    for thing in seen:
        asks = FilterRequest(thing, ("a", "b"))
        (place,) = served.ask(partial(PodScheduler.filter, request=asks))["NodeNames"]
        binding = BindRequest(thing.uid, thing.namespace, thing.name, place)
        served.service.bind(served.ask(partial(PodScheduler.to_bind, request=binding)))
    asked: list[str] = []
    before_commit: list[list[str]] = []
    monkeypatch.setattr(served.source, "delete", lambda pod: asked.append(pod.name))
    commit = served.service.allocator.journal.commit

    def late() -> None:
        sleep(0.05)
        before_commit.append([*asked])
        commit()

    preemptor = read_pod(written(strong))
    leaving = replace(seen[0], node="a", leaving=True)
    served.source.tell([Change(leaving, deleted=False), Change(preemptor, deleted=False)])
    served.ask(lambda scheduler: None)
    monkeypatch.setattr(served.service.allocator.journal, "commit", late)
    served.ask(lambda scheduler: scheduler.filter(FilterRequest(preemptor, ("a", "b"))))
    monkeypatch.setattr(served.service.allocator.journal, "commit", commit)
    served.service.stop()
    assert asked
    assert not before_commit[0]
    kinds = [x.kind.value for x in served.service.scheduler.history.events() if x.gang in ("weak", "strong")]
    assert kinds[kinds.index("Reserved") :] == ["Reserved", "AskedToLeave", "Journaled", "Evicted"]


def test_a_fault_in_a_request_is_its_own_and_changes_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.start()
    served.filter("g")

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(Cycle, "take", fail)
        with pytest.raises(ZeroDivisionError):
            served.filter("h")
    check(served.service.allocator)
    assert served.filter("h")["NodeNames"] == ["a"], "and the service goes on"


def test_when_the_journal_cannot_be_written_it_ends(served: Served) -> None:
    served.start()
    run = served.service.allocator.journal._store.connection.execute
    served.filter("kept")
    (pages,) = run("PRAGMA page_count").fetchone()
    run(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        for number in range(200):
            served.filter(f"{number}" * 50)

    with pytest.raises((JournalError, NotServingError)):
        fill()
    assert served.failed.wait(10)
    assert not served.service.ready()[0]
    assert isinstance(served.service.failure, JournalError)
    with pytest.raises(NotServingError):
        served.ask(lambda scheduler: None)
    served.service.stop()
    again = DurableAllocator(CONFIGURATION, Journal(served.path))
    assert again.group("kept") is not None
    check(again)
    again.close()


def test_when_the_disk_does_not_take_the_journal_nothing_is_bound_and_it_ends(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.start()
    journal = served.service.allocator.journal
    (pod,) = gang("g", "A", 1)
    thing = read_pod(written(pod))
    served.source.tell([Change(thing, deleted=False)])

    def fail() -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(journal._store, "sync", fail)
    request = FilterRequest(thing, ("a", "b"))
    answer = asyncio.run(served.service.ask(lambda scheduler: scheduler.filter(request), durable=False))
    assert answer["NodeNames"] == ["a"], "it is only reserved"
    tracked = served.service.scheduler.tracker.pod("g-0")
    assert tracked is not None
    with pytest.raises(JournalError, match="cannot be written"):
        served.service.bind(tracked)
    assert served.source.bindings == []
    assert served.failed.wait(10)
    assert isinstance(served.service.failure, JournalError)


def test_when_the_cluster_cannot_be_watched_it_ends(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.start()

    def fail() -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(served.source, "poll", fail)
    assert served.failed.wait(10)
    assert served.service.ready() == (False, "failed: gone")


def test_a_journal_that_cannot_be_opened_is_the_end_before_it_began(served: Served, tmp_path: Path) -> None:
    other = Journal(served.path)
    served.start()
    assert served.failed.is_set()
    assert "in use" in served.service.ready()[1]
    other.close()


def test_a_pod_that_is_gone_is_not_bound(served: Served) -> None:
    served.start()
    served.filter("g")
    thing = read_pod(written(gang("g", "A", 1)[0]))
    request = BindRequest("g-0", "default", "g-0", "a")
    tracked = served.ask(lambda scheduler: scheduler.to_bind(request))
    served.source.tell([Change(thing, deleted=True)])
    with pytest.raises(Exception, match="any more"):
        served.service.bind(tracked)
    assert served.source.bindings == []


def test_somebody_who_gives_up_waiting_disturbs_nobody(served: Served) -> None:
    served.start()

    async def give_up() -> None:
        asked = [asyncio.ensure_future(served.service.ask(lambda _: None)) for _ in range(50)]
        await asyncio.sleep(0)
        for request in asked:
            request.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    for _ in range(20):
        asyncio.run(give_up())
    assert served.filter("g")["NodeNames"] == ["a"]


def test_a_request_that_does_not_arrive_is_not_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "REQUEST_TIMEOUT", 0.05)
    app = web.Web(served.service, 1000).app()
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/extender/filter", "headers": [], "query_string": b""}
    asyncio.run(asyncio.wait_for(app(scope, never, send), 10))
    assert sent[0]["status"] == 408
    assert b"did not arrive in 0.05 seconds" in sent[1]["body"]


def test_locks_are_taken_in_the_documented_order_only() -> None:
    locks = Locks()
    with locks.cluster.read(), locks.partition.write(), locks.applications.write(), locks.nodes.write():
        pass
    for outer, inner in (
        (locks.nodes, locks.applications),
        (locks.applications, locks.partition),
        (locks.partition, locks.cluster),
        (locks.partition, locks.partition),
    ):
        with outer.read(), pytest.raises(LockOrderBroken):
            inner.write().__enter__()


def test_a_file_of_events_may_grow_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b'{"type": "ADDED", "object": {"kind": "Node", "meta')
    source = FileSource(path)
    assert list(source.poll()) == []
    with path.open("ab") as file:
        file.write(
            b'data": {"name": "n"}}}\n{"type": "DELETED", "object": {"kind": "Node", "metadata": {"name": "n"}}}\n'
        )
    assert [(change.thing.name, change.deleted) for change in source.poll()] == [("n", False), ("n", True)]
    assert list(source.poll()) == []


@pytest.mark.parametrize(
    ("more", "healthy"),
    [
        ({}, True),
        ({"ready": False}, False),
        ({"unschedulable": True}, False),
    ],
)
def test_a_node_is_healthy_when_it_is_schedulable_and_ready(more: dict[str, bool], healthy: bool) -> None:
    assert read_node(node("n", **more)).healthy is healthy
    assert not read_node({"metadata": {"name": "n"}}).healthy, "of which nothing is known"


def test_no_preemption_is_asked_for_a_pod_that_can_never_have_a_place(served: Served) -> None:
    """A kube-scheduler does not try a pod again at once whose nodes are all unresolvable."""
    served.start()
    for name, sizes, expected in (("huge", (4, 4, 4), {"a", "b"}), ("g", (4, 4), set()), ("h", (4,), set())):
        thing = read_pod(written(gang(name, "A", *sizes)[0]))
        served.source.tell([Change(thing, deleted=False)])
        request = FilterRequest(thing, ("a", "b"))
        answer = served.ask(partial(PodScheduler.filter, request=request))
        assert answer.get("FailedAndUnresolvableNodes", {}).keys() == expected, name
