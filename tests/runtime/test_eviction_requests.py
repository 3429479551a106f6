"""The requests that evict gangs, the answers of the API server, and where the reason is reported if nobody leaves."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from clusters import config, gang, nodes
from kube import ApiServer, Running, kubeconfig
from serving import node, until, written

from generated.hived import AffinityGroupState
from runtime import Pod
from runtime.config import read_configuration
from runtime.journal import Journal
from runtime.service.api import connect
from runtime.service.history import Kind
from runtime.service.kubernetes import KubernetesSource
from runtime.service.messages import BindRequest, FilterRequest
from runtime.service.objects import PodObject, read_pod
from runtime.service.scheduler import PodScheduler
from runtime.service.service import Service
from runtime.service.source import BudgetError, OverloadError
from runtime.service.why import why

NODES = ("a", "b")
TWO = read_configuration(config(nodes(*NODES), A={"NODE": 2}))
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


class Cluster:
    """A service beside an API server, without a kube-scheduler. Pods are gone as soon as they are evicted."""

    def __init__(self, folder: Path) -> None:
        self.api = ApiServer()
        for name in NODES:
            self.api.put(node(name))
        self.running = Running(self.api)
        source = KubernetesSource(connect(kubeconfig(folder, self.running.port)))
        self.service = Service(TWO, lambda: Journal(folder / "journal"), source, evict=True)
        self.service.start()
        self.service._beginning.join()
        self.ahead = 0.0
        """Seconds by which the clock of the scheduler is fast."""
        self.service.scheduler._now = lambda: time.monotonic() + self.ahead

    def stop(self) -> None:
        self.service.stop()
        self.running.stop()

    def ask(self, call: Callable[[PodScheduler], Any]) -> Any:
        return asyncio.run(asyncio.wait_for(self.service.ask(call), 10))

    def add(self, *pods: Pod) -> None:
        """Their labels name their gangs."""
        for pod in pods:
            thing = written(pod)
            thing["metadata"]["labels"] = {"gang": pod.spec.gang.name, "kind": "gang"}
            self.api.put(thing)
        until(lambda: self.ask(lambda x: all(x.tracker.pod(pod.uid) is not None for pod in pods)))

    def filter(self, pod: Pod) -> dict[str, Any]:
        request = FilterRequest(read_pod(written(pod)), NODES)
        return dict(self.ask(partial(PodScheduler.filter, request=request)))

    def run(self, pods: list[Pod]) -> None:
        """They are bound, and run."""
        self.add(*pods)
        for pod in pods:
            (place,) = self.filter(pod)["NodeNames"]
            request = BindRequest(pod.uid, pod.namespace, pod.name, place)
            self.service.bind(self.ask(partial(PodScheduler.to_bind, request=request)))
            self.phase(pod, "Running")

    def phase(self, pod: Pod, phase: str) -> None:
        self.api.put({**self.api.things["pods"][pod.key], "status": {"phase": phase}})

    def reason(self, pod: Pod) -> str:
        """Why it waits, in the answer to its kube-scheduler."""
        return str(self.filter(pod)["FailedNodes"]["hivedscheduler"])

    def why(self, name: str) -> str:
        """The same, as `runtime why` says it."""

        def answer(x: PodScheduler) -> str:
            return str(why(x.allocator, x.tracker, x.history, name)[0]["reason"])

        return str(self.ask(answer))

    def wait(self, seconds: float) -> None:
        """It gets later, and all that is due for that is done."""
        self.ahead += seconds
        self.ask(lambda _: None)
        until(lambda: not self.service._asked)
        self.ask(lambda _: None)

    def metric(self, name: str) -> float:
        lines = self.service.metrics.text().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    def asked(self, beginning: str) -> int:
        return sum(x.startswith(beginning) for x in self.api.requests)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def budget(name: str, allowed: int, selector: Any = None, **more: Any) -> dict[str, Any]:
    """For all pods of gangs, unless a selector says otherwise."""
    wanted = {"matchLabels": {"kind": "gang"}} if selector is None else selector
    status = {"disruptionsAllowed": allowed, **more}
    return {"metadata": {"name": name, "generation": 2}, "spec": {"selector": wanted}, "status": status}


def counted(name: str, allowed: int, selector: Any = None) -> dict[str, Any]:
    """The same, as the server has it a while after it was written."""
    return budget(name, allowed, selector, observedGeneration=2)


def two_victims(cluster: Cluster) -> tuple[list[Pod], list[Pod]]:
    """Each on a node of its own."""
    gangs = [gang(f"weak{n}", "A", 2, 2, priority=1) for n in (1, 2)]
    for pods in gangs:
        cluster.run(pods)
    return gangs[0], gangs[1]


# Budgets --------------------------------------------------------------------------------------------------------------


def test_of_two_victims_of_a_gang_none_leaves_while_a_budget_keeps_one(cluster: Cluster) -> None:
    """It lets three of four pods go: enough for either of the gangs, but one of them would leave for nothing."""
    two_victims(cluster)
    cluster.api.budgets = [counted("keep", 3)]
    strong = gang("strong", "A", 4, 4, priority=9)
    cluster.add(*strong)
    cluster.filter(strong[0])
    keeps = "disruption budget default/keep covers 4 pods of gangs weak1, weak2, and now lets 3 go"
    until(lambda: keeps in cluster.reason(strong[1]))
    assert keeps in cluster.why("strong")
    cluster.wait(11)
    assert cluster.api.evictions == []
    assert cluster.metric("allocator_refused_evictions_total") == 2
    assert cluster.metric("allocator_gangs_kept_by_budget") == 2
    cluster.api.budgets = [counted("keep", 4)]
    cluster.wait(11)
    until(lambda: len(cluster.api.evictions) == 4)
    until(lambda: cluster.filter(strong[0])["NodeNames"])
    assert len(cluster.api.evictions) == 4, "each once"
    assert cluster.metric("allocator_gangs_kept_by_budget") == 0


def test_of_two_victims_of_two_gangs_one_leaves_as_a_whole_and_one_is_kept_as_a_whole(cluster: Cluster) -> None:
    gangs = two_victims(cluster)
    cluster.api.budgets = [counted("keep", 3)]
    stronger = [gang(f"strong{n}", "A", 4, priority=9)[0] for n in (1, 2)]
    cluster.add(*stronger)
    for pod in stronger:
        cluster.filter(pod)
    until(lambda: any("covers 2 pods of gang weak" in cluster.why(pod.spec.gang.name) for pod in stronger))
    cluster.wait(11)
    assert sorted(cluster.api.evictions) in [[pod.name for pod in pods] for pods in gangs]
    assert cluster.api.budgets[0]["status"]["disruptionsAllowed"] == 1


def test_the_reason_names_the_gang_that_is_kept(cluster: Cluster) -> None:
    """The budget covers only one of the victims."""
    two_victims(cluster)
    cluster.api.budgets = [counted("keep", 1, {"matchLabels": {"gang": "weak2"}})]
    strong = gang("strong", "A", 4, 4, priority=9)
    cluster.add(*strong)
    cluster.filter(strong[0])
    until(lambda: "keep covers 2 pods of gang weak2, and now lets 1 go" in cluster.reason(strong[0]))
    assert cluster.api.evictions == []


def test_what_has_begun_to_leave_follows_while_a_budget_keeps_another_victim(cluster: Cluster) -> None:
    (first, second), pods = two_victims(cluster)
    cluster.api.budgets = [counted("keep", 0)]
    strong = gang("strong", "A", 4, 4, priority=9)
    cluster.add(*strong)
    cluster.filter(strong[0])
    until(lambda: "covers 4 pods" in cluster.reason(strong[0]))
    cluster.api.delete(cluster.api.things["pods"][first.key])
    until(lambda: second.key not in cluster.api.things["pods"])
    until(lambda: "covers 2 pods of gang weak2" in cluster.reason(strong[0]))
    assert cluster.api.evictions == []
    assert all(pod.key in cluster.api.things["pods"] for pod in pods)


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_do_not_run_need_no_budget(cluster: Cluster, phase: str) -> None:
    """The server evicts them in any case. The other one counts."""
    weak, (strong,) = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, priority=9)
    cluster.run(weak)
    cluster.api.budgets = [counted("keep", 0)]
    cluster.phase(weak[0], phase)
    cluster.add(strong)
    cluster.filter(strong)
    until(lambda: "covers 1 pod of gang weak, and now lets 0 go" in cluster.reason(strong))
    assert cluster.api.evictions == []
    cluster.api.budgets = [counted("keep", 1)]
    cluster.wait(11)
    until(lambda: cluster.filter(strong)["NodeNames"])
    assert "weak-1" in cluster.api.evictions


def test_a_gang_with_a_pod_under_two_budgets_is_kept_whole(cluster: Cluster) -> None:
    """The server refuses to evict such a pod, with status 500. It is the second one of its gang."""
    weak, (strong,) = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, priority=9)
    cluster.run(weak)
    thing = cluster.api.things["pods"][weak[1].key]
    cluster.api.put({**thing, "metadata": {**thing["metadata"], "labels": {"kind": "gang", "role": "leader"}}})
    cluster.api.budgets = [counted("all", 9), counted("leaders", 9, {"matchLabels": {"role": "leader"}})]
    cluster.add(strong)
    cluster.filter(strong)
    until(
        lambda: (
            "budgets default/all and default/leaders cover pod default/weak-1 of gang weak" in cluster.reason(strong)
        )
    )
    assert cluster.api.evictions == []


def test_a_budget_that_shrinks_after_it_was_read_keeps_a_gang_that_has_not_begun(cluster: Cluster) -> None:
    """And what the server says of the budget is reported."""
    weak, (strong,) = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, priority=9)
    cluster.run(weak)
    check = cluster.service.source.check_budgets

    def shrink(gangs: Any) -> None:
        check(gangs)
        cluster.api.budgets = [counted("keep", 0)]

    cluster.service.source.check_budgets = shrink  # type: ignore[method-assign]
    cluster.add(strong)
    cluster.filter(strong)
    until(lambda: "of gang weak cannot be evicted: The disruption budget keep needs 2" in cluster.reason(strong))
    assert cluster.metric("allocator_gangs_kept_by_budget") == 1
    assert (cluster.api.evictions, cluster.asked(f"DELETE {PODS}")) == ([], 0)


# Other failures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (f"GET {BUDGETS}", 403),
        (f"GET {PODS}", 500),
        (f"POST {PODS}/weak-0/eviction", 403),
        (f"POST {PODS}/weak-0/eviction", 500),
    ],
)
def test_an_eviction_that_fails_is_told_to_whoever_waits(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, request_: str, code: int
) -> None:
    """It is tried every ten seconds, and the log names the reason once."""
    weak, (strong,) = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, priority=9)
    cluster.run(weak)
    cluster.api.budgets = [counted("keep", 2)]
    cluster.add(strong)
    cluster.api.failures[request_] = [code] * 100
    caplog.set_level(logging.WARNING)
    cluster.filter(strong)
    says = f"{code}: told to answer {code}"
    until(lambda: says in cluster.reason(strong))
    assert says in cluster.why("strong")
    for _ in range(3):
        cluster.wait(4)
    assert cluster.asked(request_) == 2, "after 12 seconds"
    cluster.wait(10)
    assert cluster.asked(request_) == 3
    assert cluster.metric('allocator_cluster_failures_total{what="evict"}') == 3
    assert cluster.metric("allocator_gangs_kept_by_failure") == 1
    assert cluster.metric("allocator_refused_evictions_total") == 0
    assert sum(says in x.getMessage() for x in caplog.records) == 1
    events = [x for x in cluster.service.scheduler.history.events() if x.kind is Kind.EVICTION_REFUSED]
    assert [(x.gang, x.others) for x in events] == [("weak", ("strong",))]
    cluster.api.failures.clear()
    cluster.wait(11)
    until(lambda: cluster.filter(strong)["NodeNames"])
    assert sorted(cluster.api.evictions) == ["weak-0", "weak-1"]


@pytest.mark.parametrize(("retry_after", "seconds"), [("", 10), ("30", 30), ("86400", 60)])
@pytest.mark.parametrize("request_", [f"GET {BUDGETS}", f"POST {PODS}/weak-0/eviction"])
def test_flow_control_is_no_budget(cluster: Cluster, request_: str, retry_after: str, seconds: int) -> None:
    """It has the same status 429, and says when to try again."""
    weak, (strong,) = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, priority=9)
    cluster.run(weak)
    cluster.add(strong)
    cluster.api.failures[request_], cluster.api.retry_after = [429], retry_after
    cluster.filter(strong)
    until(lambda: "the API server is busy: 429: told to answer 429" in cluster.reason(strong))
    assert cluster.metric("allocator_refused_evictions_total") == 0
    assert cluster.metric("allocator_gangs_kept_by_budget") == 0
    cluster.wait(seconds - 3)
    assert (cluster.asked(request_), cluster.api.evictions) == (1, [])
    cluster.wait(4)
    until(lambda: cluster.filter(strong)["NodeNames"])


def test_a_gang_that_has_begun_to_leave_leaves_though_the_next_eviction_fails(cluster: Cluster) -> None:
    """The other victim has not begun, and is kept whole."""
    gangs = {pods[0].spec.gang.name: pods for pods in two_victims(cluster)}
    strong = gang("strong", "A", 4, 4, priority=9)
    cluster.add(*strong)
    for pods in gangs.values():
        cluster.api.failures[f"POST {PODS}/{pods[1].name}/eviction"] = [403] * 100
    cluster.filter(strong[0])
    until(lambda: "403: told to answer 403" in cluster.reason(strong[0]))
    (name,) = {pod.removesuffix("-0") for pod in cluster.api.evictions}
    until(lambda: gangs[name][1].key not in cluster.api.things["pods"])
    other = next(pods for x, pods in gangs.items() if x != name)
    assert all(pod.key in cluster.api.things["pods"] for pod in other)
    assert cluster.asked(f"DELETE {PODS}") == cluster.asked(f"DELETE {PODS}/{name}-1") == 1
    assert cluster.metric("allocator_gangs_kept_by_failure") == 1


def test_a_gang_that_has_begun_to_leave_leaves_though_the_watch_is_late_and_nobody_waits_any_more(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first pod leaves, and the API server is away when the second one is to be evicted or deleted."""
    weak, (strong,) = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, priority=9)
    cluster.run(weak)
    cluster.add(strong)

    def away(pod: PodObject) -> bool:
        if pod.name == "weak-0":
            return True
        raise OSError("the API server is away")

    monkeypatch.setattr(cluster.service.source, "evict", away)
    monkeypatch.setattr(cluster.service.source, "delete", away)
    cluster.filter(strong)
    until(lambda: cluster.metric('allocator_cluster_failures_total{what="delete"}'))
    cluster.api.delete(cluster.api.things["pods"][strong.key])
    until(lambda: cluster.ask(lambda x: x.allocator.gangs["weak"].state is AffinityGroupState.ALLOCATED))
    monkeypatch.undo()
    cluster.wait(4)
    until(lambda: weak[1].key not in cluster.api.things["pods"])


def test_while_evictions_take_long_they_are_not_asked_for_again(cluster: Cluster) -> None:
    weak, (strong,) = gang("weak", "A", 2, 2, priority=1), gang("strong", "A", 4, 4, priority=9)[:1]
    cluster.run(weak)
    cluster.add(strong)
    checked: list[Any] = []
    go_on = Event()

    def slowly(gangs: Any) -> None:
        checked.append(gangs)
        assert go_on.wait(60)

    cluster.service.source.check_budgets = slowly  # type: ignore[method-assign]
    cluster.filter(strong)
    until(lambda: checked)
    for _ in range(3):
        cluster.ahead += 4
        cluster.filter(strong)
    assert len(checked) == 1
    go_on.set()
    until(lambda: cluster.filter(strong)["NodeNames"])
    assert len(checked) == 1


def test_a_pod_that_is_gone_does_not_take_others_with_it_before_it_is_known_why(cluster: Cluster) -> None:
    """It may have done its work. The watch is late; nothing was evicted, so that the second pod may be refused."""
    weak, (strong,) = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, priority=9)
    cluster.run(weak)
    cluster.add(strong)
    first, second = weak
    gone = cluster.api.things["pods"].pop(first.key)
    cluster.api.budgets = [counted("keep", 1)]
    check = cluster.service.source.check_budgets

    def shrink(gangs: Any) -> None:
        check(gangs)
        cluster.api.budgets = [counted("keep", 0)]

    cluster.service.source.check_budgets = shrink  # type: ignore[method-assign]
    cluster.filter(strong)
    until(lambda: "pod default/weak-1 of gang weak cannot be evicted" in cluster.reason(strong))
    assert (cluster.api.evictions, cluster.asked(f"DELETE {PODS}")) == ([], 0)
    assert second.key in cluster.api.things["pods"]
    cluster.api.things["pods"][first.key] = gone
    cluster.api.delete(gone)
    until(lambda: second.key not in cluster.api.things["pods"])


def test_what_is_left_of_a_gang_and_cannot_be_deleted_is_told_once(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    weak, (strong,) = gang("weak", "A", 4, 4, priority=1), gang("strong", "A", 4, priority=9)
    cluster.run(weak)
    cluster.api.budgets = [counted("keep", 0)]
    cluster.add(strong)
    cluster.filter(strong)
    until(lambda: "covers 2 pods" in cluster.reason(strong))
    cluster.api.failures[f"DELETE {PODS}"] = [403] * 100
    caplog.set_level(logging.WARNING)
    cluster.api.delete(cluster.api.things["pods"][weak[0].key])
    says = "pod default/weak-1 of gang weak cannot be deleted: 403: told to answer 403"
    until(lambda: says in cluster.reason(strong))
    assert says in cluster.why("strong")
    for _ in range(2):
        before = cluster.asked(f"DELETE {PODS}")
        cluster.wait(4)
        until(partial(lambda count: cluster.asked(f"DELETE {PODS}") > count, before))
    assert sum("told to answer 403" in x.getMessage() for x in caplog.records) == 1
    assert cluster.metric("allocator_gangs_kept_by_failure") == 1
    cluster.api.failures.clear()
    cluster.wait(4)
    until(lambda: cluster.filter(strong)["NodeNames"])


# Requests -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def api(tmp_path: Path) -> Iterator[tuple[ApiServer, KubernetesSource]]:
    server = ApiServer()
    running = Running(server)
    source = KubernetesSource(connect(kubeconfig(tmp_path, running.port)))
    yield server, source
    source.close()
    running.stop()


def listed(server: ApiServer, name: str, *sizes: int) -> list[PodObject]:
    """The server has these pods, which run."""
    things = [{**written(pod), "status": {"phase": "Running"}} for pod in gang(name, "A", *sizes)]
    for thing in things:
        server.put(thing)
    return [read_pod(thing) for thing in things]


def test_the_pods_of_a_namespace_are_listed_once_and_in_pieces(api: tuple[ApiServer, KubernetesSource]) -> None:
    """However many budgets and gangs there are."""
    server, source = api
    gangs = {f"g{n}": listed(server, f"g{n}", 1) for n in range(1203)}
    server.budgets = [counted(f"other{n}", 0, {"matchLabels": {"job": f"none{n}"}}) for n in range(9)]
    source.check_budgets(gangs)
    assert server.requests.count(f"GET {PODS}") == 3
    assert server.requests.count(f"GET {BUDGETS}") == 1
    server.budgets.append(counted("last", 1202, {}))
    with pytest.raises(BudgetError, match=r"default/last covers 1203 pods of gangs g0, .* and 1195 more, .* lets 1202"):
        source.check_budgets(gangs)


def test_without_budgets_pods_are_not_listed(api: tuple[ApiServer, KubernetesSource]) -> None:
    server, source = api
    source.check_budgets({"g": listed(server, "g", 1, 1)})
    assert server.requests.count(f"GET {PODS}") == 0


@pytest.mark.parametrize(("minor", "covers"), [("36+", True), ("22", True), ("21", False), ("20+", False)])
def test_an_empty_selector_covers_all_pods_or_none(
    api: tuple[ApiServer, KubernetesSource], minor: str, covers: bool
) -> None:
    """All in policy/v1, none in policy/v1beta1."""
    server, source = api
    server.minor, server.budgets = minor, [counted("empty", 0, {}), counted("none", 0)]
    del server.budgets[1]["spec"]["selector"]
    pods = listed(server, "g", 1, 1)
    if covers:
        with pytest.raises(BudgetError, match="default/empty covers 2 pods of gang g, and now lets 0 go"):
            source.check_budgets({"g": pods})
    else:
        source.check_budgets({"g": pods})


def test_a_budget_that_the_server_has_not_counted_yet_lets_nobody_go(
    api: tuple[ApiServer, KubernetesSource],
) -> None:
    server, source = api
    pods = listed(server, "g", 1, 1)
    server.budgets = [budget("changed", 5, {}, observedGeneration=1)]
    with pytest.raises(BudgetError, match="lets 0 go"):
        source.check_budgets({"g": pods})
    server.budgets = [counted("negative", -1, {"matchLabels": {"job": "none"}})]
    source.check_budgets({"g": pods})


def test_what_a_server_answers_to_an_eviction(api: tuple[ApiServer, KubernetesSource]) -> None:
    server, source = api
    first, second = listed(server, "g", 1, 1)
    server.budgets = [counted("keep", 1, {})]
    assert source.evict(first)
    assert not source.evict(first), "it is gone"
    with pytest.raises(BudgetError, match="The disruption budget keep needs 2 healthy pods"):
        source.evict(second)
    server.failures["POST"], server.retry_after = [429, 503], "7"
    for _ in range(2):
        with pytest.raises(OverloadError) as caught:
            source.evict(second)
        assert caught.value.seconds == 7
