"""The lives of what the service serves, asked over HTTP: whatever a cluster tells, and in whatever order."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import kube
import pytest
from clusters import config, gang, nodes
from serving import Cluster, serving, until, written

from runtime import Pod

TWO = config(nodes("a", "b"), A={"NODE": 2})


def life(cluster: Cluster, name: str) -> dict[str, Any]:
    return dict(cluster.get(f"lives/{name}"))


def tasks(cluster: Cluster, name: str) -> list[tuple[str | None, str, str | None]]:
    """Of each pod: its task, its place in the gang, its sliver."""
    return [(pod["task"], pod["pod"], pod["sliver"]) for pod in life(cluster, name)["pods"]]


def phase(cluster: Cluster, name: str) -> str:
    return str(life(cluster, name)["gang"]["phase"])


def say(cluster: Cluster, what: str, *pods: Pod, **more: Any) -> None:
    """The node of bound pods says how they are."""
    things = [json.loads(line)["object"] for line in cluster.events.read_text().splitlines()]
    for pod in pods:
        mine = [x for x in things if x["metadata"].get("uid") == pod.uid and x["spec"].get("nodeName")]
        metadata = {**mine[-1]["metadata"], **more}
        cluster.tell(("MODIFIED", {**mine[-1], "metadata": metadata, "status": {"phase": what}}))


def running(cluster: Cluster, *pods: Pod) -> None:
    say(cluster, "Running", *pods)


def metric(cluster: Cluster, name: str) -> float:
    """The sum of a metric over its labels."""
    cluster.get("lives/")
    found = re.findall(rf"^{name}(?:\{{.*\}})? ([0-9.e+]+)$", cluster.client.get("/metrics").text, re.MULTILINE)
    assert found, name
    return sum(map(float, found))


def names(cluster: Cluster) -> list[str]:
    """Of applications that are alive."""
    return [x["application"] for x in cluster.get("lives/")["items"] if x["gang"] != "no object"]


# A whole life --------------------------------------------------------------------------------------------------------


def test_a_gang_comes_runs_and_completes(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = gang("default/g", "A", 2, 2, 4)
        cluster.add(*pods)
        found = life(cluster, "default/g")
        assert (found["core"]["state"], found["shim"], found["gang"]["phase"]) == ("Accepted", "Running", "Pending")
        assert [(x["name"], x["pods"], x["minimum"]) for x in found["cliques"]] == [
            ("member-0", 2, 2),
            ("member-1", 1, 1),
        ]
        assert tasks(cluster, "default/g") == [("Scheduling", "Queued", None)] * 3
        assert found["waits for"] == ["3 pods to get a place"]

        (place,) = cluster.filter(pods[0])["NodeNames"]
        assert tasks(cluster, "default/g") == [
            ("Allocated", "Permitted", "(deploying)"),
            ("Scheduling", "Permitted", None),
            ("Scheduling", "Permitted", None),
        ], "with the first pod, all have their places"
        assert phase(cluster, "default/g") == "Binding"
        assert not cluster.bind(pods[0], place)
        for pod in pods[1:]:
            assert not cluster.bind(pod, cluster.filter(pod)["NodeNames"][0])
        assert tasks(cluster, "default/g") == [("Bound", "Bound", "(starting)")] * 3
        assert phase(cluster, "default/g") == "Scheduled"
        running(cluster, *pods[:2])
        assert not life(cluster, "default/g")["gang"]["running"]
        running(cluster, pods[2])
        found = life(cluster, "default/g")
        assert found["gang"]["running"]
        assert found["gang"]["armed"]
        assert found["waits for"] == []
        assert {(pod["uid"], pod["node"]) for pod in found["pods"]} == {
            (uid, node) for uid, (node, _) in cluster.bound().items()
        }
        assert metric(cluster, "allocator_lives_running") == 1

        say(cluster, "Succeeded", *pods)
        assert cluster.get("affinitygroups/")["items"] == []
        assert life(cluster, "default/g")["core"]["state"] == "Completing"
        assert names(cluster) == []
        again = [Pod(f"{pod.uid}-again", f"{pod.name}-again", pod.spec) for pod in pods]
        cluster.run(again)
        running(cluster, *again)
        assert life(cluster, "default/g")["gang"]["running"], "another gang may have the name at once"
        overview = cluster.get("lives/")
        assert overview["applications"]["past"] == {"Completed": 1}
        assert overview["unhandled"] == {"events": 0, "last": []}
        assert overview["faults"] == 0


@pytest.mark.parametrize(("what", "core"), [("Failed", "Failed"), (None, "Completing")])
def test_a_gang_that_fails_or_is_deleted(tmp_path: Path, what: str | None, core: str) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = gang("g", "A", 4, 4)
        cluster.run(pods)
        running(cluster, *pods)
        assert life(cluster, "g")["gang"]["running"]
        if what is None:
            cluster.delete(*pods)
            assert (life(cluster, "g")["core"]["state"], life(cluster, "g")["shim"]) == (core, "Killed")
        else:
            say(cluster, what, *pods)
            assert cluster.get("lives/")["applications"]["past"] == {core: 1}
        assert names(cluster) == []


def test_a_pod_that_is_lost_is_replaced_and_the_gang_runs_again(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = gang("g", "A", 4, 4)
        cluster.run(pods)
        running(cluster, *pods)
        say(cluster, "Failed", pods[1])
        found = life(cluster, "g")
        assert not found["gang"]["running"]
        assert found["gang"]["failures"] == 1
        assert found["cliques"][0]["state"] == "Breached"
        assert found["waits for"] == ["1 pod of member-0 to run, or all are torn down in 14400 s"]
        assert metric(cluster, "allocator_lives_breached") == 1
        replacement = Pod("new", "new", pods[1].spec)
        cluster.run([replacement])
        running(cluster, replacement)
        assert life(cluster, "g")["gang"]["running"]
        assert metric(cluster, "allocator_lives_breached") == 0
        assert metric(cluster, "allocator_lives_breaches_total") == 1


# Too few pods run ----------------------------------------------------------------------------------------------------


def breached(cluster: Cluster) -> list[Pod]:
    """A gang of two, of which one has failed."""
    pods = gang("g", "A", 4, 4)
    cluster.run(pods)
    running(cluster, *pods)
    assert life(cluster, "g")["gang"]["running"]
    say(cluster, "Failed", pods[1])
    return pods


def test_a_gang_that_is_below_its_minimum_for_too_long_has_to_be_torn_down_and_that_is_said(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab", "--termination-delay", "0.3") as cluster:
        pods = breached(cluster)
        until(lambda: cluster.get("lives/")["to delete"] == ["g-0"])
        assert life(cluster, "g")["waits for"] == ["1 pod to terminate before all are recreated"]
        assert tasks(cluster, "g")[0] == ("Killing", "Terminating", "started")
        assert metric(cluster, "allocator_lives_to_delete") == metric(cluster, "allocator_lives_torn_down_total") == 1
        assert cluster.bound().keys() == {"g-0", "g-1"}, "nobody deletes it"
        assert cluster.group("g")["allocatedPods"] == ["g-0"]
        cluster.delete(pods[0])
        assert metric(cluster, "allocator_lives_to_delete") == 0
    assert "somebody has to delete them: g-0" in cluster.log()


def test_where_it_may_the_service_deletes_the_pods_itself(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab", "--termination-delay", "0.3", "--terminate") as cluster:
        pods = breached(cluster)
        until(lambda: not cluster.get("affinitygroups/")["items"])
        assert "g-0" not in cluster.bound()
        again = [Pod(f"{pod.uid}-again", f"{pod.name}-again", pod.spec) for pod in pods]
        cluster.run(again)
        running(cluster, *again)
        assert life(cluster, "g")["gang"]["running"]


def test_in_kubernetes_too_until_they_are_gone(tmp_path: Path) -> None:
    with kube.serving(tmp_path, TWO, "ab", "--termination-delay", "0.3", "--terminate") as cluster:
        pods = gang("g", "A", 4, 4)
        cluster.run(pods)
        for pod in pods:
            cluster.api.put({**cluster.api.things["pods"][pod.key], "status": {"phase": "Running"}})
        until(lambda: life(cluster, "g")["gang"]["running"])
        cluster.api.put({**cluster.api.things["pods"][pods[1].key], "status": {"phase": "Failed"}})
        until(lambda: pods[0].key not in cluster.api.things["pods"])
        assert pods[1].key in cluster.api.things["pods"], "it has ended by itself"
        until(lambda: not cluster.get("affinitygroups/")["items"])


# Preemption ----------------------------------------------------------------------------------------------------------


def test_a_gang_is_preempted_and_goes_when_its_pods_are_gone(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a") as cluster:
        weak, strong = gang("weak", "A", 2, 2, priority=1), gang("strong", "A", 4, priority=9)
        cluster.run(weak)
        running(cluster, *weak)
        cluster.add(*strong)
        assert cluster.preempt(strong[0]) == {"a": {"weak-0", "weak-1"}}
        assert phase(cluster, "weak") == "Pending"
        assert tasks(cluster, "weak") == [("Bound", "Queued", "started")] * 2, "they hold their leaf cells still"
        assert life(cluster, "weak")["group"]["state"] == "Being preempted"
        assert phase(cluster, "strong") == "Pending"
        say(cluster, "Running", weak[0], deletionTimestamp="2026-01-01T00:00:00Z")
        assert tasks(cluster, "weak")[0] == ("Killing", "Queued", "started")
        cluster.delete(*weak)
        assert names(cluster) == ["strong"]
        assert cluster.filter(strong[0])["NodeNames"] == ["a"]
        assert tasks(cluster, "strong") == [("Allocated", "Permitted", "(deploying)")]


def test_a_preemption_that_is_called_off_leaves_the_gang_where_it_was(tmp_path: Path) -> None:
    with serving(tmp_path, config(nodes("a"), A={"NODE": 1}), "a") as cluster:
        weak, strong = gang("weak", "A", 2, 2, priority=1), gang("strong", "A", 4, priority=9)
        cluster.run(weak)
        running(cluster, *weak)
        cluster.add(*strong)
        assert cluster.preempt(strong[0])
        assert not life(cluster, "weak")["gang"]["running"]
        cluster.delete(*strong)
        assert life(cluster, "weak")["gang"]["running"]
        assert tasks(cluster, "weak") == [("Bound", "Running", "started")] * 2


# Orders in which a cluster tells things ------------------------------------------------------------------------------


def test_a_pod_is_deleted_before_it_is_bound_and_the_others_keep_their_places(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = gang("g", "A", 2, 2)
        cluster.run(pods[:1])
        cluster.add(pods[1])
        cluster.filter(pods[1])
        running(cluster, pods[0])
        cluster.delete(pods[1])
        assert tasks(cluster, "g") == [("Bound", "Running", "started"), (None, "Permitted", None)]
        replacement = Pod("new", "new", pods[1].spec)
        cluster.run([replacement])
        running(cluster, replacement)
        assert life(cluster, "g")["gang"]["running"]


def test_a_pod_runs_before_anybody_has_told_that_it_is_bound(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        (pod,) = gang("g", "A", 4)
        cluster.add(pod)
        (place,) = cluster.filter(pod)["NodeNames"]
        document = written(pod, nodeName=place)
        cluster.tell(("MODIFIED", {**document, "status": {"phase": "Running"}}))
        assert tasks(cluster, "g") == [("Bound", "Running", "started")]
        assert life(cluster, "g")["gang"]["running"]


def test_a_pod_has_finished_before_anybody_has_told_that_it_runs(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = gang("g", "A", 2, 2)
        cluster.run(pods)
        say(cluster, "Succeeded", pods[0])
        found = life(cluster, "g")["pods"]
        assert [(pod["finished"], pod["pod"]) for pod in found] == [(True, "Running"), (False, "Bound")]
        running(cluster, pods[1])
        assert life(cluster, "g")["gang"]["running"]


def test_a_node_is_gone_before_its_pods_are(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = gang("g", "A", 4, 4)
        cluster.run(pods)
        running(cluster, *pods)
        cluster.tell(("DELETED", {"kind": "Node", "metadata": {"name": "a"}}))
        assert life(cluster, "g")["gang"]["running"], "until the cluster says that the pod is gone"
        assert {(x["name"], x["shim"], len(x["pods"])) for x in cluster.get("lives/")["nodes"]} == {
            ("a", "New", 1),
            ("b", "Healthy", 1),
        }
        lost = next(pod for pod in pods if cluster.bound()[pod.uid][0] == "a")
        cluster.delete(lost)
        assert not life(cluster, "g")["gang"]["running"]
        cluster.healthy("a")
        assert {x["shim"] for x in cluster.get("lives/")["nodes"]} == {"Healthy"}


def test_a_node_is_cordoned_and_restored(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:

        def states() -> list[tuple[str, str, str]]:
            return sorted((x["name"], x["shim"], x["core"]) for x in cluster.get("lives/")["nodes"])

        healthy = [("a", "Healthy", "schedulable"), ("b", "Healthy", "schedulable")]
        assert states() == healthy
        document = {"kind": "Node", "metadata": {"name": "a"}, "spec": {"unschedulable": True}}
        cluster.tell(("MODIFIED", document))
        assert states() == [("a", "Draining", "not schedulable"), healthy[1]]
        cluster.bad("a")
        assert states() == healthy, "no machine knows of bad nodes"
        cluster.healthy("a")
        assert states() == healthy


# After a restart -----------------------------------------------------------------------------------------------------


def everything(cluster: Cluster) -> Any:
    """All lives, without what depends on the time, or on the order in which pods were told of."""
    found = []
    for name in sorted(names(cluster)):
        shown = life(cluster, name)
        for gone in ("submitted", "waits for", "queue"):
            shown.pop(gone)
        shown["core"].pop("timers")
        for clique in shown["cliques"]:
            clique["timers"] = bool(clique["timers"])
        shown["pods"] = sorted(({k: v for k, v in x.items() if k != "name"} for x in shown["pods"]), key=str)
        found.append(shown)
    return found


@pytest.mark.parametrize("journal", [True, False])
def test_lives_go_on_after_a_restart(tmp_path: Path, journal: bool) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        whole, some = gang("whole", "A", 4), gang("some", "A", 2, 1)
        cluster.run(whole)
        running(cluster, *whole)
        cluster.run(some[:1])
        running(cluster, some[0])
        before = everything(cluster)
        assert len(before) == 2
        cluster.stop(signal.SIGKILL)
        if not journal:
            for file in tmp_path.glob("journal*"):
                file.unlink()
        cluster.start()
        after = everything(cluster)
        for shown in (*before, *after):
            shown["core"].pop("state")
        assert after == before
        assert cluster.get("lives/")["faults"] == 0


@pytest.mark.full(reason="servers that restart")
def test_what_has_happened_while_nobody_served_is_taken_in_and_the_delay_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        pods = gang("g", "A", 2, 2, 2)
        cluster.run(pods)
        running(cluster, *pods)
        say(cluster, "Succeeded", pods[0])
        say(cluster, "Failed", pods[1])
        (waits,) = life(cluster, "g")["waits for"]
        timer = life(cluster, "g")["cliques"][0]["timers"]
        cluster.stop(signal.SIGKILL)
        cluster.start("--termination-delay", "20000")
        found = life(cluster, "g")
        assert found["gang"]["armed"]
        assert found["gang"]["failures"] == 1
        assert sorted(str(pod["pod"]) for pod in found["pods"]) == ["Permitted", "Running", "Running"]
        assert sum(pod["finished"] for pod in found["pods"]) == 1
        ((name, left),) = timer.items()
        assert left - 60 < found["cliques"][0]["timers"][name] - (20_000 - 14_400) < left, waits
        cluster.stop(signal.SIGKILL)
        cluster.start("--termination-delay", "0.001")
        until(lambda: cluster.get("lives/")["to delete"] == ["g-2"])
        cluster.stop(signal.SIGKILL)
        cluster.delete(pods[2])
        cluster.start()
        assert names(cluster) == []


def test_a_pod_that_came_bound_is_taken_in_with_its_gang(tmp_path: Path) -> None:
    """By what it carries, without having been asked for here."""
    (tmp_path / "other").mkdir()
    with serving(tmp_path / "other", TWO, "ab") as other:
        (pod,) = gang("g", "A", 4)
        other.run([pod])
        bound = other.events.read_text().splitlines()[-1]
    with serving(tmp_path, TWO, "ab") as cluster:
        with cluster.events.open("a") as file:
            file.write(bound + "\n")
        assert tasks(cluster, "g") == [("Bound", "Bound", "(starting)")]
        assert phase(cluster, "g") == "Scheduled"


# Whoever does not want it --------------------------------------------------------------------------------------------


def test_lives_are_left_out_where_nobody_wants_them(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab", "--no-lives") as cluster:
        cluster.run(gang("g", "A", 4))
        answer = cluster.client.get("/v1/inspect/lives/")
        assert answer.status_code == 400
        assert "started with --no-lives" in answer.text
        assert "allocator_lives_running" not in cluster.client.get("/metrics").text


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with serving(tmp_path, TWO, "ab") as cluster:
        answer = cluster.client.get("/v1/inspect/lives/nobody")
        assert answer.status_code == 400
        assert "there is no application nobody" in answer.text
