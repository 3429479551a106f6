"""Free physical cells for preassigned ones that are not bound: buddy allocation that looks ahead.

A preassigned cell gets a free cell of its level, or one split off from a larger one as long as all promises can still
be kept. Where a gang needs several, or has others already, it gets them close together: regions are tried from small
to large, and only then the whole chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from runtime.cells import Forest, PhysicalCell, VirtualCell
from runtime.cells.bits import each, first, span
from runtime.cells.free import FreeLists
from runtime.placement.fitting import Fitting
from runtime.placement.requirements import Devices

MAX_RETURNS = 200
"""Maximum number of backtracking steps for the preassigned cells of one gang in the whole chain."""

MAX_REGION_RETURNS = 8
"""Maximum number of backtracking steps in one region."""

MAX_REGIONS = 32
"""Maximum number of regions of a level, among those with free cells, that are examined."""

MAX_REGION_ATTEMPTS = 4
"""Maximum number of regions, among those with enough room, in which placement is attempted."""


class FreeCells:
    """The search for one gang. `tops` are its preassigned cells, `anchors` the cells that it has already."""

    def __init__(self, fitting: Fitting, tops: Sequence[VirtualCell], anchors: Sequence[PhysicalCell]) -> None:
        self.fitting = fitting
        self.forest: Forest = fitting.forest
        self.tops = tops
        self.anchors = anchors

    def place(self) -> tuple[list[Devices], FreeLists]:
        """The devices for each preassigned cell, or for as many as possible; and the free lists that are left."""
        for region in self._regions():
            placed = self._place_all(region, MAX_REGION_RETURNS)
            if len(placed[0]) == len(self.tops):
                return placed
        return self._place_all(None, MAX_RETURNS)

    # Regions

    def _regions(self) -> Iterator[PhysicalCell]:
        """Parts of the chain that may have room for all, small ones first."""
        if self.anchors:
            yield from self._around(self.anchors)
        elif len(self.tops) > 1:
            chain = self.forest.chain
            leaves = sum(map(self.fitting.leaves, self.tops))
            for level in range(self.tops[0].level + 1, chain.top + 1):
                if chain.leaves[level] >= leaves:
                    yield from self._with_room(level, leaves)

    def _around(self, cells: Sequence[PhysicalCell]) -> Iterator[PhysicalCell]:
        """The smallest cell that some cells have in common, and those around it."""
        region: PhysicalCell | None = cells[0]
        for cell in cells[1:]:
            other: PhysicalCell | None = cell
            while region is not other and region is not None and other is not None:
                if region.level <= other.level:
                    region = region.parent
                else:
                    other = other.parent
            if other is None:
                region = None
        while region is not None:
            if region.level > self.tops[0].level:
                yield region
            region = region.parent

    def _with_room(self, level: int, leaves: int) -> Iterator[PhysicalCell]:
        """Cells of a level with free cells in them, those first that are split already."""
        tried = 0
        for position in islice(self._partly_free(level), MAX_REGIONS):
            region = self.forest.levels[level][position]
            if self._roomy(region, leaves):
                yield region
                tried += 1
                if tried == MAX_REGION_ATTEMPTS:
                    return

    def _partly_free(self, level: int) -> Iterator[int]:
        """The cells of a level that have free ones in them, or are in one, each once."""
        chain, lists = self.forest.chain, self.forest.lists
        least, seen = self.tops[-1].level, 0
        for free in range(least, lists.may_split(least) + 1):
            cells = lists.free[free] & (self.fitting.usable if free == chain.node else -1)
            inside = chain.below(max(level, free), min(level, free))
            while cells:
                position = first(cells)
                if free < level:
                    around = position // inside
                    cells &= ~span(around * inside, inside)
                    if not seen >> around & 1:
                        seen |= 1 << around
                        yield around
                else:
                    cells &= ~(1 << position)
                    yield from range(position * inside, (position + 1) * inside)

    def _roomy(self, region: PhysicalCell, leaves: int) -> bool:
        """Whether the usable nodes of a region have enough leaf cells, by their numbers alone."""
        chain = self.forest.chain
        if region.level <= chain.node:
            return True
        nodes = self._nodes(region) & self.fitting.usable & ~self.forest.bound_nodes
        return nodes.bit_count() * chain.leaves[chain.node] >= leaves

    def _nodes(self, cell: PhysicalCell) -> int:
        count = cell.chain.below(cell.level, cell.chain.node)
        return span(cell.position * count, count)

    # Placing

    def _place_all(self, region: PhysicalCell | None, limit: int) -> tuple[list[Devices], FreeLists]:
        """A free cell for each preassigned one; goes back when one finds none. As many as it gets."""
        lists_by_depth = [self.forest.lists]
        open_choices: list[Iterator[tuple[PhysicalCell, Devices]]] = []
        devices: list[Devices] = []
        most: tuple[list[Devices], FreeLists] = ([], lists_by_depth[0])
        returns = 0
        while len(devices) < len(self.tops):
            if len(open_choices) == len(devices):
                open_choices.append(self._candidates(self.tops[len(devices)], lists_by_depth[-1], region))
            choice = next(open_choices[-1], None)
            if choice is not None:
                lists = lists_by_depth[-1].copy()
                lists.take(choice[0].level, choice[0].position)
                lists_by_depth.append(lists)
                devices.append(choice[1])
                continue
            returns += 1
            if len(devices) > len(most[0]):
                most = (list(devices), lists_by_depth[-1])
            if not devices or returns > limit:
                return most
            open_choices.pop()
            lists_by_depth.pop()
            devices.pop()
        return devices, lists_by_depth[-1]

    def _candidates(
        self, top: VirtualCell, lists: FreeLists, region: PhysicalCell | None
    ) -> Iterator[tuple[PhysicalCell, Devices]]:
        """Physical cells for a preassigned one: free ones of its level, then parts of larger and larger ones."""
        demand = len(self.fitting.required.nodes_in(top))
        for level in range(top.level, lists.may_split(top.level) + 1):
            free = lists.free[level]
            for position in self._in_order(level, free if region is None else free & self._within(region, level)):
                cell = self.forest.levels[level][position]
                start = region if region is not None and region.level < level else cell
                for inside in self._inside(start, top, demand):
                    devices = self.fitting.fit(top, inside)
                    if devices is not None:
                        yield inside, devices

    def _within(self, region: PhysicalCell, level: int) -> int:
        """The cells of a level that are in a region, or that it is in."""
        if level > region.level:
            return 1 << region.position // self.forest.chain.below(level, region.level)
        count = self.forest.chain.below(region.level, level)
        return span(region.position * count, count)

    def _in_order(self, level: int, cells: int) -> Iterator[int]:
        """Free cells of a level: fewest opportunistic pods first, then undamaged ones."""
        if level == self.forest.chain.node:
            cells &= self.fitting.usable
        damaged = self.forest.damaged[level]
        sets = self.forest.by_opportunistic[level]
        for count in sorted(sets):
            among = sets[count] & cells
            yield from each(among & ~damaged)
            if level > self.forest.chain.node:
                yield from each(among & damaged)

    def _inside(self, cell: PhysicalCell, top: VirtualCell, demand: int) -> Iterator[PhysicalCell]:
        """The cells in a cell that are of the level of a preassigned one; fewest opportunistic pods first.

        Only where enough nodes are usable.
        """
        if cell.level > cell.chain.node and (self.fitting.usable & self._nodes(cell)).bit_count() < demand:
            return
        if not self.fitting.possible(top, cell):
            return
        if cell.level == top.level:
            yield cell
            return
        for child in sorted(cell.children, key=lambda x: x.opportunistic):
            yield from self._inside(child, top, demand)
