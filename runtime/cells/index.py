"""Nodes by how much room they have, so that finding one does not mean looking at all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from runtime.cells.bits import span

ALL = -1
"""Room next to every pod, opportunistic ones included: no pod is displaced."""
GUARANTEED = 0
"""Room next to guaranteed pods."""
FREE = -2
"""The priority of an unused cell."""

MAX_INDEXES = 16
"""Maximum number of priorities with an index. Another one costs a pass over all nodes."""


class NodeIndex:
    """Nodes of a view, each with leaf cells in use by priority.

    The room of a node at a priority p is the number of leaf cells not in use at p or above.
    """

    __slots__ = ("_rooms", "bad", "sizes", "used")

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.used: list[dict[int, int]] = [{} for _ in sizes]
        self.bad = 0
        """The nodes that must not be used."""
        self._rooms: dict[int, dict[int, int]] = {}
        self.rooms(ALL)

    def room(self, node: int, priority: int) -> int:
        """Of one node."""
        return self.sizes[node] - sum(n for p, n in self.used[node].items() if p >= priority)

    def rooms(self, priority: int) -> dict[int, int]:
        """The nodes by their room at a priority: room -> set of nodes. Sets may be empty."""
        by_room = self._rooms.get(priority)
        if by_room is None:
            while len(self._rooms) >= MAX_INDEXES:
                del self._rooms[next(p for p in self._rooms if p not in (ALL, GUARANTEED))]
            bitmaps: dict[int, bytearray] = defaultdict(lambda: bytearray(len(self.sizes) // 8 + 1))
            for node in range(len(self.sizes)):
                bitmaps[self.room(node, priority)][node >> 3] |= 1 << (node & 7)
            by_room = {room: int.from_bytes(nodes, "little") for room, nodes in bitmaps.items()}
            self._rooms[priority] = by_room
        return by_room

    def classes(self, priority: int, other: int, allowed: int) -> Iterator[tuple[tuple[int, int], int]]:
        """Nodes by their room at two priorities, of which the first is the higher."""
        second = self.rooms(other)
        for room, nodes in self.rooms(priority).items():
            nodes &= allowed
            if not nodes or not room:
                continue
            if priority == other:
                yield (room, room), nodes
                continue
            for less, others in second.items():
                if less <= room and (both := nodes & others):
                    yield (room, less), both

    def change(self, node: int, priority: int, by: int) -> None:
        """The number of leaf cells of a node in use at a priority changes."""
        used = self.used[node]
        bit = 1 << node
        for threshold, rooms in self._rooms.items():
            if priority >= threshold:
                room = self.sizes[node]
                for other, n in used.items():
                    if other >= threshold:
                        room -= n
                rooms[room] ^= bit
                rooms[room - by] = rooms.get(room - by, 0) ^ bit
        count = used.get(priority, 0) + by
        if count:
            used[priority] = count
        else:
            del used[priority]

    def healthy(self) -> int:
        """The nodes that may be used."""
        return span(0, len(self.sizes)) & ~self.bad
