"""A person's own implementation, driven along the model: a tour, and random walks; one that differs is shortened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, TypeVar

from fsmdsl import model as m
from fsmdsl.model.workspace import load
from fsmdsl.report.frames import frames
from fsmdsl.runs.simulation.closed_system import closed
from fsmdsl.step import Universe
from fsmdsl.step.describe import fault_message
from fsmdsl.testing.comparison import DifferenceError, SideBySide
from fsmdsl.testing.implementation import Implementation
from fsmdsl.testing.shrink import shrink
from fsmdsl.testing.tour import Tour, tour
from fsmdsl.text.diagnostics import Severity, did_you_mean

T = TypeVar("T")


class Twin(Implementation):
    """Derive a class of tests from it, say what it is a twin of, and begin with your objects.

    ```python
    class TestLease(Twin):
        specs = "specs/lease.fsm"
        system = "Shared"

        def start(self, instances):
            made = {"Node": MyNode, "Job": MyJob}
            return {x.name: made[x.machine]() for x in instances}
    ```

    `test_follows_every_row` goes a tour through the model, with your code beside it: each row, and each event that is
    not handled in a state. `test_agrees_with_the_model` goes random ways. Both compare states and fields (and actions,
    where `performed` is defined) after each step, and report a difference with a short way there. Where your objects
    have other names or signatures, define `event`, `state` and `fields`.
    """

    specs: ClassVar[str | Path | Sequence[str | Path]]
    system: ClassVar[str] = ""
    """The system to walk through;"""
    machine: ClassVar[str] = ""
    """or a machine: one instance, and what it has to do with."""
    as_documented: ClassVar[bool] = False

    # What it does

    def test_follows_every_row(self) -> None:
        """A tour through both. Prints what it covers."""
        planned = self.walks()
        print(planned)
        with self._running():
            for steps in planned.walks:
                both = SideBySide(type(self)(), planned.universe)
                try:
                    for step in steps:
                        both.take(step)
                finally:
                    both.close()

    def test_agrees_with_the_model(self) -> None:
        """Random walks through both."""
        try:
            from fsmdsl.testing.walk import walk  # needs Hypothesis
        except ModuleNotFoundError as error:
            if error.name != "hypothesis":
                raise
            raise RuntimeError(
                "a twin walks by Hypothesis, which is not installed: pip install 'fsmdsl[testing]'"
            ) from None
        with self._running():
            walk(type(self), self.universe())

    @classmethod
    def walks(cls) -> Tour:
        """The walks of `test_follows_every_row`, and what they cover."""
        return tour(cls(), cls.universe())

    @classmethod
    def finish(cls) -> None:
        """Called after the last walk of a test: release what the walks shared."""

    @contextmanager
    def _running(self) -> Iterator[None]:
        """While walks run. A difference is shortened."""
        try:
            yield
        except DifferenceError as difference:
            shortest = shrink(type(self), difference)
            raise shortest from shortest.__cause__
        finally:
            self.finish()

    @classmethod
    def universe(cls) -> Universe:
        """The system that is walked through. Raises `ValueError` where there is none, or the specs have errors."""
        specs = cls.specs
        loaded = load([specs] if isinstance(specs, str | Path) else list(specs), as_documented=cls.as_documented)
        errors = [d for d in loaded.diagnostics if d.severity is Severity.ERROR]
        if loaded.model is None:
            raise ValueError(f"the specs of {cls.__name__} have errors\n\n{frames(errors)}")
        universe = Universe(loaded.model, cls._system(loaded.model))
        if universe.fault is not None:
            raise ValueError(f"the system cannot begin: {fault_message(universe, universe.fault)}")
        return universe

    @classmethod
    def _system(cls, model: m.Model) -> m.System:
        if bool(cls.system) == bool(cls.machine):
            raise ValueError(f"{cls.__name__} must name a `system` or a `machine`, one of them")
        if cls.system:
            return _find_by_name(cls.system, {x.qualified: x for x in model.systems.values()}, "system")
        return closed(model, _find_by_name(cls.machine, dict(model.machines), "machine"))


def _find_by_name(name: str, candidates: Mapping[str, T], what: str) -> T:
    """By qualified name, or by the last part of it."""
    by_name = {**{key.rpartition(".")[2]: x for key, x in candidates.items()}, **candidates}
    if name not in by_name:
        advice = did_you_mean(name, by_name) or f"there are {', '.join(f'`{x}`' for x in candidates) or 'none'}"
        raise ValueError(f"there is no {what} `{name}`; {advice}")
    return by_name[name]
