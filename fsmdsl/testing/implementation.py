"""How a person's own implementation is driven, and what it shows: one method for each kind of step."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from fsmdsl.dataclasses import NamedTuple
from fsmdsl.testing.plain_values import Instance, InstanceName, RecordParts


class Action(NamedTuple):
    """Something that an instance asked of the world."""

    instance: str
    name: str
    arguments: Mapping[str, object]


class Implementation:
    """What a `Twin` says about the code beside the model. Each method may be a coroutine."""

    objects: Mapping[str, Any] = {}
    """What `start` has returned."""
    without_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of the model that your objects do not have."""
    without: ClassVar[frozenset[str]] = frozenset()
    """Steps that are not taken, of `answer`, `timeout`, `deliver`, `lose`, `duplicate`, `crash`, `recover`."""
    refusal: ClassVar[type[Exception] | tuple[type[Exception], ...] | None] = None
    """What your code raises for an event that it does not handle. If set, such events are sent, too: it must raise
    this, and stay as it was."""
    settings: ClassVar[Any] = None
    """`hypothesis.settings`: how many random walks (`max_examples`), how long (`stateful_step_count`). Walks have
    no deadline."""
    tour: ClassVar[Literal["rows", "pairs"]] = "rows"
    """Whether `test_follows_every_row` follows each row, or each row behind each other that can come before it."""
    tour_states: ClassVar[int] = 10_000
    """The tour looks for rows in so many states, the nearest ones."""
    shrink_steps: ClassVar[int] = 20_000
    """Steps that your code may take while a shorter way to a difference is looked for."""

    # What you write

    def start(self, instances: Sequence[Instance]) -> Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None:
        """Begin anew, with these instances. Returns your object for each of them, by its name: its methods take the
        events, and its attributes are compared. Return None, and define `event` and `state`, if that does not fit."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to begin: define `start(self, instances)`")

    def event(self, instance: str, name: str, arguments: Mapping[str, object]) -> Awaitable[object] | None:
        """The environment sends an event. What it causes between instances is your code's to do.

        Unless you define it: calls the method of that name, with your objects in the place of instances."""
        if instance not in self.objects:
            raise NotImplementedError(self._lacks("event", "event(self, instance, name, arguments)"))
        method = getattr(self.objects[instance], name, None)
        if method is None:
            mine, twin = type(self.objects[instance]).__name__, type(self).__name__
            raise NotImplementedError(f"{mine} has no method `{name}` for that event: define it, or `{twin}.event`")
        result: Awaitable[object] | None = method(**{key: self._mine(value) for key, value in arguments.items()})
        return result

    def state(self, instance: str) -> str | Awaitable[str]:
        """The state that an instance is in, by its name in the spec. Unless you define it: the attribute `state`."""
        if instance not in self.objects:
            raise NotImplementedError(f"{type(self).__name__} does not tell states: define `state(self, instance)`")
        return self._attribute(instance, "state", "define `state(self, instance)`")  # type: ignore[no-any-return]

    def fields(self, instance: str) -> Mapping[str, object] | Awaitable[Mapping[str, object]] | None:
        """Fields to compare, by name. None: the attributes of your object that the fields of the model name; none where
        `start` returned no object."""
        return None

    def attributes(self, instance: str, names: Sequence[str]) -> Mapping[str, object]:
        """The attributes of your object that have these names."""
        if instance not in self.objects:
            return {}
        compared = [name for name in names if name not in self.without_fields]
        advice = 'compare fewer: `without_fields = frozenset({{"{}"}})`, or define `fields(self, instance)`'
        return {name: self._attribute(instance, name, advice.format(name)) for name in compared}

    def performed(self) -> Sequence[Action] | Awaitable[Sequence[Action] | None] | None:
        """Actions asked for since the last call, in order; None: not compared."""
        return None

    def answer(self, instance: str, action: str, outcome: str) -> Awaitable[object] | None:
        """The world answers an action."""
        raise NotImplementedError(self._lacks("answer", "answer(self, instance, action, outcome)"))

    def timeout(self, instance: str, transition: str) -> Awaitable[object] | None:
        """Time is up for a transition, by its label."""
        raise NotImplementedError(self._lacks("timeout", "timeout(self, instance, transition)"))

    def deliver(self, channel: str, position: int) -> Awaitable[object] | None:
        """A channel delivers the message at a place."""
        raise NotImplementedError(self._lacks("deliver", "deliver(self, channel, position)"))

    def lose(self, channel: str, position: int) -> Awaitable[object] | None:
        """A channel loses a message."""
        raise NotImplementedError(self._lacks("lose", "lose(self, channel, position)"))

    def duplicate(self, channel: str, position: int) -> Awaitable[object] | None:
        """A channel duplicates a message."""
        raise NotImplementedError(self._lacks("duplicate", "duplicate(self, channel, position)"))

    def crash(self) -> Awaitable[object] | None:
        """Everything that is not durable is lost."""
        raise NotImplementedError(self._lacks("crash", "crash(self)"))

    def crash_of(self, instances: Sequence[str]) -> Awaitable[object] | None:
        """These instances crash together: what is not durable of them is lost. Everything else lives on."""
        raise NotImplementedError(self._lacks("crash", "crash_of(self, instances)"))

    def recover(self) -> Awaitable[object] | None:
        """What comes first after a crash."""
        raise NotImplementedError(self._lacks("recover", "recover(self)"))

    def _lacks(self, step: str, signature: str) -> str:
        advice = "" if step == "event" else f', or leave such steps out: `without = frozenset({{"{step}"}})`'
        return f"the model takes a step that {type(self).__name__} does not drive: define `{signature}`{advice}"

    def _attribute(self, instance: str, name: str, advice: str) -> Any:
        mine = self.objects[instance]
        if not hasattr(mine, name):
            raise NotImplementedError(f"{type(mine).__name__} has no attribute `{name}`: {advice}")
        return getattr(mine, name)

    def _mine(self, value: object) -> object:
        """An argument, with your objects in the place of instances."""
        match value:
            case InstanceName():
                return self.objects[value]
            case RecordParts(items_=items):
                return RecordParts(tuple((name, self._mine(x)) for name, x in items))
            case frozenset() | tuple():
                return type(value)(self._mine(x) for x in value)
            case _:
                return value
