"""The transitions of a machine as arrows between states, and which of them flow together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import NamedTuple, dataclass
from fsmdsl.draw.text import clean

Line = Literal["plain", "amended", "crash"]
"""How an arrow is drawn."""

ANY = "*"
"""The source of what leaves every state that is not final."""

MIN_JUNCTION_SOURCES = 3
"""Minimum number of sources for which transitions with the same label and target are joined into one arrow."""


class Row(NamedTuple):
    """How a transition reads; those that read the same and lead to the same state are drawn as one."""

    name: str
    """The document's label; empty without one, and where it only repeats the trigger."""
    trigger: str
    guard: str
    line: Line


@dataclass(frozen=True, slots=True)
class Arrow:
    """A transition as it is drawn: from state to state, from `ANY`, or (`target` None) inside a state."""

    source: str
    target: str | None
    row: Row
    transition: m.Transition


@dataclass(frozen=True, slots=True)
class Bundle:
    """Arrows from several sources that are drawn alike and flow together in a junction inside of `parent`."""

    sources: tuple[str, ...]
    target: str
    parent: str | None
    arrows: tuple[Arrow, ...]


def arrows(machine: m.Machine) -> Iterator[Arrow]:
    """The arrows of a machine, in the order of the text."""
    for t in machine.transitions:
        row = _row(t)
        if t.wild or t.target is None:
            yield Arrow(ANY if t.wild else t.source, t.target, row, t)
        else:
            for source, target in _ends(machine, t.source, t.target):
                yield Arrow(source, target, row, t)


def _ends(machine: m.Machine, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Where the arrow begins and ends. No format draws one between a composite and a state in it well: there the leaf
    that is entered, or all the composite's leaves, stand for the composite."""
    entered = machine.entered(target) if target in machine.ancestors(source) else target
    for leaf in machine.leaves_of(source) if source in machine.ancestors(target) else [source]:
        yield leaf, entered


def _row(t: m.Transition) -> Row:
    line: Line = "amended" if t.amended is not None else "crash" if isinstance(t.trigger, m.OnCrash) else "plain"
    trigger = _trigger(t)
    name = clean(t.label or "")
    guard = "" if t.guard is None else clean(t.guard.span.quote) or "…"
    return Row("" if name == trigger else name, trigger, guard, line)


def _trigger(t: m.Transition) -> str:
    match t.trigger:
        case m.OnEvent(event, arguments):
            return clean(f"{event}({', '.join(arguments)})" if arguments else event)
        case m.OnOutcome() | m.OnTimer() | m.OnCrash() | m.Eventless():
            return clean(t.shown_trigger)
        case _:
            assert_never(t.trigger)


def bundles(machine: m.Machine, all_arrows: Sequence[Arrow]) -> Iterator[Bundle]:
    """What flows together; readings with the same sources and target share a junction. Loops stay out of it."""
    readings: dict[tuple[str, Row], list[Arrow]] = defaultdict(list)
    for a in all_arrows:
        if a.target is not None and a.source not in (ANY, a.target):
            readings[a.target, a.row].append(a)
    joined: dict[tuple[tuple[str, ...], str, Line], list[Arrow]] = defaultdict(list)
    for (target, row), same in readings.items():
        sources = tuple(dict.fromkeys(a.source for a in same))
        if len(sources) >= MIN_JUNCTION_SOURCES:
            joined[tuple(sorted(sources)), target, row.line].extend(same)
    for (_, target, _), same in joined.items():
        sources = tuple(dict.fromkeys(a.source for a in same))
        yield Bundle(sources, target, _around(machine, (*sources, target)), tuple(same))


def _around(machine: m.Machine, states: Sequence[str]) -> str | None:
    """The innermost composite around all the states, which is none of them."""
    around = [list(machine.ancestors(state))[1:] for state in states]
    return next((outer for outer in around[0] if all(outer in others for others in around)), None)
