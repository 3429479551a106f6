"""Events that a state does not take: they change nothing, and are counted."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from generated import confine, grove
from generated.yunikorn import core
from runtime.lifecycle.registry import Application

MAX_LAST = 100
"""Maximum number of unhandled events that are kept for display."""


@dataclass(frozen=True, slots=True)
class Unhandled:
    """An event that no document foresees in this state: the machine stays as it is."""

    at: float
    whose: str
    """The application, or the node."""
    machine: str
    event: str
    state: str


@dataclass(slots=True)
class Refusals:
    """All of them."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By machine and event."""
    last: deque[Unhandled] = field(default_factory=lambda: deque(maxlen=MAX_LAST))

    def fire(self, whose: str, now: float, event: Callable[[], object]) -> bool:
        """An event of a machine; whether the state takes it."""
        try:
            event()
        except (core.UnhandledEvent, grove.UnhandledEvent, confine.UnhandledEvent) as error:
            kind = _kind(error.machine)
            state = error.machine.state.display
            self.counts[kind, error.event] += 1
            self.last.append(Unhandled(now, whose, kind, error.event, state))
            return False
        return True


def _kind(machine: object) -> str:
    """As its document calls it: that is the name of the class that was generated."""
    return next(kind.__name__ for kind in type(machine).__mro__ if kind.__module__.startswith("generated."))


def whose(application: Application) -> str:
    """As unhandled events name it."""
    return f"application {application.name}"
