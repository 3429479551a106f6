"""Rows of a table with guards that exclude each other, as a spec has them.

A source tries its rows in order; a spec has no order, and two rows that are both enabled are a fault. So the guard of a
row says as well that those of the rows before it do not hold. With many rows that would be quadratic: instead, the
event brings the number of the first row that applies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.imports.table import Condition, Row

MAX_CONDITIONS = 12
"""Maximum number of conditions of an event that become parameters of it."""

MAX_ROWS = 24
"""Maximum number of rows of one state and event that have guards which exclude each other."""


@dataclass(frozen=True, slots=True)
class Guard:
    """All of `conditions` hold, and of each of `excluded` at least one does not.

    `number`, unless it is 0, stands for both: the event brings the number of the first row that applies. `outside`: it
    brings none of these numbers, which are those of the other rows of the state, from the first to the last.
    """

    conditions: tuple[Condition, ...] = ()
    excluded: tuple[tuple[Condition, ...], ...] = ()
    number: int = 0
    outside: tuple[int, int] | None = None

    @property
    def by_number(self) -> bool:
        return self.number > 0 or self.outside is not None

    @property
    def texts(self) -> tuple[str, ...]:
        """What it depends on, each once."""
        conditions = [*self.conditions, *(c for group in self.excluded for c in group)]
        return tuple(dict.fromkeys(c.text for c in conditions))


@dataclass(frozen=True, slots=True)
class GuardedRow:
    """A row with its whole guard."""

    row: Row
    guard: Guard


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A row that is never followed, and why not."""

    row: Row
    reason: str


def guarded(rows: Sequence[Row]) -> tuple[list[GuardedRow], list[Shadowed]]:
    """The rows with whole guards, and those that are never followed."""
    before: dict[_Start, dict[tuple[Condition, ...], None]] = defaultdict(dict)
    first_numbers = _first_numbers(rows)
    guarded_rows: list[GuardedRow] = []
    shadowed: list[Shadowed] = []
    for row in rows:
        earlier = before[row.source, row.event, row.after]
        mine = tuple(dict.fromkeys(row.conditions))
        first = first_numbers.get((row.source, row.event))
        guard = _guard(mine, list(earlier)) if first is None else _numbered_guard(mine, earlier, first)
        if guard is None:
            opposed = _opposed(mine, mine)
            reason = "its conditions contradict each other" if opposed else "a row before it always applies"
            shadowed.append(Shadowed(row, reason))
            continue
        earlier[mine] = None
        guarded_rows.append(GuardedRow(row, guard))
    return guarded_rows, shadowed


_Start = tuple[str, str | None, str | None]


def _first_numbers(rows: Sequence[Row]) -> dict[tuple[str, str | None], int]:
    """The number of the first row of each state and event, for events with many conditions, or many rows in a state.

    Numbers are those of one row alone: what is inside of a composite and the composite itself take the same event.
    """
    texts: dict[str, set[str]] = defaultdict(set)
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        if row.event is not None and row.conditions:
            texts[row.event].update(c.text for c in row.conditions)
        if row.event is not None:
            counts[row.source, row.event] += 1
    many = {event for event, x in texts.items() if len(x) > MAX_CONDITIONS}
    many |= {event for (_, event), n in counts.items() if n > MAX_ROWS and event in texts}
    following: dict[str, int] = defaultdict(lambda: 1)
    first_numbers: dict[tuple[str, str | None], int] = {}
    for (source, event), n in counts.items():
        if event in many:
            first_numbers[source, event] = following[event]
            following[event] += n
    return first_numbers


def _numbered_guard(
    mine: tuple[Condition, ...], earlier: Mapping[tuple[Condition, ...], None], first: int
) -> Guard | None:
    """None: a row before it has the same conditions or none, or its own contradict each other."""
    if mine in earlier or () in earlier or _opposed(mine, mine):
        return None
    following = first + len(earlier)
    if mine:
        return Guard(number=following)
    return Guard(outside=(first, following - 1)) if earlier else Guard()


def _guard(mine: tuple[Condition, ...], earlier: Sequence[tuple[Condition, ...]]) -> Guard | None:
    """None: it never holds, as a row before it would be followed, or it contradicts itself."""
    if _opposed(mine, mine):
        return None
    conditions = dict.fromkeys(mine)
    left = [group for group in earlier if not _opposed(mine, group)]
    while True:
        # What remains of each group, given what holds: one condition alone must not hold, none is a row that applies.
        left = [
            tuple(c for c in group if c not in conditions) for group in left if not _opposed(tuple(conditions), group)
        ]
        if () in left:
            return None
        single = {Condition(group[0].text, not group[0].holds): None for group in left if len(group) == 1}
        if _opposed(tuple(single), tuple(single)):
            return None
        if not single:
            return Guard(tuple(conditions), tuple(dict.fromkeys(left)))
        conditions |= single


def _opposed(one: Sequence[Condition], other: Sequence[Condition]) -> bool:
    """Does one ask for a condition that the other asks not to hold?"""
    conditions = set(other)
    return any(Condition(c.text, not c.holds) in conditions for c in one)
