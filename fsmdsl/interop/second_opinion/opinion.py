"""What a tool has found, in terms that do not depend on the tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fsmdsl.dataclasses import NamedTuple, dataclass, field
from fsmdsl.runs.trace import Trace


class Key(NamedTuple):
    """Something that a search can find: an invariant that is broken, a `reachable` that is shown, a deadlock, a fault
    of a kind (`name`) at a place."""

    kind: str
    name: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Budgeted:
    """Limits of one run of a tool."""

    seconds: float = 600.0
    memory: int = 4 << 30
    """Bytes."""


def accepts_any(name: str, trace: Trace) -> None:
    """The `refusal` of a tool that reads no counterexamples of ours."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """Of one system. `unfinished`: why the tool has not seen every state, or could not be asked at all; nothing else
    counts then."""

    tool: str
    states: int = 0
    findings: frozenset[Key] = frozenset()
    runs: Mapping[str, bool] = field(default_factory=dict)
    """Properties of runs, by name: does it hold?"""
    without: Mapping[str, str] = field(default_factory=dict)
    """Properties that it was not asked about, and why."""
    unfinished: str | None = None
    seconds: float = 0.0
    refusal: Callable[[str, Trace], str | None] = accepts_any
    """Why a run is no counterexample to a property; None if it is one."""


class MissingError(Exception):
    """A tool is not installed; the message says what to do."""
