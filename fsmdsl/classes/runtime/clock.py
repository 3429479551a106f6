"""Where time comes from."""

from __future__ import annotations

from typing import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Alarm(Protocol):
    """A call that a clock will make."""

    def cancel(self) -> None:
        """It will not be made."""


class Clock(Protocol):
    """An event loop of asyncio is one; for tests there is `VirtualClock`. All times are in seconds."""

    def time(self) -> float:
        """The present time, from some beginning."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Alarm:
        """Calls back after a delay."""
