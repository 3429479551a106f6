"""What to compare with: a scheduler that counts. The same engine drives it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from runtime.config import Configuration
from runtime.config.physical import node_cells
from runtime.simulate.observe import Faceless
from runtime.simulate.rooms import Rooms
from runtime.simulate.scheduler import Ending, Outcome, Placed, Refused
from runtime.simulate.workload import Request


class Counting:
    """First fit on numbers of free devices by node: each pod goes to the first node that has room, of the first chain
    that has room for all pods.

    No virtual clusters, no topology, no priorities, no life cycles: the least that a scheduler of gangs can do.
    """

    isolated = False
    face = Faceless()

    def __init__(self, configuration: Configuration) -> None:
        rooms = Rooms(configuration)
        self.types = rooms.types
        self.free = {
            chain: dict.fromkeys((node for node, _ in node_cells(forest)), rooms.sizes[chain])
            for chain, forest in configuration.forests.items()
        }
        self.size = rooms.sizes
        self.bad: set[str] = set()
        self.placed: dict[str, Placed] = {}

    def set_health(self, node: str, *, healthy: bool) -> None:
        """A node fails, or is repaired."""
        (self.bad.discard if healthy else self.bad.add)(node)

    def ask(self, request: Request) -> Outcome:
        """First fit."""
        for chain, free in self.free.items():
            if request.leaf_type in ("", self.types[chain]):
                pods = self._fit(free, request.sizes)
                if pods is not None:
                    placed = self.placed[request.gang] = Placed(chain, tuple(pods))
                    return placed
        return Refused("no chain has room")

    def _fit(self, free: dict[str, int], sizes: tuple[int, ...]) -> list[tuple[str, int]] | None:
        pods: list[tuple[str, int]] = []
        nodes = iter(free)
        size_before = 0
        for size in sizes:
            if size != size_before:
                nodes, size_before = iter(free), size
                node = next(nodes, None)
            while node is not None and (free[node] < size or node in self.bad):
                node = next(nodes, None)
            if node is None:
                for taken, count in pods:
                    free[taken] += count
                return None
            free[node] -= size
            pods.append((node, size))
        return pods

    def claims(self, request: Request) -> bool:
        """Never."""
        return False

    def end(self, request: Request, ending: Ending) -> None:
        """Devices are free again."""
        placed = self.placed.pop(request.gang, None)
        for node, count in placed.pods if placed is not None else ():
            assert placed is not None
            self.free[placed.chain][node] += count

    def hopeless(self, request: Request) -> str:
        """Whether it fits when all is free."""
        for chain, free in self.free.items():
            if request.leaf_type in ("", self.types[chain]):
                node = self.size[chain]
                if self._fit(dict.fromkeys(free, node), request.sizes) is not None:
                    return ""
        return "no chain is large enough"

    def instant(self) -> AbstractContextManager[None]:
        """Nothing to do."""
        return nullcontext()
