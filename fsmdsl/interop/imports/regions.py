"""Parallel regions, which the language does not have, as machines of their own."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.dataclasses import replace
from fsmdsl.interop.imports.table import LeftOut, Row, State, Table


def split(table: Table) -> tuple[list[Table], list[LeftOut]]:
    """The table with every parallel state as a leaf, and a table for each of its regions; regions in regions too.

    Where rows lead out of a region, they lead out of the whole parallel state; rows into a region enter that state.
    """
    outer = next((s for s in table.states if s.parallel and s.name in table.children), None)
    if outer is None:
        return [table], []
    regions = table.children[outer.name]
    inside = {r.name: _inside(table, r.name) for r in regions}
    home = {name: region for region, names in inside.items() for name in names}
    left_out = [LeftOut(_message(outer, regions), outer.place)]
    rows: list[Row] = []
    own: dict[str, list[Row]] = {r.name: [] for r in regions}
    for row in table.rows:
        source, target = home.get(row.source), home.get(row.target or "")
        if source is not None and (row.target is None or source == target):
            own[source].append(row)
            continue
        if source is not None and target is not None:
            left_out.append(
                LeftOut(f"the row from `{row.source}` to `{row.target}` leads into another region", row.place)
            )
            continue
        if source is not None:
            left_out.append(LeftOut(f"`{row.event}` leaves `{outer.title}` in any state of `{source}`", row.place))
        ends = (outer.name if source is not None else row.source, outer.name if target is not None else row.target)
        rows.append(replace(row, source=ends[0], target=ends[1]))
    states = tuple(replace(s, parallel=False) if s is outer else s for s in table.states if s.name not in home)
    begins = outer.name if table.initial in home else table.initial
    main = replace(table, states=states, rows=tuple(rows), initial=begins)
    tables = [] if len(states) == 1 and not rows else [main]
    tables += [_region(table, outer, r, inside[r.name], own[r.name]) for r in regions if r.name in table.children]
    parts = [split(t) for t in tables]
    return [t for part, _ in parts for t in part], [*left_out, *(x for _, more in parts for x in more)]


def _message(outer: State, regions: tuple[State, ...]) -> str:
    names = ", ".join(f"`{r.title}`" for r in regions)
    return (
        f"the states of `{outer.title}` are parallel: {names} are machines of their own, and nothing keeps them in step"
    )


def _inside(table: Table, name: str) -> set[str]:
    return {name, *(x for child in table.children.get(name, ()) for x in _inside(table, child.name))}


def _region(table: Table, outer: State, region: State, inside: set[str], rows: list[Row]) -> Table:
    """The states in a region under a machine of its name. Rows of the region as a whole leave each of its states."""
    states = tuple(
        replace(s, parent=None if s.parent == region.name else s.parent)
        for s in table.states
        if s.name in inside and s.name != region.name
    )
    begin = next((s for s in table.children[region.name] if s.initial), table.children[region.name][0])
    tops = [s.name for s in states if s.parent is None]
    spread = [x for row in rows for x in _spread(row, region.name, tops, begin.name)]
    doc = f"A parallel region of {outer.title}."
    if region.parallel:
        whole = replace(region, parent=None)
        again = tuple(replace(s, parent=region.name) if s.parent is None else s for s in states)
        name = f"{table.name} {region.title}"
        return Table(name, region.name, (whole, *again), tuple(rows), False, doc, region.place, table.unread)
    acts = table.acts_at_start
    name = f"{table.name} {region.title}"
    return Table(name, begin.name, states, tuple(spread), acts, doc, region.place, table.unread)


def _spread(row: Row, region: str, tops: list[str], begin: str) -> Iterator[Row]:
    target = begin if row.target == region else row.target
    for source in tops if row.source == region else [row.source]:
        yield replace(row, source=source, target=target)
