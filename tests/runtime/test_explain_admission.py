"""What the service says of admission and eviction: a run of the protocol, or none where the code is broken.

The mapping and the system are those of `runtime/samples/explain`: four nodes of one device, and gangs of two pods.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from clusters import gang
from serving import node, until, written

from fsmdsl.interop.logs.binding import Reading, bind
from fsmdsl.interop.logs.explanation import Explanation, explain
from fsmdsl.interop.logs.lines import lines
from fsmdsl.interop.logs.mapping import read
from fsmdsl.model.workspace import load
from fsmdsl.step import Universe
from fsmdsl.text.source import Source
from runtime import durable
from runtime.annotations import BIND_INFO, write_bind_info
from runtime.config import read_configuration
from runtime.gangs import Gang
from runtime.journal import Journal
from runtime.pods import Pod
from runtime.service.history import Kind
from runtime.service.messages import BindRequest, FilterRequest
from runtime.service.objects import PodObject, read_node, read_pod
from runtime.service.questions import event
from runtime.service.scheduler import PodScheduler
from runtime.service.service import Service
from runtime.service.source import Change, MemorySource
from runtime.service.tracker import Tracked

SAMPLES = Path(__file__).parent.parent.parent / "runtime" / "samples" / "explain"
NODES = ("node-1", "node-2", "node-3", "node-4")

GANGS = {
    name: gang(name, "research", 1, 1, priority=priority)
    for name, priority in (("weak", 1), ("other", 1), ("strong", 2))
}


@cache
def reading(system: str) -> Reading:
    path = SAMPLES / "admission.toml"
    mapping = read(Source(str(path), path.read_text("utf-8")))
    loaded = load([path.parent / spec for spec in mapping.specs])
    assert loaded.model is not None, loaded.diagnostics
    return bind(mapping, Universe(loaded.model, loaded.model.systems[f"four_nodes.{system}"]))


class Cluster:
    """A service, and what it says over all its lives. Pods have no grace."""

    system = "FourNodes"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[dict[str, Any]] = []
        self.pods: dict[str, PodObject] = {}
        self.start()

    def start(self) -> None:
        """Begins, or begins again: with the list of what there is."""
        self.source = MemorySource()
        self.source.tell(Change(read_node(node(name)), deleted=False) for name in NODES)
        self.source.tell(Change(pod, deleted=False) for pod in self.pods.values())
        configuration = read_configuration(SAMPLES / "four_nodes.yaml")
        self.service = Service(configuration, lambda: Journal(self.folder / "journal"), self.source, evict=True)
        self.service.start()
        self.service._beginning.join()

    def stop(self) -> None:
        """What it has said since it began is kept."""
        self.service.stop()
        self.lines += [event(x) for x in self.service.scheduler.history.events()]

    def ask(self, call: Callable[[PodScheduler], Any]) -> Any:
        return asyncio.run(asyncio.wait_for(self.service.ask(call), 10))

    def create(self, name: str) -> None:
        for pod in GANGS[name]:
            self.pods[pod.uid] = read_pod(written(pod))
            self.source.tell([Change(self.pods[pod.uid], deleted=False)])
        self.ask(lambda _: None)

    def filter(self, pod: Pod) -> list[str]:
        """Where it goes; nowhere, or one node."""
        request = FilterRequest(self.pods[pod.uid], NODES)
        return list(self.ask(partial(PodScheduler.filter, request=request))["NodeNames"] or ())

    def place(self, name: str) -> None:
        """A kube-scheduler asks for each pod, and has it bound."""
        for pod in GANGS[name]:
            (place,) = self.filter(pod)
            request = BindRequest(pod.uid, pod.namespace, pod.name, place)
            tracked: Tracked = self.ask(partial(PodScheduler.to_bind, request=request))
            self.service.bind(tracked)
            assert tracked.info is not None
            info = write_bind_info(tracked.info)[BIND_INFO]
            self.pods[pod.uid] = replace(self.pods[pod.uid], node=place, bind_info=info, phase="Running")

    def preempt(self, name: str) -> None:
        """It reserves, and its victims are evicted."""
        assert not self.filter(GANGS[name][0])

    def end(self, name: str) -> None:
        """Its owner deletes the gang."""
        for pod in GANGS[name]:
            self.source.delete(self.pods.pop(pod.uid))
        self.ask(lambda _: None)

    def gone(self, name: str) -> bool:
        return bool(self.ask(lambda scheduler: name not in scheduler.allocator.gangs))

    def explained(self) -> Explanation:
        self.stop()
        text = "".join(json.dumps(x) + "\n" for x in self.lines)
        by = reading(self.system)
        return explain(by, "run.log", lines(io.BytesIO(text.encode())), depth=by.mapping.hidden, whole=True)


def preempted(cluster: Cluster) -> None:
    """A gang gives way to a stronger one, which is placed when it is gone."""
    cluster.create("weak")
    cluster.place("weak")
    cluster.create("other")
    cluster.place("other")
    cluster.create("strong")
    cluster.preempt("strong")
    until(lambda: cluster.gone("weak"))
    cluster.place("strong")
    cluster.end("strong")


def restarted(cluster: Cluster) -> None:
    """No pod of a gang is bound when the allocator ends. The next process is asked about another gang first."""
    cluster.create("weak")
    (place,) = cluster.filter(GANGS["weak"][0])
    assert place == "node-1"
    cluster.stop()
    cluster.start()
    cluster.create("other")
    cluster.place("other")
    cluster.place("weak")


def spared(cluster: Cluster, evicted: int = 2) -> None:
    """The stronger gang ends while its victims leave; they have some grace."""
    cluster.create("weak")
    cluster.place("weak")
    cluster.create("other")
    cluster.place("other")
    cluster.create("strong")
    cluster.source.delete = lambda pod: None  # type: ignore[method-assign]
    cluster.preempt("strong")
    until(lambda: sum(x.kind is Kind.EVICTED for x in cluster.service.scheduler.history.events()) == evicted)
    del cluster.source.delete
    cluster.end("strong")
    cluster.end("weak")


def kinds(cluster: Cluster) -> set[str]:
    return {x["kind"] for x in cluster.lines}


@pytest.mark.parametrize(
    ("story", "told"),
    [
        (
            preempted,
            {"Submitted", "Placed", "Reserved", "Journaled", "AskedToLeave", "Evicted", "Left", "Bound", "Ended"},
        ),
        (restarted, {"Submitted", "Placed", "Started", "Journaled", "Bound"}),
        (spared, {"Reserved", "Evicted", "Stays", "Ended"}),
    ],
)
def test_what_the_service_says_is_a_run_of_the_protocol(
    story: Callable[[Cluster], None], told: set[str], tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path)
    story(cluster)
    x = cluster.explained()
    assert x.outcome == "explained", x.failure
    assert kinds(cluster) >= told


def test_what_is_left_of_a_victim_leaves_though_nobody_waits_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API server was away when the second pod was to be evicted, and the stronger gang has ended since."""
    cluster = Cluster(tmp_path)
    for name in ("weak", "other"):
        cluster.create(name)
        cluster.place(name)
    cluster.create("strong")
    cluster.service.scheduler._deleted.seconds = 0.05
    delete, away = cluster.source.delete, [True]

    def refuse(pod: PodObject) -> None:
        if pod.name == "weak-1" and away[0]:
            raise OSError("the API server is away")
        delete(pod)

    monkeypatch.setattr(cluster.source, "delete", refuse)
    cluster.preempt("strong")
    until(lambda: any(x.kind is Kind.EVICTED for x in cluster.service.scheduler.history.events()))
    cluster.ask(lambda _: None)
    cluster.end("strong")
    away[0] = False
    until(lambda: cluster.gone("weak"), 10)
    cluster.stop()


# The code, broken -----------------------------------------------------------------------------------------------------


def forgets_to_sync(patch: pytest.MonkeyPatch) -> None:
    """Pods are bound, and victims evicted, before the decision is on the disk."""
    patch.setattr(Service, "_prepare_request", lambda service, *gangs: service._require_leadership())


def asks_within_the_cycle(patch: pytest.MonkeyPatch) -> None:
    """A request leaves before what it follows from is committed."""

    def at_once(service: Service, preemptor: Gang, victims: Mapping[Gang, tuple[Tracked, ...]]) -> None:
        evict_later(service, preemptor, victims)
        service._send_requests()
        sleep(0.05)

    evict_later = Service._evict_later
    patch.setattr(Service, "_evict_later", at_once)


def evicts_a_part(patch: pytest.MonkeyPatch) -> None:
    """Of a gang, only the first pod is evicted."""

    def only_the_first(service: Service, preemptor: Gang, victims: Mapping[Gang, tuple[Tracked, ...]]) -> None:
        evict_later(service, preemptor, {victim: pods[:1] for victim, pods in victims.items()})

    evict_later = Service._evict_later
    patch.setattr(Service, "_evict_later", only_the_first)


def decides_anew(patch: pytest.MonkeyPatch) -> None:
    """The next process does not read the journal."""
    patch.setattr(durable, "rebuild", lambda core, written: None)


def binds_elsewhere(patch: pytest.MonkeyPatch) -> None:
    """All pods are bound to the same node, whoever has the device there."""
    bind = Service.bind

    def to_the_first(service: Service, tracked: Tracked) -> None:
        assert tracked.info is not None
        tracked.info = replace(tracked.info, node=NODES[0])
        bind(service, tracked)

    patch.setattr(Service, "bind", to_the_first)


@pytest.mark.parametrize(
    ("fault", "story", "line"),
    [
        (forgets_to_sync, preempted, "Bound"),
        (asks_within_the_cycle, preempted, "Evicted"),
        (evicts_a_part, partial(spared, evicted=1), "Stays"),
        (decides_anew, restarted, "Placed"),
        (binds_elsewhere, preempted, "Bound"),
    ],
)
def test_broken_code_is_found_in_the_log(
    fault: Callable[[pytest.MonkeyPatch], None],
    story: Callable[[Cluster], None],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault(monkeypatch)
    cluster = Cluster(tmp_path)
    story(cluster)
    x = cluster.explained()
    assert x.failure is not None
    assert cluster.lines[x.failure.record.line - 1]["kind"] == line
