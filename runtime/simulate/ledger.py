"""Who has used how much, over time: averages of each interval, and what things were like at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Series = dict[str, list[float]]
WIDTHS = (60, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
"""Seconds of an interval, of which the smallest that gives at most `INTERVALS` is taken."""
INTERVALS = 400


def width_for(span: float) -> int:
    """The interval for a workload that takes so long."""
    return next((width for width in WIDTHS if span / width <= INTERVALS), WIDTHS[-1])


@dataclass(slots=True)
class Level:
    """A number that changes now and then, and its integral over the present interval."""

    value: float = 0.0
    area: float = 0.0
    since: float = 0.0

    def change(self, time: float, by: float) -> None:
        """So much more from now on."""
        self.area += self.value * (time - self.since)
        self.since = time
        self.value += by

    def close(self, time: float) -> float:
        """The integral up to now; another interval begins."""
        self.change(time, 0.0)
        area, self.area = self.area, 0.0
        return area


@dataclass(slots=True)
class Ledger:
    """Levels by name, counts by name, and samples that are taken when an interval ends."""

    width: float
    cut: float | None = None
    """A moment at which an interval ends in any case."""
    levels: dict[str, Level] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    samples: dict[str, Callable[[], float]] = field(default_factory=dict)
    integrals: Series = field(default_factory=dict)
    """By level and interval."""
    happened: Series = field(default_factory=dict)
    """By count and interval."""
    sampled: Series = field(default_factory=dict)
    """By sample, at the end of each interval."""
    ends: list[float] = field(default_factory=list)
    _begun: float = 0.0

    def level(self, name: str, value: float = 0.0) -> Level:
        """A level to keep, from the beginning."""
        level = self.levels[name] = Level(value)
        self.integrals[name] = []
        return level

    def sample(self, name: str, measure: Callable[[], float]) -> None:
        """A number to take at the end of each interval."""
        self.samples[name] = measure
        self.sampled[name] = []

    def count(self, name: str, by: float = 1.0) -> None:
        """Something has happened in the present interval."""
        self.counts[name] = self.counts.get(name, 0.0) + by

    def advance(self, time: float) -> None:
        """Closes all intervals that end before this."""
        while time > (end := self._next_end()):
            self._close(end)

    def _next_end(self) -> float:
        regular = (self._begun // self.width + 1) * self.width
        return self.cut if self.cut is not None and self._begun < self.cut < regular else regular

    def finish(self, time: float) -> None:
        """Closes the last interval."""
        self.advance(time)
        if time > self._begun or not self.ends:
            self._close(time)

    def _close(self, end: float) -> None:
        for name, level in self.levels.items():
            self.integrals[name].append(level.close(end))
        for name in self.counts.keys() | self.happened.keys():
            self.happened.setdefault(name, [0.0] * len(self.ends)).append(self.counts.get(name, 0.0))
        self.counts.clear()
        for name, measure in self.samples.items():
            self.sampled[name].append(measure())
        self.ends.append(end)
        self._begun = end

    def total(self, name: str, until: float | None = None) -> float:
        """The integral of a level over all intervals; or over those that end by then."""
        if until is None:
            return sum(self.integrals[name])
        return sum(area for area, end in zip(self.integrals[name], self.ends, strict=True) if end <= until)

    def averages(self, name: str) -> list[float]:
        """The average of a level in each interval."""
        begins = [0.0, *self.ends]
        spans = [end - begin for begin, end in zip(begins, self.ends, strict=False)]
        return [area / span if span else 0.0 for area, span in zip(self.integrals[name], spans, strict=True)]

    def sums(self, name: str) -> list[float]:
        """How often something happened in each interval."""
        return self.happened.get(name) or [0.0] * len(self.ends)
