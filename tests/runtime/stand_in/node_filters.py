"""What a kube-scheduler itself looks at: whether a node takes a pod, and whom it would have to displace there."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import cache

from stand_in.store import Thing

SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12} | {
    f"{letter}i": 1024 ** (n + 1) for n, letter in enumerate("KMGTP")
}


class Failure(Enum):
    """Whether displacing pods may help (from its sources: Unschedulable, UnschedulableAndUnresolvable)."""

    RESOLVABLE = 1
    UNRESOLVABLE = 2


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a node does not take a pod."""

    failure: Failure
    reason: str


@dataclass(slots=True)
class NodeInfo:
    """A node, and the pods that are there or are assumed to be."""

    node: Thing
    pods: dict[str, Thing] = field(default_factory=dict)
    used: Counter[str] = field(default_factory=Counter)
    room: dict[str, int] = field(init=False)
    """What the node has, in thousandths."""
    plain: bool = field(init=False)
    """Whether it is neither cordoned nor tainted."""

    def __post_init__(self) -> None:
        self.put(self.node)

    def put(self, node: Thing) -> None:
        """The node is different."""
        self.node = node
        allocatable = (node.get("status") or {}).get("allocatable") or {}
        self.room = {name: quantity(amount) for name, amount in allocatable.items()}
        spec = node.get("spec") or {}
        self.plain = not spec.get("unschedulable") and not spec.get("taints")

    def add(self, pod: Thing, ignored: frozenset[str]) -> None:
        """A pod is there, or is different."""
        self.remove(pod["metadata"]["uid"], ignored)
        if pod["status"].get("phase") not in ("Succeeded", "Failed"):
            self.pods[pod["metadata"]["uid"]] = pod
            self.used.update(requests(pod, ignored))

    def remove(self, uid: str, ignored: frozenset[str]) -> None:
        """It is there no more."""
        pod = self.pods.pop(uid, None)
        if pod is not None:
            self.used.subtract(requests(pod, ignored))


@cache
def quantity(text: str | int) -> int:
    """In thousandths."""
    found = re.fullmatch(r"([0-9.]+)(m|[kMGT]|[KMGTP]i)?", str(text))
    if found is None:
        return 0
    number, suffix = float(found[1]), found[2] or ""
    return int(number) if suffix == "m" else int(number * 1000 * SUFFIXES[suffix])


def requests(pod: Thing, ignored: frozenset[str]) -> dict[str, int]:
    """Of all containers, in thousandths. From its sources: a limit without a request is a request."""
    total = {"pods": 1000}
    for container in pod["spec"].get("containers") or ():
        resources = container.get("resources") or {}
        asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, amount in asked.items():
            if name not in ignored:
                total[name] = total.get(name, 0) + quantity(amount)
    return total


def feasible(infos: dict[str, NodeInfo], pod: Thing, asked: dict[str, int]) -> tuple[list[str], dict[str, Rejection]]:
    """Nodes that take a pod with these requests, and why the others do not."""
    anywhere = not pod["spec"].get("nodeSelector") and not pod["spec"].get("affinity")
    found: list[str] = []
    rejections: dict[str, Rejection] = {}
    for name, info in infos.items():
        # Most nodes are plain, and most pods go anywhere: all that is left is to count, which is quick.
        quick = anywhere and info.plain
        rejection = _short(info, asked) if quick else reject(info, pod, asked)
        if rejection is None:
            found.append(name)
        else:
            rejections[name] = rejection
    return found, rejections


def reject(info: NodeInfo, pod: Thing, asked: dict[str, int]) -> Rejection | None:
    """Why a node does not take a pod with these requests; none where it does.

    From its sources: the first filter that fails decides.
    """
    spec, node = info.node.get("spec") or {}, info.node
    tolerations = pod["spec"].get("tolerations") or ()
    if spec.get("unschedulable"):
        cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        if not any(_tolerates(x, cordon) for x in tolerations):
            return Rejection(Failure.UNRESOLVABLE, "node(s) were unschedulable")
    for taint in spec.get("taints") or ():
        if taint["effect"] != "PreferNoSchedule" and not any(_tolerates(x, taint) for x in tolerations):
            return Rejection(Failure.UNRESOLVABLE, "node(s) had untolerated taint(s)")
    if not _selected(node, pod):
        return Rejection(Failure.UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector")
    return _short(info, asked)


def _short(info: NodeInfo, asked: dict[str, int], freed: Counter[str] | None = None) -> Rejection | None:
    for name, amount in asked.items():
        if name not in info.room and name == "pods":
            continue
        used = info.used.get(name, 0) - (freed[name] if freed else 0)
        if used + amount > info.room.get(name, 0):
            reason = "Too many pods" if name == "pods" else f"Insufficient {name}"
            hopeless = amount > info.room.get(name, 0)
            return Rejection(Failure.UNRESOLVABLE if hopeless else Failure.RESOLVABLE, reason)
    return None


def _tolerates(toleration: Thing, taint: Thing) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def _selected(node: Thing, pod: Thing) -> bool:
    if "nodeSelector" not in pod["spec"] and "affinity" not in pod["spec"]:
        return True
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(k) != v for k, v in (pod["spec"].get("nodeSelector") or {}).items()):
        return False
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(_term(x, labels, fields) for x in required["nodeSelectorTerms"])


def _term(term: Thing, labels: dict[str, str], fields: dict[str, str]) -> bool:
    """From its sources: a term without expressions and fields selects nothing."""
    expressions, names = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not names:
        return False
    return all(_holds(x, labels) for x in expressions) and all(_holds(x, fields) for x in names)


def _holds(asked: Thing, labels: dict[str, str]) -> bool:
    value, values = labels.get(asked["key"]), list(asked.get("values") or ())
    match asked["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
        case "Lt":
            return value is not None and int(value) < int(values[0])
        case _:
            return False


def weaker(info: NodeInfo, pod: Thing) -> list[Thing]:
    """Pods on a node that are of a lower priority."""
    return [x for x in info.pods.values() if x["spec"].get("priority", 0) < pod["spec"].get("priority", 0)]


def victims(info: NodeInfo, pod: Thing, ignored: frozenset[str]) -> list[Thing]:
    """Whom a pod would displace on a node; nobody where that does not help, or is not needed.

    From its sources (`SelectVictimsOnNode`): all weaker pods go, then as many as possible stay, strong ones first.
    """
    asked = requests(pod, ignored)
    lower = sorted(weaker(info, pod), key=lambda x: -x["spec"].get("priority", 0))
    freed: Counter[str] = Counter()
    for one in lower:
        freed.update(requests(one, ignored))
    if _short(info, asked, freed) is not None:
        return []
    found = []
    for one in lower:
        without = freed - Counter(requests(one, ignored))
        if _short(info, asked, without) is None:
            freed = without
        else:
            found.append(one)
    return found
