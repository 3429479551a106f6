"""Behind a real kube-scheduler: whatever fails, and comes back, no device is held twice and gangs stay whole."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, prlimit
from typing import Any

import pytest
from behind import CLUSTER, Behind, Instance
from control_plane import documents, until

pytestmark = pytest.mark.full(reason="takes minutes")


def burst(behind: Behind, name: str, count: int = 10) -> list[str]:
    """Gangs of four pods, in both virtual clusters."""
    tenants = ("research", "product")
    return [x for n in range(count) for x in behind.gang(f"{name}-{n}", tenants[n % 2], 5, (4, 2))]


def shown(instance: Instance, node: str) -> str:
    """The health of a node, as the allocator sees it."""
    tops = instance.get("/v1/inspect/clusterstatus/physicalcluster")
    (found,) = [x for top in tops for x in top["cellChildren"] if x["cellAddress"].endswith(f"/{node}")]
    return str(found["cellHealthiness"])


def test_nodes_that_fail_are_avoided(behind: Behind) -> None:
    plane = behind.plane
    names = behind.gang("stays", "research", 5, (1, 8))
    behind.await_bound(*names)
    ((home, _),) = behind.places().values()
    others = [f"node-{n}" for n in range(1, 33) if f"node-{n}" != home]
    silent, cordoned, deleted = others[:3]
    plane.node_ready(home, "no")
    plane.node_ready(silent, "no")
    plane.ask("PATCH", f"/api/v1/nodes/{cordoned}", {"spec": {"unschedulable": True}})
    node = plane.ask("GET", f"/api/v1/nodes/{deleted}")
    plane.ask("DELETE", f"/api/v1/nodes/{deleted}")
    bad = (home, silent, cordoned, deleted)
    until(lambda: all(shown(behind.allocator, x) == "Bad" for x in bad), "the nodes count as bad")
    names += [x for n in range(28) for x in behind.gang(f"gang-{n}", ("product", "research")[n % 2], -1, (1, 8))]
    behind.await_bound(*names)
    assert not {x for x, _ in list(behind.places().values())[1:]} & {silent, cordoned, deleted}
    waiting = behind.gang("waits", "research", 5, (1, 8))
    for name in (home, silent):
        plane.node_ready(name, "yes")
    plane.ask("PATCH", f"/api/v1/nodes/{cordoned}", {"spec": {"unschedulable": False}})
    metadata = {"name": deleted, "labels": node["metadata"]["labels"]}
    fresh = plane.ask(
        "POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": node["status"]}
    )
    plane.ask("PATCH", f"/api/v1/nodes/{deleted}/status", {"status": {"conditions": node["status"]["conditions"]}})
    assert fresh["metadata"]["uid"] != node["metadata"]["uid"]
    behind.await_bound(*waiting)
    until(lambda: all(shown(behind.allocator, x) == "Healthy" for x in bad), "all nodes count as healthy")


@pytest.mark.parametrize("component", ["allocator", "kube-scheduler", "kube-apiserver"])
def test_a_component_is_killed_while_gangs_are_placed(behind: Behind, component: str) -> None:
    names = burst(behind, "before")
    until(lambda: len(behind.places()) > 5, "some pods are bound")
    if component == "allocator":
        behind.allocator.restart()
    else:
        behind.plane.kill(component)
        behind.plane.revive(component)
    names += burst(behind, "after", 4)
    behind.await_bound(*names, wake=True)
    behind.settled()


def test_a_preemption_survives_the_death_of_the_allocator(behind: Behind) -> None:
    weak = [name for n in range(2) for name in behind.gang(f"weak-{n}", "product", 1, (8, 8))]
    behind.await_bound(*weak)
    strong = behind.gang("strong", "product", 100, (8, 8))
    until(lambda: any("deletionTimestamp" in x["metadata"] for x in behind.pods().values()), "victims leave")
    behind.allocator.restart()
    behind.await_bound(*strong, wake=True)
    behind.settled()
    assert len(behind.pods()) == 16, "one gang was enough"


@pytest.mark.parametrize("moment", ["nobody has left", "a victim is leaving", "a victim is gone"])
def test_a_crash_in_a_preemption_leaves_no_gang_half_alive(behind: Behind, moment: str) -> None:
    """The other victims leave as soon as the allocator is back: nothing wakes the kube-scheduler, to ask again."""
    plane = behind.plane
    behind.excused.add("default/halved")  # while nobody is there to evict the rest
    weak = behind.gang("halved", "product", 1, (8, 8))
    behind.await_bound(*weak)
    fillers = [name for n in range(8) for name in behind.gang(f"filler-{n}", "product", 1000, (1, 8))]
    behind.await_bound(*fillers)
    (role,) = [x for x in documents("rbac.yaml") if x["kind"] == "ClusterRole"]
    may_not = [x for x in role["rules"] if "delete" not in x["verbs"] and "pods/eviction" not in x["resources"]]
    plane.apply({**role, "rules": may_not})
    try:
        until(lambda: not allowed(behind), "its evictions are lost")
        strong = behind.gang("strong", "product", 500, (1, 8))
        until(lambda: state(behind, "default/strong") == "Preempting", "its place is reserved")
        if moment != "nobody has left":
            behind.delete(weak[0])
        behind.allocator.end(signal.SIGKILL)
        if moment == "a victim is gone":
            until(lambda: weak[0] not in behind.pods(), "it is gone")
        assert leaving(behind, weak) == ([] if moment == "nobody has left" else weak[:1])
    finally:
        plane.apply(role)
    until(lambda: allowed(behind), "it may evict again")
    behind.allocator.start()
    until(lambda: leaving(behind, weak) == weak, "all of them are being evicted", 15.0)
    behind.await_bound(*strong, wake=True)
    behind.settled()


REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def allowed(behind: Behind) -> bool:
    """Whether the allocator may evict pods, or delete them."""
    asked = ({"verb": "create", "resource": "pods", "subresource": "eviction"}, {"verb": "delete", "resource": "pods"})
    user = "system:serviceaccount:kube-system:allocator"
    reviews = [
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": {"namespace": "default", **x}},
        }
        for x in asked
    ]
    return any(behind.plane.ask("POST", REVIEWS, x)["status"]["allowed"] for x in reviews)


def state(behind: Behind, gang: str) -> str:
    """As the allocator has it; empty where it does not know it."""
    groups = behind.allocator.get("/v1/inspect/affinitygroups/")["items"]
    return next((str(x["status"]["state"]) for x in groups if x["metadata"]["name"] == gang), "")


def leaving(behind: Behind, names: list[str]) -> list[str]:
    """Those that have been told to go, or are gone."""
    pods = behind.pods()
    return [x for x in names if x not in pods or "deletionTimestamp" in pods[x]["metadata"]]


def test_the_journal_is_lost(behind: Behind) -> None:
    names = burst(behind, "gang")
    behind.await_bound(*names)
    before = behind.places(), behind.allocator.get("/v1/inspect/affinitygroups/")
    behind.allocator.end(signal.SIGKILL)
    for file in behind.allocator.journal.parent.iterdir():
        file.unlink()
    behind.allocator.start()
    behind.settled()
    assert (behind.places(), behind.allocator.get("/v1/inspect/affinitygroups/")) == before


def test_the_disk_is_full(behind: Behind) -> None:
    """The journal cannot grow: the process ends, nothing that it has not written down has happened, and it goes on."""
    log = behind.plane.folder / "allocator.log"
    behind.allocator.end()
    log.rename(log.with_suffix(".before"))  # what is written there counts for the limit, too
    behind.allocator.start()
    names = burst(behind, "before", 4)
    behind.await_bound(*names)
    before = behind.places()
    process = behind.allocator.process
    assert process is not None
    size = behind.allocator.journal.stat().st_size
    prlimit(process.pid, RLIMIT_FSIZE, (size, RLIM_INFINITY))
    more = burst(behind, "after", 4)
    until(lambda: process.poll() is not None, "it ends")
    assert "cannot be written" in behind.allocator.log()
    assert behind.places() == before, "nothing is bound that is not in the journal"
    log.rename(log.with_suffix(".full"))  # it has a traceback, which no other test may have
    behind.allocator.start()
    behind.await_bound(*names, *more, wake=True)
    assert behind.places().items() >= before.items()


def test_the_configuration_changes(behind: Behind) -> None:
    """The process ends by itself, and whoever keeps it running starts it again."""
    names = burst(behind, "gang", 4)
    behind.await_bound(*names)
    before = behind.places()
    research, product = CLUSTER["virtualClusters"]["research"], CLUSTER["virtualClusters"]["product"]
    smaller = {"virtualCells": [{"cellType": "GPU-RACK", "cellNumber": 1}]}
    wrong = {**CLUSTER, "virtualClusters": {"research": research, "product": {"virtualCells": [{"cellType": "?"}]}}}
    behind.configure(wrong)
    until(lambda: "configuration is invalid" in behind.allocator.log(), "a wrong file is refused")
    behind.configure({**CLUSTER, "virtualClusters": {"research": smaller, "product": product, "new": smaller}})
    process = behind.allocator.process
    assert process is not None
    until(lambda: process.poll() is not None, "it ends")
    assert process.returncode == 0
    behind.allocator.start()
    new = behind.gang("new", "new", 5, (8, 8))
    behind.await_bound(*new)
    behind.settled()
    assert behind.places().items() >= before.items(), "whoever runs stays where it is"
    behind.clear()
    behind.configure(CLUSTER)
    until(lambda: process_ended(behind.allocator), "it ends again")
    behind.allocator.start()


def process_ended(instance: Instance) -> bool:
    assert instance.process is not None
    return instance.process.poll() is not None


def test_a_watch_whose_past_is_forgotten(behind: Behind) -> None:
    """The allocator stands still while the API server starts anew and much happens: what it missed, it lists."""
    names = burst(behind, "before", 6)
    behind.await_bound(*names)
    process = behind.allocator.process
    assert process is not None
    expired = behind.allocator.log().count("too old resource version")
    os.kill(process.pid, signal.SIGSTOP)
    try:
        behind.delete(*names[:8], force=True)
        # The new API server knows nothing older than the last change of anything. Of this one, no watch hears.
        later = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "later-"}}
        behind.plane.ask("POST", "/api/v1/namespaces/default/configmaps", later)
        behind.plane.kill("kube-apiserver")
        behind.plane.revive("kube-apiserver")
        behind.delete(*names[8:16], force=True)
    finally:
        os.kill(process.pid, signal.SIGCONT)
    until(lambda: len(behind.allocator.get("/v1/inspect/affinitygroups/")["items"]) == 2, "it knows who is gone")
    until(lambda: behind.allocator.log().count("too old resource version") > expired, "its watch was refused")
    more = burst(behind, "after", 8)
    behind.await_bound(*more, wake=True)


# Two instances


class Front:
    """What the Service of Kubernetes does: leads each connection to an instance that is ready."""

    def __init__(self, address: str, instances: list[Instance]) -> None:
        host, _, port = address.rpartition(":")
        self._instances = instances
        self._socket = socket.create_server((host, int(port)))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        ready = next((x for x in self._instances if x.process is not None and x.readiness() == 200), None)
        if ready is None:
            client.close()
            return
        host, _, port = ready.address.rpartition(":")
        try:
            server = socket.create_connection((host, int(port)), timeout=60)
        except OSError:
            client.close()
            return
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=copy, args=(one, other), daemon=True).start()

    def close(self) -> None:
        self._socket.close()


def copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            target.sendall(data)
    except OSError:
        pass
    finally:
        for x in (source, target):
            x.close()


@contextmanager
def pair(behind: Behind) -> Iterator[list[Instance]]:
    """Two instances behind one address, instead of the one that is there."""
    behind.allocator.end()
    address = behind.allocator.address
    instances = [Instance(behind.plane, f"allocator-{n}", port=9 + n) for n in range(2)]
    front = Front(address, instances)
    before = behind.allocator
    try:
        instances[0].start()
        instances[1].start(ready=False)
        behind.allocator = instances[0]
        yield instances
    finally:
        front.close()
        behind.clear()
        for x in instances:
            if x.process is not None:
                assert x.end() == 0
        behind.allocator = before
        before.start()


def lease(behind: Behind) -> dict[str, Any]:
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/allocator"
    return dict(behind.plane.ask("GET", path)["spec"])


def test_of_two_instances_one_decides_and_the_other_takes_over(behind: Behind) -> None:
    with pair(behind) as (first, second):
        assert lease(behind)["holderIdentity"].endswith(str(first.journal))
        until(lambda: "is held by" in second.log(), "the second one stands by")
        answer = second.client.get("/readyz")
        assert (answer.status_code, answer.text.split(";")[0]) == (503, "standing by")
        assert second.client.get("/healthz").status_code == 200
        names = burst(behind, "one")
        until(lambda: len(behind.places()) > 8, "some pods are bound")
        first.end(signal.SIGKILL)
        behind.allocator = second
        until(second.ready, "the second one has taken over")
        names += burst(behind, "two", 4)
        behind.await_bound(*names, wake=True)
        behind.settled()
        before = behind.places()
        # Back with a journal that is out of date: it must not count.
        first.start(ready=False)
        until(lambda: first.readiness() == 503, "the first one stands by")
        assert second.end() == 0
        behind.allocator = first
        until(first.ready, "the Lease was given up, and the first one has taken over")
        assert "the outdated journal was moved to" in first.log()
        assert Path(f"{first.journal}.stale-1").exists()
        behind.settled()
        assert behind.places() == before
        names += burst(behind, "three", 2)
        behind.await_bound(*names, wake=True)


def test_an_instance_that_was_stopped_for_longer_than_its_lease_ends(behind: Behind) -> None:
    with pair(behind) as (first, second):
        assert first.process is not None
        os.kill(first.process.pid, signal.SIGSTOP)
        try:
            behind.allocator = second
            until(second.ready, "the second one has taken over")
        finally:
            os.kill(first.process.pid, signal.SIGCONT)
        until(lambda: process_ended(first), "the first one ends")
        assert first.process.returncode == 1
        assert "is lost to" in first.log()
        first.process = None
        names = burst(behind, "gang", 4)
        behind.await_bound(*names, wake=True)
