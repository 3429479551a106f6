"""What the allocator refuses, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class UserError(Exception):
    """A request that cannot be meant as it stands. Nothing has changed."""

    @property
    def lines(self) -> tuple[str, ...]:
        """What is wrong, each in a line."""
        return (str(self),)


class SafetyBrokenError(Exception):
    """The ledger contradicts itself: a fault of the allocator, never of a request."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a configuration: where, what, and what to write instead."""

    path: str
    """As in `physicalCluster.cellTypes.V100-NODE.childCellNumber`."""
    line: int | None
    """Counted from 1; none where the configuration did not come as text."""
    message: str
    help: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        advice = f" ({self.help})" if self.help else ""
        return f"{where}{self.path or 'the configuration'}: {self.message}{advice}"


class ConfigurationError(UserError):
    """All that is wrong in a configuration."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.line or 0, p.path)))
        super().__init__("\n".join(self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(map(str, self.problems))
