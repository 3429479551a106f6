"""A table as the language can hold it: what differs is made explicit, or left out and said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from fsmdsl.dataclasses import replace
from fsmdsl.interop.imports.guards import guarded
from fsmdsl.interop.imports.rules import DEAD_STATE, NEVER_FOLLOWED
from fsmdsl.interop.imports.table import LeftOut, Row, State, Table
from fsmdsl.text.source import NOWHERE

START = "start"
"""The event that stands for the beginning, where an instance would have to act as soon as it is made."""


def normal(table: Table) -> tuple[Table, list[LeftOut]]:
    """The table with a beginning, eventless rows and dead parts as a spec can have them; what that leaves out."""
    left_out: list[LeftOut] = []
    for step in (_initial_children, _decided, _begun, _followed, _reachable):
        table, more = step(table)
        left_out += more
    return _finals(table), left_out


def _initial_children(table: Table) -> tuple[Table, list[LeftOut]]:
    """Exactly one initial state in each composite: the first, where the source names none."""
    chosen: set[str] = set()
    left_out: list[LeftOut] = []
    for parent, inside in table.children.items():
        if parent is None:
            continue
        initial = [s for s in inside if s.initial]
        chosen.add((initial or inside)[0].name)
        if len(initial) != 1:
            message = (
                f"`{parent}` names {len(initial) or 'no'} initial states"
                if initial
                else f"`{parent}` names no initial state"
            )
            first = (initial or inside)[0].title
            left_out.append(LeftOut(f"{message}: `{first}` is taken", table.state_by_name[parent].place))
    states = tuple(replace(s, initial=s.name in chosen) for s in table.states)
    return replace(table, states=states), left_out


def _begun(table: Table) -> tuple[Table, list[LeftOut]]:
    """A first state that is entered by default from the machine on, and does nothing by itself.

    An instance of a spec runs neither entry effects nor eventless transitions when it is made.
    """
    *_, outermost = table.around(table.initial)
    first = table.entered(table.initial)
    around = set(table.around(first))
    acts = any(table.state_by_name[name].entry for name in around)
    goes_on = any(r.event is None and r.after is None and r.source in around for r in table.rows)
    if table.entered(outermost) == first and not (table.acts_at_start and (acts or goes_on)):
        return replace(table, initial=outermost), []
    name = "Start" if "Start" not in table.state_by_name else "Start of the machine"
    begin = State(name, name, doc="Before the machine begins.")
    event = START if all(r.event != START for r in table.rows) else "start of the machine"
    row = Row(name, table.initial, event, place=table.state_by_name[table.initial].place)
    return replace(table, initial=name, states=(begin, *table.states), rows=(row, *table.rows)), []


def _decided(table: Table) -> tuple[Table, list[LeftOut]]:
    """Eventless rows with conditions become rows on events: what decides them is outside of the spec."""
    guarded_sources = {r.source for r in table.rows if r.event is None and r.after is None and r.conditions}
    timers = Counter((r.source, r.after) for r in table.rows)
    rows: list[Row] = []
    left_out: list[LeftOut] = []
    for row in table.rows:
        if row.after is not None and row.conditions:
            rows.append(_timed(row, alone=timers[row.source, row.after] == 1))
            left_out.append(
                LeftOut(f"the condition of `after {row.after}` in `{row.source}`: `{_decision(row)}`", row.place)
            )
            continue
        if row.event is not None or row.after is not None or row.source not in guarded_sources:
            if row.event is None and row.after is None and row.target is None:
                left_out.append(LeftOut(f"a row of `{row.source}` that needs no event and leads nowhere", row.place))
            else:
                rows.append(row)
            continue
        event = _decision(row)
        rows.append(replace(row, event=event, conditions=()))
        text = f"`{row.source}` is left as soon as {_spelled(row)}; in the spec the event `{event}` decides when"
        left_out.append(LeftOut(text, row.place))
    return replace(table, rows=tuple(rows)), left_out


def _timed(row: Row, *, alone: bool) -> Row:
    """A timer without its condition; an event where a second timer of the state fires at the same time."""
    event = None if alone else f"after {row.after} {_decision(row)}"
    return replace(row, conditions=(), event=event, after=row.after if alone else None)


def _decision(row: Row) -> str:
    if not row.conditions:
        return "otherwise"
    return " and ".join(c.text if c.holds else f"not {c.text}" for c in row.conditions)


def _spelled(row: Row) -> str:
    return f"`{_decision(row)}` holds" if row.conditions else "none of its other conditions holds"


def _followed(table: Table) -> tuple[Table, list[LeftOut]]:
    """Without rows that the rows before them never leave anything to."""
    rows, shadowed = guarded(table.rows)
    without_effect = [x.row for x in shadowed]
    groups: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for x in shadowed:
        together = [r for r in table.rows if r.place == x.row.place and r.place.source is not NOWHERE.source]
        twice = sum(_same_guard(r, x.row) for r in together) > 1
        is_finding = twice or _is_finding(table, together, without_effect)
        reason = "it is listed twice" if twice else x.reason
        stays = x.row.target is None and x.row.source
        groups[x.row.place, x.row.event, x.row.target, stays, reason, is_finding].append(x.row)
    left_out = [
        LeftOut(_never_followed(group, str(key[-2])), group[0].place, NEVER_FOLLOWED if key[-1] else None)
        for key, group in groups.items()
    ]
    return replace(table, rows=tuple(row.row for row in rows)), left_out


def _never_followed(group: Sequence[Row], reason: str) -> str:
    """The rows of one place in a sentence."""
    first = group[0]
    sources = [f"`{x}`" for x in dict.fromkeys(r.source for r in group)]
    way = f"{', '.join(sources[:4])}{', …' if len(sources) > 4 else ''} to `{first.target or first.source}`"
    return f"the row from {way} on `{first.event or 'nothing'}` is never followed: {reason}"


def _same_guard(one: Row, other: Row) -> bool:
    return (one.source, one.event, one.conditions) == (other.source, other.event, other.conditions)


def _is_finding(table: Table, together: Sequence[Row], without_effect: Sequence[Row]) -> bool:
    """Is it a finding about the source that some rows of one place are never followed? What the source has for all
    states, or for several events, gives way to the rows before it on purpose."""
    states = {s.name for s in table.states if s.name not in table.children}
    is_general = {x.source for x in together} >= states or len({x.event for x in together}) > 1
    return not is_general or all(x in without_effect for x in together)


def _reachable(table: Table) -> tuple[Table, list[LeftOut]]:
    """Without states that no row leads to, whatever conditions say; `fsm check` would warn of them."""
    entered = _entered_from(table)
    if len(entered) == len(table.states):
        return table, []
    dropped = [s for s in table.states if s.name not in entered]
    rows = tuple(r for r in table.rows if r.source in entered and (r.target is None or r.target in entered))
    states = [s for s in table.states if s.name in entered]
    left = replace(table, states=_begin_again(states), rows=rows)
    leading = Counter(r.source for r in table.rows)
    return left, [
        LeftOut(_dead(s, leading[s.name], bool(table.unread)), s.place, None if table.unread else DEAD_STATE)
        for s in dropped
        if not s.implied or leading[s.name]
    ]


def _dead(state: State, rows: int, incomplete: bool) -> str:
    leave = "" if not rows else f", with {rows} row{'s' * (rows != 1)} that leave{'s' * (rows == 1)} it"
    return f"the state `{state.title}`{leave}: no row{' that was read' if incomplete else ''} leads to it"


def _begin_again(states: list[State]) -> tuple[State, ...]:
    """The states; a composite whose initial state is gone is entered at the first that is left.

    It is only ever entered at one of its other states then, so that none is entered by default.
    """
    begun = {s.parent for s in states if s.initial}
    out: list[State] = []
    for s in states:
        first = s.parent is not None and s.parent not in begun
        begun |= {s.parent} if first else set()
        out.append(replace(s, initial=s.initial or first))
    return tuple(out)


def _entered_from(table: Table) -> set[str]:
    """The states that are ever entered, with the composites around them."""
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in table.rows:
        by_source[row.source].append(row)
    entered: set[str] = set()
    pending = [table.entered(table.initial)]
    while pending:
        leaf = pending.pop()
        if leaf in entered:
            continue
        around = list(table.around(leaf))
        entered.update(around)
        pending += [table.entered(r.target) for name in around for r in by_source[name] if r.target is not None]
    return entered


def _finals(table: Table) -> Table:
    """A leaf that nothing leads out of is final, whatever the source calls it, and no other state is."""
    leaves = {s.name for s in table.states if s.name not in table.children}
    arrivals: dict[str, set[str]] = defaultdict(set)
    for row in table.rows:
        if row.target is not None:
            arrivals[row.source].add(table.entered(row.target))
    left = {s for s in leaves if any(arrivals[x] - {s} for x in table.around(s))}
    alone = len(leaves) == 1
    states = (replace(s, final=s.name in leaves and not alone and s.name not in left) for s in table.states)
    return replace(table, states=tuple(states))
