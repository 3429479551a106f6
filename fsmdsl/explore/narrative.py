"""A run told in full: each step with the cascade inside it, and what it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsmdsl.describe import fault_message
from fsmdsl.explore.causality_tree import Node, caused
from fsmdsl.explore.trace import Entry, Trace, changed_channels, changed_fields, first_values, for_ever
from fsmdsl.step.roster import Roster
from fsmdsl.step.world import Sent, World

WIDEST = 52
"""Columns for what happened; what it led to stands to the right, in one column where that goes."""
LINE = 110
"""Columns of a line of changes."""

Row = tuple[str, str]


def story(trace: Trace) -> list[str]:
    """Lines: the first states, then for each step who sent what to whom, which transitions that led to, indented under
    what caused it, and the fields that have another value than before."""
    roster = trace.roster
    begun = [f"{roster.name(n)}: {s}" for n, s in enumerate(trace.start.states)]
    told: list[list[Row]] = [[("start", "; ".join([*begun, *first_values(trace)]))]]
    told += [list(_step(roster, entry, before)) for before, entry in trace.befores()]
    width = max((len(what) for rows in told for what, then in rows if then and len(what) <= WIDEST), default=0)
    digits = len(str(len(trace.entries)))
    out: list[str] = []
    for n, rows in enumerate(told):
        for place, (what, then) in enumerate(rows):
            number = str(n) if place == 0 else ""
            line = f"{number:>{digits}}  {what:<{width}}   {then}" if then else f"{number:>{digits}}  {what}"
            out.append(line.rstrip())
        if n == trace.loop:
            out.append(f"{'':>{digits}}  {for_ever(trace)}")
    return out


def steps(trace: Trace) -> list[str]:
    """A line for each step: only what was done."""
    digits = len(str(len(trace.entries)))
    out = [f"{n:>{digits}}  {step}" for n, step in enumerate(trace.steps(), 1)]
    if trace.fault is not None:
        out[-1] += f"   fails: {fault_message(trace.roster, trace.fault)} ({trace.fault.kind})"
    if trace.loop is not None:
        out.insert(trace.loop, f"{'':>{digits}}  {for_ever(trace)}")
    return out


def tree(roster: Roster, entry: Entry, before: World) -> list[str]:
    """The lines of one step, without its number."""
    rows = list(_step(roster, entry, before))
    width = max((len(what) for what, then in rows if then and len(what) <= WIDEST), default=0)
    return [f"{what:<{width}}   {then}" if then else what for what, then in rows]


def _step(roster: Roster, entry: Entry, before: World) -> Iterator[Row]:
    root = caused(roster, entry.step, entry.cascade, before)
    if entry.fault is not None and entry.cascade and isinstance(entry.cascade[-1], Sent):
        _last(root).then = "fails"
    yield from _rows(root, 0)
    if entry.fault is not None:
        yield f"  fails: {fault_message(roster, entry.fault)} ({entry.fault.kind})", ""
        return
    yield from ((f"  {line}", "") for line in _joined(_changes(roster, before, entry.world)))


def _changes(roster: Roster, before: World, after: World) -> Iterator[str]:
    """Of a channel only what it holds now: what came and went is in the steps."""
    channels = {name: now for name, _, now in changed_channels(roster, before, after)}
    for name, old, new in changed_fields(roster, before, after):
        yield f"{name} = {new}" if name in channels else f"{name}: {old} → {new}"


def _last(node: Node) -> Node:
    while node.inside:
        node = node.inside[-1]
    return node


def _rows(node: Node, depth: int) -> Iterator[Row]:
    yield f"{'  ' * depth}{node.what}", node.then
    for x in node.inside:
        yield from _rows(x, depth + 1)


def _joined(parts: Iterable[str]) -> Iterator[str]:
    """As many on a line as it holds."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) + 2 > LINE:
            yield line
            line = ""
        line = f"{line}; {part}" if line else part
    if line:
        yield line
