"""Gangs with scheduling gates: what the service says is a run of the protocol, or none where the code is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import sleep

import pytest
from serving import until, written
from test_explain_admission import GANGS, NODES, Cluster, forgets_to_sync

from runtime.annotations import BIND_INFO, write_bind_info
from runtime.service.history import Kind
from runtime.service.objects import PodObject, read_pod
from runtime.service.pod_groups import GATE
from runtime.service.service import Service
from runtime.service.source import Change
from runtime.service.tracker import Tracked


class Gated(Cluster):
    """All pods have a gate; who is admitted is bound at once."""

    system = "Gated"

    def create(self, name: str) -> None:
        for pod in GANGS[name]:
            self.pods[pod.uid] = read_pod(written(pod, schedulingGates=[{"name": GATE}]))
            self.source.tell([Change(self.pods[pod.uid], deleted=False)])

    def tracked(self, uid: str) -> Tracked | None:
        return self.ask(lambda scheduler: scheduler.tracker.pod(uid))  # type: ignore[no-any-return]

    def admitted(self, name: str, count: int = 2) -> None:
        """Waits until so many pods of a gang are admitted."""
        events = self.service.scheduler.history.events
        until(lambda: sum(x.kind is Kind.ADMITTED and x.gang == name for x in events()) == count)
        for pod in GANGS[name]:
            tracked = self.tracked(pod.uid)
            assert tracked is not None
            if any(pod.key in x.pods for x in events()) and tracked.info is not None:
                info = write_bind_info(tracked.info)[BIND_INFO]
                node = tracked.info.node
                self.pods[pod.uid] = replace(self.pods[pod.uid], node=node, bind_info=info, gates=(), phase="Running")


def preempted(cluster: Gated) -> None:
    """A gang gives way to a stronger one."""
    for name in ("weak", "other"):
        cluster.create(name)
        cluster.admitted(name)
    cluster.create("strong")
    cluster.admitted("strong")
    cluster.end("strong")


def half_admitted(cluster: Gated) -> None:
    """One pod of a gang is admitted when the allocator ends; another gang comes before the other pod is admitted."""
    admit = cluster.source.admit

    def only_the_first(pod: PodObject, node: str, annotations: dict[str, str]) -> None:
        if pod.name.endswith("-1"):
            raise OSError("the API server is away")
        admit(pod, node, annotations)

    cluster.source.admit = only_the_first  # type: ignore[assignment, method-assign]
    cluster.create("weak")
    cluster.admitted("weak", 1)
    cluster.stop()
    cluster.start()
    cluster.create("other")
    cluster.admitted("other")
    cluster.admitted("weak", 1)


@pytest.mark.parametrize(
    ("story", "told"),
    [
        (preempted, {"Placed", "Reserved", "Journaled", "Evicted", "Left", "Admitted", "Ended"}),
        (half_admitted, {"Placed", "Started", "Journaled", "Admitted"}),
    ],
)
def test_what_the_service_says_of_gates_is_a_run_of_the_protocol(
    story: Callable[[Gated], None], told: set[str], tmp_path: Path
) -> None:
    cluster = Gated(tmp_path)
    story(cluster)
    x = cluster.explained()
    assert x.outcome == "explained", x.failure
    assert {line["kind"] for line in cluster.lines} >= told


def admits_within_the_cycle(patch: pytest.MonkeyPatch) -> None:
    """A gate is opened before the decision is committed."""

    def at_once(service: Service, tracked: Tracked) -> None:
        admit_later(service, tracked)
        service._send_requests()
        sleep(0.05)

    admit_later = Service._admit_later
    patch.setattr(Service, "_admit_later", at_once)


def admits_elsewhere(patch: pytest.MonkeyPatch) -> None:
    """All pods are admitted to the same node, whoever has the device there."""

    def to_the_first(service: Service, tracked: Tracked) -> None:
        assert tracked.info is not None
        info = tracked.info
        tracked.info = replace(info, node=NODES[0])
        admit_later(service, tracked)
        tracked.info = info

    admit_later = Service._admit_later
    patch.setattr(Service, "_admit_later", to_the_first)


@pytest.mark.parametrize(
    ("fault", "story", "line"),
    [
        (forgets_to_sync, preempted, "Admitted"),
        (admits_within_the_cycle, partial(Gated.create, name="weak"), "Admitted"),
        (admits_elsewhere, partial(Gated.create, name="weak"), "Admitted"),
    ],
)
def test_broken_code_is_found_in_what_it_says_of_gates(
    fault: Callable[[pytest.MonkeyPatch], None],
    story: Callable[[Gated], None],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault(monkeypatch)
    cluster = Gated(tmp_path)
    story(cluster)
    until(lambda: any(x.kind is Kind.ADMITTED for x in cluster.service.scheduler.history.events()))
    x = cluster.explained()
    assert x.failure is not None
    assert cluster.lines[x.failure.record.line - 1]["kind"] == line
