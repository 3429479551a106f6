"""Channels: messages on their way to a machine."""

from __future__ import annotations

from .errors import Full, StepRefused
from .snapshots import items
from .system import Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .snapshots import Data, Saved
    from .system import Machine, System


class Message:
    """An event on its way."""

    __slots__ = ("arguments", "event", "method")

    def __init__(self, event: str, arguments: tuple[Any, ...], method: Callable[..., None]) -> None:
        self.event = event
        self.arguments = arguments
        self.method = method
        """The method of the receiver that handles the event."""

    def call(self) -> None:
        """Hands the event to the receiver."""
        self.method(*self.arguments)


class Channel(Queue):
    """Messages on their way to one machine.

    `ends` is the receiver, if each one has a channel of its own, or the sender and the receiver, if each pair has one.
    Without a receiver, a channel leads out of the system and holds nothing.
    """

    __slots__ = ("_messages",)

    bound = 0
    """Its capacity."""

    def __init__(self, system: System, *ends: Machine | None) -> None:
        super().__init__(system, *ends)
        self._messages: tuple[Message, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._messages)} messages>"

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, the oldest first."""
        return self._messages

    def _save(self) -> Saved:
        return (self._messages,)

    def _load(self, saved: Saved) -> None:
        (self._messages,) = saved

    def _empty(self) -> None:
        self._messages = ()

    def _decode(self, data: list[Data], machines: Mapping[int, Any]) -> Saved:
        """Messages come back by being sent again."""
        before, self._messages = self._messages, ()
        try:
            for message in items(data, type(self).__name__):
                self._send(message["event"], message["arguments"], machines)
            return (self._messages,)
        finally:
            self._messages = before

    def _send(self, event: str, arguments: list[Any], machines: Mapping[int, Any]) -> None:
        """Sends a message of a snapshot."""
        raise NotImplementedError

    def _put(self, message: Message, index: int) -> None:
        if len(self._messages) >= self.bound:
            raise Full(f"{type(self).__name__} holds {self.bound} messages")
        if self._system._handling:
            self._system._check_thread(message.event)
            self._system.touch(self)
        self._messages = (*self._messages[:index], message, *self._messages[index:])

    def _at(self, index: int) -> Message:
        """The message at an index, counted from 0."""
        if type(index) is not int or not 0 <= index < len(self._messages):
            raise StepRefused(f"{type(self).__name__} holds no message at {index!r}")
        return self._messages[index]

    def _take(self, index: int) -> Message:
        message = self._at(index)
        self._messages = self._messages[:index] + self._messages[index + 1 :]
        return message
