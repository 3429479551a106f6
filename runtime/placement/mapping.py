"""From virtual to physical cells: buddy allocation that looks ahead.

A preassigned cell that is not bound gets a free physical cell of its level, or one split off from a larger one as
long as all promises can still be kept. Inside, children are matched with children, such that all that is wanted
lies on nodes that can be used. Of cells that serve equally well those with the fewest opportunistic pods are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runtime.cells import Device, Forest, PhysicalCell, VirtualCell
from runtime.cells.bits import each, span
from runtime.cells.free import FreeLists
from runtime.placement.matching import match
from runtime.placement.misfit import Misfit, misfit
from runtime.placement.offer import Offer
from runtime.placement.wanted import Devices, Wanted, wanted

LIMIT = 200
"""How often to go back, for the preassigned cells of one gang."""


def map_cells(forest: Forest, leaves: Iterable[VirtualCell], offer: Offer) -> Devices | Misfit:
    """A device for each virtual leaf cell, on usable nodes."""
    search = _Search(forest, wanted(leaves), offer)
    found = dict(search.wanted.ready)
    for parent, children in search.wanted.under.items():
        devices = search.place_under(parent, children)
        if isinstance(devices, Misfit):
            return devices
        found.update(devices)
    tops = search.place_tops()
    if isinstance(tops, Misfit):
        return tops
    return {**found, **tops}


class _Search:
    def __init__(self, forest: Forest, wanted: Wanted, offer: Offer) -> None:
        self.forest = forest
        self.wanted = wanted
        self.offer = offer
        self.usable = offer.nodes(forest)

    def place_under(self, parent: VirtualCell, children: list[VirtualCell]) -> Devices | Misfit:
        """For unbound cells under a bound one."""
        assert parent.physical is not None, "the parent is bound"
        free = [x for x in parent.physical.children if x.virtual is None]
        pairs = self.pair(children, free)
        found: Devices = {}
        kept: set[VirtualCell] = set()
        for child, pair in zip(children, pairs, strict=True):
            if pair is not None:
                kept.add(child)
                found.update(pair[1])
        if len(kept) == len(children):
            return found
        alone = next(x for x in children if x not in kept)
        used = {pair[0] for pair in pairs if pair is not None}
        alike = [x for x in parent.children if x.physical is None and x not in kept]
        return misfit(alone, self.wanted, alike, [x for x in free if x not in used], self.usable)

    def place_tops(self) -> Devices | Misfit:
        """For unbound preassigned cells: larger ones first, and of a level those of which most is wanted."""
        tops = sorted(self.wanted.tops, key=lambda x: (x.level, self.wanted.leaves_in(x)), reverse=True)
        placed, lists = self._place_all(tops)
        if len(placed) == len(tops):
            return {leaf: device for devices in placed for leaf, device in devices.items()}
        alone, kept = tops[len(placed)], set(tops[: len(placed)])
        alike = [x for x in alone.view.free_tops(alone.level) if x not in kept]
        regions = (
            self.forest.levels[level][position]
            for level in range(alone.level, lists.may_split(alone.level) + 1)
            for position in each(lists.free[level])
        )
        return misfit(alone, self.wanted, alike, regions, self.usable)

    # Inside of cells

    def fit(self, virtual: VirtualCell, physical: PhysicalCell) -> Devices | None:
        """The devices for what is wanted in a virtual cell, if it can have this physical one."""
        if physical.node is not None and not self.offer.has(physical.node):
            return None
        if isinstance(physical, Device):
            return {virtual: physical}
        found: Devices = {}
        for pair in self.pair(self.wanted.children[virtual], [x for x in physical.children if x.virtual is None]):
            if pair is None:
                return None
            found.update(pair[1])
        return found

    def pair(
        self, virtual: list[VirtualCell], physical: list[PhysicalCell]
    ) -> list[tuple[PhysicalCell, Devices] | None]:
        """The same for siblings, as many of them as possible, each with its physical cell."""
        physical.sort(key=lambda x: x.opportunistic)
        known: dict[tuple[VirtualCell, PhysicalCell], Devices] = {}

        def fits(left: VirtualCell, right: PhysicalCell) -> bool:
            found = self.fit(left, right)
            if found is not None:
                known[left, right] = found
            return found is not None

        chosen = match(virtual, physical, fits)
        return [
            (physical[i], known[x, physical[i]]) if i is not None else None
            for x, i in zip(virtual, chosen, strict=True)
        ]

    # Free cells

    def _place_all(self, tops: list[VirtualCell]) -> tuple[list[Devices], FreeLists]:
        """A free cell for each preassigned one; goes back when one finds none. As many as it gets."""
        books = [self.forest.lists]
        open_choices: list[Iterator[tuple[PhysicalCell, Devices]]] = []
        found: list[Devices] = []
        most: tuple[list[Devices], FreeLists] = ([], books[0])
        returns = 0
        while len(found) < len(tops):
            if len(open_choices) == len(found):
                open_choices.append(self._candidates(tops[len(found)], books[-1]))
            choice = next(open_choices[-1], None)
            if choice is not None:
                lists = books[-1].copy()
                lists.take(choice[0].level, choice[0].position)
                books.append(lists)
                found.append(choice[1])
                continue
            returns += 1
            if len(found) > len(most[0]):
                most = (list(found), books[-1])
            if not found or returns > LIMIT:
                return most
            open_choices.pop()
            books.pop()
            found.pop()
        return found, books[-1]

    def _candidates(self, top: VirtualCell, lists: FreeLists) -> Iterator[tuple[PhysicalCell, Devices]]:
        """Physical cells for a preassigned one: free ones of its level, then parts of larger and larger ones."""
        demand = len(self.wanted.nodes_in(top))
        for level in range(top.level, lists.may_split(top.level) + 1):
            for position in self._in_order(level, lists.free[level]):
                for cell in self._inside(self.forest.levels[level][position], top.level, demand):
                    devices = self.fit(top, cell)
                    if devices is not None:
                        yield cell, devices

    def _in_order(self, level: int, cells: int) -> Iterator[int]:
        """Free cells of a level: fewest opportunistic pods first, then undamaged ones."""
        if level == self.forest.chain.node:
            cells &= self.usable
        damaged = self.forest.damaged[level]
        sets = self.forest.by_opportunistic[level]
        for count in sorted(sets):
            among = sets[count] & cells
            yield from each(among & ~damaged)
            if level > self.forest.chain.node:
                yield from each(among & damaged)

    def _inside(self, cell: PhysicalCell, level: int, demand: int) -> Iterator[PhysicalCell]:
        """The cells of a level in a cell, with so many usable nodes; those with the fewest opportunistic pods first."""
        chain = cell.chain
        if cell.level > chain.node:
            count = chain.below(cell.level, chain.node)
            if (self.usable >> cell.position * count & span(0, count)).bit_count() < demand:
                return
        if cell.level == level:
            yield cell
            return
        for child in sorted(cell.children, key=lambda x: x.opportunistic):
            yield from self._inside(child, level, demand)
