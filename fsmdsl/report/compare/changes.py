"""What differs between two versions, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.text.source import Span

Kind = Literal["added", "removed", "changed", "renamed", "moved"]
"""`moved`: a transition that leads from or to another state than before."""

Owner = Literal["machine", "system", "module"]


@dataclass(frozen=True, slots=True)
class Change:
    """Something that is not as it was.

    `was` and `now` are texts or names, empty where there is none; `details` say in words what is different.
    """

    kind: Kind
    what: str
    """`state`, `transition`, `field`, `invariant`, …"""
    name: str
    was: str = ""
    now: str = ""
    details: tuple[str, ...] = ()
    before: Span | None = None
    after: Span | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A transition of the old version and what has become of it; None: there is none."""

    old: m.Transition | None
    new: m.Transition | None
    details: tuple[str, ...] = ()
    """What is different, if anything is."""
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """A machine, system or module of both versions; one of them alone: it was added or removed."""

    owner: Owner
    name: str
    """Qualified."""
    changes: tuple[Change, ...]
    old: m.Machine | m.System | m.Module | None
    new: m.Machine | m.System | m.Module | None
    states: Mapping[str, str] = field(default_factory=dict)
    """Of a machine: the new names of states that have another."""
    rows: tuple[Match, ...] = ()
    """Of a machine: every transition."""
    was: str | None = None
    """Of a machine that is called otherwise now: its name before, qualified. `old` is called as `new` is."""

    @property
    def kind(self) -> Kind | None:
        """None: nothing has changed."""
        if self.old is None or self.new is None:
            return "added" if self.old is None else "removed"
        return "changed" if self.changes else None
