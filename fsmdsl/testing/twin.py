"""A person's own implementation, driven along the model: random walks; one that differs is shortened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from fsmdsl import model as m
from fsmdsl.diagnostics import Severity, did_you_mean
from fsmdsl.report.frames import frames
from fsmdsl.simulation.closed import closed
from fsmdsl.step import Universe
from fsmdsl.testing.outward import Instance
from fsmdsl.workspace import load

T = TypeVar("T")


class Action(NamedTuple):
    """Something that an instance asked of the world."""

    instance: str
    name: str
    arguments: Mapping[str, object]


class Twin:
    """Derive a class of tests from it, say what it is a twin of, and how your code is driven.

    ```python
    class TestLease(Twin):
        specs = "specs/lease.fsm"
        system = "Shared"

        def start(self, instances):
            self.mine = {x.name: MyNode() if x.machine == "Node" else MyJob() for x in instances}

        def event(self, instance, name, arguments):
            getattr(self.mine[instance], name)(**arguments)

        def state(self, instance):
            return self.mine[instance].state
    ```

    `test_agrees_with_the_model` goes random ways through the model, with your code beside it, and compares states (and
    fields and actions, where you tell of them) after each step. What differs is told with a short way there.
    """

    specs: ClassVar[str | Path | Sequence[str | Path]]
    system: ClassVar[str] = ""
    """The system to walk through;"""
    machine: ClassVar[str] = ""
    """or a machine: one instance, and what it has to do with."""
    as_documented: ClassVar[bool] = False
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

    # What it does

    def test_agrees_with_the_model(self) -> None:
        """Random walks through both."""
        try:
            from fsmdsl.testing.walk import walk
        except ModuleNotFoundError as error:
            if error.name != "hypothesis":
                raise
            raise RuntimeError(
                "a twin walks by Hypothesis, which is not installed: pip install 'fsmdsl[testing]'"
            ) from None
        walk(type(self), type(self).universe())

    @classmethod
    def universe(cls) -> Universe:
        """The system that is walked through. Raises `ValueError` where there is none, or the specs have errors."""
        given = cls.specs
        loaded = load([given] if isinstance(given, str | Path) else list(given), as_documented=cls.as_documented)
        errors = [d for d in loaded.diagnostics if d.severity is Severity.ERROR]
        if loaded.model is None:
            raise ValueError(f"the specs of {cls.__name__} have errors\n\n{frames(errors)}")
        return Universe(loaded.model, cls._system(loaded.model))

    @classmethod
    def _system(cls, model: m.Model) -> m.System:
        if bool(cls.system) == bool(cls.machine):
            raise ValueError(f"{cls.__name__} must name a `system` or a `machine`, one of them")
        if cls.system:
            return _named(cls.system, {x.qualified: x for x in model.systems.values()}, "system")
        return closed(model, _named(cls.machine, dict(model.machines), "machine"))

    def _lacks(self, step: str, signature: str) -> str:
        advice = "" if step == "event" else f', or leave such steps out: `without = frozenset({{"{step}"}})`'
        return f"the model takes a step that {type(self).__name__} does not drive: define `{signature}`{advice}"


def _named(name: str, found: Mapping[str, T], what: str) -> T:
    """By qualified name, or by the last part of it."""
    known = {**{key.rpartition(".")[2]: x for key, x in found.items()}, **found}
    if name not in known:
        advice = did_you_mean(name, known) or f"there are {', '.join(f'`{x}`' for x in found) or 'none'}"
        raise ValueError(f"there is no {what} `{name}`; {advice}")
    return known[name]
