"""Where a gang goes: the first chain without victims in its virtual cluster, else the one with the least cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runtime.cells import CellLedger, View
from runtime.placement import guaranteed, opportunistic
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.guaranteed import demand, placement_cost
from runtime.placement.packing import impossible
from runtime.placement.proposal import NoPlace, Placement, PodAssignment
from runtime.pods import OPPORTUNISTIC, PodSpec


def choose(
    ledger: CellLedger, spec: PodSpec, candidates: CandidateNodes, *, refine: bool = True
) -> Placement | NoPlace:
    """Places for a gang, or the reason why there are none now. Leaves everything as it is.

    Without `refine`, a guaranteed gang gets the first places found, although others might displace fewer gangs.
    """
    total = sum(size * count for size, count in spec.gang.sizes.items())
    if total > max((len(forest.levels[1]) for forest in ledger.cluster.forests.values()), default=0):
        return NoPlace(f"no chain has {total} leaf cells", permanent=True)
    sizes = sorted((n for size, count in spec.gang.sizes.items() for n in [size] * count), reverse=True)
    if spec.priority == OPPORTUNISTIC:
        return _opportunistic(ledger, spec, sizes, candidates)
    best: Placement | None = None
    refusals: list[NoPlace] = []
    for view in _views(ledger, spec):
        choice = guaranteed.place(ledger, view, sizes, spec.priority, candidates, refine=refine)
        if isinstance(choice, NoPlace):
            refusals.append(choice)
        elif choice.peaceful:
            return choice
        elif best is None or placement_cost(choice) < placement_cost(best):
            best = choice
    if best is not None:
        return best
    nothing = f"{spec.virtual_cluster} has no cells of this kind but pinned ones"
    reasons = "; ".join(refusal.reason for refusal in refusals)
    return NoPlace(reasons or nothing, all(refusal.permanent for refusal in refusals))


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
) -> Placement | NoPlace:
    """From the last chain on: guaranteed gangs come to the first ones, and would displace it there."""
    for name, forest in reversed(ledger.cluster.forests.items()):
        if spec.leaf_type in ("", forest.chain.leaf_type):
            assignments = opportunistic.place(forest, sizes, candidates)
            if assignments is not None:
                return Placement(name, tuple(PodAssignment(devices, ()) for devices in assignments))
    forests = [x for x in ledger.cluster.forests.values() if spec.leaf_type in ("", x.chain.leaf_type)]
    nodes = [(x.chain.leaves[x.chain.node], len(x.levels[x.chain.node])) for x in forests]
    if all(impossible({size: count}, sizes) for size, count in nodes):
        largest = max(size for size, _ in nodes)
        return NoPlace(f"no chain can ever have {demand(sizes)}: a node has {largest} at most", permanent=True)
    return NoPlace(f"no chain has room for {demand(sizes)} on usable nodes")
