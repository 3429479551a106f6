"""How far a breadth-first search is."""

from __future__ import annotations

from bisect import bisect
from itertools import pairwise

from fsmdsl.dataclasses import dataclass, field


@dataclass(slots=True)
class Frontier:
    """States have numbers in the order in which they are found, level by level; those below `first` are expanded."""

    first: int = 0
    count: int = 1
    begins: list[int] = field(default_factory=lambda: [0])
    """The number of the first state of each level."""
    level_end: int = 1

    @property
    def depth(self) -> int:
        """How far the states found last are from the first."""
        return len(self.levels) - 1

    @property
    def levels(self) -> list[int]:
        """How many states were found at each depth."""
        coming = [self.level_end] if self.count > self.level_end else []
        return [b - a for a, b in pairwise([*self.begins, *coming, self.count])]

    @property
    def firsts(self) -> int:
        """How many states there are that a run begins in."""
        return self.levels[0]

    @property
    def between_levels(self) -> bool:
        """Is the next state to expand the first of its level?"""
        return self.first == self.begins[-1]

    def level_of(self, state: int) -> int:
        """How far a state is from the first."""
        starts = [*self.begins, self.level_end] if self.count > self.level_end else self.begins
        return bisect(starts, state) - 1

    def advance(self) -> bool:
        """Is there a state to expand? At the end of a level, what was found becomes the next."""
        if self.first == self.level_end and self.count > self.level_end:
            self.begins.append(self.level_end)
            self.level_end = self.count
        return self.first < self.level_end

    def back(self, first: int, count: int) -> None:
        """As it was when fewer states had been expanded and found."""
        later = [x for x in self.begins if x > first]
        if later:
            self.begins, self.level_end = self.begins[: -len(later)], later[0]
        self.first, self.count = first, count
