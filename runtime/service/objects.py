"""Nodes and pods as Kubernetes writes them, as far as they matter here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.annotations import (
    BIND_INFO,
    ENABLE,
    ISOLATION,
    OLD_ISOLATION,
    SPEC,
    read_bind_info,
    read_isolation,
    read_spec,
)
from runtime.errors import Problem, UserError
from runtime.holding import Claim
from runtime.pods import BindInfo, Pod

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

    @property
    def key(self) -> str:
        """What people call it."""
        return f"{self.namespace}/{self.name}"

    def read(self, notes: list[Problem] | None = None) -> Pod:
        """What it asks for; raises `UserError`. What means nothing in it is added to `notes`."""
        if not self.spec:
            raise UserError(f"pod {self.key} has no annotation {SPEC}")
        if len(self.spec) > MAX_ANNOTATION_LENGTH:
            raise UserError(f"annotation {SPEC} of pod {self.key} has more than {MAX_ANNOTATION_LENGTH} characters")
        return Pod(self.uid, self.name, read_spec(self.spec, self.namespace, self.name, notes), self.namespace)

    def read_bind_info(self) -> BindInfo:
        """Where it and its gang were placed; raises `UserError`."""
        if not self.bind_info:
            raise UserError(f"pod {self.key} is bound to {self.node}, but has no annotation {BIND_INFO}")
        info = read_bind_info(self.bind_info)
        if info.node != self.node:
            raise UserError(f"pod {self.key} is bound to {self.node}, but its bind info says {info.node}")
        return info

    def claim(self) -> Claim:
        """What a bound pod has, as far as anything on it says so."""
        try:
            info = read_bind_info(self.bind_info) if self.bind_info else None
        except UserError:
            info = None
        chain = info.chain if info is not None else ""
        if info is not None and info.node == self.node and info.leaf_cells:
            devices = info.leaf_cells
        else:
            devices = read_isolation(self.isolation)
        return Claim(self.uid, self.name, self.namespace, self.node, tuple(dict.fromkeys(devices)), chain)


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
    annotations = _table(metadata, "annotations")
    uid, name = _text(metadata, "uid"), _text(metadata, "name")
    phase = _text(_table(document, "status"), "phase")
    if not uid or not name:
        raise UserError("a pod has no metadata.uid, or no metadata.name")
    return PodObject(
        uid,
        _text(metadata, "namespace") or "default",
        name,
        any(_asks(container) for key in ("initContainers", "containers") for container in _list(spec, key)),
        _text(annotations, SPEC),
        _text(spec, "nodeName"),
        _text(annotations, BIND_INFO),
        phase in ("Succeeded", "Failed"),
        phase,
        bool(_text(metadata, "deletionTimestamp")),
        _text(annotations, ISOLATION) or _text(annotations, OLD_ISOLATION),
    )


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
