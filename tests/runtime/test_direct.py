"""Bindings over a connection of each thread: they need no other client, and take it where they cannot go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import kube
import pytest
from clusters import gang
from kube import ApiServer, Running, kubeconfig
from serving import written

from runtime.pods import Pod
from runtime.service.api import Api, ApiError, Kind, connect
from runtime.service.objects import PodObject, read_pod

THREADS = 4


@pytest.fixture
def running() -> Iterator[Running]:
    made = Running(ApiServer())
    yield made
    made.stop()


def pods(running: Running, count: int) -> list[PodObject]:
    made = [Pod(f"p-{n}", f"p-{n}", gang("g", "A", 1)[0].spec) for n in range(count)]
    for pod in made:
        running.api.put(written(pod))
    return [read_pod(written(pod)) for pod in made]


def bound(running: Running) -> dict[str, str]:
    things = running.api.things["pods"].values()
    return {x["metadata"]["name"]: x["spec"]["nodeName"] for x in things if "nodeName" in x["spec"]}


def known(path: Path) -> Api:
    """It has asked before, and the client for everything is of no use any more."""
    api = connect(path)
    api.list(Kind.PODS)
    api._client.close()
    return api


def test_each_thread_has_a_connection_that_it_keeps(tmp_path: Path, running: Running) -> None:
    api, ready = known(kubeconfig(tmp_path, running.port)), Barrier(THREADS)

    def bind(pod: PodObject) -> None:
        ready.wait(30)
        api.bind(pod, "a", {"told": "yes"})

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(bind, pods(running, 5 * THREADS)))
        assert len(bound(running)) == 5 * THREADS
        assert len(running._server.server_state.connections) <= THREADS + 1
    assert all(x["metadata"]["annotations"]["told"] == "yes" for x in running.api.things["pods"].values())
    api.close()


def test_a_connection_that_the_server_has_ended_is_begun_anew(tmp_path: Path, running: Running) -> None:
    api = known(kubeconfig(tmp_path, running.port))
    one, two, three = pods(running, 3)
    api.bind(one, "a", {})
    running.stop()
    with pytest.raises(ApiError, match="refused") as error:
        api.bind(two, "a", {})
    assert error.value.code == 0
    running.start()
    api.bind(two, "a", {})
    api.bind(three, "b", {})
    assert bound(running) == {"p-0": "a", "p-1": "a", "p-2": "b"}


def test_what_the_server_says_is_told(tmp_path: Path, running: Running) -> None:
    api = known(kubeconfig(tmp_path, running.port))
    one, two = pods(running, 2)
    running.api.failures["POST"] = [500]
    with pytest.raises(ApiError, match=r"^500: told to answer 500$"):
        api.bind(one, "a", {})
    api.bind(one, "a", {})
    with pytest.raises(ApiError, match="already assigned") as error:
        api.bind(one, "b", {})
    assert error.value.code == 409
    running.api.delete(written(Pod(two.uid, two.name, gang("g", "A", 1)[0].spec)))
    with pytest.raises(ApiError, match="not found"):
        api.bind(two, "b", {})


def test_a_token_that_has_run_out_is_read_anew(
    tmp_path: Path, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kubelet renews that of a service account."""
    token = tmp_path / "token"
    token.write_text(kube.TOKEN)
    api = connect(kubeconfig(tmp_path, running.port, tokenFile=str(token)))
    one, two, three = pods(running, 3)
    api.bind(one, "a", {})
    monkeypatch.setattr(kube, "TOKEN", "another")
    with pytest.raises(ApiError, match="401"):
        api.bind(two, "a", {})
    token.write_text("another")
    api.bind(two, "a", {})
    api._client.close()
    api.bind(three, "a", {})
    assert len(bound(running)) == 3


def test_nobody_asks_past_a_proxy(tmp_path: Path, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    api = connect(kubeconfig(tmp_path, running.port))
    with pytest.raises(ApiError, match="ConnectError") as error:
        api.list(Kind.PODS)
    assert error.value.code == 0
    assert api._direct is None
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    api = connect(kubeconfig(tmp_path, running.port))
    assert api.list(Kind.PODS)[0] == []
    assert api._direct is not None


def test_a_server_below_a_path(tmp_path: Path, running: Running) -> None:
    """Its address may have one; here, one that leads nowhere."""
    path = kubeconfig(tmp_path, running.port)
    path.write_text(path.read_text().replace(str(running.port), f"{running.port}/below/"))
    api = connect(path)
    api._who = {"Authorization": f"Bearer {kube.TOKEN}"}
    (pod,) = pods(running, 1)
    with pytest.raises(ApiError, match=r"^404: Not Found$"):
        api.bind(pod, "a", {})
    assert running.api.requests == []
    assert json.dumps(bound(running)) == "{}"
