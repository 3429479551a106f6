"""What an exploration has found, as plain values that go from process to process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.text.diagnostics import Severity


@dataclass(frozen=True, slots=True)
class Unheard:
    """What a step failed at: an event that reached a machine (qualified) in a state that neither handles nor ignores
    it."""

    machine: str
    event: str
    state: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A finding at a place of a file, with the run that shows it, if there is one. `system` (qualified) is what was
    explored; None: several."""

    system: str | None
    path: str
    start: int
    end: int
    severity: Severity
    code: str
    message: str
    notes: tuple[str, ...]
    story: tuple[str, ...] = ()
    unheard: tuple[Unheard, ...] = ()
    """Of a group of violations, each state once."""
    run: str | None = None
    """The steps of the run, in a line; `story` tells them in full."""
    verdict: int | None = None
    """The place of the violation among the verdicts of the system; None where it is no verdict on a system."""
    is_published: bool = True
    """Is it shown in the text? Of a group of violations the first is, for all of them."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and the run in a line."""
        return self.notes if self.run is None else (*self.notes, self.run)


@dataclass(frozen=True, slots=True)
class Explored:
    """A system: its qualified name, the verdict in a word and in a line, the whole report, and the output of `fsm
    verify --format json`. For each transition, by qualified machine name and index, `followed` is the number of steps
    of the state space that follow it. None means that some steps follow it, but they have not been counted."""

    name: str
    verdict: str
    summary: str
    text: str
    data: Mapping[str, Any]
    followed: Mapping[tuple[str, int], int | None] = field(default_factory=dict)
    runs: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """Runs that break something, by the place of the verdict: the data of a stepper."""

    @property
    def is_exhaustive(self) -> bool:
        """Was every reachable state explored?"""
        return self.data["stopped"] is None and not self.data["beyond"]


@dataclass(frozen=True, slots=True)
class Findings:
    """The answer to a request. `done` is the last one; those before have fewer systems."""

    request: int
    systems: Mapping[str, Explored]
    marks: tuple[Mark, ...]
    done: bool


@dataclass(frozen=True, slots=True)
class Request:
    """Files that belong together, in order (the texts of those that have changed), and what to explore of them.

    `states` and `seconds` limit each system. No `systems`: all, the quick ones first.
    """

    number: int
    paths: tuple[str, ...]
    texts: Mapping[str, str]
    systems: tuple[str, ...] | None = None
    states: int | None = None
    seconds: float | None = None
    counted: float = 0.0
    """Seconds in which to count how often transitions are followed."""
