"""How a person's own implementation is driven, and what it shows: one method for each kind of step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from fsmdsl.testing.plain_values import Instance


class Action(NamedTuple):
    """Something that an instance asked of the world."""

    instance: str
    name: str
    arguments: Mapping[str, object]


class Implementation:
    """What a `Twin` says about the code beside the model."""

    without: ClassVar[frozenset[str]] = frozenset()
    """Steps that are not taken, of `answer`, `timeout`, `deliver`, `lose`, `duplicate`, `crash`, `recover`."""
    refusal: ClassVar[type[Exception] | tuple[type[Exception], ...] | None] = None
    """What your code raises for an event that it does not handle. If set, such events are sent, too: it must raise
    this, and stay as it was."""
    settings: ClassVar[Any] = None
    """`hypothesis.settings`: how many walks (`max_examples`), how long (`stateful_step_count`)."""

    # What you write

    def start(self, instances: Sequence[Instance]) -> None:
        """Begin anew, with these instances."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to begin: define `start(self, instances)`")

    def event(self, instance: str, name: str, arguments: Mapping[str, object]) -> None:
        """The environment sends an event. What it causes between instances is your code's to do."""
        raise NotImplementedError(self._lacks("event", "event(self, instance, name, arguments)"))

    def state(self, instance: str) -> str:
        """The state that an instance is in, by its name in the spec."""
        raise NotImplementedError(f"{type(self).__name__} does not tell states: define `state(self, instance)`")

    def fields(self, instance: str) -> Mapping[str, object]:
        """Fields to compare, by name; none unless you say so."""
        return {}

    def performed(self) -> Sequence[Action] | None:
        """Actions asked for since the last call, in order; None: not compared."""
        return None

    def answer(self, instance: str, action: str, outcome: str) -> None:
        """The world answers an action."""
        raise NotImplementedError(self._lacks("answer", "answer(self, instance, action, outcome)"))

    def timeout(self, instance: str, transition: str) -> None:
        """Time is up for a transition, by its label."""
        raise NotImplementedError(self._lacks("timeout", "timeout(self, instance, transition)"))

    def deliver(self, channel: str, position: int) -> None:
        """A channel delivers the message at a place."""
        raise NotImplementedError(self._lacks("deliver", "deliver(self, channel, position)"))

    def lose(self, channel: str, position: int) -> None:
        """A channel loses a message."""
        raise NotImplementedError(self._lacks("lose", "lose(self, channel, position)"))

    def duplicate(self, channel: str, position: int) -> None:
        """A channel duplicates a message."""
        raise NotImplementedError(self._lacks("duplicate", "duplicate(self, channel, position)"))

    def crash(self) -> None:
        """Everything that is not durable is lost."""
        raise NotImplementedError(self._lacks("crash", "crash(self)"))

    def recover(self) -> None:
        """What comes first after a crash."""
        raise NotImplementedError(self._lacks("recover", "recover(self)"))

    def _lacks(self, step: str, signature: str) -> str:
        advice = "" if step == "event" else f', or leave such steps out: `without = frozenset({{"{step}"}})`'
        return f"the model takes a step that {type(self).__name__} does not drive: define `{signature}`{advice}"
