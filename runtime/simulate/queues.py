"""In which order waiting gangs are asked for: what an outer scheduler does.

Each virtual cluster has a queue of guaranteed and one of opportunistic gangs. In a queue, higher priorities come
first, then who was submitted first; a gang that was displaced keeps its turn. When the first one has no place, later
ones may go before it, up to `backfill` times; then they wait for it, unless they want other leaf cells.

Gangs of the same shape get the same answer as long as nothing is given back, and larger shapes are refused where
smaller ones are. So a queue remembers what was refused, and asks again only when something that could help has
happened: the cost of a moment depends on the number of shapes, not of gangs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from runtime.simulate.job import Job


class Lane(NamedTuple):
    """Which leaf cells a gang wants."""

    leaf_type: str
    """Empty: any."""
    pinned_cell: str

    def meets(self, other: Lane) -> bool:
        """Whether gangs of both lanes may want the same leaf cells."""
        any_type = not self.leaf_type or not other.leaf_type
        return self.pinned_cell == other.pinned_cell and (any_type or self.leaf_type == other.leaf_type)


class Shape(NamedTuple):
    """What decides whether a gang of a lane fits."""

    priority: int
    sizes: tuple[int, ...]
    """The leaf cells of each pod, falling."""


class Head(NamedTuple):
    """A gang that waits, in the order of turns."""

    turn: tuple[float, ...]
    job: Job


@dataclass(frozen=True, slots=True)
class QueueKey:
    """Who waits in a queue."""

    tenant: str
    guaranteed: bool


def lane_of(job: Job) -> Lane:
    """Of a gang."""
    return Lane(job.request.leaf_type, job.request.pinned_cell)


def shape_of(job: Job) -> Shape:
    """Of a gang."""
    return Shape(job.request.priority, job.request.sizes)


def implied(refused: Shape, shape: Shape) -> bool:
    """Whether a shape cannot fit where another one was refused: it is no stronger, and larger pod by pod."""
    if shape.priority > refused.priority or len(shape.sizes) < len(refused.sizes):
        return False
    return all(size >= less for size, less in zip(shape.sizes, refused.sizes, strict=False))


@dataclass(slots=True)
class Queue:
    """Gangs that wait, by lane and shape; each heap in the order of their turn."""

    key: QueueKey
    backfill: int
    lanes: dict[Lane, dict[Shape, list[Head]]] = field(default_factory=dict)
    refused: dict[Lane, dict[Shape, None]] = field(default_factory=dict)
    """Shapes that have no place as things are."""
    asked_for: list[tuple[Lane, Shape]] = field(default_factory=list)
    """Of these, the ones that were asked for: the others are larger."""
    length: int = 0
    possible: set[tuple[Lane, tuple[int, ...]]] = field(default_factory=set)
    """Sizes of pods with which a gang could run if it were alone."""
    awake: bool = True
    """Some gang that may get a place has not been tried."""
    stale: bool = False
    """Something was given back that may be enough for one that was refused."""

    def add(self, job: Job) -> None:
        """A gang waits."""
        lane, shape = lane_of(job), shape_of(job)
        shapes, refused = self.lanes.setdefault(lane, {}), self.refused.setdefault(lane, {})
        if shape not in shapes and any(implied(other, shape) for other in refused):
            refused[shape] = None
        heappush(shapes.setdefault(shape, []), Head(job.turn, job))
        self.length += 1
        self.awake = True

    def anything_new(self) -> None:
        """Something has been given back: all may ask again."""
        for refused in self.refused.values():
            refused.clear()
        self.asked_for.clear()
        self.awake, self.stale = True, False

    def look_again(self, may_fit: Callable[[str, Sequence[int]], bool]) -> None:
        """All may ask again, if any of those that were asked for in vain may fit now."""
        if any(may_fit(lane.leaf_type, shape.sizes) for lane, shape in self.asked_for):
            self.anything_new()
        self.stale = False

    def next(self) -> Job | None:
        """Whose turn it is, of those who may have a place. When there is none, the queue sleeps."""
        best = min(self._ready(), default=None) if self.length else None
        self.awake = best is not None
        return best.job if best is not None else None

    def _ready(self) -> Iterator[Head]:
        """By lane: the first gang that may get a place, unless another has waited for the same long enough."""
        first = self._heads()
        for lane, shapes in self.lanes.items():
            refused = self.refused[lane]
            best = first[lane] if not refused else None
            if best is None:
                best = min((heap[0] for shape, heap in shapes.items() if shape not in refused), default=None)
            if best is not None:
                ahead = min(head for other, head in first.items() if lane.meets(other))
                if ahead is best or ahead.job.overtaken < self.backfill:
                    yield best

    def _heads(self) -> dict[Lane, Head]:
        """By lane: who is first."""
        return {lane: min(heap[0] for heap in shapes.values()) for lane, shapes in self.lanes.items()}

    def refuse(self, job: Job) -> None:
        """It has no place, nor has any shape that needs as much of the same. Who takes any type got none of any."""
        own, shape = lane_of(job), shape_of(job)
        self.asked_for.append((own, shape))
        for lane, shapes in self.lanes.items():
            if lane == own or (lane.meets(own) and not own.leaf_type):
                refused = self.refused[lane]
                refused.update((other, None) for other in shapes if other not in refused and implied(shape, other))

    def take(self, job: Job) -> None:
        """A gang, the first of its shape, waits no longer."""
        lane, shape = lane_of(job), shape_of(job)
        first = min(head for other, head in self._heads().items() if lane.meets(other)).job
        if first is not job:
            first.overtaken += 1
        heap = self.lanes[lane][shape]
        assert heap[0].job is job, "gangs of a shape take turns"
        heappop(heap)
        if not heap:
            del self.lanes[lane][shape]
        if not self.lanes[lane]:
            del self.lanes[lane]
        self.length -= 1
