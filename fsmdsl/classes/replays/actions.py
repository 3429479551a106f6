"""The classes that stand for hand-written code in a test. Their source is copied into the test."""

from __future__ import annotations

from collections.abc import Callable


class NoAnswer(Exception):
    """Hand-written code breaks off before it has answered: the answer is a step of its own."""


class Actions:
    """Stands for hand-written code: takes every action, and does nothing."""

    def __init__(self, awaited: tuple[str, ...] = (), ticketed: tuple[str, ...] = ()) -> None:
        self.awaited = awaited
        self.ticketed = ticketed
        self.tickets: dict[tuple[object, str], list[object]] = {}

    def __getattr__(self, action: str) -> Callable[..., None]:
        def act(machine: object, *arguments: object) -> None:
            if action in self.awaited:
                raise NoAnswer(action)
            if action in self.ticketed:
                self.tickets.setdefault((machine, action), []).append(arguments[0])

        return act

    def ticket(self, machine: object, action: str) -> object:
        """That of the first call that has no answer yet."""
        return self.tickets[machine, action].pop(0)
