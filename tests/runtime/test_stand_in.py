"""The stand-in for a cluster has the rules that were measured behind a real one: each of them once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from stand_in.api_server import ApiServer
from stand_in.client import AnswerError, Client
from stand_in.http_server import Request, Response, Stream
from stand_in.kube_scheduler import KubeScheduler
from stand_in.kubelets import node, running
from stand_in.patches import PatchError, PatchTestError, json_patch, merge, strategic
from stand_in.scheduling_queue import SPIN_SECONDS
from stand_in.store import Change, Thing

ADMIN, ALLOCATOR = "admin-token", "allocator-token"
ACCOUNT = "system:serviceaccount:kube-system:allocator"
PODS = "/api/v1/namespaces/default/pods"
MANAGED = "hivedscheduler.microsoft.com/pod-scheduling-enable"
GATE = "hivedscheduler.microsoft.com/gang"
MERGE, STRATEGIC, JSON_PATCH = (f"application/{x}+json" for x in ("merge-patch", "strategic-merge-patch", "json-patch"))


class Local(Client):
    """Requests without a connection."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder, self.options = folder, options
        users = {
            ADMIN: {"name": "admin", "groups": ["system:masters"]},
            ALLOCATOR: {"name": ACCOUNT, "groups": []},
        }
        (folder / "tokens.json").write_text(json.dumps(users))
        self.token = ADMIN
        self.restart()

    def restart(self) -> None:
        """As after a kill: another process reads what there is."""
        self.server = ApiServer(self.folder, **self.options)

    def handle(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Response | Stream:
        path, _, query = path.partition("?")
        parameters = dict(x.split("=", 1) for x in query.split("&") if x)
        headers = {"authorization": f"Bearer {self.token}", "content-type": kind}
        return self.server.handle(
            Request(method, path, parameters, headers, b"" if body is None else json.dumps(body).encode())
        )

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Thing:
        answer = self.handle(method, path, body, kind)
        assert isinstance(answer, Response)
        if answer.status >= 400:
            raise AnswerError(answer.status, answer.body.decode())
        return dict(json.loads(answer.body))

    def refused(self, code: int, method: str, path: str, body: Any = None, kind: str = "application/json") -> str:
        """The message of a Status."""
        with pytest.raises(AnswerError) as caught:
            self.ask(method, path, body, kind)
        assert caught.value.code == code, caught.value
        return str(caught.value)

    def pod(self, name: str, limits: dict[str, str] | None = None, **spec: Any) -> Thing:
        """Creates a pod."""
        metadata = {"name": name, **spec.pop("metadata", {})}
        container = {"name": "c", "image": "i", "resources": {"limits": limits or {MANAGED: "1"}}}
        body = {"metadata": metadata, "spec": {"schedulerName": "gangs", "containers": [container], **spec}}
        return self.ask("POST", PODS, body)

    def bind(self, name: str, target: str = "node-1", **metadata: Any) -> None:
        """Posts a Binding, and runs the pod."""
        body = {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": target}}
        self.ask("POST", f"{PODS}/{name}/binding", body)
        pod = self.ask("GET", f"{PODS}/{name}")
        self.ask("PATCH", f"{PODS}/{name}/status", {"status": running(pod)}, MERGE)


@pytest.fixture
def api(tmp_path: Path) -> Local:
    return Local(tmp_path)


# The API server


def test_what_was_answered_survives_a_kill(api: Local) -> None:
    pod = api.pod("one")
    api.pod("two")
    api.ask("DELETE", f"{PODS}/two")
    with (api.folder / "changes.jsonl").open("a") as torn:
        torn.write('{"time": 1, "version": 99')
    before = api.ask("GET", PODS)
    api.restart()
    assert api.ask("GET", PODS) == before
    assert api.ask("GET", f"{PODS}/one") == pod
    third = api.pod("three")
    assert int(third["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    api.restart()
    assert {x["metadata"]["name"] for x in api.ask("GET", PODS)["items"]} == {"one", "three"}


class Sink:
    """What a stream sends."""

    def __init__(self) -> None:
        self.lines: list[Thing] = []

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        if not data.startswith(b"0\r\n"):
            self.lines.append(json.loads(data.split(b"\r\n")[1]))


def watched(api: Local, path: str, happens: Callable[[], object]) -> list[tuple[str, str]]:
    """Types of events and names of objects."""
    sink = Sink()

    async def run() -> None:
        stream = api.handle("GET", path)
        assert isinstance(stream, Stream)
        stream.transport = sink  # type: ignore[assignment]
        stream.begin(stream)
        happens()
        stream.close()

    asyncio.run(run())
    return [
        (x["type"], x["object"].get("metadata", {}).get("name") or str(x["object"].get("code", ""))) for x in sink.lines
    ]


def test_watches_tell_what_has_happened_since_a_version(api: Local) -> None:
    version = api.ask("GET", PODS)["metadata"]["resourceVersion"]
    api.pod("one", metadata={"labels": {"a": "b"}})

    def happens() -> None:
        api.pod("two")
        api.ask("PATCH", f"{PODS}/one", {"metadata": {"labels": {"a": "c"}}}, MERGE)
        api.ask("PATCH", f"{PODS}/one", {"metadata": {"labels": {"a": "c"}}}, MERGE)
        api.ask("DELETE", f"{PODS}/two")

    path = f"/api/v1/pods?watch=true&resourceVersion={version}"
    seen = watched(api, path, happens)
    assert seen == [("ADDED", "one"), ("ADDED", "two"), ("MODIFIED", "one"), ("DELETED", "two")]
    assert watched(api, f"{path}&labelSelector=a=b", lambda: None) == [("ADDED", "one"), ("DELETED", "one")]


def test_selectors(api: Local) -> None:
    for name, label in (("one", "x"), ("two", "y"), ("three", "z")):
        api.pod(name, metadata={"labels": {"a": label}})
    api.pod("bare")

    def found(selector: str) -> set[str]:
        return {x["metadata"]["name"] for x in api.ask("GET", f"{PODS}?{selector}")["items"]}

    assert found("labelSelector=a=x") == {"one"}
    assert found("labelSelector=a in (x,y),a!=y") == {"one"}
    assert found("labelSelector=a notin (x,y)") == {"three", "bare"}
    assert found("labelSelector=a") == {"one", "two", "three"}
    assert found("labelSelector=!a") == {"bare"}
    assert found("fieldSelector=metadata.name=two") == {"two"}


@pytest.mark.parametrize("how", ["compaction", "restart", "too many changes"])
def test_a_forgotten_version_is_answered_with_410(tmp_path: Path, how: str) -> None:
    api = Local(tmp_path, remembered=2)
    version = api.ask("GET", PODS)["metadata"]["resourceVersion"]
    for name in ("one", "two", "three")[: 3 if how == "too many changes" else 1]:
        api.pod(name)
    match how:
        case "compaction":
            api.ask("POST", "/stand-in/compact")
        case "restart":
            api.restart()
    path = "/api/v1/pods?watch=true&resourceVersion="
    assert watched(api, f"{path}{version}", lambda: None) == [("ERROR", "410")]
    latest = api.ask("GET", PODS)["metadata"]["resourceVersion"]
    assert watched(api, f"{path}{latest}", lambda: api.pod("more")) == [("ADDED", "more")]


def test_pages_are_of_one_version_until_that_is_forgotten(api: Local) -> None:
    for n in range(5):
        api.pod(f"pod-{n}")
    first = api.ask("GET", f"{PODS}?limit=2")
    api.ask("DELETE", f"{PODS}/pod-4")
    token = first["metadata"]["continue"]
    second = api.ask("GET", f"{PODS}?limit=9&continue={token}")
    assert [x["metadata"]["name"] for x in first["items"] + second["items"]] == [f"pod-{n}" for n in range(5)]
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
    assert "kind" not in first["items"][0]
    token = api.ask("GET", f"{PODS}?limit=2")["metadata"]["continue"]
    api.ask("POST", "/stand-in/compact")
    assert "too old" in api.refused(410, "GET", f"{PODS}?limit=2&continue={token}")


def test_only_the_latest_version_is_replaced(api: Local) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    first = api.ask("POST", leases, {"metadata": {"name": "x"}, "spec": {"holderIdentity": "a"}})
    api.ask("PUT", f"{leases}/x", {**first, "spec": {"holderIdentity": "b"}})
    assert "modified" in api.refused(409, "PUT", f"{leases}/x", {**first, "spec": {"holderIdentity": "c"}})
    assert "already exists" in api.refused(409, "POST", leases, {"metadata": {"name": "x"}})


def test_a_binding_must_be_of_the_pod_that_is_meant(api: Local) -> None:
    pod = api.pod("one")
    body = {"metadata": {"name": "one", "uid": "another"}, "target": {"kind": "Node", "name": "node-1"}}
    assert "Precondition failed: UID in precondition" in api.refused(409, "POST", f"{PODS}/one/binding", body)
    api.bind("one", uid=pod["metadata"]["uid"], annotations={"a": "b"})
    bound = api.ask("GET", f"{PODS}/one")
    assert (bound["spec"]["nodeName"], bound["metadata"]["annotations"]) == ("node-1", {"a": "b"})
    body["metadata"]["uid"] = pod["metadata"]["uid"]
    assert "already assigned" in api.refused(409, "POST", f"{PODS}/one/binding", body)
    api.pod("gated", schedulingGates=[{"name": GATE}])
    body["metadata"] = {"name": "gated"}
    assert "schedulingGates" in api.refused(409, "POST", f"{PODS}/gated/binding", body)


def affinity(*terms: Thing) -> Thing:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeAffinity": required}


NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
LABELLED = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}


def test_gates_can_only_be_removed_and_selection_only_narrowed(api: Local) -> None:
    path = f"{PODS}/one"
    api.pod(
        "one", schedulingGates=[{"name": GATE}, {"name": "other"}], affinity=affinity(LABELLED), nodeSelector={"a": "b"}
    )
    (condition,) = api.ask("GET", path)["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulingGated")

    def patch(spec: Thing) -> Thing:
        return api.ask("PATCH", path, {"spec": spec}, MERGE)

    def wrong(spec: Thing) -> str:
        return api.refused(422, "PATCH", path, {"spec": spec}, MERGE)

    assert "only deletion is allowed" in wrong({"schedulingGates": [{"name": "new"}]})
    assert "nodeSelector" in wrong({"nodeSelector": {"a": "c"}})
    assert "NodeSelectorTerms" in wrong({"affinity": affinity(LABELLED, NAMED)})
    assert "only additions" in wrong({"affinity": affinity(NAMED)})
    assert "may not change" in wrong({"schedulerName": "another"})
    both = affinity({**LABELLED, **NAMED})
    patch({"affinity": both, "nodeSelector": {"more": "x"}, "schedulingGates": [{"name": "other"}]})
    wide = {**NAMED["matchFields"][0], "values": ["node-1", "node-2"]}
    assert "only one value" in wrong({"affinity": affinity({**LABELLED, "matchFields": [*NAMED["matchFields"], wide]})})
    # The last gate goes in the same step as what it guards comes; from then on, the spec stays.
    patch({"nodeSelector": {"last": "x"}, "schedulingGates": None})
    assert "may not change" in wrong({"nodeSelector": {"later": "x"}})
    assert "may not change" in wrong({"affinity": None})
    assert "only deletion is allowed" in wrong({"schedulingGates": [{"name": GATE}]})
    api.ask("PATCH", path, {"metadata": {"annotations": {"still": "allowed"}}}, MERGE)


def test_a_pod_without_a_node_is_gone_at_once_and_another_when_its_kubelet_says_so(api: Local) -> None:
    api.pod("waits")
    api.ask("DELETE", f"{PODS}/waits")
    api.refused(404, "GET", f"{PODS}/waits")
    pod = api.pod("runs", terminationGracePeriodSeconds=7)
    api.bind("runs")
    wrong = {"preconditions": {"uid": "another"}}
    assert "UID in precondition" in api.refused(409, "DELETE", f"{PODS}/runs", wrong)
    leaving = api.ask("DELETE", f"{PODS}/runs", {"preconditions": {"uid": pod["metadata"]["uid"]}})
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 7
    assert api.ask("DELETE", f"{PODS}/runs") == leaving, "whoever asks again changes nothing"
    assert api.ask("DELETE", f"{PODS}/runs", {"gracePeriodSeconds": 3})["metadata"]["deletionGracePeriodSeconds"] == 3
    api.ask("DELETE", f"{PODS}/runs", {"gracePeriodSeconds": 0})
    api.refused(404, "GET", f"{PODS}/runs")


def test_an_eviction_is_refused_where_a_budget_forbids_it(api: Local) -> None:
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    selector = {"matchLabels": {"app": "x"}}
    api.ask("POST", budgets, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}})
    pods = {n: api.pod(n, metadata={"labels": {"app": "x"}}) for n in ("one", "two")}
    api.bind("one")
    assert api.ask("GET", f"{budgets}/b")["status"]["disruptionsAllowed"] == 0
    api.bind("two")
    assert api.ask("GET", f"{budgets}/b")["status"]["disruptionsAllowed"] == 1

    def evict(name: str, uid: str) -> Callable[[], Thing]:
        body = {"metadata": {"name": name}, "deleteOptions": {"preconditions": {"uid": uid}}}
        return lambda: api.ask("POST", f"{PODS}/{name}/eviction", body)

    with pytest.raises(AnswerError, match="UID in precondition"):
        evict("one", "another")()
    evict("one", pods["one"]["metadata"]["uid"])()
    assert "deletionTimestamp" in api.ask("GET", f"{PODS}/one")["metadata"]
    with pytest.raises(AnswerError) as caught:
        evict("two", pods["two"]["metadata"]["uid"])()
    assert caught.value.code == 429
    assert "violate the pod's disruption budget" in str(caught.value)
    assert '"reason":"DisruptionBudget"' in str(caught.value)
    evict("one", pods["one"]["metadata"]["uid"])()


def test_priorities_come_from_classes(api: Local) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    api.ask("POST", classes, {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"})
    spec = api.pod("one", priorityClassName="high")["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")
    assert api.pod("two")["spec"]["priority"] == 0
    body = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c"}], "priorityClassName": "none"}}
    assert "no PriorityClass with name none was found" in api.refused(403, "POST", PODS, body)


def test_roles_are_enforced(api: Local) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
    ]
    own = {"kind": "ServiceAccount", "name": "allocator", "namespace": "kube-system"}
    reference = {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
    api.ask("POST", f"{rbac}/clusterroles", {"metadata": {"name": "r"}, "rules": rules})
    api.pod("one")
    api.token = ALLOCATOR
    assert "cannot list resource" in api.refused(403, "GET", PODS)
    api.token = ADMIN
    binding = {"metadata": {"name": "r"}, "roleRef": reference, "subjects": [own]}
    api.ask("POST", f"{rbac}/clusterrolebindings", binding)
    api.token = ALLOCATOR
    api.ask("GET", PODS)
    api.ask("POST", f"{PODS}/one/binding", {"metadata": {"name": "one"}, "target": {"name": "n"}})
    api.refused(403, "DELETE", f"{PODS}/one")
    api.refused(403, "GET", "/api/v1/pods?watch=true&resourceVersion=1")
    attributes = {"verb": "create", "resource": "pods", "subresource": "binding", "namespace": "default"}
    review = {"spec": {"user": ACCOUNT, "resourceAttributes": attributes}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert api.ask("POST", path, review)["status"]["allowed"]
    attributes["subresource"] = "eviction"
    assert not api.ask("POST", path, review)["status"]["allowed"]


def test_pod_groups_are_there_where_they_are_served(tmp_path: Path) -> None:
    path = "/apis/scheduling.k8s.io/v1alpha2"
    api = Local(tmp_path)
    body = {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    api.ask("POST", f"{path}/namespaces/default/podgroups", body)
    assert [x["name"] for x in api.ask("GET", path)["resources"]] == ["podgroups", "podgroups/status"]
    without = Local(tmp_path, without=("scheduling.k8s.io/v1alpha2",))
    without.refused(404, "GET", path)
    without.refused(404, "GET", f"{path}/podgroups")


def test_events_have_two_forms(api: Local) -> None:
    new = {
        "metadata": {"generateName": "x."},
        "regarding": {"kind": "Pod", "name": "x"},
        "note": "why",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }
    api.ask("POST", "/apis/events.k8s.io/v1/namespaces/default/events", new)
    (old,) = api.ask("GET", "/api/v1/namespaces/default/events")["items"]
    assert (old["involvedObject"]["name"], old["message"]) == ("x", "why")


def test_patches() -> None:
    assert merge({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": [3]}}) == {"a": {"c": 2, "d": [3]}}
    conditions = [{"type": "Ready", "status": "True"}]
    new = strategic({"conditions": conditions}, {"conditions": [{"type": "PodScheduled", "status": "False"}]})
    assert [x["type"] for x in new["conditions"]] == ["Ready", "PodScheduled"]
    assert strategic(
        {"schedulingGates": [{"name": "a"}, {"name": "b"}]}, {"schedulingGates": [{"name": "a", "$patch": "delete"}]}
    ) == {"schedulingGates": [{"name": "b"}]}
    test = {"op": "test", "path": "/a~1b/0", "value": 1}
    assert json_patch({"a/b": [1]}, [test, {"op": "add", "path": "/a~1b/-", "value": 2}]) == {"a/b": [1, 2]}
    with pytest.raises(PatchTestError):
        json_patch({"a/b": [2]}, [test])
    for wrong in (
        {"op": "remove", "path": "/x"},
        {"op": "replace", "path": "/x", "value": 1},
        {"op": "add", "path": "x"},
    ):
        with pytest.raises(PatchError):
            json_patch({}, [wrong])


# The kube-scheduler


class Now:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def _sides(change: Change) -> tuple[Thing | None, Thing | None]:
    """An object before and after a change."""
    return None if change.old is None else change.old.thing, None if change.what == "DELETED" else change.new.thing


class Inline:
    """Runs what others run in threads."""

    def submit(self, run: Callable[..., object], *arguments: object) -> None:
        run(*arguments)


class Rig:
    """A kube-scheduler beside an API server, with an extender whose answers the test gives."""

    def __init__(self, api: Local) -> None:
        self.api, self.now = api, Now()
        extender = {
            "urlPrefix": "http://nobody",
            "filterVerb": "filter",
            "preemptVerb": "preempt",
            "bindVerb": "bind",
            "nodeCacheCapable": True,
            "managedResources": [{"name": MANAGED, "ignoredByScheduler": True}],
        }
        profiles = [{"schedulerName": "gangs"}, {"schedulerName": "default-scheduler"}]
        configuration = {"profiles": profiles, "extenders": [extender]}
        self.scheduler = KubeScheduler(api, configuration, api.folder / "calls", self.now)
        self.scheduler._binders = Inline()  # type: ignore[assignment]
        self.calls: list[tuple[str, Thing]] = []
        self.answers: dict[str, Callable[[Thing], Thing]] = {"bind": self._bind}
        self.scheduler.extenders[0]._post = self._post  # type: ignore[method-assign]
        listeners = api.server.store.listeners
        listeners["nodes"].append(lambda x: self.scheduler.node_changed(*_sides(x)))
        listeners["pods"].append(lambda x: self.scheduler.pod_changed(*_sides(x)))
        for n in (1, 2):
            api.ask("POST", "/api/v1/nodes", node(f"node-{n}", {"gpu": "8"}))
        for name, value in (("low", 1), ("high", 9)):
            path = "/apis/scheduling.k8s.io/v1/priorityclasses"
            api.ask("POST", path, {"metadata": {"name": name}, "value": value})

    def _post(self, path: str, body: bytes) -> Thing:
        verb, asked = path.rpartition("/")[2], json.loads(body)
        self.calls.append((verb, asked))
        return self.answers[verb](asked)

    def _bind(self, asked: Thing) -> Thing:
        self.api.bind(asked["PodName"], asked["Node"], uid=asked["PodUID"])
        return {"Error": ""}

    def run(self, seconds: float, step: float = 0.01) -> list[float]:
        """When `filter` was called, for as long as it is run."""
        moments: list[float] = []
        ends = self.now.seconds + seconds
        while self.now.seconds < ends:
            while (queued := self.scheduler.queue.poll()) is not None:
                before = len(self.calls)
                self.scheduler.attempt(queued)
                moments += [self.now.seconds for verb, _ in self.calls[before:] if verb == "filter"]
            self.now.seconds += step
        return moments

    def runs(self, name: str, **spec: Any) -> None:
        """A pod that is bound to the first node."""
        self.answers["filter"] = lambda _: {"NodeNames": ["node-1"]}
        self.api.pod(name, **spec)
        self.run(0.1)
        assert self.api.ask("GET", f"{PODS}/{name}")["spec"]["nodeName"] == "node-1"

    def message(self, name: str) -> str:
        conditions = self.api.ask("GET", f"{PODS}/{name}")["status"]["conditions"]
        return next(str(x["message"]) for x in conditions if x["type"] == "PodScheduled")


@pytest.fixture
def rig(api: Local) -> Iterator[Rig]:
    rig = Rig(api)
    yield rig
    assert not [x for x in rig.calls if x[0] == "preempt" and not x[1]["NodeNameToMetaVictims"]]


def failed(asked: Thing) -> Thing:
    return {"FailedNodes": {**dict.fromkeys(asked["NodeNames"], "no"), "component": "gang x waits"}}


def unresolvable(asked: Thing) -> Thing:
    hopeless = dict.fromkeys(asked["NodeNames"], "see component")
    return {"FailedNodes": {"component": "gang x waits"}, "FailedAndUnresolvableNodes": hopeless}


def test_a_pod_is_bound_by_the_extender_with_its_uid(rig: Rig) -> None:
    rig.runs("one")
    (_, asked), (verb, bound) = rig.calls
    assert asked["NodeNames"] == ["node-1", "node-2"]
    assert (verb, bound["PodUID"]) == ("bind", asked["Pod"]["metadata"]["uid"])
    entries = [json.loads(x)["verb"] for x in (rig.api.folder / "calls").read_text().splitlines()]
    assert entries == ["filter", "bind"]


def test_a_pod_that_asks_for_nothing_of_the_extender_is_bound_without_it(rig: Rig) -> None:
    rig.api.pod("plain", {"cpu": "1"}, schedulerName="default-scheduler", affinity=affinity(NAMED))
    rig.api.pod("gated", {"cpu": "1"}, schedulerName="default-scheduler", schedulingGates=[{"name": GATE}])
    rig.run(1)
    assert rig.api.ask("GET", f"{PODS}/plain")["spec"]["nodeName"] == "node-1"
    assert "nodeName" not in rig.api.ask("GET", f"{PODS}/gated")["spec"]
    assert "Scheduling is blocked" in rig.message("gated"), "it is not even tried"
    gone = [{"op": "remove", "path": "/spec/schedulingGates"}]
    rig.api.ask("PATCH", f"{PODS}/gated", gone, JSON_PATCH)
    rig.run(1)
    assert rig.api.ask("GET", f"{PODS}/gated")["spec"]["nodeName"]
    assert not rig.calls


def test_failed_nodes_with_weaker_pods_are_tried_again_without_pause(rig: Rig) -> None:
    rig.runs("weak", priorityClassName="low")
    rig.answers["filter"] = failed
    rig.api.pod("strong", priorityClassName="high")
    version = rig.api.server.store.version
    moments = rig.run(10)
    assert 16 * 10 <= len(moments) <= 17 * 10 + 1, len(moments)
    assert max(b - a for a, b in pairwise(moments)) < 2 * SPIN_SECONDS
    assert rig.api.server.store.version - version >= len(moments), "each with a patch of the status"
    assert not [verb for verb, _ in rig.calls if verb == "preempt"]


@pytest.mark.parametrize("how", ["unresolvable", "never", "nobody is weaker"])
def test_otherwise_a_rejected_pod_is_quiet_after_two_calls(rig: Rig, how: str) -> None:
    rig.runs("weak", priorityClassName="high" if how == "nobody is weaker" else "low")
    rig.answers["filter"] = unresolvable if how == "unresolvable" else failed
    policy: dict[str, Any] = {"preemptionPolicy": "Never"} if how == "never" else {}
    rig.api.pod("strong", priorityClassName="high", **policy)
    assert len(rig.run(250, 0.25)) == 2
    assert rig.run(120, 0.25), "it is tried again after 5 to 5.5 minutes"


def test_any_event_of_a_node_or_a_pod_wakes_but_a_heartbeat(rig: Rig) -> None:
    rig.answers["filter"] = unresolvable
    rig.api.pod("one")
    rig.run(20)
    beat = {"status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "now"}]}}
    rig.api.ask("PATCH", "/api/v1/nodes/node-1/status", beat, STRATEGIC)
    assert not rig.run(20)
    rig.api.ask("PATCH", "/api/v1/nodes/node-1", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert len(rig.run(20)) == 1
    rig.api.pod("other", {"cpu": "1"}, schedulerName="nobody")
    assert len(rig.run(20)) == 1
    rig.api.ask("DELETE", f"{PODS}/other")
    assert len(rig.run(20)) == 1


def test_errors_of_the_extender_are_retried_after_the_back_off(rig: Rig) -> None:
    rig.answers["filter"] = lambda _: {"Error": "not now"}
    rig.api.pod("one")
    moments = rig.run(40)
    pauses = [round(b - a) for a, b in pairwise(moments)]
    assert pauses == [1, 2, 4, 8, 10, 10]
    assert rig.message("one") == "not now"
    rig.answers["filter"] = lambda _: {"NodeNames": ["node-7"]}
    rig.run(11)
    assert "not found in the input node list" in rig.message("one")


def test_a_refused_binding_is_retried_after_the_back_off(rig: Rig) -> None:
    rig.answers |= {"filter": lambda _: {"NodeNames": ["node-1"]}, "bind": lambda _: {"Error": "later"}}
    rig.api.pod("one")
    assert len(rig.run(8)) == 4
    rig.answers["bind"] = rig._bind
    rig.run(10)
    assert rig.api.ask("GET", f"{PODS}/one")["spec"]["nodeName"] == "node-1"


def test_preempt_is_asked_only_where_its_own_filters_need_victims(rig: Rig) -> None:
    rig.runs("weak", limits={MANAGED: "1", "gpu": "8"}, priorityClassName="low")
    uid = rig.api.ask("GET", f"{PODS}/weak")["metadata"]["uid"]
    rig.answers |= {
        "filter": failed,
        "preempt": lambda asked: {"NodeNameToMetaVictims": asked["NodeNameToMetaVictims"]},
    }
    rig.api.pod("strong", {MANAGED: "1", "gpu": "8"}, priorityClassName="high")
    rig.run(1)
    (asked,) = [x["NodeNameToMetaVictims"] for verb, x in rig.calls if verb == "preempt"]
    assert asked == {"node-1": {"Pods": [{"UID": uid}], "NumPDBViolations": 0}}
    assert "deletionTimestamp" in rig.api.ask("GET", f"{PODS}/weak")["metadata"]
    assert rig.api.ask("GET", f"{PODS}/strong")["status"]["nominatedNodeName"] == "node-1"


def test_nobody_is_deleted_where_the_extender_names_no_victims(rig: Rig) -> None:
    rig.runs("weak", limits={MANAGED: "1", "gpu": "8"}, priorityClassName="low")
    rig.answers |= {"filter": failed, "preempt": lambda _: {"NodeNameToMetaVictims": {"node-1": {"Pods": []}}}}
    rig.api.pod("strong", {MANAGED: "1", "gpu": "8"}, priorityClassName="high")
    rig.run(1)
    assert "deletionTimestamp" not in rig.api.ask("GET", f"{PODS}/weak")["metadata"]
    assert "nominatedNodeName" not in rig.api.ask("GET", f"{PODS}/strong")["status"]


def test_the_message_counts_the_nodes_of_each_reason(rig: Rig) -> None:
    rig.api.ask("PATCH", "/api/v1/nodes/node-2", {"spec": {"unschedulable": True}}, MERGE)
    rig.answers["filter"] = unresolvable
    rig.api.pod("one")
    rig.run(1)
    assert rig.calls[0][1]["NodeNames"] == ["node-1"]
    assert rig.message("one").startswith(
        "0/2 nodes are available: 1 gang x waits, 1 node(s) were unschedulable, 1 see component. preemption: 0/2"
    )


def test_the_strongest_pod_is_first_then_the_oldest(rig: Rig) -> None:
    rig.answers["filter"] = lambda asked: {"NodeNames": asked["NodeNames"][:1]}
    for name, priority in (("old", "low"), ("young", "low"), ("strong", "high")):
        rig.api.pod(name, priorityClassName=priority)
        rig.now.seconds += 1
    rig.run(1)
    assert [x["Pod"]["metadata"]["name"] for verb, x in rig.calls if verb == "filter"] == ["strong", "old", "young"]


def test_nodes_that_its_own_filters_reject_are_not_offered(rig: Rig) -> None:
    taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    rig.api.ask("PATCH", "/api/v1/nodes/node-1", {"spec": {"taints": taints}}, MERGE)
    rig.answers["filter"] = unresolvable
    rig.api.pod("one")
    rig.api.pod("tolerates", tolerations=[{"operator": "Exists"}])
    rig.api.pod("elsewhere", affinity=affinity(NAMED))
    rig.run(1)
    offered = {x["Pod"]["metadata"]["name"]: x["NodeNames"] for verb, x in rig.calls if verb == "filter"}
    assert offered == {"one": ["node-2"], "tolerates": ["node-1", "node-2"]}
