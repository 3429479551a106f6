"""The other checkers, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from fsmdsl import model as m
from fsmdsl.interop.second_opinion.judge import Judge
from fsmdsl.interop.second_opinion.opinion import Budgeted, Opinion
from fsmdsl.interop.second_opinion.spin import Spin
from fsmdsl.interop.second_opinion.tlc import Tlc


class Tool(Protocol):
    """Another checker."""

    def opinion(self, model: m.Model, system: m.System, states: int, budget: Budgeted) -> Opinion:
        """Of a system that has about so many states."""
        ...


TOOLS: Mapping[str, Callable[[str | None], Tool]] = {
    "spin": Spin.installed,
    "tlc": Tlc.installed,
    "graph": Judge.installed,
}
"""What finds them, given a path or None. Raises `MissingError`."""
