"""Requests that cannot be meant: each is refused with its cause, and nothing has changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from runtime.cells import Cluster
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.pods import OPPORTUNISTIC, Pod, PodSpec

WORDS = {
    "virtual_cluster": "virtual cluster",
    "leaf_type": "leaf cell type",
    "pinned_cell": "pinned cell",
    "lazy_preemption": "lazy preemption",
    "ignore_suggested": "the use of suggested nodes",
}


def check(cluster: Cluster, spec: PodSpec) -> None:
    """Refuses what this cluster does not know."""
    tenant = cluster.tenants.get(spec.virtual_cluster)
    if tenant is None:
        raise UserError(f"there is no virtual cluster {spec.virtual_cluster}; there are {_list(cluster.tenants)}")
    kinds = {forest.chain.leaf_type for forest in cluster.forests.values()}
    if spec.leaf_type and spec.leaf_type not in kinds:
        raise UserError(f"there are no leaf cells of type {spec.leaf_type}; there are {_list(kinds)}")
    if spec.pinned_cell:
        view = tenant.pinned.get(spec.pinned_cell)
        if view is None:
            raise UserError(f"virtual cluster {tenant.name} has no pinned cell {spec.pinned_cell}")
        if spec.leaf_type not in ("", view.chain.leaf_type):
            raise UserError(f"pinned cell {spec.pinned_cell} has {view.chain.leaf_type}, not {spec.leaf_type}")
    elif spec.leaf_type and spec.priority != OPPORTUNISTIC:
        own = {view.chain.leaf_type for view in tenant.views.values()}
        if spec.leaf_type not in own:
            raise UserError(f"virtual cluster {tenant.name} has no leaf cells of type {spec.leaf_type}")


def check_member(gang: Gang, pod: Pod) -> None:
    """Refuses a pod that contradicts its gang, or is one too many."""
    known = gang.known(pod)
    if known is not None and known.spec is pod.spec:
        return
    for field in fields(PodSpec):
        if field.name in ("leaf_cells", "gang"):
            continue
        theirs, its = getattr(gang.spec, field.name), getattr(pod.spec, field.name)
        if theirs != its:
            what = WORDS.get(field.name, field.name)
            raise UserError(f"pod {pod.key} and its gang {gang.name} disagree on {what}: {its!r}, but {theirs!r}")
    if gang.spec.gang is not pod.spec.gang and gang.spec.gang.sizes != pod.spec.gang.sizes:
        raise UserError(f"pod {pod.key} and its gang {gang.name} disagree on the members of the gang")
    if known is not None:
        if known.spec != pod.spec:
            was = known.spec.leaf_cells
            raise UserError(f"pod {pod.key} wants {pod.spec.leaf_cells} leaf cells, but wanted {was} before")
        return
    size = pod.spec.leaf_cells
    most = gang.spec.gang.sizes[size]
    if sum(other.spec.leaf_cells == size for other in gang.pods) >= most:
        raise UserError(f"gang {gang.name} has all its {most} pods of {size} leaf cells already")


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
