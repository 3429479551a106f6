"""The holder of the Lease is killed, or stopped and continued: the other one goes on, and the first one stays out."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from clusters import gang
from kube import ApiServer, Running, kubeconfig
from serving import until, written
from takeover import NODES, fault, two

from runtime.service.api import Api, Kind, connect
from runtime.service.engine import NotServingError
from runtime.service.objects import PodObject, read_pod
from runtime.service.serve import Options, _election

POD = read_pod(written(gang("g", "A", 1)[0]))


@pytest.mark.full(reason="waits for a Lease to expire")
@pytest.mark.parametrize("delay", [0.0, 1.0], ids=["at once", "late"])
def test_another_instance_goes_on_when_the_holder_is_killed(tmp_path: Path, delay: float) -> None:
    """`delay`: seconds by which each answer of the API server is late."""
    with two(tmp_path) as pair:
        fault(pair, signal.SIGKILL, delay)
        assert pair.problems() == []
        assert pair.changes(pair.holder)
        assert pair.changes(pair.other)
        assert pair.late_changes() == []


@pytest.mark.full(reason="waits for a Lease to expire")
@pytest.mark.parametrize("delay", [0.0, 1.0], ids=["at once", "late"])
def test_a_holder_that_was_stopped_changes_nothing_after_another_one_has_taken_over(
    tmp_path: Path, delay: float
) -> None:
    with two(tmp_path) as pair:
        fault(pair, signal.SIGSTOP, delay)
        until(lambda: pair.holder.exit_status() is not None)
        assert pair.holder.exit_status() == 1
        assert "is lost to" in pair.holder.log()
        assert "Traceback" not in pair.holder.log()
        assert pair.late_changes() == []
        assert pair.problems() == []


class Listener:
    """A server that notes what it receives on each connection, and never answers."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.received: list[bytearray] = []
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._socket.accept()
            self.received.append(bytearray())
            Thread(target=self._read, args=(client, self.received[-1]), daemon=True).start()

    def _read(self, client: socket.socket, received: bytearray) -> None:
        while got := client.recv(1000):
            received += got


CHANGES: dict[str, Callable[[Api, PodObject], object]] = {
    "bind": lambda api, pod: api.bind(pod, "a", {}),
    "delete": lambda api, pod: api.delete(pod),
    "patch": lambda api, pod: api.patch(pod, []),
}


@pytest.mark.parametrize("known", [True, False], ids=["on a connection for bindings", "on one for everything"])
@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_sent_of_a_change_that_is_not_permitted_once_there_is_a_connection(
    tmp_path: Path, change: str, known: bool
) -> None:
    """Making the connection may take long: longer than this instance leads."""
    listener, checked = Listener(), []
    api = connect(kubeconfig(tmp_path, listener.port))
    if known:
        api._who = {}

    def refuse() -> None:
        until(lambda: listener.received)
        checked.append(bytes(listener.received[-1]))
        raise NotServingError("no longer the leader")

    api.before_change = refuse
    with pytest.raises(NotServingError, match="no longer the leader"):
        CHANGES[change](api, POD)
    assert checked == [b""]
    api.close()
    assert [bytes(x) for x in listener.received] == [b""]


def test_reading_and_leases_are_always_permitted(tmp_path: Path) -> None:
    """They decide who leads."""
    running = Running(ApiServer())
    try:
        api = connect(kubeconfig(tmp_path, running.port))

        def refuse() -> None:
            raise NotServingError("no longer the leader")

        api.before_change = refuse
        api.list(Kind.PODS)
        spec = {"holderIdentity": "x", "leaseDurationSeconds": 1}
        lease = api.write_lease("ns", {"metadata": {"name": "l"}, "spec": spec})
        assert api.write_lease("ns", lease)["spec"]["holderIdentity"] == "x"
        running.api.put(written(gang("g", "A", 1)[0]))
        for change in CHANGES.values():
            with pytest.raises(NotServingError):
                change(api, POD)
        assert [holder for _, _, holder in running.api.changes] == ["x", "x"]
        api.before_change = lambda: None
        api.bind(POD, "a", {})
        api.delete(POD)
        assert len(running.api.changes) == 4
        api.close()
    finally:
        running.stop()


def test_an_instance_that_stands_for_election_changes_nothing_before_it_leads(tmp_path: Path) -> None:
    running = Running(ApiServer())
    try:
        api = connect(kubeconfig(tmp_path, running.port))
        nothing: dict[str, Any] = dict.fromkeys((field.name for field in fields(Options)), None)
        election = _election(
            Options(**{**nothing, "leader_election": "kube-system/allocator", "journal": tmp_path / "journal"}), api
        )
        assert election is not None
        running.api.put(written(gang("g", "A", 1)[0]))
        with pytest.raises(NotServingError):
            api.bind(POD, "a", {})
        assert election.attempt() == ""
        api.bind(POD, "a", {})
        assert [holder for _, _, holder in running.api.changes] == [election.identity, ""]
        api.close()
    finally:
        running.stop()


@pytest.mark.full(reason="waits for a Lease to expire")
def test_victims_that_are_half_gone_are_finished_by_the_new_holder(tmp_path: Path) -> None:
    """The journal of the holder, where it has noted who has to leave, is not that of the other instance."""
    with two(tmp_path) as pair:
        weak, (strong,) = gang("weak", "A", *len(NODES) * [4], priority=1), gang("strong", "A", 4, priority=9)
        pair.add(weak)
        for pod in weak:
            assert pair.bind(pair.holder, pod, pair.place(pair.holder, pod)) == (200, "")
        pair.add([strong])
        staying = [f"/api/v1/namespaces/default/pods/{pod.name}" for pod in weak[1:]]
        requests = [*(f"DELETE {path}" for path in staying), *(f"POST {path}/eviction" for path in staying)]
        pair.api.failures = {request: 1000 * [500] for request in requests}
        until(lambda: pair.preempts(pair.holder, strong))
        until(lambda: set(requests) & set(pair.api.requests))
        pair.holder.send(signal.SIGKILL)
        until(pair.other.is_ready, 90)
        pair.api.failures = {}
        until(lambda: pair.preempts(pair.other, strong))
        until(lambda: len(pair.api.things["pods"]) == 1)
        assert len(pair.changes(pair.other)) >= len(weak) - 1, "all but the one that the former holder has evicted"
        assert pair.bind(pair.other, strong, pair.place(pair.other, strong)) == (200, "")
        assert pair.late_changes() == []
