"""Rules for pods: what is filled in, what may change, how they are bound, deleted and evicted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from stand_in.errors import RefusedError, conflict, invalid
from stand_in.store import Store, Thing

IMMUTABLE = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing"
    " tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def stamp(when: datetime | None = None) -> str:
    """A time, as Kubernetes writes it."""
    return (when or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


def prepare(store: Store, pod: Thing) -> None:
    """Fills in a new pod. Raises `RefusedError`.

    From its sources: the priority is resolved by the admission plugin Priority; a pod with gates is born with the
    condition SchedulingGated.
    """
    name, spec = pod["metadata"]["name"], pod["spec"]
    if not spec.get("containers"):
        raise invalid("Pod", name, "spec.containers: Required value")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("restartPolicy", "Always")
    _resolve_priority(store, spec)
    gates = spec.get("schedulingGates") or []
    if len({x["name"] for x in gates}) < len(gates):
        raise invalid("Pod", name, "spec.schedulingGates: Duplicate value")
    if gates and spec.get("nodeName"):
        why = "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"
        raise invalid("Pod", name, why)
    _check_affinity(name, spec)
    pod["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    if gates:
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": stamp(),
            }
        ]


def _resolve_priority(store: Store, spec: Thing) -> None:
    classes = {x.thing["metadata"]["name"]: x.thing for x in store.objects["priorityclasses"].values()}
    name = spec.get("priorityClassName", "")
    found: Thing = {}
    if name:
        if name not in classes and name not in ("system-cluster-critical", "system-node-critical"):
            raise RefusedError(403, f"no PriorityClass with name {name} was found")
        found = classes.get(name, {"value": 2_000_000_000 + 1000 * (name == "system-node-critical")})
    else:
        found = next((x for x in classes.values() if x.get("globalDefault")), {})
        if found:
            spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"] = found.get("value", 0)
    spec.setdefault("preemptionPolicy", found.get("preemptionPolicy", "PreemptLowerPriority"))


def _terms(spec: Thing) -> list[Thing]:
    """Of the required node affinity."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return list(required.get("nodeSelectorTerms") or ())


def _check_affinity(name: str, spec: Thing) -> None:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    where = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    if "requiredDuringSchedulingIgnoredDuringExecution" in affinity and not _terms(spec):
        raise invalid("Pod", name, f"{where}: Required value: must have at least one node selector term")
    for number, term in enumerate(_terms(spec)):
        for one in term.get("matchFields") or ():
            path = f"{where}[{number}].matchFields[0]"
            if one.get("key") != "metadata.name":
                raise invalid("Pod", name, f'{path}.key: Invalid value: "{one.get("key")}": not a valid field label')
            if one.get("operator") not in ("In", "NotIn"):
                raise invalid("Pod", name, f"{path}.operator: Invalid value: not a valid selector operator")
            if len(one.get("values") or ()) != 1:
                why = f"{path}.values: Required value: must be only one value when `operator` is 'In' or 'NotIn'"
                raise invalid("Pod", name, f"{why} for node field selector")


def validate_update(old: Thing, new: Thing) -> None:
    """Whether a pod may change in this way. Raises `RefusedError` with 422.

    From its sources (`ValidatePodUpdate`): gates can only be removed; while a pod has gates, its node selector may only
    grow, and of its required node affinity each term may only get more expressions and fields; afterwards, the spec is
    immutable but for images, deadlines and more tolerations.
    """
    name = new["metadata"]["name"]
    before, after = dict(old["spec"]), dict(new["spec"])
    gates = {x["name"] for x in before.pop("schedulingGates", None) or ()}
    added = [x["name"] for x in after.pop("schedulingGates", None) or () if x["name"] not in gates]
    if added:
        why = f"spec.schedulingGates: Forbidden: only deletion is allowed, but found new scheduling gate '{added[0]}'"
        raise invalid("Pod", name, why)
    if gates:
        _validate_gated(name, before, after)
        _check_affinity(name, after)
    before, after = _fixed(before, after), _fixed(after, after)
    if before != after:
        raise invalid("Pod", name, IMMUTABLE)


def _validate_gated(name: str, before: Thing, after: Thing) -> None:
    """Of what may change, the fields are removed from both."""
    selector = after.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in (before.get("nodeSelector") or {}).items()):
        why = "spec.nodeSelector: Invalid value: only additions to spec.nodeSelector are allowed (no mutations or"
        raise invalid("Pod", name, f"{why} deletions)")
    old, new = _terms(before), _terms(after)
    where = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    if old and len(old) != len(new):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        raise invalid("Pod", name, f"{where}: Invalid value: {why}")
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        if not _only_grows(one, other):
            why = "only additions are allowed (no mutations or deletions)"
            raise invalid("Pod", name, f"{where}[{number}]: Invalid value: {why}")
    for spec in (before, after):
        spec.pop("nodeSelector", None)
        affinity = {k: v for k, v in (spec.pop("affinity", None) or {}).items() if k != "nodeAffinity"}
        if affinity:
            spec["affinity"] = affinity


def _only_grows(old: Thing, new: Thing) -> bool:
    """From its sources: a term that is empty, and so selects nothing, must stay so."""
    if not old.get("matchExpressions") and not old.get("matchFields"):
        return not new.get("matchExpressions") and not new.get("matchFields")
    for key in ("matchExpressions", "matchFields"):
        was = old.get(key) or []
        if (new.get(key) or [])[: len(was)] != was:
            return False
    return True


def _fixed(spec: Thing, after: Thing) -> Thing:
    """What may not change: all but images, the deadline, and tolerations that are added."""
    rest = {k: v for k, v in spec.items() if k not in ("activeDeadlineSeconds", "tolerations")}
    for kind in ("containers", "initContainers"):
        if kind in rest:
            rest[kind] = [{k: v for k, v in x.items() if k != "image"} for x in rest[kind]]
    kept = [x for x in spec.get("tolerations") or () if x in (after.get("tolerations") or ())]
    if len(kept) < len(spec.get("tolerations") or ()):
        rest["tolerations"] = spec["tolerations"]
    return {k: v for k, v in rest.items() if v not in (None, [], {})}


def bind(pod: Thing, binding: Thing) -> None:
    """Assigns a pod to a node. Raises `RefusedError`.

    From its sources (`assignPod`): annotations of the binding are added in the same step; a pod that is leaving, is
    bound, or has gates, is refused with 409.
    """
    name = pod["metadata"]["name"]
    if pod["metadata"].get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
        raise conflict("pods/binding", name, why)
    if pod["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
        raise conflict("pods/binding", name, why)
    if pod["spec"].get("schedulingGates"):
        raise conflict("pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
    pod["spec"]["nodeName"] = binding["target"]["name"]
    for kind in ("annotations", "labels"):
        if binding["metadata"].get(kind):
            pod["metadata"][kind] = {**(pod["metadata"].get(kind) or {}), **binding["metadata"][kind]}
    pod["status"].pop("nominatedNodeName", None)
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": stamp()}
    others = [x for x in pod["status"].get("conditions") or () if x["type"] != "PodScheduled"]
    pod["status"]["conditions"] = [*others, scheduled]


def grace_of(pod: Thing, options: Thing) -> int:
    """Seconds until a pod that is deleted is gone.

    From its sources (`CheckGracefulDelete`): a pod that no node has, or that has ended, is gone at once.
    """
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    asked = options.get("gracePeriodSeconds")
    if asked is None:
        asked = pod["spec"].get("terminationGracePeriodSeconds", 30)
    return max(int(asked), 0)


def begin_deletion(pod: Thing, grace: int) -> bool:
    """Marks a pod that has so many seconds left; whether that changes anything: who asks for more grace, waits less.

    From its sources (`BeforeDelete`).
    """
    metadata = pod["metadata"]
    before = metadata.get("deletionGracePeriodSeconds")
    if before is not None and grace >= before:
        return False
    begun = datetime.now(UTC)
    if before is not None:
        begun = datetime.fromisoformat(metadata["deletionTimestamp"]) - timedelta(seconds=before)
    metadata["deletionTimestamp"] = stamp(begun + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    return True


def ready(pod: Thing) -> bool:
    """Whether its condition says so."""
    conditions: list[dict[str, Any]] = pod["status"].get("conditions") or []
    return any(x["type"] == "Ready" and x["status"] == "True" for x in conditions)
