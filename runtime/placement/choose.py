"""Where a gang goes: the first chain without victims in its virtual cluster, else the one with the least cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runtime.cells import CellLedger, View
from runtime.placement import guaranteed, opportunistic
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.guaranteed import demand, placement_cost
from runtime.placement.proposal import Placement, PodAssignment
from runtime.pods import OPPORTUNISTIC, PodSpec


def choose(ledger: CellLedger, spec: PodSpec, candidates: CandidateNodes) -> Placement | str:
    """Places for a gang, or the reason why there are none now. Leaves everything as it is."""
    total = sum(size * count for size, count in spec.gang.sizes.items())
    if total > max((len(forest.levels[1]) for forest in ledger.cluster.forests.values()), default=0):
        return f"no chain has {total} leaf cells"
    sizes = sorted((n for size, count in spec.gang.sizes.items() for n in [size] * count), reverse=True)
    if spec.priority == OPPORTUNISTIC:
        return _opportunistic(ledger, spec, sizes, candidates)
    best: Placement | None = None
    reasons: list[str] = []
    for view in _views(ledger, spec):
        choice = guaranteed.place(ledger, view, sizes, spec.priority, candidates)
        if isinstance(choice, str):
            reasons.append(choice)
        elif choice.peaceful:
            return choice
        elif best is None or placement_cost(choice) < placement_cost(best):
            best = choice
    nothing = f"{spec.virtual_cluster} has no cells of this kind but pinned ones"
    return best if best is not None else "; ".join(reasons) or nothing


def _views(ledger: CellLedger, spec: PodSpec) -> Iterator[View]:
    tenant = ledger.cluster.tenants[spec.virtual_cluster]
    if spec.pinned_cell:
        yield tenant.pinned[spec.pinned_cell]
        return
    for name, forest in ledger.cluster.forests.items():
        if name in tenant.views and spec.leaf_type in ("", forest.chain.leaf_type):
            yield tenant.views[name]


def _opportunistic(
    ledger: CellLedger, spec: PodSpec, sizes: Sequence[int], candidates: CandidateNodes
) -> Placement | str:
    """From the last chain on: guaranteed gangs come to the first ones, and would displace it there."""
    for name, forest in reversed(ledger.cluster.forests.items()):
        if spec.leaf_type in ("", forest.chain.leaf_type):
            assignments = opportunistic.place(forest, sizes, candidates)
            if assignments is not None:
                return Placement(name, tuple(PodAssignment(devices, ()) for devices in assignments))
    return f"no chain has room for {demand(sizes)} on usable nodes"
