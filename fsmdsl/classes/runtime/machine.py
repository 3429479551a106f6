"""What all machines have in common."""

from __future__ import annotations

from enum import Enum

from .errors import StepRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from .snapshots import Data, Saved

    Listener: TypeAlias = Callable[[tuple["Followed", ...]], object]
    """Called after each step with the transitions that were followed, in order."""


class State(Enum):
    """A state of a machine. Its value is its name in the spec."""

    __hash__ = object.__hash__

    @property
    def display(self) -> str:
        """Its name for people."""
        return str(self.value)


class Part:
    """A part of a system that a step can change."""

    __slots__ = ()

    def _save(self) -> Saved:
        raise NotImplementedError

    def _load(self, saved: Saved) -> None:
        raise NotImplementedError


class Named(Part):
    """A machine: a part with a name and a state."""

    __slots__ = ("_name",)

    _name: str

    @property
    def name(self) -> str:
        """The name of the machine in messages; empty if it was given none."""
        return self._name

    @property
    def state(self) -> State:
        """The present state."""
        raise NotImplementedError

    def snapshot(self) -> Data:
        """All that can change, as JSON has it. Machines go by their number."""
        raise NotImplementedError

    def _decode(self, data: Data, machines: Mapping[int, Any]) -> Saved:
        raise NotImplementedError


class Followed:
    """A transition that a machine has followed."""

    __slots__ = ("event", "label", "machine", "source", "target")

    def __init__(self, machine: Named, label: str, event: str, source: State, target: State) -> None:
        self.machine = machine
        self.label = label
        """The document's label, or what triggers the transition."""
        self.event = event
        """The trigger: an event, an action's outcome, a crash; empty if the transition has none."""
        self.source = source
        self.target = target

    def __repr__(self) -> str:
        return f"{title(self.machine)} {self.label}: {self.source.value} -> {self.target.value}"


class UnhandledEvent(StepRefused):
    """A machine got an event that its state neither handles nor ignores."""

    def __init__(self, machine: Named, state: State, event: str, handled_in: tuple[State, ...]) -> None:
        name = title(machine)
        if state in handled_in:
            message = f"{name} is {state.display}, and no guard of its transitions on {event} holds"
        else:
            where = ", ".join(s.display for s in handled_in)
            message = f"{name} is {state.display} and does not handle {event} (handled in {where or 'no state'})"
        super().__init__(message)
        self.machine = machine
        self.event = event


def title(machine: Named) -> str:
    """The class of a machine, and its name if it has one."""
    return f"{type(machine).__name__} {machine.name}" if machine.name else type(machine).__name__
