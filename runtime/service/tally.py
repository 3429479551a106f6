"""Counts since this process started: how long gangs waited for their places, and how many were preempted.

Written by the thread that runs cycles, read by those that hold the partition. Virtual clusters that are not configured
are counted together, under an empty name: pods cannot make up labels.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from enum import Enum
from typing import NamedTuple

MAX_LATEST = 10_000
"""Maximum number of preemptions whose times are remembered."""
WAIT_BUCKETS = (1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400)
"""Upper limits, in seconds; longer waits have a bucket of their own."""


class Fate(Enum):
    """What preemption does to a gang."""

    KILLED = "killed"
    DEMOTED = "demoted"


class Preemption(NamedTuple):
    """Victims that are counted together."""

    tenant: str
    guaranteed: bool
    """Whether the victim had a guarantee until then."""
    fate: Fate


class Waits:
    """How long the gangs of a virtual cluster waited."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(WAIT_BUCKETS) + 1)
        """By bucket; those of lower buckets are not included."""
        self.total = 0.0
        """Seconds."""

    def add(self, seconds: float) -> None:
        """A gang has waited for so long."""
        self.counts[sum(seconds > limit for limit in WAIT_BUCKETS)] += 1
        self.total += seconds


class Tally:
    """Of the virtual clusters of a configuration, each of which is counted from the beginning."""

    def __init__(self, tenants: Collection[str]) -> None:
        names = [*tenants, ""]
        self.waits = {name: Waits() for name in names}
        kinds = [(True, Fate.KILLED), (True, Fate.DEMOTED), (False, Fate.KILLED)]
        keys = [Preemption(name, *kind) for name in names for kind in kinds]
        self.gangs: Counter[Preemption] = Counter(dict.fromkeys(keys, 0))
        self.pods: Counter[Preemption] = Counter(dict.fromkeys(keys, 0))
        self.latest: deque[tuple[float, Preemption, int]] = deque(maxlen=MAX_LATEST)
        """When each preemption happened, in seconds since the epoch, and how many pods the gang had; oldest first."""

    def placed(self, tenant: str, seconds: float) -> None:
        """A gang has its places, for which it waited so long."""
        self.waits[self._label(tenant)].add(seconds)

    def preempted(self, now: float, tenant: str, pods: int, fate: Fate, *, guaranteed: bool) -> None:
        """A gang of so many pods has been preempted."""
        key = Preemption(self._label(tenant), guaranteed, fate)
        self.gangs[key] += 1
        self.pods[key] += pods
        self.latest.append((now, key, pods))

    def since(self, time: float) -> tuple[Counter[Preemption], Counter[Preemption]]:
        """Gangs, and pods, that were preempted from a time on."""
        gangs, pods = Counter[Preemption](), Counter[Preemption]()
        for then, key, count in self.latest:
            if then >= time:
                gangs[key] += 1
                pods[key] += count
        return gangs, pods

    def _label(self, tenant: str) -> str:
        return tenant if tenant in self.waits else ""
