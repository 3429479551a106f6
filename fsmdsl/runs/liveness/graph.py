"""The state graph as flat sequences of integers: all that the decision of temporal properties knows of a system.

Any explorer can make one. Runs begin in the first states, and every state can be reached from one of them. Sequences
are lists, `array.array` or NumPy arrays, whatever the explorer has.

The edges of state `s` are those from `offsets[s]` up to `offsets[s + 1]`: edge `e` leads to `targets[e]`. Two edges may
join the same states. Bit `i` of `marks[e]` is set when the step fulfils obligation `i` of the plan; what an edge
fulfils is enabled in its source. Atom `i` of the plan is true in state `s` when bit `i % 62` of `atoms[i // 62][s]` is
set.

A state without edges is the end of a run, which stays there for ever. Two kinds of states are an exception: they
are not expanded, so no run is continued there. They are those from `expanded` on (a limit was reached), and
those where the atom `bound` is false (they are beyond the bounds of the system).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from fsmdsl.dataclasses import dataclass, field

BITS = 62
"""Maximum number of atoms in a column, and of obligations in the marks of an edge: the bits of a signed 64-bit word,
without its sign."""


class Ints(Protocol):
    """A sequence of integers that can be changed in place."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    def __getitem__(self, at: int, /) -> int: ...
    def __setitem__(self, at: int, value: int, /) -> None: ...


@dataclass(frozen=True, eq=False)
class Graph:
    """See above. `expanded` None: all states are. `firsts`: in so many states, the first ones, a run may begin. `bound`
    None: there are no bounds."""

    offsets: Ints = field(repr=False)
    targets: Ints = field(repr=False)
    marks: Ints = field(repr=False)
    atoms: tuple[Ints, ...] = field(repr=False)
    expanded: int | None = None
    firsts: int = 1
    bound: int | None = None

    @property
    def states(self) -> int:
        """How many."""
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        """How many."""
        return len(self.targets)

    @property
    def open(self) -> Iterable[int]:
        """The states that are not expanded."""
        rest = range(self.states if self.expanded is None else self.expanded, self.states)
        if self.bound is None:
            return rest
        column, bit = self.atoms[self.bound // BITS], self.bound % BITS
        return [n for n, value in enumerate(column) if not value >> bit & 1 or n in rest]


STAYS = -1
"""In place of an edge: a run that has ended stays where it is."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a run: from which state (or node of a network), along which edge (or `STAYS`), to which."""

    source: int
    edge: int
    target: int


@dataclass(frozen=True, slots=True)
class Lasso:
    """A run that breaks a property: the stem, then the loop for ever.

    Where the loop is empty, the stem alone has broken the property, and any way to go on does.
    """

    stem: tuple[Hop, ...]
    loop: tuple[Hop, ...]
    state: int
    """Where the stem ends."""
