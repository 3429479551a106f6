"""How far a simulation has come, on the terminal."""

from __future__ import annotations

import sys
from time import monotonic

from runtime.simulate.duration import spoken
from runtime.simulate.observe import ClusterFace, Event, Kind

OVER = (Kind.FINISHED, Kind.FAILED, Kind.REFUSED)


class Progress:
    """An observer that writes one line over and over, twice a second."""

    def __init__(self, gangs: int) -> None:
        self.gangs = gangs
        self.over = 0
        self.running = 0
        self._written = 0.0

    def begin(self, cluster: ClusterFace, capacity: int) -> None:
        """Nothing to say yet."""

    def advance(self, to: float) -> None:
        """Writes, if it has been a while."""
        now = monotonic()
        if now - self._written >= 0.5:
            self._written = now
            sys.stderr.write(f"\r{self.over:,} of {self.gangs:,} gangs, {spoken(to)} \033[K")
            sys.stderr.flush()

    def event(self, event: Event) -> None:
        """Counts."""
        self.over += event.kind in OVER

    def end(self, time: float) -> None:
        """Wipes the line."""
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
