"""Rows of a table with guards that exclude each other, as a spec has them.

A source tries its rows in order; a spec has no order, and two rows that are both enabled are a fault. So the guard of a
row says as well that those of the rows before it do not hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.imports.table import Condition, LeftOut, Row


@dataclass(frozen=True, slots=True)
class Guard:
    """All of `conditions` hold, and of each of `excluded` at least one does not."""

    conditions: tuple[Condition, ...] = ()
    excluded: tuple[tuple[Condition, ...], ...] = ()

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


def guarded(rows: Sequence[Row]) -> tuple[list[GuardedRow], list[LeftOut]]:
    """The rows with whole guards, and those that are never followed. Quadratic in the rows of one state and event."""
    before: dict[tuple[str, str | None, str | None], list[tuple[Condition, ...]]] = defaultdict(list)
    guarded_rows: list[GuardedRow] = []
    left_out: list[LeftOut] = []
    for row in rows:
        earlier = before[row.source, row.event, row.after]
        mine = tuple(dict.fromkeys(row.conditions))
        guard = _guard(mine, earlier)
        if guard is None:
            way = f"`{row.source}` to `{row.source if row.target is None else row.target}`"
            why = "its conditions contradict each other" if _opposed(mine, mine) else "a row before it always applies"
            left_out.append(
                LeftOut(f"the row from {way} on `{row.event or 'nothing'}` is never followed: {why}", row.place)
            )
            continue
        earlier.append(mine)
        guarded_rows.append(GuardedRow(row, guard))
    return guarded_rows, left_out


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
    return any(Condition(c.text, not c.holds) in other for c in one)
