"""A person's own implementation, driven along the model: random walks; one that differs is shortened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from fsmdsl import model as m
from fsmdsl.diagnostics import Severity, did_you_mean
from fsmdsl.report.frames import frames
from fsmdsl.simulation.closed import closed
from fsmdsl.step import Universe
from fsmdsl.testing.implementation import Implementation
from fsmdsl.workspace import load

T = TypeVar("T")


class Twin(Implementation):
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
    fields and actions, where you tell of them) after each step. What differs is reported with a short way there.
    """

    specs: ClassVar[str | Path | Sequence[str | Path]]
    system: ClassVar[str] = ""
    """The system to walk through;"""
    machine: ClassVar[str] = ""
    """or a machine: one instance, and what it has to do with."""
    as_documented: ClassVar[bool] = False
    # What it does

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


def _named(name: str, found: Mapping[str, T], what: str) -> T:
    """By qualified name, or by the last part of it."""
    known = {**{key.rpartition(".")[2]: x for key, x in found.items()}, **found}
    if name not in known:
        advice = did_you_mean(name, known) or f"there are {', '.join(f'`{x}`' for x in found) or 'none'}"
        raise ValueError(f"there is no {what} `{name}`; {advice}")
    return known[name]
