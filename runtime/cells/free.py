"""Buddy allocation: which cells of a chain are free, and how many of them are promised.

A free list names the largest free cells alone: a cell that is in a list is in it for all that is inside. Taking a
cell splits the one it is in; giving it back merges buddies again. Lists are sets of positions, so the same cells
free means the same books, whatever the history.
"""

from __future__ import annotations

from runtime.cells.bits import span
from runtime.config.model import Chain
from runtime.errors import SafetyBrokenError


class FreeLists:
    """The free cells of a chain by level, and the promises: preassigned cells that no virtual cluster uses now."""

    __slots__ = ("chain", "count", "free", "promised")

    def __init__(self, chain: Chain, tops: int, promised: list[int]) -> None:
        self.chain = chain
        levels = chain.top + 1
        self.free = [0] * levels
        self.count = [0] * levels
        self.free[chain.top] = span(0, tops)
        self.count[chain.top] = tops
        self.promised = promised

    def copy(self) -> FreeLists:
        """For trying things out. Costs a few list elements: the sets themselves are shared."""
        other = FreeLists.__new__(FreeLists)
        other.chain, other.promised = self.chain, list(self.promised)
        other.free, other.count = list(self.free), list(self.count)
        return other

    def holder(self, level: int, position: int) -> int:
        """The level of the free cell that a cell is in; 0 where it is in none."""
        fanout = self.chain.fanout
        for above in range(level, self.chain.top + 1):
            if self.free[above] >> position & 1:
                return above
            if above < self.chain.top:
                position //= fanout[above + 1]
        return 0

    def take(self, level: int, position: int) -> None:
        """Takes a cell, for one of the promised ones of its level; splits what it is in."""
        fanout = self.chain.fanout
        at, above = position, level
        while not self.free[above] >> at & 1:
            if above == self.chain.top:
                raise SafetyBrokenError(f"{self.chain.types[level]} {position} of {self.chain.name} is not free")
            parent = at // fanout[above + 1]
            self.free[above] ^= span(parent * fanout[above + 1], fanout[above + 1]) ^ (1 << at)
            self.count[above] += fanout[above + 1] - 1
            at, above = parent, above + 1
        self.free[above] ^= 1 << at
        self.count[above] -= 1
        self.promised[level] -= 1

    def give(self, level: int, position: int) -> None:
        """The inverse of `take`."""
        fanout = self.chain.fanout
        self.promised[level] += 1
        while level < self.chain.top:
            size = fanout[level + 1]
            start = position // size * size
            buddies = span(start, size)
            if (self.free[level] | 1 << position) & buddies != buddies:
                break
            self.free[level] &= ~buddies
            self.count[level] -= size - 1
            level, position = level + 1, position // size
        self.free[level] |= 1 << position
        self.count[level] += 1

    def spare(self) -> list[int]:
        """By level: cells left when all promises of this level and above are kept. Safe is where none is negative."""
        spare = [0] * (self.chain.top + 1)
        above = 0
        for level in range(self.chain.top, 0, -1):
            split = above * self.chain.fanout[level + 1] if level < self.chain.top else 0
            above = spare[level] = self.count[level] - self.promised[level] + split
        return spare

    def may_split(self, level: int) -> int:
        """The highest level whose cells may be split for a promised cell of this one, with all promises still kept."""
        spare = self.spare()
        highest = level
        while highest < self.chain.top and spare[highest + 1] >= 1:
            highest += 1
        return highest

    def obtainable(self, level: int) -> int:
        """How many cells of a level are free, or inside of free ones."""
        return sum(self.count[above] * self.chain.below(above, level) for above in range(level, self.chain.top + 1))
