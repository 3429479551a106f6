"""Requests, events and files that cannot be meant: each is told its cause, and nothing has changed."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from clusters import config, gang, healthy, nodes
from serving import ROOT, Cluster, annotation, serving, written

from runtime import Pod, UserError, Wait
from runtime.annotations import ENABLE
from runtime.config import read_configuration
from runtime.config.model import Settings
from runtime.service.messages import COMPONENT
from runtime.service.objects import read_pod
from runtime.service.serve import Options, _is_kubernetes

TWO = config(nodes("a", "b"), A={"NODE": 2})
RUNS, WAITS = gang("runs", "A", 4), gang("waits", "A", 2)
KEY = {"PodUID": "waits-0", "PodNamespace": "default", "PodName": "waits-0", "Node": "a"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with serving(tmp_path_factory.mktemp("served"), TWO, "ab", "--largest-request", "100000") as cluster:
        cluster.run(RUNS)
        cluster.add(*WAITS)
        yield cluster


@pytest.fixture
def cluster(served: Cluster) -> Iterator[Cluster]:
    """Nothing may have changed."""
    before = served.everything()
    yield served
    assert served.everything() == before


def error(cluster: Cluster, path: str, content: Any) -> str:
    """What is answered, in the form of the endpoint."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    answer = cluster.client.post(f"/v1/extender/{path}", content=body)
    if path == "preempt":
        assert answer.status_code == 400
        return str(answer.json())
    assert answer.status_code == 200
    return str(answer.json()["Error"])


MALFORMED: list[tuple[Any, str]] = [
    (b"", "is not JSON"),
    (b"{", "is not JSON"),
    (b"\xff\xfe", "is not JSON"),
    (b"[" * 90_000, "is not JSON"),
    (b"1" * 90_000, "is not JSON"),
    (b"[]", "must be a JSON object"),
    (b"null", "must be a JSON object"),
]
NO_PODS: list[tuple[Any, str]] = [
    ({}, "Pod is missing"),
    ({"Pod": None}, "Pod is missing"),
    ({"Pod": 7}, "mapping"),
    ({"Pod": {}}, "no metadata.uid"),
    ({"Pod": {"metadata": []}}, "metadata must be a mapping"),
    ({"Pod": {"metadata": {"uid": 1, "name": "x"}}}, "uid must be a string"),
    ({"Pod": {"metadata": {"uid": "u", "name": "n"}, "spec": {"containers": 3}}}, "containers must be a list"),
    ({"Pod": {"metadata": {"uid": "u", "name": "n"}, "spec": {"containers": [3]}}}, "mapping"),
    ({"Pod": {"metadata": {"uid": "u", "name": "n", "annotations": "x"}}}, "annotations must be a mapping"),
]


@pytest.mark.parametrize("path", ["filter", "preempt"])
@pytest.mark.parametrize(("content", "why"), MALFORMED + NO_PODS)
def test_what_is_no_request_is_told_so(cluster: Cluster, path: str, content: Any, why: str) -> None:
    message = error(cluster, path, content)
    assert message.startswith("user error (400): ")
    assert why in message


@pytest.mark.parametrize(
    ("content", "why"),
    [
        *MALFORMED,
        ({}, "PodUID must be a non-empty string"),
        ({**KEY, "Node": ""}, "Node must be a non-empty string"),
        ({**KEY, "PodName": ["x"]}, "PodName must be a non-empty string"),
        ({**KEY, "PodUID": "unknown"}, "there is no pod default/waits-0 with uid unknown"),
        ({**KEY, "PodName": "other"}, "there is no pod default/other"),
        (KEY, "is Waiting, but can be bound only while it is Binding"),
        ({**KEY, "PodUID": "runs-0", "PodName": "runs-0"}, "is Bound"),
    ],
)
def test_what_cannot_be_bound_is_told_so(cluster: Cluster, content: Any, why: str) -> None:
    assert why in error(cluster, "bind", content)


def test_a_pod_is_bound_to_its_node_only(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod)
        (place,) = cluster.filter(pod)["NodeNames"]
        (other,) = {"a", "b"} - {place}
        assert f"has its place on {place}, not on {other}" in cluster.bind(pod, other)
        assert "has its place, and is being bound" in error(cluster, "preempt", {"Pod": written(pod)})
        assert not cluster.bind(pod, place)


def test_fields_are_read_in_any_case_and_lists_may_be_missing(cluster: Cluster) -> None:
    asked = {"pod": written(RUNS[0]), "NODENAMES": None}
    answer = cluster.post("filter", asked)
    assert "is bound" in answer["FailedNodes"][COMPONENT], "nothing was offered"
    assert "NodeNames must be a list" in error(cluster, "filter", {**asked, "NODENAMES": {"a": 1}})
    assert "must be a mapping" in error(cluster, "preempt", {**asked, "nodenametometavictims": ["a"]})


def test_a_body_that_is_too_long_is_not_read(cluster: Cluster) -> None:
    for path in ("filter", "preempt", "bind"):
        answer = cluster.client.post(f"/v1/extender/{path}", content=b" " * 100_001)
        assert (answer.status_code, answer.json()) == (413, "user error (413): a request can have at most 100000 bytes")
        answer = cluster.client.post(f"/v1/extender/{path}", content=(b" " * 1000 for _ in range(101)))
        assert answer.status_code == 413, "nor if it does not say how long it is"
    with socket.create_connection(("127.0.0.1", cluster.client.base_url.port or 0)) as raw:
        raw.sendall(b"POST /v1/extender/filter HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n")
        assert raw.recv(100).startswith((b"HTTP/1.1 413", b"HTTP/1.1 400"))
    with socket.create_connection(("127.0.0.1", cluster.client.base_url.port or 0)) as raw:
        raw.sendall(b"POST /v1/extender/filter HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
    with socket.create_connection(("127.0.0.1", cluster.client.base_url.port or 0)) as raw:
        raw.sendall(b"\0\1\2 nonsense\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("method", "path", "status", "why"),
    [
        ("GET", "/v1/nothing", 404, "Not Found"),
        ("POST", "/v1/inspect/clusterstatus", 400, "use GET"),
        ("DELETE", "/", 400, "use GET"),
        ("GET", "/v1/inspect/affinitygroups/nobody", 400, "there is no affinity group nobody"),
        ("GET", "/v1/inspect/clusterstatus/virtualclusters/nobody", 400, "there is no virtual cluster nobody"),
        ("POST", "/v1/simulation/events", 404, "Not Found"),
    ],
)
def test_what_cannot_be_looked_at_is_told_so(cluster: Cluster, method: str, path: str, status: int, why: str) -> None:
    answer = cluster.client.request(method, path)
    assert answer.status_code == status
    assert why in answer.json()


# Pods that cannot be meant -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("", "has no annotation"),
        ("{", "is not YAML"),
        ("7", "must be a mapping"),
        ("virtualCluster: A", "leafCellNumber: is missing"),
        ("{virtualCluster: nobody, leafCellNumber: 1}", "there is no virtual cluster nobody; there are A"),
        ("{virtualCluster: A, leafCellNumber: 0}", "at least 1"),
        ("{virtualCluster: A, leafCellNumber: 1, priority: 1001}", "-1 to 1000, not 1001"),
        (
            "{virtualCluster: A, leafCellNumber: 1, leafCellType: TPU}",
            "there are no leaf cells of type TPU; there are GPU",
        ),
        ("{virtualCluster: A, leafCellNumber: 1, pinnedCellId: pin}", "has no pinned cell pin"),
    ],
)
def test_a_pod_that_asks_for_nonsense_is_told_when_it_asks(served: Cluster, spec: str, why: str) -> None:
    pod = Pod(f"odd {why}", "odd", RUNS[0].spec)
    served.tell(("ADDED", written(pod, spec)))
    refusal = served.refusal(pod, spec)
    served.tell(("DELETED", written(pod, spec)))
    assert why in refusal
    assert "odd" not in str(served.get("affinitygroups/"))


def test_a_specification_is_no_longer_than_an_annotation_can_be() -> None:
    with pytest.raises(UserError, match="more than 262144 characters"):
        read_pod(written(RUNS[0], "x" * 300_000)).read()


def test_a_pod_that_nobody_told_of_or_that_is_not_ours_is_refused(cluster: Cluster) -> None:
    (pod,) = gang("stranger", "A", 1)
    assert "no pod default/stranger-0" in error(cluster, "filter", {"Pod": written(pod)})
    thing = written(pod)
    thing["spec"]["containers"][0]["resources"]["limits"] = {}
    cluster.tell(("ADDED", thing))
    assert "uses another scheduler" in error(cluster, "filter", {"Pod": written(pod)})
    cluster.tell(("ADDED", written(pod) | {"status": {"phase": "Succeeded"}}))
    assert "completed" in error(cluster, "filter", {"Pod": written(pod)})


def test_a_pod_keeps_its_place_whatever_it_asks_for_later(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod)
        place = cluster.filter(pod)["NodeNames"]
        changed = replace(pod, spec=replace(pod.spec, priority=9))
        assert cluster.filter(changed)["NodeNames"] == place
        cluster.tell(("MODIFIED", written(changed)))
        assert cluster.group("g")["priority"] == 5
        assert "WARNING the request of pod default/g-0 has changed" in cluster.log()


@pytest.mark.parametrize("told", [True, False], ids=["told", "asked first"])
@pytest.mark.parametrize("spec", ["", "{a: [1", "{virtualCluster: nobody, leafCellNumber: 1}"])
def test_a_wrong_annotation_that_is_put_right_counts_at_once(tmp_path: Path, spec: str, told: bool) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.tell(("ADDED", written(pod, spec)))
        assert cluster.refusal(pod, spec)
        if told:
            cluster.tell(("MODIFIED", written(pod)))
        assert cluster.filter(pod)["NodeNames"]


def test_keys_that_mean_nothing_are_warned_about(tmp_path: Path) -> None:
    configuration = {**TWO, "webServerAdress": ":80"}
    with serving(tmp_path, configuration, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        thing = written(pod, annotation(pod)[:-1] + ', "priorty": 1}')
        cluster.tell(("ADDED", thing))
        assert cluster.post("filter", {"Pod": thing, "NodeNames": ["a", "b"]})["NodeNames"]
        log = cluster.log()
        assert "WARNING pod default/g-0: annotation hivedscheduler.microsoft.com/pod-scheduling-spec: line 1: " in log
        assert "priorty: is not a known key (did you mean priority?)" in log
        assert "webServerAdress: is not a known key (did you mean webServerAddress?)" in log


def test_the_same_pod_twice_is_one_pod_and_a_namesake_takes_its_place(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod, pod)
        assert cluster.filter(pod) == cluster.filter(pod)
        assert cluster.group("g")["allocatedPods"] == ["g-0"]
        renamed = error(cluster, "filter", {"Pod": written(replace(pod, name="other"))})
        assert "no pod default/other with uid g-0" in renamed
        again = replace(pod, uid="another")
        cluster.add(again)
        assert cluster.filter(again)["NodeNames"] == ["a"], "a new pod of the same name means that the old one is gone"
        assert cluster.group("g")["allocatedPods"] == ["another"]
        cluster.delete(pod)
        assert cluster.group("g")["allocatedPods"] == ["another"]


def test_a_gang_has_no_more_pods_than_it_says(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = gang("g", "A", 1, 1)
        extra = Pod("extra", "extra", pods[0].spec)
        cluster.run(pods)
        cluster.add(extra)
        assert "has all its 2 pods" in cluster.refusal(extra)
        cluster.delete(pods[0])
        assert cluster.filter(extra)["NodeNames"], "now there is a place"


def test_events_that_cannot_be_meant_are_noted_and_passed_over(tmp_path: Path) -> None:
    odd: list[Any] = [
        {"kind": "Pod"},
        {"kind": "Node", "metadata": {"name": 7}},
        {"kind": "Service", "metadata": {}},
        written(WAITS[0], nodeName="a"),
    ]
    with serving(tmp_path, TWO, "ab") as cluster:
        cluster.tell(*(("ADDED", thing) for thing in odd), ("BOOKMARK", {}))
        with cluster.events.open("a") as file:
            file.write("no JSON\n\n[]\n")
        assert cluster.run(RUNS)
        log = cluster.log()
        assert "is bound to a, but has no annotation hivedscheduler.microsoft.com/pod-bind-info" in log
        assert all(f"events, line {n}: " in log for n in (3, 4, 7, 8, 10))


# Files that cannot be used -------------------------------------------------------------------------------------------


def refused(*arguments: object) -> str:
    """What the command says before it ends."""
    command = [sys.executable, "-m", "runtime", "serve", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.full(reason="many processes")
def test_the_command_says_what_it_cannot_use(tmp_path: Path, served: Cluster) -> None:
    journal = tmp_path / "journal"
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("physicalCluster:\n  cellTypes: 7\n  physicalCels: []\n")
    message = refused("--config", wrong, "--journal", journal)
    assert "line 2: physicalCluster.cellTypes: must be a mapping" in message
    assert "line 3: physicalCluster.physicalCels" in message, "everything at once"
    assert "cannot be read" in refused("--config", tmp_path / "none", "--journal", journal)
    good = ("--config", served.config)
    assert "in use by another process" in refused(
        *good, "--journal", served.journal, "--events", served.events, "--address", "127.0.0.1:0"
    )
    assert "is not a journal" in refused(*good, "--journal", foreign(tmp_path / "x.db"), "--address", "127.0.0.1:0")
    assert "HOST:PORT" in refused(*good, "--journal", journal, "--address", "here")
    assert "cannot be listened on" in refused(
        *good, "--journal", journal, "--address", served.client.base_url.netloc.decode()
    )
    assert "cannot be read" in refused(
        *good, "--journal", journal, "--events", tmp_path / "none", "--address", "127.0.0.1:0"
    )


@pytest.mark.full(reason="servers that restart")
def test_a_configuration_with_mistakes_is_refused_at_a_restart_and_nothing_is_lost(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1}), "ab") as cluster:
        cluster.run(RUNS)
        before = cluster.everything()
        good = cluster.config.read_text()
        cluster.stop(signal.SIGKILL)
        mistakes = [
            (
                good.replace("cellNumber: 1", "cellNumber: 2"),
                "4 cells of type NODE of chain NODE are promised to A, B, but there are 2",
            ),
            (good.replace("cellType: NODE", "cellType: NODDE"), "NODDE", "did you mean NODE?"),
            (good.replace("cellNumber: 1", "cellNumber: -1"), "cellNumber", "at least 0"),
            (good.replace("isNodeLevel: true", "isNodeLevel: maybe"), "isNodeLevel", "true or false"),
            (good + "physicalCluster: {}\n", "physicalCluster", "is given twice"),
            ("physicalCluster: [", "is not YAML", ""),
        ]
        for text, *why in mistakes:
            cluster.config.write_text(text)
            said = refused("--config", cluster.config, "--journal", cluster.journal, "--events", cluster.events)
            assert all(part in said for part in why), said
        cluster.config.write_text(good)
        cluster.start()
        assert cluster.everything() == before


def foreign(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE pictures (name TEXT)")
    connection.close()
    return path


def test_a_damaged_journal_is_told_of_and_bound_pods_are_taken_back(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (place,) = cluster.run(RUNS)
        cluster.stop(signal.SIGKILL)
        wal = cluster.journal.with_name("journal-wal")
        with wal.open("r+b") as file:
            file.truncate(wal.stat().st_size // 2)
        cluster.start()
        assert "records at the end are gone" in cluster.log()
        assert cluster.group("runs")["physicalPlacement"] == {place: [0, 1, 2, 3]}


def test_a_cluster_in_memory_is_told_what_happens(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        cluster.stop()
        cluster.start(in_memory=True)
        client = cluster.client
        event = json.dumps({"type": "ADDED", "object": written(RUNS[0])})
        assert client.post("/v1/simulation/events", content="{}").status_code == 400
        assert client.post("/v1/simulation/events", content=event + "\n").json() == {"changes": 1}
        assert cluster.filter(RUNS[0])["NodeNames"] == ["a"]
        text = client.get("/metrics").text
        assert 'allocator_gangs{state="Allocated"} 1.0' in text
        assert 'allocator_nodes{health="healthy"} 2.0' in text
        assert client.get("/healthz").text == "ok\n"
        assert "/v1/inspect/affinitygroups/NAME" in client.get("/").json()["paths"]
        cluster.stop()
        cluster.start(in_memory=True)
        assert cluster.group("runs")["state"] == "Allocated", "its pods are known from the journal"
        assert not cluster.bind(RUNS[0], "a")


@pytest.mark.parametrize(
    ("limit", "ours"),
    [
        *((limit, True) for limit in (1, "1", "1k", "500m", "2e3", "1Ki")),
        *((limit, False) for limit in ("0", "0k", "", "x", "-1", None)),
    ],
)
def test_a_limit_is_a_quantity_of_kubernetes(limit: object, ours: bool) -> None:
    thing = written(RUNS[0], containers=[{"resources": {"limits": {ENABLE: limit}}}])
    assert read_pod(thing).ours is ours


def test_what_names_an_api_server_is_no_cluster_in_memory(tmp_path: Path) -> None:
    """It would place pods on nodes that nobody has looked at."""
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({**TWO, "kubeApiServerAddress": "http://127.0.0.1:1"}))
    given = ("--config", path, "--journal", tmp_path / "journal", "--address", "127.0.0.1:0")
    assert "--in-memory" in refused(*given, "--in-memory", "--events", tmp_path / "events")
    nothing: dict[str, Any] = dict.fromkeys((field.name for field in fields(Options)), None)
    settings = read_configuration(path).settings
    assert _is_kubernetes(Options(**nothing), settings)
    assert not _is_kubernetes(Options(**{**nothing, "in_memory": True}), settings)
    assert not _is_kubernetes(Options(**nothing), Settings())


def test_a_gang_that_never_fits_is_told_so() -> None:
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1}))
    answer = allocator.schedule(gang("g", "A", 4, 1)[0])
    assert answer == Wait(
        "A can never have 1 x 4 and 1 x 1 leaf cells in NODE: it is promised 4 leaf cells there, at most 4 on a node",
        permanent=True,
    )
