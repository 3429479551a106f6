"""How far a breadth-first search is."""

from __future__ import annotations

from dataclasses import dataclass, field


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
        return len(self.begins) - 1

    def advance(self) -> bool:
        """Is there a state to expand? At the end of a level, what was found becomes the next."""
        if self.first == self.level_end and self.count > self.level_end:
            self.begins.append(self.level_end)
            self.level_end = self.count
        return self.first < self.level_end
