"""What a machine loses where another tool runs its table of rows: the same for statecharts and for `transitions`."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.core.selection import Selection
from fsmdsl.dataclasses import dataclass
from fsmdsl.text.source import Span


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that the spec says and what is written does not, and where the spec says it."""

    text: str
    span: Span


def line(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def written(x: m.Expr | m.Effect) -> str:
    """An expression or effect as the author wrote it, on one line and without comments."""
    return x.span.quote


def losses(selection: Selection, tool: str) -> Iterator[Lost]:
    """What no tool has that follows the first row whose guard holds, one event after the other."""
    machine = selection.machine
    for t in machine.transitions:
        if isinstance(t.trigger, m.OnCrash):
            yield Lost(f"the row `{t.source} -> {t.target or t.source} on crash`: a crash is not an event", t.span)
    if any(f.durable for f in machine.fields) or any(s.persistent or s.volatile for s in machine.states):
        yield Lost("what a crash leaves as it is: `durable`, `persistent`, `volatile`", machine.span)
    for level in selection.rivals():
        for a, b in selection.disputed(level):
            names = f"`{a.name}` and `{b.name}`" if a.name != b.name else f"two rows `{a.name}`"
            reason = f"{names} of `{a.source}` may be enabled at once: {tool} follows the first,"
            yield Lost(f"{reason} the spec calls it a fault", b.span)
    for action in machine.actions:
        if action.outcomes:
            reason = f"{tool} takes other events while `{action.name}` is not answered, the spec does not"
            yield Lost(reason, action.span)
    for x in machine.invariants:
        yield Lost(f"the invariant `{written(x.condition)}`", x.span)
