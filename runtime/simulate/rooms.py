"""Free leaf cells by node: which gangs they can serve, and which are stranded.

Fragmentation is measured on the cluster as it is, regardless of the virtual cluster that leaf cells are promised to. A
gang of n devices that fits on a node needs one node with n free devices; a larger one needs whole free nodes of one
chain. Free devices that the largest possible number of such gangs would leave over are stranded for n.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from runtime.config import Configuration
from runtime.config.physical import node_cells


class Rooms:
    """The nodes of each chain by the number of free leaf cells. Bad nodes count for nothing."""

    def __init__(self, configuration: Configuration) -> None:
        self.sizes: dict[str, int] = {}
        """By chain: leaf cells of a node."""
        self.types: dict[str, str] = {}
        """By chain: the type of its leaf cells."""
        self._free: dict[tuple[str, str], int] = {}
        """By chain and node; negative numbers never."""
        self._counts: dict[str, Counter[int]] = {}
        """By chain: number of free leaf cells -> number of healthy nodes."""
        self._bad: set[str] = set()
        self._chains: dict[str, list[str]] = defaultdict(list)
        """By node: the chains that it is in."""
        for name, forest in configuration.forests.items():
            size = forest.chain.leaves[forest.chain.node]
            self.sizes[name], self.types[name] = size, forest.chain.leaf_type
            nodes = [node for node, _ in node_cells(forest)]
            self._counts[name] = Counter({size: len(nodes)})
            for node in nodes:
                self._free[name, node] = size
                self._chains[node].append(name)

    @property
    def nodes(self) -> list[str]:
        """All of them, each once, in the order of the configuration."""
        return list(self._chains)

    def devices(self, node: str) -> int:
        """Leaf cells on a node, in all chains."""
        return sum(self.sizes[chain] for chain in self._chains[node])

    def change(self, chain: str, node: str, by: int) -> None:
        """The number of free leaf cells of a node changes."""
        free = self._free[chain, node]
        self._free[chain, node] = free + by
        if node not in self._bad:
            counts = self._counts[chain]
            counts[free] -= 1
            counts[free + by] += 1

    def set_health(self, node: str, *, healthy: bool) -> None:
        """A node fails, or is repaired."""
        if healthy == (node not in self._bad):
            return
        (self._bad.discard if healthy else self._bad.add)(node)
        for chain in self._chains[node]:
            self._counts[chain][self._free[chain, node]] += 1 if healthy else -1

    @property
    def bad(self) -> int:
        """How many nodes are bad."""
        return len(self._bad)

    def free(self) -> int:
        """Unused leaf cells on healthy nodes."""
        return sum(free * nodes for counts in self._counts.values() for free, nodes in counts.items())

    def healthy(self) -> int:
        """Leaf cells on healthy nodes."""
        return sum(self.sizes[chain] * counts.total() for chain, counts in self._counts.items())

    def largest(self) -> int:
        """Healthy leaf cells of the largest chain: more than that, no gang can have."""
        return max((self.sizes[chain] * counts.total() for chain, counts in self._counts.items()), default=0)

    def may_fit(self, leaf_type: str, sizes: Sequence[int]) -> bool:
        """Whether some chain has room for pods of these sizes: necessary for gangs that displace no other."""
        if not sizes:
            return True
        uniform = sizes[0] == sizes[-1]
        needed = {sizes[0]: len(sizes)} if uniform else Counter(sizes)
        for chain, counts in self._counts.items():
            if leaf_type in ("", self.types[chain]) and all(
                sum(free // size * nodes for free, nodes in counts.items()) >= number for size, number in needed.items()
            ):
                return True
        return False

    def stranded(self, devices: int) -> int:
        """Free leaf cells that no gang of this many devices could use."""
        usable = 0
        for chain, counts in self._counts.items():
            size = self.sizes[chain]
            if devices <= size:
                usable += sum(free // devices * devices * nodes for free, nodes in counts.items())
            elif devices % size == 0:
                usable += counts[size] // (devices // size) * devices
        return self.free() - usable
