"""A cluster of Kubernetes: processes that watch an API server and bind through it, whatever the network does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import kube
import pytest
import test_service
import yaml
from clusters import config, gang, nodes
from kube import ApiServer, KubeCluster, Running, kubeconfig, serving
from serving import ROOT, node, until, written

from runtime.annotations import BIND_INFO, ENABLE, ISOLATION
from runtime.errors import UserError
from runtime.service.api import ApiError, Kind, connect, selects
from runtime.service.kubernetes import KubernetesSource
from runtime.service.objects import PodObject, read_pod
from runtime.service.source import EndedError

pytestmark = pytest.mark.full(reason="half a minute: an API server")

TWO = config(nodes("a", "b"), A={"NODE": 2})


@pytest.mark.parametrize(
    "situation",
    [
        test_service.test_a_virtual_cluster_gets_what_it_is_promised_whatever_the_others_do,
        test_service.test_opportunistic_pods_use_what_is_left_and_go_when_it_is_wanted,
        test_service.test_bad_nodes_are_avoided_and_shown_to_whom_they_are_missing,
        test_service.test_a_killed_server_goes_on_where_it_was,
        test_service.test_what_happened_while_nobody_served_is_taken_in,
        test_service.test_binding_that_takes_too_many_attempts_is_done_from_here,
    ],
)
def test_it_is_the_same_in_a_cluster_of_kubernetes(
    situation: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where, as without a cluster, victims are named to an outer scheduler."""

    @contextmanager
    def without_evictions(*given: Any) -> Iterator[KubeCluster]:
        with kube.serving(*given, "--no-evict") as cluster:
            cluster.source.append("--no-evict")
            yield cluster

    monkeypatch.setattr(test_service, "serving", without_evictions)
    situation(tmp_path)


def test_a_binding_writes_the_annotations_and_may_be_repeated(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = gang("g", "A", 2, 4)
        places = cluster.run(pods)
        for pod, place in zip(pods, places, strict=True):
            found = cluster.api.things["pods"][pod.key]
            annotations = found["metadata"]["annotations"]
            assert found["spec"]["nodeName"] == place
            assert annotations[ISOLATION] == {2: "0,1", 4: "0,1,2,3"}[pod.spec.leaf_cells]
            info = yaml.safe_load(annotations[BIND_INFO])
            assert info["node"] == place
            assert info["cellChain"] == "NODE"
            assert [len(x["podPlacements"]) for x in info["affinityGroupBindInfo"]] == [1, 1]
        journal = tmp_path / "journal"
        cluster.stop(signal.SIGKILL)
        for file in tmp_path.glob(f"{journal.name}*"):
            file.unlink()
        cluster.start()
        assert set(cluster.group("g")["allocatedPods"]) == {"g-0", "g-1"}, "from what is written on pods"


def test_an_answer_to_a_binding_that_was_lost_is_no_error(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod)
        (place,) = cluster.filter(pod)["NodeNames"]
        cluster.api.failures["POST"] = [500]
        assert "told to answer 500" in cluster.bind(pod, place)
        bound = written(pod, nodeName=place)
        bound["metadata"]["annotations"] |= {ISOLATION: "0,1,2,3", BIND_INFO: "?"}
        cluster.api.put(bound)
        cluster.api.failures["POST"] = []
        error = cluster.bind(pod, place)
        assert not error or "is Bound" in error
        until(lambda: "is Bound" in cluster.bind(pod, place))


def test_a_binding_that_the_server_refuses_is_told_and_can_be_tried_again(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod)
        (place,) = cluster.filter(pod)["NodeNames"]
        for code, who in ((403, "platform"), (500, "platform"), (409, "user"), (429, "platform")):
            cluster.api.failures["POST"] = [code]
            error = cluster.bind(pod, place)
            assert error.startswith(f"{who} error")
            assert f"{code}: told to answer {code}" in error
        assert cluster.filter(pod)["NodeNames"] == [place]
        assert not cluster.bind(pod, place)


def test_a_pod_that_took_the_name_of_another_is_not_bound_for_it(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod)
        (place,) = cluster.filter(pod)["NodeNames"]
        again = replace(pod, uid="another")
        cluster.api.put(written(again))
        assert "there is no pod default/g-0" in cluster.bind(pod, place)
        assert cluster.bound() == {}
        until(lambda: cluster.post("filter", {"Pod": written(again), "NodeNames": ["a"]})["NodeNames"])
        assert cluster.group("g")["allocatedPods"] == ["another"]


def test_somebody_else_binds_a_pod_elsewhere(tmp_path: Path) -> None:
    """Where it is counts, if that can be; the place that we had in mind is free again."""
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod)
        (place,) = cluster.filter(pod)["NodeNames"]
        other = "ab".replace(place, "")
        info = cluster.api.things["pods"][pod.key]
        thing = written(pod, nodeName=other)
        placement = {
            "physicalNode": other,
            "physicalLeafCellIndices": [0, 1, 2, 3],
            "preassignedCellTypes": ["NODE"] * 4,
        }
        bind_info = {
            "node": other,
            "leafCellIsolation": [0, 1, 2, 3],
            "cellChain": "NODE",
            "affinityGroupBindInfo": [{"podPlacements": [placement]}],
        }
        thing["metadata"]["annotations"] |= {ISOLATION: "0,1,2,3", BIND_INFO: yaml.safe_dump(bind_info)}
        assert not info["spec"].get("nodeName")
        cluster.tell(("MODIFIED", thing))
        assert cluster.group("g")["physicalPlacement"] == {other: [0, 1, 2, 3]}
        assert f"it is bound to {other}" in cluster.bind(pod, place) or "is Bound" in cluster.bind(pod, place)


# What networks and servers do ----------------------------------------------------------------------------------------


def test_a_disruption_budget_keeps_a_whole_gang(tmp_path: Path) -> None:
    """It covers both pods and lets one of them go: neither is evicted, and everybody is told why."""
    with serving(tmp_path, TWO, "ab") as cluster:
        weak, (strong,) = gang("weak", "A", 2, 2, priority=1), gang("strong", "A", 4, priority=9)
        other = gang("other", "A", 4, priority=9)
        cluster.run(weak)
        cluster.run(other)
        for pod in weak:
            seen = cluster.api.things["pods"][pod.key]
            cluster.api.put({**seen, "metadata": {**seen["metadata"], "labels": {"job": "weak"}}})
        budget = {
            "metadata": {"name": "keep"},
            "spec": {"selector": {"matchLabels": {"job": "weak"}}},
            "status": {"disruptionsAllowed": 1},
        }
        cluster.api.budgets = [budget]
        cluster.add(strong)
        assert "gang strong waits until these gangs have left: weak (2 pods)" in cluster.refusal(strong)
        keeps = "disruption budget default/keep covers 2 pods of gang weak, and now lets 1 go"
        until(lambda: keeps in cluster.refusal(strong))
        until(lambda: keeps in cluster.client.get("/v2/inspect/why/strong").json()["reason"])
        assert cluster.metric("allocator_refused_evictions_total") == 1
        assert cluster.api.evictions == []
        cluster.api.budgets = [{**budget, "status": {"disruptionsAllowed": 2}}]
        until(lambda: set(cluster.api.evictions) == {"weak-0", "weak-1"}, 30)
        cluster.wait_until_known()
        assert cluster.filter(strong)["NodeNames"]
        assert len(cluster.api.evictions) == 2, "each once"


def test_connections_that_break_off_lose_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes(*"abcd"), A={"NODE": 4}), "abcd") as cluster:
        lists = sum(x == "GET /api/v1/pods" for x in cluster.api.requests)
        for i in range(5):
            cluster.api.drop()
            pods = gang(f"g{i}", "A", 2)
            assert cluster.run(pods)
            if i % 2:
                cluster.api.drop()
                cluster.delete(*pods)
        assert {x["metadata"]["name"] for x in cluster.get("affinitygroups/")["items"]} == {"g0", "g2", "g4"}
        assert sum(x == "GET /api/v1/pods" for x in cluster.api.requests) == lists, "it went on where it was"


@pytest.mark.parametrize("drops", [0, 1], ids=["in the stream", "as a status"])
def test_when_the_past_is_forgotten_what_is_missing_in_the_list_is_gone(tmp_path: Path, drops: int) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        gone, stays = gang("gone", "A", 4), gang("stays", "A", 4)
        cluster.run(gone)
        (place,) = cluster.run(stays)
        api = cluster.api
        for _ in range(drops):
            api.drop()
        with api._lock:
            api.put(node(place, ready=False))
            api.delete(written(gone[0]))
            api.put(written(gang("new", "A", 2)[0]))
            api.compact()
        api.drop() if drops else None
        cluster.wait_until_known()
        items = cluster.client.get("/v2/inspect/gangs/").json()["items"]
        assert [x["name"] for x in items] == ["new", "stays"]
        assert cluster.filter(gang("new", "A", 2)[0])["NodeNames"] == ["ab".replace(place, "")]
        assert api.requests.count("GET /api/v1/pods") >= 2


def test_events_that_are_late_or_told_twice_mean_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.run([pod])
        seen = [thing for _, kind, _, thing in cluster.api.log if kind == "pods" and thing["metadata"]["uid"] == "g-0"]
        healthy = [thing for _, kind, _, thing in cluster.api.log if kind == "nodes"]
        cluster.bad("a")
        for thing in seen:
            cluster.api.tell_raw("pods", "MODIFIED", thing)
            cluster.api.tell_raw("pods", "DELETED", thing)
        for thing in healthy:
            cluster.api.tell_raw("nodes", "ADDED", thing)
            cluster.api.tell_raw("nodes", "DELETED", thing)
        cluster.wait_until_known()
        assert cluster.group("g")["allocatedPods"] == ["g-0"]
        bad = {x["cellAddress"] for x in cluster.get("clusterstatus/physicalcluster") if x["cellHealthiness"] == "Bad"}
        assert bad == {"a"}
        cluster.delete(pod)
        for thing in seen:
            cluster.api.tell_raw("pods", "ADDED", thing)
        cluster.wait_until_known()
        assert cluster.get("affinitygroups/")["items"] == []


def test_events_that_cannot_be_read_are_passed_over_or_listed_again(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        api = cluster.api
        api.put({"kind": "Pod", "metadata": {"name": "odd", "uid": "odd", "annotations": {"x": "a\u0085b\u2028c"}}})
        api.put({"kind": "Pod", "metadata": {"name": "no-uid"}})
        for line in (b"no JSON\n", b"[]\n", b'{"type": "ADDED"}\n', b"[" * 100_000 + b"\n", b"\n"):
            api.raw.append(("pods", line))
            cluster.wait_until_known(["Pod"])
        assert cluster.run(gang("g", "A", 4))
        assert "a pod has no metadata.uid" in cluster.log()


def test_bookmarks_spare_a_list(tmp_path: Path) -> None:
    """Only nodes change, and the past is forgotten: who watches pods has seen a bookmark, and can go on."""
    with serving(tmp_path, TWO, "ab") as cluster:
        api = cluster.api
        api.bookmarks = True
        cluster.run(gang("g", "A", 4))
        for i in range(3):
            cluster.tell(("ADDED", {"kind": "Node", "metadata": {"name": f"n{i}"}}))
        marked = api.version
        lists = api.requests.count("GET /api/v1/pods")
        api.marks = 0
        until(lambda: api.marks > 6)
        api.oldest = marked - 1
        api.drop()
        cluster.wait_until_known()
        assert api.requests.count("GET /api/v1/pods") == lists


def test_a_server_that_is_away_or_overloaded_is_waited_for(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod)
        (place,) = cluster.filter(pod)["NodeNames"]
        cluster.running.stop()
        error = cluster.bind(pod, place)
        assert error.startswith("platform error (500): ApiError: ConnectionRefusedError")
        assert cluster.client.get("/readyz").status_code == 200, "it decides, with what it knows"
        other = gang("h", "A", 4)[0]
        cluster.api.put(written(other))
        until(lambda: cluster.silence() > 0.5)
        cluster.api.failures["GET"] = [503, 500, 429]
        cluster.running.start()
        cluster.wait_until_known()
        assert cluster.filter(other)["NodeNames"] == ["ab".replace(place, "")]
        assert not cluster.bind(pod, place)
        assert "watching pods" in cluster.log()
        cluster.api.bookmarks = True
        until(lambda: cluster.silence() < 0.5)


def test_a_server_that_is_away_at_the_beginning_is_waited_for(tmp_path: Path) -> None:
    cluster = KubeCluster(tmp_path, TWO)
    cluster.add_nodes("ab")
    cluster.running.stop()
    with ThreadPoolExecutor() as threads:
        starting = threads.submit(cluster.start)
        until(lambda: (tmp_path / "log").exists() and "watching pods" in cluster.log())
        assert not starting.done()
        cluster.running.start()
        starting.result(30)
    assert cluster.run(gang("g", "A", 4))
    cluster.end()
    cluster.running.stop()


def test_told_to_stop_while_it_waits_for_the_server_it_stops(tmp_path: Path) -> None:
    cluster = KubeCluster(tmp_path, TWO)
    cluster.running.stop()
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "runtime",
        "serve",
        "--config",
        cluster.config,
        "--journal",
        cluster.journal,
    ]
    command += ["--address", "127.0.0.1:0", *cluster.source]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("listening")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def test_long_lists_come_in_pieces_and_begin_anew_when_a_piece_is_too_late(tmp_path: Path) -> None:
    api = ApiServer()
    running = Running(api)
    client = connect(kubeconfig(tmp_path, running.port))
    for i in range(1203):
        api.put(written(gang(f"g{i}", "A", 1)[0]))
    found, version = client.list(Kind.PODS)
    assert len(found) == 1203
    assert version == str(api.version)
    assert api.requests.count("GET /api/v1/pods") == 3
    source = KubernetesSource(client)
    api.late_pages = 2
    api.failures["GET /api/v1/pods"] = [500]
    assert len(source.poll()) == 1203, "whatever came between, the first poll has all"
    assert not api.late_pages
    source.close()
    running.stop()


def test_whoever_waits_for_the_first_list_can_be_let_go(tmp_path: Path) -> None:
    source = KubernetesSource(connect(kubeconfig(tmp_path, 9)))
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(source.poll)
        source.close()
        with pytest.raises(EndedError):
            waiting.result(10)


def test_pods_of_others_are_not_remembered(tmp_path: Path) -> None:
    api = ApiServer()
    running = Running(api)
    thing = written(gang("theirs", "A", 1)[0])
    thing["spec"]["containers"] = []
    api.put(thing)
    init = written(gang("init", "A", 1)[0])
    init["spec"] = {"initContainers": [{"resources": {"limits": {ENABLE: "1"}}}], "containers": [{}]}
    api.put(init)
    source = KubernetesSource(connect(kubeconfig(tmp_path, running.port)))
    assert [change.thing for change in source.poll()] == [read_pod(init)]
    source.close()
    running.stop()


def test_a_pod_is_looked_at_as_it_is_now(tmp_path: Path) -> None:
    api = ApiServer()
    running = Running(api)
    source = KubernetesSource(connect(kubeconfig(tmp_path, running.port)))
    (pod,) = gang("g", "A", 1)
    seen = read_pod(written(pod))
    assert source.fetch(seen) is None
    api.put(written(pod))
    assert source.fetch(seen) == seen
    source.bind(seen, "a", {"x": "y"})
    source.bind(seen, "a", {"x": "y"})
    now = source.fetch(seen)
    assert isinstance(now, PodObject)
    assert now.node == "a"
    with pytest.raises(UserError, match="it is bound to a"):
        source.bind(seen, "b", {})
    api.put(written(replace(pod, uid="another")))
    assert source.fetch(seen) is None
    with pytest.raises(UserError, match="any more"):
        source.bind(seen, "a", {})
    api.failures["GET"] = [500]
    with pytest.raises(ApiError, match="500"):
        source.fetch(seen)
    source.close()
    running.stop()


# What the command says -----------------------------------------------------------------------------------------------


def refused(folder: Path, *arguments: object, **environment: str) -> str:
    (folder / "config").write_text(yaml.safe_dump(TWO))
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "runtime",
        "serve",
        "--config",
        folder / "config",
        "--journal",
        folder / "journal",
    ]
    command += ["--address", "127.0.0.1:0", *map(str, arguments)]
    variables = {**os.environ, "HOME": str(folder), **environment}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env=variables)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return str(done.stderr)


def test_the_command_says_why_a_cluster_cannot_be_reached(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text(json.dumps({"contexts": [], "clusters": [], "current-context": "x"}))
    empty = tmp_path / "empty"
    empty.write_text("{}")
    assert "requires --kubernetes" in refused(tmp_path, "--kubeconfig", broken)
    both = refused(tmp_path, "--kubernetes", "--events", tmp_path / "events")
    assert "--events, --kubernetes and --in-memory are mutually exclusive" in both
    assert "none not found" in refused(tmp_path, "--kubernetes", "--kubeconfig", tmp_path / "none")
    assert "Context 'x' not found" in refused(tmp_path, "--kubernetes", "--kubeconfig", broken)
    assert "the kubeconfig has no 'clusters'" in refused(tmp_path, "--kubernetes", "--kubeconfig", empty)
    assert "not found" in refused(tmp_path, "--kubernetes"), "neither in a cluster, nor with a kubeconfig"


def test_the_configuration_may_say_where_the_cluster_is(tmp_path: Path) -> None:
    cluster = KubeCluster(tmp_path, TWO)
    cluster.add_nodes("ab")
    elsewhere = kubeconfig(tmp_path, 9)
    address = f"http://127.0.0.1:{cluster.running.port}"
    cluster.configure({**TWO, "kubeConfigFilePath": str(elsewhere), "kubeApiServerAddress": address})
    cluster.source = ["--kubernetes"]
    cluster.start()
    assert cluster.run(gang("g", "A", 4))
    cluster.end()
    cluster.running.stop()


def test_the_environment_may_say_where_the_cluster_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running(ApiServer())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(ApiError, match="401: Unauthorized"):
        connect(None, f"http://127.0.0.1:{running.port}").list(Kind.NODES)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, running.port)))
    assert connect(None).list(Kind.NODES) == ([], "1000")
    nobody = yaml.safe_load((tmp_path / "kubeconfig").read_text())
    del nobody["contexts"][0]["context"]["user"]
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(nobody))
    with pytest.raises(ApiError, match="401"):
        connect(None).list(Kind.NODES)
    running.stop()


def test_an_account_that_may_not_list_is_told_what_it_needs(tmp_path: Path) -> None:
    running = Running(ApiServer())
    message = refused(tmp_path, "--kubernetes", "--kubeconfig", kubeconfig(tmp_path, running.port, token="wrong"))
    assert "does not let this account list and watch" in message
    assert "it needs a ClusterRole with the verbs get, list and watch on nodes and pods" in message
    running.stop()


def test_without_the_extra_it_is_named(tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "lightkube"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("raise ModuleNotFoundError('no', name='lightkube')")
    message = refused(tmp_path, "--kubernetes", PYTHONPATH=str(absent.parent))
    assert "lightkube is not installed: --kubernetes needs requirements/allocator.txt" in message


PLUGIN = """\
import json, os, sys
told = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert told["kind"] == "ExecCredential" and told["spec"] == {"interactive": False}
calls = open(sys.argv[1], "a+")
calls.write(told["apiVersion"] + " " + os.environ["OF_ITS_OWN"] + "\\n")
calls.seek(0)
token = "out-of-date" if sys.argv[2] == "old" and len(calls.readlines()) == 1 else sys.argv[3]
print(json.dumps({**told, "status": {"token": token}}))
"""


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_plugin_says_who_asks_and_says_it_anew_when_its_token_is_refused(tmp_path: Path, version: str) -> None:
    running = Running(ApiServer())
    (tmp_path / "plugin.py").write_text(PLUGIN)
    calls = tmp_path / "calls"
    plugin = {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "command": sys.executable,
        "args": [str(tmp_path / "plugin.py"), str(calls), "old", kube.TOKEN],
        "env": [{"name": "OF_ITS_OWN", "value": "kept"}],
    }
    client = connect(kubeconfig(tmp_path, running.port, exec=plugin))
    with pytest.raises(ApiError, match="401"):
        client.list(Kind.PODS)
    for _ in range(2):
        assert client.list(Kind.PODS)[0] == []
    assert calls.read_text().splitlines() == [f"client.authentication.k8s.io/{version} kept"] * 2
    client.close()
    running.stop()


def test_a_plugin_that_is_missing_is_named(tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin", "installHint": "get it"}
    message = refused(tmp_path, "--kubernetes", "--kubeconfig", kubeconfig(tmp_path, 1, exec=plugin))
    assert "the credential plugin no-such-plugin was not found (get it)" in message


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ({"operator": "In", "values": ["a", "b"]}, ["a"]),
        ({"operator": "NotIn", "values": ["a", "b"]}, ["c", None]),
        ({"operator": "Exists"}, ["a", "c"]),
        ({"operator": "DoesNotExist"}, [None]),
    ],
)
def test_the_pods_that_a_budget_covers(expression: dict[str, Any], selected: list[str | None]) -> None:
    selector = {"matchLabels": {"job": "weak"}, "matchExpressions": [{"key": "zone", **expression}]}
    labels = {zone: {"job": "weak", **({"zone": zone} if zone else {})} for zone in ("a", "c", None)}
    assert [zone for zone in labels if selects(selector, labels[zone])] == selected
    assert not any(selects(selector, {**x, "job": "strong"}) for x in labels.values())
    assert selects({}, {}), "all pods"
    with pytest.raises(ApiError, match="unknown operator Like"):
        selects({"matchExpressions": [{"key": "x", "operator": "Like"}]}, {})
