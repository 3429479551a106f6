"""What a machine does in each of its leaves: the same for the machine of a spec and for an imported table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.core.hierarchy import Hierarchy
from fsmdsl.dataclasses import NamedTuple, dataclass, field
from fsmdsl.interop.imports.durations import canonical
from fsmdsl.interop.imports.table import Row, Table
from fsmdsl.text.source import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Move:
    """From a leaf, on a trigger, to a leaf; `target` None: internal, nothing is left."""

    source: str
    trigger: str
    target: str | None
    place: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Moves:
    """A machine as drift sees it. `names` are all that each state is called.

    `written_states` and `written_events`: the names that an import gives to those of a table.
    """

    name: str
    initial: str
    states: dict[str, Span]
    names: Mapping[str, Sequence[str]]
    triggers: tuple[str, ...]
    moves: tuple[Move, ...]
    place: Span
    written_states: Mapping[str, str] = field(default_factory=dict)
    written_events: Mapping[str, str] = field(default_factory=dict)


NAMELESS = "(no name)"
"""The trigger of an event whose name is empty. The empty trigger is that of rows without an event."""

ALWAYS = (None, m.Constant(True, m.BOOL))
"""Guards that say nothing."""


class _Written(NamedTuple):
    """A row as it is written, of a leaf or of a composite around it."""

    trigger: str
    target: str | None
    guarded: bool
    place: Span
    is_timer: bool


def of_machine(machine: m.Machine) -> Moves:
    """The moves of a machine of a spec. Crashes are no part of any code's table, and are left out."""
    hierarchy = Hierarchy(machine)
    written: dict[str, list[_Written]] = {}
    for t in machine.transitions:
        if not isinstance(t.trigger, m.OnCrash):
            trigger, is_timer = _canonical_trigger(t.shown_trigger), isinstance(t.trigger, m.OnTimer)
            row = _Written(trigger, hierarchy.arrival(t), t.guard not in ALWAYS, t.span, is_timer)
            written.setdefault(f"* {t.source}" if t.wild else t.source, []).append(row)
    leaves = [s.name for s in machine.leaves]
    # Rows made from `*` come after those of all composites.
    moves = tuple(x for leaf in leaves for x in _of_leaf(leaf, [*hierarchy.around[leaf], f"* {leaf}"], written))
    names = {s.name: (s.name, s.display) for s in machine.states}
    places = {s.name: s.span for s in machine.states if s.name in leaves}
    triggers = tuple(dict.fromkeys(x.trigger for x in moves))
    return Moves(machine.name, machine.initial.name, places, names, triggers, moves, machine.span)


def of_table(table: Table, states: Mapping[str, str] | None = None, events: Mapping[str, str] | None = None) -> Moves:
    """The moves of an imported table. `states` and `events`: the names that an import gives them."""
    written: dict[str, list[_Written]] = {}
    for row in table.rows:
        target = None if row.target is None else table.entered(row.target)
        is_timer = row.event is None and row.after is not None
        entry = _Written(_trigger(row), target, bool(row.conditions), row.place, is_timer)
        written.setdefault(row.source, []).append(entry)
    leaves = [s.name for s in table.states if s.name not in table.children]
    moves = tuple(x for leaf in leaves for x in _of_leaf(leaf, list(table.around(leaf)), written))
    names = {s.name: tuple(x for x in (s.name, s.title, s.label) if x) or ("",) for s in table.states}
    places = {name: table.state_by_name[name].place for name in leaves}
    triggers = tuple(dict.fromkeys(x.trigger for x in moves))
    initial = table.entered(table.initial)
    written_events = {x or NAMELESS: name for x, name in (events or {}).items()}
    return Moves(table.name, initial, places, names, triggers, moves, table.place, states or {}, written_events)


def _trigger(row: Row) -> str:
    if row.event is not None:
        return row.event or NAMELESS
    return "" if row.after is None else _canonical_trigger(f"after {row.after}")


def _canonical_trigger(trigger: str) -> str:
    """A trigger; equal times are written alike."""
    return f"after {canonical(trigger[6:])}" if trigger.startswith("after ") else trigger


def _of_leaf(leaf: str, around: Sequence[str], written: dict[str, list[_Written]]) -> Iterator[Move]:
    """The moves of a leaf, without those of composites that its own always come before."""
    handled: set[str] = set()
    for state in around:
        rows = written.get(state, [])
        moves = {Move(leaf, x.trigger, x.target, x.place): None for x in rows if x.trigger not in handled}
        yield from moves
        handled |= _always(rows)


def _always(rows: Iterable[_Written]) -> set[str]:
    """What leaves nothing to rows further out. Timers do not: each runs by itself."""
    return {x.trigger for x in rows if not x.guarded and not x.is_timer}
