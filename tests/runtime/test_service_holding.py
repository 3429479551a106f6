"""A bound pod keeps its devices, whatever is written on it: over HTTP, with no journal to remember it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusters import config, gang, nodes
from serving import Cluster, node, until, written
from tiers import today

from runtime import Bind, Pod
from runtime.allocator import Allocator
from runtime.annotations import BIND_INFO, ISOLATION, SPEC, write_bind_info

pytestmark = pytest.mark.full(reason="a minute: a server that holds requests")

ONE = config(nodes("a"), A={"NODE": 1})

Annotations = dict[str, str]
Change = Callable[[Annotations], Annotations]


def said(**more: object) -> Change:
    """Other fields in the specification."""
    return lambda old: {**old, SPEC: json.dumps({**json.loads(old[SPEC]), **more})}


def without(*names: str) -> Change:
    return lambda old: {name: text for name, text in old.items() if name not in names}


def instead(**texts: str) -> Change:
    names = {"spec": SPEC, "info": BIND_INFO, "isolation": ISOLATION}
    return lambda old: {**old, **{names[name]: text for name, text in texts.items()}}


def elsewhere(old: Annotations) -> Annotations:
    """The bind info of another node."""
    return {**old, BIND_INFO: old[BIND_INFO].replace('"a"', '"b"')}


def of_a_smaller_gang(old: Annotations) -> Annotations:
    """As if the gang were this pod alone."""
    members = [{"podNumber": 1, "leafCellNumber": 2}]
    return said(affinityGroup={"name": "g", "members": members})(old)


CHANGES: dict[str, Change] = {
    "another leaf cell type": said(leafCellType="GPU"),
    "another priority": said(priority=9),
    "another virtual cluster": said(virtualCluster="nobody"),
    "a key of HiveD's past": said(reservationId="r-1"),
    "a key that means nothing": said(whatever={"a": [1]}),
    "a priority that there is not": said(priority=5000),
    "another number of devices": said(leafCellNumber=1),
    "another form of the gang": of_a_smaller_gang,
    "no YAML": instead(spec="{a: [1"),
    "no specification": without(SPEC),
    "a long specification": instead(spec="# " + "x" * 300_000),
    "no bind info": without(BIND_INFO),
    "bind info that is not YAML": instead(info="{"),
    "bind info of another node": elsewhere,
    "old isolation": lambda old: {**without(BIND_INFO, ISOLATION)(old), ISOLATION.replace("leaf-cell", "gpu"): "2,3"},
    "neither specification nor bind info": without(SPEC, BIND_INFO),
}


def placed(pods: list[Pod]) -> list[dict[str, Any]]:
    """The pods of a gang as they are once they are bound."""
    allocator = Allocator.from_config(ONE)
    allocator.node_healthy("a")
    things = []
    for pod in pods:
        answer = allocator.schedule(pod)
        assert isinstance(answer, Bind)
        allocator.allocate(pod, answer.info)
        thing = written(pod, nodeName=answer.node)
        thing["metadata"]["annotations"] |= write_bind_info(answer.info)
        things.append(thing)
    return things


def given(cluster: Cluster, *names: str) -> set[str]:
    """What opportunistic pods of two devices get, as many as there are names."""
    devices: set[str] = set()
    for name in names:
        pod = gang(name, "A", 2, priority=-1)[0]
        cluster.add(pod)
        if cluster.filter(pod)["NodeNames"]:
            devices |= set(map(str, cluster.group(name)["physicalPlacement"]["a"]))
    return devices


@pytest.mark.parametrize(("name", "first"), today([(name, first) for first in (True, False) for name in CHANGES]))
def test_a_bound_pod_keeps_its_devices(tmp_path: Path, name: str, first: bool) -> None:
    """Its sibling ends, and nobody gets its devices until it ends too. So too if it is first seen while serving."""
    change = CHANGES[name]
    one, other = gang("g", "A", 2, 2)
    things = placed([one, other])
    mine = set(things[1]["metadata"]["annotations"][ISOLATION].split(","))
    things[1]["metadata"]["annotations"] = change(things[1]["metadata"]["annotations"])
    events = [("ADDED", thing) for thing in things]
    cluster = Cluster(tmp_path, ONE)
    cluster.tell(("ADDED", node("a")), *(events if first else ()))
    cluster.nodes = ["a"]
    try:
        cluster.start()
        if not first:
            cluster.tell(*events)
        until(lambda: sum(len(x["status"]["allocatedPods"]) for x in cluster.get("affinitygroups/")["items"]) == 2)
        assert not given(cluster, "x")
        cluster.delete(one)
        assert not given(cluster, "y", "z") & mine
        cluster.stop()
        cluster.start()
        assert not given(cluster, "u", "v") & mine
        for file in tmp_path.glob("journal*"):
            file.unlink()
        cluster.restart()
        assert not given(cluster, "s", "t") & mine
        cluster.delete(other, *(gang(name, "A", 2, priority=-1)[0] for name in "xyzuvst"))
        (whole,) = gang("w", "A", 4)
        cluster.run([whole])
        cluster.end()
    finally:
        if cluster.process is not None:
            cluster.process.kill()
            cluster.process.wait()
