"""A real API server takes the manifests, and the role allows what is needed and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from behind import Behind
from control_plane import documents

pytestmark = pytest.mark.full(reason="takes minutes")

ACCOUNT = "system:serviceaccount:kube-system:allocator"


def older(thing: dict[str, Any]) -> dict[str, Any]:
    """As 1.20 knows it: disruption budgets are v1beta1 there, with the same fields."""
    return {**thing, "apiVersion": "policy/v1beta1"} if thing["apiVersion"] == "policy/v1" else thing


@pytest.mark.parametrize("thing", [pytest.param(x, id=f"{x['kind']}-{x['metadata']['name']}") for x in documents()])
def test_the_api_server_takes_every_field(behind: Behind, thing: dict[str, Any]) -> None:
    """Unknown fields are dropped by the server in silence; `apply` compares, as strict validation does."""
    if behind.plane.name == "stand-in":
        pytest.skip("the stand-in has no schemas: it takes every field of anything")
    behind.plane.apply(older(thing) if behind.plane.name == "1.20" else thing)


def allowed(behind: Behind, verb: str, resource: str, group: str = "", name: str = "", namespace: str = "") -> bool:
    kind, _, part = resource.partition("/")
    asked = {"verb": verb, "resource": kind, "subresource": part, "group": group, "name": name, "namespace": namespace}
    spec = {"user": ACCOUNT, "groups": ["system:serviceaccounts"], "resourceAttributes": asked}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = behind.plane.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def test_the_role_is_as_small_as_it_can_be(behind: Behind) -> None:
    lease = {"group": "coordination.k8s.io", "namespace": "kube-system"}
    assert all(allowed(behind, verb, kind) for kind in ("nodes", "pods") for verb in ("get", "list", "watch"))
    assert all(allowed(behind, "create", f"pods/{part}") for part in ("binding", "eviction"))
    assert all(allowed(behind, verb, "pods") for verb in ("delete", "patch"))
    assert allowed(behind, "list", "poddisruptionbudgets", group="policy")
    assert all(allowed(behind, verb, "leases", name="allocator", **lease) for verb in ("get", "update"))
    assert not any(allowed(behind, verb, "pods") for verb in ("create", "update", "deletecollection"))
    assert not any(allowed(behind, verb, "nodes") for verb in ("create", "update", "patch", "delete"))
    assert not any(allowed(behind, verb, "poddisruptionbudgets", group="policy") for verb in ("create", "delete"))
    assert not any(allowed(behind, "get", kind) for kind in ("secrets", "configmaps", "pods/log", "pods/exec"))
    assert not allowed(behind, "update", "leases", name="kube-scheduler", **lease)
    assert not allowed(behind, "get", "leases", name="allocator", group="coordination.k8s.io", namespace="default")
