"""Requests that cannot be meant: each is refused with its cause, and nothing has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from generated.hived import AffinityGroupState
from runtime.cells import Cluster
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.pods import OPPORTUNISTIC, Pod, PodSpec

IDENTITY = {"virtual_cluster": "virtual cluster", "priority": "priority"}
"""What all pods of a gang that has places must say alike: whose cells they are, and how strong their claim is."""
PREFERENCES = {
    "leaf_type": "leaf cell type",
    "pinned_cell": "pinned cell",
    "lazy_preemption": "lazy preemption",
    "ignore_suggested": "the use of suggested nodes",
}
"""What a gang with places has settled: a pod that says otherwise gets its place all the same."""


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
    elif spec.leaf_type and spec.priority != OPPORTUNISTIC:
        own = {view.chain.leaf_type for view in tenant.views.values() if view.tops}
        if spec.leaf_type not in own:
            raise UserError(
                f"virtual cluster {tenant.name} has no leaf cells of type {spec.leaf_type}; it has {_list(own)}"
            )


def refusal(cluster: Cluster, gang: Gang | None, pod: Pod) -> str:
    """Why a pod is refused that is to be one of a gang, or of a new one; empty where it is not."""
    try:
        pod.spec.check()
        if gang is None or gang.state is AffinityGroupState.PENDING:
            check(cluster, pod.spec)
        if gang is not None:
            check_member(gang, pod)
    except UserError as error:
        return str(error)
    return ""


def check_member(gang: Gang, pod: Pod) -> None:
    """Refuses a pod that cannot be one of its gang.

    A pending gang has decided nothing yet: the specification of the pod that asks counts, as in HiveD. A gang with
    places takes a pod of its virtual cluster, priority and members for which it has a place left.
    """
    member = gang.member(pod)
    if member is not None and member.spec.leaf_cells != pod.spec.leaf_cells:
        was = member.spec.leaf_cells
        raise UserError(f"pod {pod.key} wants {pod.spec.leaf_cells} leaf cells, but wanted {was} before")
    if gang.state is AffinityGroupState.PENDING or (member is not None and member.spec is pod.spec):
        return
    for different in disagreements(gang, pod, IDENTITY):
        raise UserError(f"pod {pod.key} and its gang {gang.name} disagree on {different}")
    if gang.spec.gang is not pod.spec.gang and gang.spec.gang.sizes != pod.spec.gang.sizes:
        raise UserError(f"pod {pod.key} and its gang {gang.name} disagree on the members of the gang")
    if member is None:
        check_open(gang, pod)


def check_open(gang: Gang, pod: Pod) -> None:
    """Refuses a pod for which a gang with places has none left."""
    size = pod.spec.leaf_cells
    if gang.open_slot(size) is None:
        slots = len(gang.places.slots.get(size, ()))
        raise UserError(f"gang {gang.name} already has all its {slots} pods of {size} leaf cells")


def disagreements(gang: Gang, pod: Pod, among: Mapping[str, str] = PREFERENCES) -> list[str]:
    """What a pod says otherwise than its gang, in words."""
    pairs = {name: (getattr(pod.spec, name), getattr(gang.spec, name)) for name in among}
    return [f"{among[name]}: {its!r}, but {theirs!r}" for name, (its, theirs) in pairs.items() if its != theirs]


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
