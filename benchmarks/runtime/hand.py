"""The application written by hand for speed: whole numbers for states, comparisons, a method per event."""

from __future__ import annotations

NEW, ACCEPTED, STARTING, RUNNING, COMPLETING, COMPLETED, EXPIRED, FAILING, FAILED, REJECTED = range(10)


class RefusedError(Exception):
    """The event means nothing in the state."""


class Application:
    """Its states are numbered so that one comparison covers neighbours."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: int = 0

    def run(self) -> None:
        now = self.state
        if now == 3:
            return
        if now < 3:
            self.state = now + 1
        elif now == 4:
            self.state = 3
        else:
            raise RefusedError("Run", now)

    def complete(self) -> None:
        now = self.state
        if now == 3 or now == 1:
            self.state = 4
        elif now == 4:
            self.state = 5
        else:
            raise RefusedError("Complete", now)

    def expire(self) -> None:
        if self.state != 5:
            raise RefusedError("Expire", self.state)
        self.state = 6

    def fail(self) -> None:
        now = self.state
        if now < 5:
            self.state = 7
        elif now == 7:
            self.state = 8
        else:
            raise RefusedError("Fail", now)

    def reject(self) -> None:
        if self.state != 0:
            raise RefusedError("Reject", self.state)
        self.state = 9
