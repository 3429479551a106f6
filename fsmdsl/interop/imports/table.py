"""What every reader makes of a foreign source: the table of a machine, in no language's syntax.

A reader names states, events, conditions and actions as its source does; `write` finds names for them that a spec can
hold. Rows are in the order of the source, which is their order of precedence: of the rows of one state and event whose
conditions hold, the first is followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.text.diagnostics import Diagnostic, Rule
from fsmdsl.text.source import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Condition:
    """One part of a guard, as the source writes it; `holds` False: it must not hold."""

    text: str
    holds: bool = True


@dataclass(frozen=True, slots=True)
class State:
    """`name` is unique in its machine, `title` what the source calls the state inside its parent."""

    name: str
    title: str
    parent: str | None = None
    initial: bool = False
    """Its parent is entered here. Of the machine's own first state, `Table.initial` speaks."""
    parallel: bool = False
    """Its children are regions: an instance is in all of them at once."""
    final: bool = False
    implied: bool = False
    """It stands for its parent, where the source lets a composite be in none of its states."""
    entry: tuple[str, ...] = ()
    exit: tuple[str, ...] = ()
    doc: str = ""
    place: Span = field(compare=False, default=NOWHERE)
    label: str = ""
    """What the source shows for it, where that is not its title."""


@dataclass(frozen=True, slots=True)
class Row:
    """One arrow. `event` None: followed by itself, or `after` so long; `target` None: internal, no state is left."""

    source: str
    target: str | None
    event: str | None
    conditions: tuple[Condition, ...] = ()
    actions: tuple[str, ...] = ()
    after: str | None = None
    """A duration as specs write it: `500ms`."""
    place: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of the source that no reader understood. It may hold states and rows that the table lacks."""

    text: str
    place: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True)
class Table:
    """One machine. `initial` is the state it begins in, at whatever depth; composites come before their children."""

    name: str
    initial: str
    states: tuple[State, ...]
    rows: tuple[Row, ...]
    acts_at_start: bool = False
    """Being made runs the entry actions of the first state and follows its rows without an event."""
    doc: str = ""
    place: Span = field(compare=False, default=NOWHERE)
    unread: tuple[Unread, ...] = ()

    @cached_property
    def state_by_name(self) -> dict[str, State]:
        return {s.name: s for s in self.states}

    @cached_property
    def children(self) -> dict[str | None, tuple[State, ...]]:
        """The states directly inside each composite, and under None those of the machine."""
        inside: dict[str | None, list[State]] = {}
        for s in self.states:
            inside.setdefault(s.parent, []).append(s)
        return {name: tuple(states) for name, states in inside.items()}

    def around(self, name: str) -> Iterator[str]:
        """The state, then each composite around it, from the inside out."""
        inner: str | None = name
        while inner is not None:
            yield inner
            inner = self.state_by_name[inner].parent

    def entered(self, name: str) -> str:
        """The leaf that a transition to this state ends in."""
        while name in self.children:
            inside = self.children[name]
            name = next((s.name for s in inside if s.initial), inside[0].name)
        return name

    def leaves(self, name: str) -> Iterator[str]:
        """The leaves in a state, or the state itself where it is one."""
        if name not in self.children:
            yield name
        for s in self.children.get(name, ()):
            yield from self.leaves(s.name)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that the reader understood and that a spec cannot express."""

    text: str
    place: Span = field(compare=False, default=NOWHERE)
    rule: Rule | None = field(compare=False, default=None)
    """It has no effect in the source either, which is a finding about the source."""


@dataclass(frozen=True, slots=True)
class Imported:
    """All that a source holds. `unread`: parts outside of the tables, such as whole machines."""

    tables: tuple[Table, ...]
    left_out: tuple[LeftOut, ...] = ()
    unread: tuple[Unread, ...] = ()

    @property
    def missing(self) -> tuple[Unread, ...]:
        """Every part that was not read, inside of the tables and outside, in the order of the source."""
        every = [*self.unread, *(x for table in self.tables for x in table.unread)]
        return tuple(sorted({(x.text, *_order(x.place)): x for x in every}.values(), key=lambda x: _order(x.place)))


def _order(place: Span) -> tuple[str, int]:
    return place.source.name, place.start


class ImportFailedError(Exception):
    """A source cannot be read as machines: what is wrong, and where."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic
