"""A run told in full: each step with the cascade inside it, and what it has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsmdsl.runs.causality_tree import Node, caused, of_step
from fsmdsl.runs.hiding import NOTHING, Hidden
from fsmdsl.runs.trace import Entry, Trace, changed_channels, changed_fields, first_values, for_ever
from fsmdsl.step.describe import fault_message
from fsmdsl.step.instances import Roster
from fsmdsl.step.world import Fault, Sent, World

WIDEST = 52
"""Columns for what happened; what it led to stands to the right, in one column where that goes."""
LINE = 110
"""Columns of a line of changes."""

Row = tuple[str, str]


def story(trace: Trace, hidden: Hidden = NOTHING) -> list[str]:
    """Lines: the first states, then for each step who sent what to whom, which transitions that led to, indented under
    what caused it, and the fields that have another value than before. A step in which all is hidden has none."""
    roster = trace.roster
    begun = [f"{roster.name(n)}: {s}" for n, s in enumerate(trace.start.states) if not hidden.instance(roster, n)]
    blocks: list[list[Row]] = [[("start", "; ".join([*begun, *first_values(trace, hidden)]))]]
    blocks += [list(_step(roster, entry, before, hidden)) for before, entry in trace.befores()]
    width = max((len(what) for rows in blocks for what, then in rows if then and len(what) <= WIDEST), default=0)
    digits = len(str(len(trace.entries)))
    out: list[str] = []
    for n, rows in enumerate(blocks):
        for place, (what, then) in enumerate(rows):
            number = str(n) if place == 0 else ""
            line = f"{number:>{digits}}  {what:<{width}}   {then}" if then else f"{number:>{digits}}  {what}"
            out.append(line.rstrip())
        if n == trace.loop:
            out.append(f"{'':>{digits}}  {for_ever(trace)}")
    return [*out, *_left_out(sum(not rows for rows in blocks))]


def _left_out(count: int) -> list[str]:
    return [f"({count} hidden step{'s' * (count != 1)})"] if count else []


def steps(trace: Trace, hidden: Hidden = NOTHING) -> list[str]:
    """A line for each step: only what was done. A step that fails is never hidden."""
    digits, out, count = len(str(len(trace.entries))), list[str](), 0
    for n, (before, entry) in enumerate(trace.befores()):
        if n == trace.loop:
            out.append(f"{'':>{digits}}  {for_ever(trace)}")
        root = of_step(trace.roster, entry.step, before)
        if entry.fault is None and _is_hidden(trace.roster, root, hidden):
            count += 1
            continue
        fails = "" if entry.fault is None else f"   {_fails(trace.roster, entry.fault)}"
        out.append(f"{n + 1:>{digits}}  {root.what}{fails}")
    if trace.loop == len(trace.entries):
        out.append(f"{'':>{digits}}  {for_ever(trace)}")
    return [*out, *_left_out(count)]


def tree(roster: Roster, entry: Entry, before: World) -> list[str]:
    """The lines of one step, without its number."""
    rows = list(_step(roster, entry, before))
    width = max((len(what) for what, then in rows if then and len(what) <= WIDEST), default=0)
    return [f"{what:<{width}}   {then}" if then else what for what, then in rows]


def _fails(roster: Roster, fault: Fault) -> str:
    return f"fails: {fault_message(roster, fault)} ({fault.kind})"


def _is_hidden(roster: Roster, node: Node, hidden: Hidden) -> bool:
    if node.of is None:
        return False
    return hidden.event(roster, node.of, node.event) if node.event else hidden.instance(roster, node.of)


def _step(roster: Roster, entry: Entry, before: World, hidden: Hidden = NOTHING) -> Iterator[Row]:
    root = caused(roster, entry.step, entry.cascade, before, entry.cut_short)
    if entry.fault is not None and entry.cascade and isinstance(entry.cascade[-1], Sent):
        _last(root).then = "fails"
    rows = list(_visible(roster, root, 0, hidden))
    yield from rows
    if entry.fault is not None:
        yield f"  {_fails(roster, entry.fault)}", ""
    elif rows:
        yield from ((f"  {line}", "") for line in _joined(_changes(roster, before, entry.world, hidden)))


def _changes(roster: Roster, before: World, after: World, hidden: Hidden) -> Iterator[str]:
    """Of a channel only what it holds now: what came and went is in the steps."""
    channels = {name: now for name, _, now in changed_channels(roster, before, after, hidden)}
    for name, old, new in changed_fields(roster, before, after, hidden):
        yield f"{name} = {new}" if name in channels else f"{name}: {old} → {new}"


def _last(node: Node) -> Node:
    while node.inside:
        node = node.inside[-1]
    return node


def _visible(roster: Roster, node: Node, depth: int, hidden: Hidden) -> Iterator[Row]:
    """A row for each node that is not hidden, those inside one that is in its place."""
    is_visible = not _is_hidden(roster, node, hidden)
    if is_visible:
        yield f"{'  ' * depth}{node.what}", node.then
    for x in node.inside:
        yield from _visible(roster, x, depth + is_visible, hidden)


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
