"""A simulation that runs as fast as one can follow, and stops when told to."""

from __future__ import annotations

from enum import Enum
from threading import Condition, Event
from time import monotonic
from typing import Protocol

from runtime.view.feed import FrameFeed
from runtime.view.recording import Cluster, Recorder

FRAME_INTERVAL = 0.25
"""Seconds between two frames."""
START_TIMEOUT = 60.0
"""Maximum number of seconds that a page waits for a simulation to begin."""
MAX_CATCH_UP = 1.0
"""Maximum number of seconds that a simulation catches up after it could not keep the pace."""


class Happening(Protocol):
    """What a simulation tells of; its `Event` is one."""

    @property
    def time(self) -> float: ...
    @property
    def kind(self) -> Enum: ...
    @property
    def gang(self) -> str: ...
    @property
    def node(self) -> str: ...
    @property
    def detail(self) -> str: ...


def words(event: Happening) -> str:
    """An event as a sentence: the gang or node, the event, and the object."""
    who, about = event.gang, event.detail
    match event.kind.value:
        case "node down" | "node up" as what:
            return f"{event.node} is {what.removeprefix('node ')}"
        case "submitted" | "refused" as what:
            sentence = f"{who} was {what}"
            return f"{sentence}: {about}" if about else sentence
        case "reserved":
            return f"{who} has reserved cells, and waits for others to leave"
        case "evicted":
            return f"{who} was asked to leave for {about}"
        case "preempted":
            return f"{who} has left, and waits again"
        case "lost":
            return f"{who} was lost with {event.node}, and waits again"
        case what:
            return " ".join(x for x in (who, what, about) if x)


class Paced:
    """An observer of a simulation: shows it on a feed, and sets its pace. Its controls may be used by any thread."""

    def __init__(self, feed: FrameFeed, pace: float) -> None:
        """`pace`: virtual seconds in a second."""
        self.feed = feed
        self.ended = False
        self._pace = pace
        self._paused = False
        self._changed = Condition()
        self._begun = Event()
        self._recorder: Recorder | None = None
        self._pictured = float("-inf")
        self._now = 0.0
        self._clock = monotonic()

    # Controls

    @property
    def pace(self) -> float:
        """Virtual seconds in a second."""
        return self._pace

    @property
    def paused(self) -> bool:
        """Whether the virtual clock stands still."""
        return self._paused

    def control(self, *, pace: float | None = None, paused: bool | None = None) -> None:
        """Go faster or slower, stop or go on. Raises `ValueError` for a pace that is none."""
        if pace is not None and not 0 < pace < 1e9:
            raise ValueError(f"a pace must be a number of virtual seconds per second, not {pace:g}")
        with self._changed:
            self._pace = self._pace if pace is None else pace
            self._paused = self._paused if paused is None else paused
            self._changed.notify_all()

    def scene(self) -> dict[str, object]:
        """See `Recorder.scene`. Waits for the beginning; empty where that does not come."""
        self._begun.wait(START_TIMEOUT)
        return {} if self._recorder is None else self._recorder.scene()

    # What the simulation tells

    def begin(self, cluster: Cluster, capacity: int) -> None:
        """Before anything happens."""
        self._recorder = Recorder(cluster)
        self._picture()
        self._clock = monotonic()
        self._begun.set()
        self.feed.remark(0.0, f"{capacity:,} leaf cells")

    def advance(self, to: float) -> None:
        """Waits as long as it takes at this pace, and shows the picture now and then."""
        if monotonic() - self._pictured >= FRAME_INTERVAL:
            self._picture()
        with self._changed:
            while self._paused or self._due(to) > 0:
                if self._paused:
                    self._picture()
                    self._changed.wait()
                    self._clock = monotonic()
                else:
                    self._changed.wait(min(self._due(to), FRAME_INTERVAL))
                    self._pass(to)
            # Time that the simulation itself has taken is made up for, but not much of it.
            self._clock = max(self._clock + max(to - self._now, 0.0) / self._pace, monotonic() - MAX_CATCH_UP)
            self._now = max(self._now, to)

    def _due(self, to: float) -> float:
        """Seconds until it is that time."""
        return (to - self._now) / self._pace - (monotonic() - self._clock)

    def _pass(self, to: float) -> None:
        """The virtual clock goes on between two events."""
        passed = monotonic() - self._clock
        self._clock += passed
        self._now = min(self._now + passed * self._pace, to)
        self._picture()

    def event(self, event: Happening) -> None:
        """This has happened."""
        self.feed.remark(event.time, words(event))

    def end(self, time: float) -> None:
        """Nothing will happen any more."""
        self._now = time
        self._picture()
        self.feed.remark(time, "the end")
        self.ended = True

    def _picture(self) -> None:
        assert self._recorder is not None, "it has begun"
        self._pictured = monotonic()
        self.feed.show(self._recorder.frame(self._now))
