"""Disruption budgets: how many pods may be evicted, and what an eviction is refused with."""

from __future__ import annotations

import math
from typing import Any

from stand_in.errors import RefusedError
from stand_in.pods import ready, stamp
from stand_in.store import Store, Thing, copy_of

RESOURCE = "poddisruptionbudgets"


def matches(selector: Thing | None, labels: dict[str, str] | None) -> bool:
    """Whether a label selector selects these labels: an empty one selects all, none selects nothing."""
    if selector is None:
        return False
    labels = labels or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression(x, labels) for x in selector.get("matchExpressions") or ())


def _expression(asked: Thing, labels: dict[str, str]) -> bool:
    key, values = asked["key"], asked.get("values") or []
    match asked["operator"]:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise RefusedError(422, f"{other} is not a valid label selector operator")


def refresh(store: Store, namespace: str) -> None:
    """Computes the status of all budgets of a namespace, as the disruption controller does in its own time.

    From its sources (`updatePdbStatus`); assumed: without controllers, the pods that there are count as expected.
    """
    for key, stored in list(store.objects[RESOURCE].items()):
        if stored.thing["metadata"]["namespace"] != namespace:
            continue
        status = _status(store, stored.thing)
        if status != stored.thing.get("status"):
            store.put(RESOURCE, key, {**copy_of(stored), "status": status})


def _status(store: Store, budget: Thing) -> Thing:
    spec, before = budget["spec"], budget.get("status") or {}
    pods = [x for x in _pods(store, budget) if x["status"].get("phase") not in ("Succeeded", "Failed")]
    named = {x["metadata"]["name"]: x for x in pods}
    disrupted = {
        name: when
        for name, when in (before.get("disruptedPods") or {}).items()
        if name in named and not named[name]["metadata"].get("deletionTimestamp")
    }
    healthy = sum(
        ready(x) and not x["metadata"].get("deletionTimestamp") and x["metadata"]["name"] not in disrupted for x in pods
    )
    if "maxUnavailable" in spec:
        desired = max(0, len(pods) - _count(spec["maxUnavailable"], len(pods)))
    else:
        desired = _count(spec.get("minAvailable", 0), len(pods))
    allowed = max(0, healthy - desired) if pods else 0
    return {
        "observedGeneration": budget["metadata"].get("generation", 1),
        **({"disruptedPods": disrupted} if disrupted else {}),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": len(pods),
    }


def _count(value: int | str, total: int) -> int:
    """A number, or a percentage of all, rounded up."""
    return math.ceil(int(value[:-1]) * total / 100) if isinstance(value, str) else int(value)


def _pods(store: Store, budget: Thing) -> list[Thing]:
    namespace, selector = budget["metadata"]["namespace"], budget["spec"].get("selector")
    return [
        x.thing
        for x in store.objects["pods"].values()
        if x.thing["metadata"]["namespace"] == namespace and matches(selector, x.thing["metadata"].get("labels"))
    ]


def take(store: Store, pod: Thing) -> None:
    """An eviction of this pod is charged to its budget. Raises `RefusedError`.

    From its sources (`EvictionREST.Create`): pods that have not begun, have ended, or are leaving, need no budget; two
    budgets for one pod are an error; a pod that is not ready may go while the budget is kept without it.
    """
    metadata = pod["metadata"]
    if pod["status"].get("phase") in ("Pending", "Succeeded", "Failed") or metadata.get("deletionTimestamp"):
        return
    covering = [
        (key, x)
        for key, x in store.objects[RESOURCE].items()
        if x.thing["metadata"]["namespace"] == metadata["namespace"]
        and matches(x.thing["spec"].get("selector"), metadata.get("labels"))
    ]
    if len(covering) > 1:
        why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise RefusedError(500, why)
    for key, stored in covering:
        budget = copy_of(stored)
        status: dict[str, Any] = budget["status"]
        if not ready(pod) and 0 < status["desiredHealthy"] <= status["currentHealthy"]:
            return
        if status["disruptionsAllowed"] <= 0:
            raise _refusal(budget)
        status["disruptionsAllowed"] -= 1
        status.setdefault("disruptedPods", {})[metadata["name"]] = stamp()
        store.put(RESOURCE, key, budget)


def _refusal(budget: Thing) -> RefusedError:
    status = budget["status"]
    cause = {
        "reason": "DisruptionBudget",
        "message": f"The disruption budget {budget['metadata']['name']} needs {status['desiredHealthy']} healthy pods"
        f" and has {status['currentHealthy']} currently",
    }
    why = "Cannot evict pod as it would violate the pod's disruption budget."
    return RefusedError(429, why, details={"causes": [cause]})
