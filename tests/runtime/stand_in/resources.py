"""Which kinds of objects there are, under which paths: versions of 1.36."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stand_in.errors import RefusedError
from stand_in.store import Thing

GANGS = "scheduling.k8s.io/v1alpha2"
"""Measured behind 1.36.2: it is served only with the feature gate GenericWorkload and `--runtime-config`."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of objects, in one version. All versions of it have one store, under `name`."""

    name: str
    kind: str
    group_version: str
    namespaced: bool = True
    status: bool = False
    """Whether the status is a subresource, which only requests for it change."""

    @property
    def group(self) -> str:
        """Empty for the core."""
        return self.group_version.rpartition("/")[0]


RESOURCES = (
    Resource("nodes", "Node", "v1", namespaced=False),
    Resource("namespaces", "Namespace", "v1", namespaced=False),
    Resource("pods", "Pod", "v1", status=True),
    Resource("configmaps", "ConfigMap", "v1"),
    Resource("secrets", "Secret", "v1"),
    Resource("services", "Service", "v1"),
    Resource("serviceaccounts", "ServiceAccount", "v1"),
    Resource("events", "Event", "v1"),
    Resource("events", "Event", "events.k8s.io/v1"),
    Resource("deployments", "Deployment", "apps/v1", status=True),
    Resource("statefulsets", "StatefulSet", "apps/v1", status=True),
    Resource("jobs", "Job", "batch/v1", status=True),
    Resource("poddisruptionbudgets", "PodDisruptionBudget", "policy/v1", status=True),
    Resource("leases", "Lease", "coordination.k8s.io/v1"),
    Resource("networkpolicies", "NetworkPolicy", "networking.k8s.io/v1"),
    Resource("priorityclasses", "PriorityClass", "scheduling.k8s.io/v1", namespaced=False),
    Resource("podgroups", "PodGroup", GANGS, status=True),
    Resource("clusterroles", "ClusterRole", "rbac.authorization.k8s.io/v1", namespaced=False),
    Resource("clusterrolebindings", "ClusterRoleBinding", "rbac.authorization.k8s.io/v1", namespaced=False),
    Resource("roles", "Role", "rbac.authorization.k8s.io/v1"),
    Resource("rolebindings", "RoleBinding", "rbac.authorization.k8s.io/v1"),
)
REVIEWS = ("subjectaccessreviews", "selfsubjectaccessreviews")


@dataclass(frozen=True, slots=True)
class Target:
    """What a path means."""

    resource: Resource
    namespace: str
    name: str
    part: str
    """The subresource."""

    @property
    def key(self) -> str:
        """Of the object in the store."""
        return f"{self.namespace}/{self.name}" if self.resource.namespaced else self.name


class Paths:
    """The paths of all resources but those that are not served."""

    def __init__(self, without: Iterable[str]) -> None:
        left_out = set(without)
        self._by_path = {(x.group_version, x.name): x for x in RESOURCES if x.group_version not in left_out}

    def find(self, path: str) -> Target | None:
        """None where nothing of that name is served."""
        match path.split("/"):
            case ["", "api", "v1", *rest]:
                version = "v1"
            case ["", "apis", group, number, *rest]:
                version = f"{group}/{number}"
            case _:
                return None
        namespace = ""
        match rest:
            case ["namespaces", namespace, name, *_] if (version, name) in self._by_path:
                rest = rest[2:]
            case _:
                namespace = ""
        name, part = (rest[1] if len(rest) > 1 else ""), "/".join(rest[2:])
        resource = self._by_path.get((version, rest[0] if rest else ""))
        if resource is None or (namespace and not resource.namespaced):
            return None
        if name and resource.namespaced and not namespace:
            return None
        return Target(resource, namespace, name, part)

    def discovery(self, path: str) -> Thing | None:
        """What `/api`, `/apis` and the versions below answer."""
        versions = {x.group_version for x in self._by_path.values()}
        groups = sorted({x for x in versions if "/" in x} | {"authorization.k8s.io/v1"})
        match path.strip("/").split("/"):
            case ["api"]:
                return {"kind": "APIVersions", "versions": ["v1"]}
            case ["apis"]:
                names = dict.fromkeys(x.partition("/")[0] for x in groups)
                found = [_group([x for x in groups if x.startswith(f"{name}/")]) for name in names]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}
            case ["apis", group]:
                return _group([x for x in groups if x.startswith(f"{group}/")])
            case ["api", "v1"]:
                return self._resources("v1")
            case ["apis", group, number] if f"{group}/{number}" in groups:
                return self._resources(f"{group}/{number}")
        return None

    def _resources(self, version: str) -> Thing:
        found: list[Thing] = []
        for (whose, _), resource in self._by_path.items():
            if whose != version:
                continue
            names = [resource.name, *([f"{resource.name}/status"] if resource.status else [])]
            if resource.name == "pods":
                names += ["pods/binding", "pods/eviction"]
            found += [{"name": x, "kind": resource.kind, "namespaced": resource.namespaced} for x in names]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": found}


def _group(versions: list[str]) -> Thing | None:
    named = [{"groupVersion": version, "version": version.partition("/")[2]} for version in versions]
    return {"name": versions[0].partition("/")[0], "versions": named, "preferredVersion": named[0]} if named else None


# Events have two forms: that of the core, which is stored, and that of events.k8s.io

EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def read_event(thing: Thing, resource: Resource) -> Thing:
    """An event of a version, as it is stored."""
    if resource.group_version == "v1":
        return thing
    if "regarding" in thing and not thing.get("eventTime"):
        raise RefusedError(422, "Event is invalid: eventTime: Required value: must be set")
    names = {new: old for old, new in EVENT_FIELDS.items()}
    return {"kind": "Event", "apiVersion": "v1", **{names.get(k, k): v for k, v in thing.items() if k not in META}}


META = ("kind", "apiVersion")


def show(thing: Thing, resource: Resource) -> Thing:
    """A stored object in a version."""
    if resource.group_version == "events.k8s.io/v1":
        rest = {EVENT_FIELDS.get(k, k): v for k, v in thing.items() if k not in META}
        return {"kind": "Event", "apiVersion": resource.group_version, **rest}
    return thing
