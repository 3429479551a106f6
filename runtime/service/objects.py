"""Nodes and pods as Kubernetes writes them, as far as they matter here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.annotations import (
    BIND_INFO,
    ENABLE,
    ISOLATION,
    OLD_ISOLATION,
    SPEC,
    Defaults,
    read_bind_info,
    read_isolation,
    read_spec,
)
from runtime.errors import Problem, UserError
from runtime.holding import Claim
from runtime.pods import BindInfo, Pod
from runtime.service.pod_groups import (
    DEVICE_RESOURCES,
    GATE,
    KUEUE_QUEUE,
    PodGroup,
    PodGroupObject,
    count_pods,
    find_group,
)

MAX_ANNOTATION_LENGTH = 256 * 1024
"""Maximum number of characters of an annotation; Kubernetes accepts no more for all annotations of an object."""
QUANTITY = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
"""A number of something, as Kubernetes writes it: `1`, `1k`, `2e3`; the first group is its digits."""


@dataclass(frozen=True, slots=True)
class NodeObject:
    """A machine."""

    name: str
    healthy: bool
    """Schedulable, and ready."""
    cordoned: bool = False
    """The node is cordoned: no new pods are placed there."""
    reason: str = ""
    """Why it is bad; empty where it is healthy."""


@dataclass(frozen=True, slots=True)
class PodObject:
    """A pod. Annotations are unparsed."""

    uid: str
    namespace: str
    name: str
    ours: bool
    """Whether a container asks for it to be scheduled here."""
    spec: str
    node: str
    """Where it is bound; empty where it is not."""
    bind_info: str
    completed: bool
    phase: str = ""
    """As its node says: Pending, Running, Succeeded or Failed; empty if unknown."""
    leaving: bool = False
    """Its deletion has been requested."""
    isolation: str = ""
    """The devices that its containers see, as written."""
    gates: tuple[str, ...] = ()
    """All its scheduling gates, if ours is one of them; otherwise empty."""
    admitted_to: str = ""
    """The node that it was admitted to: its affinity allows no other, and its gate is gone."""
    group: PodGroup | None = None
    """The group that a gated pod names apart from its annotation."""
    queue: str = ""
    """What a gated pod says of its virtual cluster, apart from its annotation."""
    devices: int = 0
    """How many devices the containers of a gated pod ask for."""
    affinity: str = ""
    """Of a gated pod, as JSON."""
    annotated: bool = True
    """Whether it has annotations at all."""
    problem: str = ""
    """What is wrong with its labels or gates."""
    created: str = ""
    """When a gated pod was created, as Kubernetes writes it, so that later times are greater; empty if unknown."""
    version: str = field(default="", compare=False)
    """The resource version at which it was read; it may be an old one, because changes that do not matter are not
    kept."""

    @property
    def gated(self) -> bool:
        """Whether it waits to be admitted."""
        return bool(self.gates)

    @property
    def place(self) -> str:
        """The node that it is bound to, or was admitted to; empty where it may go anywhere yet."""
        return self.node or self.admitted_to

    @property
    def request(self) -> tuple[object, ...]:
        """All that says what it asks for."""
        return self.spec, self.group, self.queue, self.devices, self.problem

    @property
    def key(self) -> str:
        """What people call it."""
        return f"{self.namespace}/{self.name}"

    def read(self, notes: list[Problem] | None = None, groups: Mapping[str, PodGroupObject] | None = None) -> Pod:
        """What it asks for; raises `UserError`. What means nothing in it is added to `notes`.

        `groups`: the PodGroups that are known. All pods of a group count as large as this one, until it is complete.
        """
        if self.problem:
            raise UserError(f"pod {self.key}: {self.problem}")
        if not self.spec and self.group is None:
            raise UserError(f"pod {self.key} has no annotation {SPEC}")
        if len(self.spec) > MAX_ANNOTATION_LENGTH:
            raise UserError(f"annotation {SPEC} of pod {self.key} has more than {MAX_ANNOTATION_LENGTH} characters")
        if not self.gated:
            return Pod(self.uid, self.name, read_spec(self.spec, self.namespace, self.name, notes), self.namespace)
        text = self.spec or "{}"
        defaults = Defaults(self.queue, self.devices)
        if self.group is not None:
            alone = read_spec(text, self.namespace, self.name, None, defaults)
            if alone.gang.name == f"{self.namespace}/{self.name}":
                pods = count_pods(self.group, groups or {})
                defaults = Defaults(self.queue, self.devices, self.group.name, pods)
        return Pod(self.uid, self.name, read_spec(text, self.namespace, self.name, notes, defaults), self.namespace)

    def read_bind_info(self) -> BindInfo:
        """Where it and its gang were placed; raises `UserError`."""
        how = "bound" if self.node else "admitted"
        if not self.bind_info:
            raise UserError(f"pod {self.key} is {how} to {self.place}, but has no annotation {BIND_INFO}")
        info = read_bind_info(self.bind_info)
        if info.node != self.place:
            raise UserError(f"pod {self.key} is {how} to {self.place}, but its bind info says {info.node}")
        return info

    def claim(self) -> Claim:
        """What a bound pod has, as far as anything on it says so."""
        try:
            info = read_bind_info(self.bind_info) if self.bind_info else None
        except UserError:
            info = None
        chain = info.chain if info is not None else ""
        if info is not None and info.node == self.place and info.leaf_cells:
            devices = info.leaf_cells
        else:
            devices = read_isolation(self.isolation)
        return Claim(self.uid, self.name, self.namespace, self.place, tuple(dict.fromkeys(devices)), chain)


def read_node(document: object) -> NodeObject:
    """Raises `UserError` where it is no node."""
    name = _text(_table(document, "metadata"), "name")
    if not name:
        raise UserError("a node has no metadata.name")
    conditions = [x for x in _list(_table(document, "status"), "conditions") if isinstance(x, Mapping)]
    condition = next((x for x in conditions if x.get("type") == "Ready"), None)
    ready = condition is not None and condition.get("status") == "True"
    cordoned = _table(document, "spec").get("unschedulable") is True
    reasons = [] if ready else [_not_ready(condition)]
    reasons += ["it is cordoned (spec.unschedulable)"] if cordoned else []
    return NodeObject(name, ready and not cordoned, cordoned, "; ".join(reasons))


def _not_ready(condition: Mapping[str, object] | None) -> str:
    """Without times, which change with every heartbeat."""
    if condition is None:
        return "it has no condition Ready"
    why = [str(condition[key]) for key in ("reason", "message") if condition.get(key)]
    since = f" since {condition['lastTransitionTime']}" if condition.get("lastTransitionTime") else ""
    return f"it is not Ready{since}" + (f" ({': '.join(why)})" if why else "")


def read_pod(document: object) -> PodObject:
    """Raises `UserError` where it is no pod."""
    metadata, spec = _table(document, "metadata"), _table(document, "spec")
    uid, name = _text(metadata, "uid"), _text(metadata, "name")
    gates = _gates(spec)
    if GATE in gates and uid and name:
        return _read_gated(document, gates)
    annotations = _table(metadata, "annotations")
    phase = _text(_table(document, "status"), "phase")
    if not uid or not name:
        raise UserError("a pod has no metadata.uid, or no metadata.name")
    ours = any(_asks(container) for key in ("initContainers", "containers") for container in _list(spec, key))
    admitted_to = _pinned(spec) if BIND_INFO in annotations or ISOLATION in annotations else ""
    return PodObject(
        uid,
        _text(metadata, "namespace") or "default",
        name,
        ours or bool(admitted_to),
        _text(annotations, SPEC),
        _text(spec, "nodeName"),
        _text(annotations, BIND_INFO),
        phase in ("Succeeded", "Failed"),
        phase,
        bool(_text(metadata, "deletionTimestamp")),
        _text(annotations, ISOLATION) or _text(annotations, OLD_ISOLATION),
        admitted_to=admitted_to,
    )


def _read_gated(document: object, gates: tuple[str, ...]) -> PodObject:
    """A pod that waits to be admitted. Whatever else is wrong with it is its problem, which is reported at the pod."""
    metadata, spec = _table(document, "metadata"), _table(document, "spec")
    namespace = _text(metadata, "namespace") or "default"
    phase = _text(_table(document, "status"), "phase")
    group, queue, text, devices, problem, created = None, "", "", 0, "", ""
    annotations: Mapping[str, object] = {}
    try:
        created = _text(metadata, "creationTimestamp")
        annotations = _table(metadata, "annotations")
        labels = _table(metadata, "labels")
        text = _text(annotations, SPEC)
        queue = _text(labels, KUEUE_QUEUE)
        native = _text(_table(spec, "schedulingGroup"), "podGroupName")
        group = find_group(namespace, labels, annotations, native)
        devices = _count_devices(spec)
    except UserError as error:
        problem = str(error)
    affinity = spec.get("affinity")
    return PodObject(
        _text(metadata, "uid"),
        namespace,
        _text(metadata, "name"),
        True,
        text,
        _text(spec, "nodeName"),
        "",
        phase in ("Succeeded", "Failed"),
        phase,
        bool(metadata.get("deletionTimestamp")),
        gates=gates,
        group=group,
        queue=queue,
        devices=devices,
        affinity=json.dumps(affinity) if affinity else "",
        annotated=bool(annotations),
        problem=problem,
        created=created,
        version=_text(metadata, "resourceVersion"),
    )


def _gates(spec: Mapping[str, object]) -> tuple[str, ...]:
    """The names of all scheduling gates, in order."""
    gates = spec.get("schedulingGates")
    names = (
        [gate.get("name") if isinstance(gate, Mapping) else None for gate in gates] if isinstance(gates, list) else []
    )
    return tuple(name if isinstance(name, str) else "" for name in names)


def _pinned(spec: Mapping[str, object]) -> str:
    """The one node that the affinity of a pod allows, by its name; empty where it allows others.

    Terms are alternatives, and a pod may have named nodes in them before it was admitted: its node is the one that
    every term names. The patch that admits a pod names it last.
    """
    required = spec.get("affinity")
    for key in ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"):
        required = required.get(key) if isinstance(required, Mapping) else None
    common: list[str] | None = None
    for term in required if isinstance(required, list) else ():
        fields = term.get("matchFields") if isinstance(term, Mapping) else None
        if isinstance(term, Mapping) and not fields and not term.get("matchExpressions"):
            continue  # it matches no node
        names = [
            field["values"][0]
            for field in (fields if isinstance(fields, list) else ())
            if isinstance(field, Mapping) and field.get("key") == "metadata.name" and field.get("operator") == "In"
            if isinstance(field.get("values"), list) and len(field["values"]) == 1
        ]
        common = names if common is None else [name for name in common if name in names]
    return common[-1] if common and isinstance(common[-1], str) else ""


def _count_devices(spec: Mapping[str, object]) -> int:
    """Of all containers together; init containers run before them."""
    sums = {key: [_devices(container) for container in _list(spec, key)] for key in ("initContainers", "containers")}
    return max(sum(sums["containers"]), max(sums["initContainers"], default=0))


def _devices(container: object) -> int:
    limits = _table(_table(container, "resources"), "limits")
    texts = [str(limits[name]) for name in DEVICE_RESOURCES if name in limits]
    return sum(int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 10)


def _asks(container: object) -> bool:
    limit = str(_table(_table(container, "resources"), "limits").get(ENABLE, "0"))
    quantity = QUANTITY.fullmatch(limit)
    return quantity is not None and any(digit in "123456789" for digit in quantity[1])


def _table(document: object, key: str) -> Mapping[str, object]:
    """The mapping under a key; an empty one where there is none."""
    if not isinstance(document, Mapping):
        raise UserError(f"there must be a mapping with {key}")
    value = document.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise UserError(f"{key} must be a mapping")
    return value or {}


def _list(table: Mapping[str, object], key: str) -> list[object]:
    value = table.get(key)
    if value is not None and not isinstance(value, list):
        raise UserError(f"{key} must be a list")
    return value or []


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UserError(f"{key} must be a string")
    return value or ""
