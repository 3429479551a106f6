"""Behind a real kube-scheduler: gangs are placed whole, displace others whole, and say what is wrong with them."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta

import httpx
import pytest
from behind import GRACE, INFO, ISOLATION, PODS, SPEC, Behind
from control_plane import until

pytestmark = pytest.mark.full(reason="takes minutes")


def test_gangs_of_both_kinds_are_bound_whole(behind: Behind) -> None:
    names = []
    for n in range(6):
        names += behind.gang(f"train-{n}", "research" if n % 2 else "product", 10 * n, (4, 4))
        names += behind.gang(f"mixed-{n}", "product", n, (2, 1), (1, 4))
        names += behind.gang(f"cheap-{n}", "research", -1, (2, 2))
    behind.await_bound(*names)
    behind.settled()
    groups = behind.allocator.get("/v1/inspect/affinitygroups/")["items"]
    assert {x["status"]["state"] for x in groups} == {"Allocated"}
    assert len(groups) == 18


def test_who_is_promised_cells_displaces_who_uses_them_opportunistically(behind: Behind) -> None:
    cheap = [name for n in range(4) for name in behind.gang(f"cheap-{n}", "product", -1, (8, 8))]
    behind.await_bound(*cheap)
    guaranteed = behind.gang("guaranteed", "research", 5, (8, 8))
    behind.await_bound(*guaranteed)
    left = set(behind.pods()) & set(cheap)
    assert len(left) == 24, "one gang of eight pods is displaced, and no pod of others"
    assert {name.rsplit("-", 1)[0] for name in set(cheap) - left} in ({f"cheap-{n}"} for n in range(4))


def test_a_preemption_does_not_cascade(behind: Behind) -> None:
    """With `ignoreK8sSuggestedNodes: false`, a kube-scheduler never offers a node that has just been emptied."""
    weak = [name for n in range(16) for name in behind.gang(f"weak-{n}", "product", 1, (1, 8))]
    behind.await_bound(*weak)
    strong = behind.gang("strong", "product", 100, (4, 8), ignoreK8sSuggestedNodes=False)
    behind.await_bound(*strong)
    behind.settled()
    staying = [x for x in behind.pods().values() if "deletionTimestamp" not in x["metadata"]]
    assert len(staying) == 16 - 4 + 4, "four victims are enough"


def test_victims_leave_together(behind: Behind) -> None:
    """A kube-scheduler deletes the victims on one node for each pod: one after the other, they would take 8 * GRACE."""
    weak = [name for n in range(2) for name in behind.gang(f"weak-{n}", "product", 1, (8, 8))]
    behind.await_bound(*weak)
    begun = time.monotonic()
    strong = behind.gang("strong", "product", 100, (1, 8))
    leaving: dict[str, datetime] = {}

    def happened() -> bool:
        for name, pod in behind.pods().items():
            about = pod["metadata"]
            if "deletionTimestamp" in about:  # when it is to be gone; who asks for less grace later moves it
                grace = timedelta(seconds=about["deletionGracePeriodSeconds"])
                leaving[name] = datetime.fromisoformat(about["deletionTimestamp"]) - grace
        return behind.bound(*strong)

    until(happened, "the pod is bound")
    took = time.monotonic() - begun
    assert len(leaving) == 8, "one gang, whole"
    assert (max(leaving.values()) - min(leaving.values())).seconds < GRACE, leaving
    assert took < GRACE + 5, f"{took:.1f} s"
    behind.settled()
    assert len(behind.pods()) == 8 + 1


def test_annotations_that_are_put_right_count(behind: Behind) -> None:
    right = json.dumps({"virtualCluster": "research", "priority": 0, "leafCellNumber": 1})
    wrong = {"none": "", "yaml": "{a: [1", "nobody": right.replace("research", "nobody")}
    for name, text in wrong.items():
        behind.pod(name, text)
    until(lambda: all(behind.reasons(name) for name in wrong), "each pod says why it waits")
    assert "has no annotation" in behind.reasons("none")
    assert "there is no virtual cluster nobody" in behind.reasons("nobody")
    for name in wrong:
        behind.annotate(name, right)
    behind.await_bound(*wrong)


def test_bad_annotations_disturb_nobody_else(behind: Behind) -> None:
    member = {"name": "default/mine", "members": [{"podNumber": 1, "leafCellNumber": 2}]}
    asked = {"virtualCluster": "research", "priority": 1, "leafCellNumber": 2}
    bad = [
        json.dumps({**asked, "leafCellNumber": 0}),
        json.dumps({**asked, "priority": 10**9}),
        json.dumps({**asked, "leafCellNumber": 3, "affinityGroup": member}),
        json.dumps({**asked, "pinnedCellId": "there is no such"}),
        json.dumps({**asked, "virtualCluster": "\0"}),
        "&a [*a, *a]",
        "[" * 100_000,
        json.dumps({**asked, "affinityGroup": {"name": "default/x" * 5_000, "members": member["members"]}}),
        json.dumps({**asked, "leafCellNumber": 10**6}),
    ]
    names = [behind.pod(f"bad-{n}", text)["metadata"]["name"] for n, text in enumerate(bad)]
    good = behind.gang("good", "research", 5, (2, 4))
    behind.await_bound(*good)
    until(lambda: all(behind.reasons(x) for x in names[:-2]), "each of them says why it waits")
    assert not behind.bound(names[0])
    assert "\0" not in behind.allocator.log()
    behind.delete(*names, force=True)


def test_a_bound_pod_keeps_its_devices_whatever_is_written_on_it(behind: Behind) -> None:
    names = behind.gang("first", "research", 5, (1, 8))
    behind.await_bound(*names)
    before = behind.places()
    behind.annotate(names[0], "{nonsense")
    behind.allocator.end()
    behind.allocator.journal.unlink()
    behind.allocator.start()
    others = [name for n in range(15) for name in behind.gang(f"more-{n}", "research", 5, (1, 8))]
    behind.await_bound(*others)
    assert behind.places().items() >= before.items()
    (problem,) = behind.allocator.get("/v2/inspect/problems")["items"]
    assert problem["pod"] == "default/first-0"
    behind.delete(*names, force=True)


def test_a_pod_that_somebody_else_binds(behind: Behind) -> None:
    """It is where it is: its own place is refused to it, and is free again."""
    asked = {"virtualCluster": "research", "priority": 5, "leafCellNumber": 8}
    pod = behind.pod("stolen", asked, schedulerName="nobody")
    nodes = [f"node-{n}" for n in range(1, 33)]
    base = f"http://{behind.allocator.address}/v1/extender"

    def filtered() -> str:
        answer = httpx.post(f"{base}/filter", json={"Pod": pod, "NodeNames": nodes}, timeout=60).json()
        return str((answer["NodeNames"] or [""])[0])

    node = until(filtered, "it has a place")
    other = next(x for x in nodes if x != node)
    target = {"apiVersion": "v1", "kind": "Node", "name": other}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "stolen"}, "target": target}
    behind.plane.ask("POST", f"{PODS}/stolen/binding", binding)
    request = {"PodUID": pod["metadata"]["uid"], "PodNamespace": "default", "PodName": "stolen", "Node": node}
    answer = httpx.post(f"{base}/bind", json=request, timeout=60).json()
    assert answer["Error"], "it is bound elsewhere"
    others = [name for n in range(2) for name in behind.gang(f"full-{n}", "product", 5, (8, 8))]
    behind.await_bound(*others)
    behind.delete("stolen", force=True)


def test_a_pod_that_has_taken_the_name_of_another_is_not_bound_for_it(behind: Behind) -> None:
    """Servers up to 1.20 at least bind whoever has the name, whatever uid the binding says."""
    asked = {"virtualCluster": "research", "priority": 5, "leafCellNumber": 8}
    old = behind.pod("name", asked, schedulerName="nobody")
    nodes = [f"node-{n}" for n in range(1, 33)]
    base = f"http://{behind.allocator.address}/v1/extender"

    def filtered() -> str:
        answer = httpx.post(f"{base}/filter", json={"Pod": old, "NodeNames": nodes}, timeout=60).json()
        return str((answer["NodeNames"] or [""])[0])

    node = until(filtered, "it has a place")
    behind.delete("name", force=True)
    new = behind.pod("name", asked, schedulerName="nobody")
    until(lambda: [x for x in behind.allocator.get("/v2/inspect/gangs/")["items"] if x["waitingPods"]], "it is known")
    request = {"PodUID": old["metadata"]["uid"], "PodNamespace": "default", "PodName": "name", "Node": node}
    assert httpx.post(f"{base}/bind", json=request, timeout=60).json()["Error"]
    assert new["metadata"]["uid"] not in behind.places()
    behind.delete("name", force=True)


def test_a_running_pod_carries_what_its_containers_need(behind: Behind) -> None:
    names = behind.gang("one", "product", 3, (1, 2))
    behind.await_bound(*names)
    notes = behind.pods()[names[0]]["metadata"]["annotations"]
    assert {SPEC, INFO, ISOLATION} <= notes.keys()
    assert len(notes[ISOLATION].split(",")) == 2
