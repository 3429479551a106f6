"""What a kube-scheduler sends to an extender, and what it is answered.

Field names are capitalised, and are read in any case, as Go does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.errors import UserError
from runtime.pods import Pod
from runtime.service.objects import PodObject, read_pod

COMPONENT = "hivedscheduler"
"""Name of a non-existent node, under which the reason for waiting is returned."""


@dataclass(frozen=True, slots=True)
class FilterRequest:
    """Which of these nodes does a pod fit on?"""

    pod: PodObject
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreemptRequest:
    """A question: the pods that a pod must displace on these nodes."""

    pod: PodObject
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BindRequest:
    """A pod is to be bound."""

    uid: str
    namespace: str
    name: str
    node: str


def read_filter(body: bytes) -> FilterRequest:
    """Raises `UserError`."""
    fields = _fields(body)
    names = fields.get("nodenames") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError("NodeNames must be a list of strings")
    return FilterRequest(_pod(fields), tuple(names))


def read_preempt(body: bytes) -> PreemptRequest:
    """Raises `UserError`."""
    fields = _fields(body)
    victims = fields.get("nodenametometavictims") or {}
    if not isinstance(victims, dict):
        raise UserError("NodeNameToMetaVictims must be a mapping")
    return PreemptRequest(_pod(fields), tuple(victims))


def read_bind(body: bytes) -> BindRequest:
    """Raises `UserError`."""
    fields = _fields(body)
    values = []
    for name in ("PodUID", "PodNamespace", "PodName", "Node"):
        value = fields.get(name.lower())
        if not isinstance(value, str) or not value:
            raise UserError(f"{name} must be a non-empty string")
        values.append(value)
    return BindRequest(*values)


def _fields(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the request is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise UserError("the request must be a JSON object")
    return {key.lower(): value for key, value in document.items()}


def _pod(fields: Mapping[str, Any]) -> PodObject:
    if fields.get("pod") is None:
        raise UserError("Pod is missing")
    return read_pod(fields["pod"])


def filter_answer(
    node: str = "", failed: Mapping[str, str] | None = None, error: str = "", hopeless: Iterable[str] = ()
) -> dict[str, Any]:
    """The node, or why there is none. On `hopeless` nodes no preemption helps: a kube-scheduler need not ask."""
    answer = {"NodeNames": [node] if node else None, "FailedNodes": dict(failed or {}), "Error": error}
    unresolvable = dict.fromkeys(hopeless, f"see {COMPONENT}")
    return {**answer, "FailedAndUnresolvableNodes": unresolvable} if unresolvable else answer


def preempt_answer(victims: Mapping[str, tuple[Pod, ...]]) -> dict[str, Any]:
    """Who has to go, by node."""
    meta_victims = {
        node: {"Pods": [{"UID": pod.uid} for pod in pods], "NumPDBViolations": 0} for node, pods in victims.items()
    }
    return {"NodeNameToMetaVictims": meta_victims}


def bind_answer(error: str = "") -> dict[str, Any]:
    """Whether it was."""
    return {"Error": error}


def describe(error: Exception) -> tuple[int, str]:
    """The status and the text of an error: of who asks, or of who answers."""
    if isinstance(error, UserError):
        return 400, f"user error (400): {error}"
    return 500, f"platform error (500): {type(error).__name__}: {error}"
