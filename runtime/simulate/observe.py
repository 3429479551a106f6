"""The events of a simulation while it runs, for observers: a live view, a log, a test.

An observer gets every event in the order of virtual time, right after it has happened, so that what it reads
of the cluster (`groups`, `leaf_cells`, `virtual_clusters`) is what there is at that moment. The simulation waits for
it: an observer that sleeps in `advance` sets the pace.

```python
class Log:
    def begin(self, cluster, capacity):
        self.cluster = cluster

    def advance(self, to):
        pass  # or sleep, for a chosen pace

    def event(self, event):
        print(event.time, event.kind.value, event.gang or event.node, event.detail)

    def end(self, time):
        pass
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from runtime.allocator import Tenant
from runtime.answers import GangStatus, LeafCell


class Kind(Enum):
    """What may happen."""

    SUBMITTED = "submitted"
    """A gang is there, and waits."""
    REFUSED = "refused"
    """A gang that can never run; `detail` says why. It is gone."""
    RESERVED = "reserved"
    """A gang that waits has reserved leaf cells, and others have to leave."""
    STARTED = "started"
    """A gang has its leaf cells, and runs; for the first time, or again."""
    EVICTED = "evicted"
    """The pods of a gang have been told to leave for a stronger one, whose name is `detail`; they run until they are
    gone."""
    PREEMPTED = "preempted"
    """They are gone: the gang waits again."""
    LOST = "lost"
    """A node under a gang has failed (`node`): the gang waits again."""
    FINISHED = "finished"
    """A gang has done its work."""
    FAILED = "failed"
    """A gang has ended with an error of its own, and does not come back."""
    NODE_DOWN = "node down"
    NODE_UP = "node up"


@dataclass(frozen=True, slots=True)
class Event:
    """Something has happened."""

    time: float
    """Virtual seconds since the beginning."""
    kind: Kind
    gang: str = ""
    tenant: str = ""
    """The virtual cluster of the gang."""
    node: str = ""
    detail: str = ""


class ClusterFace(Protocol):
    """What an observer may read: `Allocator` and `DurableAllocator` have it."""

    def group(self, name: str) -> GangStatus | None:
        """A gang, by its name."""

    def groups(self) -> Iterator[GangStatus]:
        """All gangs that are known: those that run, and those that have asked for a place."""

    def leaf_cells(self) -> Iterator[LeafCell]:
        """All leaf cells. Costs a look at each: not for every event of a large cluster."""

    def virtual_clusters(self) -> Iterator[Tenant]:
        """All virtual clusters with their preassigned cells."""


class Faceless:
    """Nothing to look at: what a scheduler shows that has no gangs and no cells."""

    def group(self, name: str) -> GangStatus | None:
        """None."""
        return None

    def groups(self) -> Iterator[GangStatus]:
        """None."""
        return iter(())

    def leaf_cells(self) -> Iterator[LeafCell]:
        """None."""
        return iter(())

    def virtual_clusters(self) -> Iterator[Tenant]:
        """None."""
        return iter(())


class Observer(Protocol):
    """Follows a simulation. An exception that it raises ends the simulation."""

    def begin(self, cluster: ClusterFace, capacity: int) -> None:
        """Before anything happens; all nodes are healthy. `capacity` is the number of leaf cells."""

    def advance(self, to: float) -> None:
        """All that has happened at the present moment has been reported, and the virtual clock moves on to `to`."""

    def event(self, event: Event) -> None:
        """This has happened."""

    def end(self, time: float) -> None:
        """Nothing will happen any more."""


class Observers:
    """Several observers, as one; none, as one that does nothing."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def begin(self, cluster: ClusterFace, capacity: int) -> None:
        """To all of them."""
        for observer in self._observers:
            observer.begin(cluster, capacity)

    def advance(self, to: float) -> None:
        """To all of them."""
        for observer in self._observers:
            observer.advance(to)

    def event(self, event: Event) -> None:
        """To all of them."""
        for observer in self._observers:
            observer.event(event)

    def end(self, time: float) -> None:
        """To all of them."""
        for observer in self._observers:
            observer.end(time)
