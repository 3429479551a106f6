"""The patch that admits a pod: its place is written on it, it can go nowhere else, and its scheduling gate is gone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runtime.service.objects import PodObject
from runtime.service.pod_groups import GATE

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def admission_patch(pod: PodObject, node: str, annotations: Mapping[str, str]) -> list[dict[str, Any]]:
    """A JSON patch (RFC 6902) of a pod that was last seen like this, with its gate.

    What it relies on is tested: that the pod is this one and not a namesake, that the gate is where it was, and that
    nobody has changed the affinity since.
    """
    number = pod.gates.index(GATE)
    gate = f"/spec/schedulingGates/{number}"
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": pod.uid},
        {"op": "test", "path": gate, "value": {"name": GATE}},
    ]
    before = json.loads(pod.affinity) if pod.affinity else None
    if before is not None:
        operations.append({"op": "test", "path": "/spec/affinity", "value": before})
    if not pod.annotated:
        # A patch cannot test that something is absent, and `add` would replace annotations that were written since.
        operations.append({"op": "test", "path": "/metadata/resourceVersion", "value": pod.version})
        operations.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    for key, value in annotations.items():
        operations.append({"op": "add", "path": f"/metadata/annotations/{_escape(key)}", "value": value})
    operations.append({"op": "add", "path": "/spec/affinity", "value": pin(before or {}, node)})
    operations.append({"op": "remove", "path": gate})
    return operations


def pin(affinity: Mapping[str, Any], node: str) -> dict[str, Any]:
    """An affinity that allows this node alone, and that only if it was allowed before.

    Terms are alternatives: each is narrowed. An empty term matches no node, and has to stay empty.
    """
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    nodes = dict(affinity.get("nodeAffinity") or {})
    required = dict(nodes.get(REQUIRED) or {})
    terms = [_narrow(term, here) for term in required.get("nodeSelectorTerms") or ()]
    required["nodeSelectorTerms"] = terms or [{"matchFields": [here]}]
    return {**affinity, "nodeAffinity": {**nodes, REQUIRED: required}}


def _narrow(term: Mapping[str, Any], here: Mapping[str, Any]) -> dict[str, Any]:
    if not term.get("matchFields") and not term.get("matchExpressions"):
        return dict(term)
    return {**term, "matchFields": [*(term.get("matchFields") or ()), here]}


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
