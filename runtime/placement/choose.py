"""Where a gang goes: chain by chain, first such that nobody of its virtual cluster is displaced.

What a virtual cluster gets depends on itself alone, as long as nodes are good: whether others lend their cells to
opportunistic gangs, and which, decides only which physical cells are taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from runtime.cells import ALL, Books, View, VirtualCell
from runtime.placement import inside, opportunistic
from runtime.placement.mapping import map_cells
from runtime.placement.misfit import Misfit
from runtime.placement.offer import Offer
from runtime.placement.packing import fits
from runtime.placement.proposal import Placement, Seat
from runtime.pods import OPPORTUNISTIC, PodSpec
from runtime.preemption.lazy import as_if_demoted, willing

TRIES = 8
"""How often to look for other virtual cells, when those found have no usable physical ones."""

OTHERS = 3
"""How often to look for others because opportunistic gangs use the physical ones."""


def choose(books: Books, spec: PodSpec, offer: Offer) -> Placement | str:
    """Places for a gang, or the reason why there are none now. Leaves everything as it is."""
    demand = sum(size * count for size, count in spec.gang.sizes.items())
    if demand > max((len(forest.levels[1]) for forest in books.cluster.forests.values()), default=0):
        return f"no chain has {demand} leaf cells"
    sizes = sorted((n for size, count in spec.gang.sizes.items() for n in [size] * count), reverse=True)
    if spec.priority == OPPORTUNISTIC:
        return _opportunistic(books, spec, sizes, offer)
    best: Placement | None = None
    reasons: list[str] = []
    for view in _views(books, spec):
        found = _guaranteed(books, view, sizes, spec.priority, offer)
        if isinstance(found, str):
            reasons.append(found)
        elif found.peaceful:
            return found
        elif best is None:
            best = found
    nothing = f"{spec.virtual_cluster} has no cells of this kind but pinned ones"
    return best if best is not None else "; ".join(reasons) or nothing


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
        spots = allowed
        for _ in range(TRIES):
            leaves = inside.place(view, sizes, threshold, spots)
            if leaves is None:
                break
            found = _mapped(books, view, leaves, offer)
            if isinstance(found, Placement):
                if threshold == priority:
                    return found
                return _spare(books, view, sizes, offer, spots, replace(found, peaceful=True))
            unusable = True
            spots &= ~found.nodes
    where = view.tops[0].pinned if view.tops and view.tops[0].pinned else view.chain.name
    if not unusable and (never := _never(view, sizes)):
        return f"{view.tenant.name} can never have {_demand(sizes)} in {where}: {never}"
    room = f"has room for {_demand(sizes)} in {where}, but not on usable nodes"
    return f"{view.tenant.name} {room if unusable else f'has no room for {_demand(sizes)} in {where}'}"


def _never(view: View, sizes: Sequence[int]) -> str:
    """Why a gang does not fit into a view with nobody else in it; empty where it does, as far as numbers say."""
    rooms = [view.chain.leaves[node.level] for node in view.nodes]
    if fits(Counter(rooms), sizes):
        return ""
    return f"it is promised {sum(rooms)} leaf cells there, at most {max(rooms, default=0)} on a node"


def _spare(books: Books, view: View, sizes: Sequence[int], offer: Offer, spots: int, first: Placement) -> Placement:
    """Other nodes, if those found are occupied by opportunistic gangs, and others are as good to the virtual cluster.

    Only an empty node is as good as another one: whom others have lent its cells to must not make a virtual cluster
    less densely packed than it would be if it had them to itself, or it could not have later what it is promised.
    """
    best = first
    for _ in range(OTHERS):
        occupied = 0
        for seat in best.seats:
            for device, leaf in zip(seat.devices, seat.virtual, strict=True):
                if device.priority == OPPORTUNISTIC and leaf.node is not None and not view.rooms.used[leaf.node.spot]:
                    occupied |= 1 << leaf.node.spot
        spots &= ~occupied
        leaves = inside.place(view, sizes, ALL, spots) if occupied else None
        if leaves is None or _shape(view, leaves) != _shape(view, [seat.virtual for seat in first.seats]):
            return first
        found = _mapped(books, view, leaves, offer)
        if isinstance(found, Misfit):
            return first
        best = replace(found, peaceful=True)
        if not any(device.priority == OPPORTUNISTIC for device in best.devices()):
            return best
    return first


def _shape(view: View, chosen: Sequence[tuple[VirtualCell, ...]]) -> list[tuple[int, list[int]]]:
    """The rooms of the nodes that a gang gets, and the pods on each: what a placement is to a virtual cluster."""
    pods: dict[int, list[int]] = {}
    for leaves in chosen:
        node = leaves[0].node
        assert node is not None, "leaf cells are in nodes"
        pods.setdefault(node.spot, []).append(len(leaves))
    return sorted((view.rooms.room(spot, ALL), sizes) for spot, sizes in pods.items())


def _mapped(books: Books, view: View, chosen: Sequence[tuple[VirtualCell, ...]], offer: Offer) -> Placement | Misfit:
    """The physical cells for virtual ones, as they will be when those who would rather be demoted are.

    What these free is for the gang first: if there is not enough for all, it is other cells that it must not want.
    """
    leaves = sorted((leaf for seat in chosen for leaf in seat), key=lambda leaf: leaf.physical is None)
    demoted = willing(leaves)
    with as_if_demoted(books, demoted):
        devices = map_cells(books.cluster.forests[view.chain.name], leaves, offer)
    if isinstance(devices, Misfit):
        return devices
    seats = (Seat(tuple(devices[leaf] for leaf in leaves), leaves) for leaves in chosen)
    return Placement(view.chain.name, tuple(seats), tuple(demoted))


def _demand(sizes: Iterable[int]) -> str:
    counts: dict[int, int] = {}
    for size in sizes:
        counts[size] = counts.get(size, 0) + 1
    return " and ".join(f"{count} x {size}" for size, count in counts.items()) + " leaf cells"
