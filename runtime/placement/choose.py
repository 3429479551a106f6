"""Where a gang goes: chain by chain, first such that nobody is displaced, then such that few are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from runtime.cells import ALL, Books, Device, View, VirtualCell
from runtime.placement import inside, opportunistic
from runtime.placement.mapping import map_cells
from runtime.placement.misfit import Misfit
from runtime.placement.offer import Offer
from runtime.placement.proposal import Placement, Seat
from runtime.pods import OPPORTUNISTIC, PodSpec
from runtime.preemption.lazy import as_if_demoted, willing
from runtime.preemption.victims import displaced, owner

TRIES = 8
"""How often to look for other virtual cells, when those found have no usable physical ones."""

OTHERS = 3
"""How often to look for others because opportunistic gangs use the physical ones."""


def choose(books: Books, spec: PodSpec, offer: Offer) -> Placement | str:
    """Places for a gang, or the reason why there are none now. Leaves everything as it is."""
    sizes = sorted((n for size, count in spec.gang.sizes.items() for n in [size] * count), reverse=True)
    if spec.priority == OPPORTUNISTIC:
        return _opportunistic(books, spec, sizes, offer)
    best: Placement | None = None
    reasons: list[str] = []
    for view in _views(books, spec):
        found = _guaranteed(books, view, sizes, spec.priority, offer)
        if isinstance(found, str):
            reasons.append(found)
        elif not found.demote and not displaced(found.devices()):
            return found
        elif best is None:
            best = found
    return best if best is not None else "; ".join(reasons)


def _views(books: Books, spec: PodSpec) -> Iterator[View]:
    tenant = books.cluster.tenants[spec.virtual_cluster]
    if spec.pinned_cell:
        yield tenant.pinned[spec.pinned_cell]
        return
    for name, forest in books.cluster.forests.items():
        if name in tenant.views and spec.leaf_type in ("", forest.chain.leaf_type):
            yield tenant.views[name]


def _opportunistic(books: Books, spec: PodSpec, sizes: Sequence[int], offer: Offer) -> Placement | str:
    for name, forest in books.cluster.forests.items():
        if spec.leaf_type in ("", forest.chain.leaf_type):
            seats = opportunistic.place(forest, sizes, offer)
            if seats is not None:
                return Placement(name, tuple(Seat(devices, ()) for devices in seats))
    return f"no chain has room for {_demand(sizes)} on usable nodes"


def _guaranteed(books: Books, view: View, sizes: Sequence[int], priority: int, offer: Offer) -> Placement | str:
    """Places inside a view: without displacing anybody of its virtual cluster, or else with."""
    allowed = offer.spots(view)
    unusable = False
    for threshold in (ALL, priority):
        spots, best, others = allowed, None, 0
        for _ in range(TRIES):
            leaves = inside.place(view, sizes, threshold, spots)
            if leaves is None:
                break
            found = _mapped(books, view, leaves, offer)
            if isinstance(found, Misfit):
                unusable = True
                spots &= ~found.nodes
                continue
            taken = {x for x in found.devices() if x.priority == OPPORTUNISTIC or owner(x) in found.demote}
            if not taken:
                return found
            best, others = best or found, others + 1
            if others > OTHERS:
                break
            spots &= ~_nodes(found, taken)
        if best is not None:
            return best
    where = view.tops[0].pinned if view.tops and view.tops[0].pinned else view.chain.name
    room = f"has room for {_demand(sizes)} in {where}, but not on usable nodes"
    return f"{view.tenant.name} {room if unusable else f'has no room for {_demand(sizes)} in {where}'}"


def _mapped(books: Books, view: View, chosen: Sequence[tuple[VirtualCell, ...]], offer: Offer) -> Placement | Misfit:
    """The physical cells for virtual ones, as they will be when those who would rather be demoted are."""
    leaves = [leaf for seat in chosen for leaf in seat]
    demoted = willing(leaves)
    with as_if_demoted(books, demoted):
        devices = map_cells(books.cluster.forests[view.chain.name], leaves, offer)
    if isinstance(devices, Misfit):
        return devices
    seats = (Seat(tuple(devices[leaf] for leaf in leaves), leaves) for leaves in chosen)
    return Placement(view.chain.name, tuple(seats), tuple(demoted))


def _nodes(placement: Placement, devices: set[Device]) -> int:
    """The nodes of the view that get any of these devices."""
    nodes = 0
    for seat in placement.seats:
        for device, leaf in zip(seat.devices, seat.virtual, strict=True):
            if device in devices and leaf.node is not None:
                nodes |= 1 << leaf.node.spot
    return nodes


def _demand(sizes: Iterable[int]) -> str:
    counts: dict[int, int] = {}
    for size in sizes:
        counts[size] = counts.get(size, 0) + 1
    return " and ".join(f"{count} x {size}" for size, count in counts.items()) + " leaf cells"
