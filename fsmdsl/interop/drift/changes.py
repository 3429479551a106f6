"""The differences between the moves of a spec and those of code, row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Literal

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.drift.moves import Move, Moves
from fsmdsl.interop.drift.name_matching import key, matched, same_event
from fsmdsl.interop.imports.names import event_name, state_name
from fsmdsl.text.source import NOWHERE, Span

Kind = Literal["added", "removed", "changed", "renamed"]
"""Seen from the spec: `added` is in the code alone."""


@dataclass(frozen=True, slots=True)
class Side:
    """Where one of the two has it, and how it reads there; nowhere: it does not."""

    place: Span = field(compare=False, default=NOWHERE)
    text: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference, in names of the spec as far as it has some."""

    kind: Kind
    what: Literal["machine", "state", "event", "initial state", "row"]
    name: str
    machine: str
    spec: Side
    code: Side
    in_spec: str = field(compare=False, default="")
    """What the code has, in the names of the spec."""

    @property
    def message(self) -> str:
        """The difference in a sentence."""
        where = "" if self.what == "machine" else f"{self.machine}: "
        match self.kind:
            case "added":
                return f"{where}the {self.what} `{self.name}` is in the code, but not in the spec"
            case "removed":
                return f"{where}the {self.what} `{self.name}` is in the spec, but not in the code"
            case "renamed":
                return f"{where}the {self.what} `{self.spec.text}` of the spec is `{self.code.text}` in the code"
        return f"{where}the {self.what} is `{self.spec.text}` in the spec, but `{self.code.text}` in the code"

    def advice(self, leads: str) -> str:
        """What has to be done, where the code or the spec leads."""
        follower, text = ("spec", self.in_spec or self.code.text) if leads == "code" else ("code", self.spec.text)
        if self.kind == "renamed":
            renaming = f"{self.code.text}={self.spec.text}"
            return f"write `{text}` in the {follower}, or pass `--rename {renaming}`"
        if not text:
            return f"remove it from the {follower}"
        return f"write `{text}` in the {follower}"


def differences(spec: Moves, code: Moves, renames: Mapping[str, str]) -> Iterator[Drift]:
    """Everything that differs between a machine and a table."""
    spec = _comparable(spec, code)
    states, triggers = matched(code, spec, renames)
    yield from _renamed_states(spec, states, renames, code)
    yield from _triggers(spec, triggers, renames, code)
    renamed = replace(code, moves=tuple(_renamed(x, states, triggers) for x in code.moves))
    yield from _states(spec, code, states)
    initial = states.get(code.initial, code.initial)
    if initial != spec.initial:
        sides = Side(spec.place, spec.initial), Side(code.place, code.initial)
        name = _states_in_spec(code, states).get(code.initial, code.initial)
        yield Drift("changed", "initial state", spec.initial, spec.name, *sides, name)
    in_spec = _states_in_spec(code, states), _triggers_in_spec(code, triggers)
    rows = {
        new: _Row(row_text(old), row_text(_renamed(old, *in_spec)))
        for new, old in zip(renamed.moves, code.moves, strict=True)
    }
    yield from _rows(spec, renamed, rows)


def _states_in_spec(code: Moves, states: Mapping[str, str]) -> dict[str, str]:
    """What a spec calls the states of the code: as it does, or as an import would."""
    return {**{x: state_name(code.names[x][-1]) for x in code.states}, **code.written_states, **states}


def _triggers_in_spec(code: Moves, triggers: Mapping[str, str]) -> dict[str, str]:
    written = {x: event_name(x) for x in code.triggers if x and not x.startswith("after ")}
    return {**written, **code.written_events, **triggers}


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the code: as the code has it, and in the names of the spec."""

    text: str
    in_spec: str


def _renamed(x: Move, states: Mapping[str, str], triggers: Mapping[str, str]) -> Move:
    target = None if x.target is None else states.get(x.target, x.target)
    return Move(states.get(x.source, x.source), triggers.get(x.trigger, x.trigger), target, x.place)


def _comparable(spec: Moves, code: Moves) -> Moves:
    """The spec without timers and rows that follow by themselves, where the code's table has none: most cannot."""
    timed = any(x.trigger.startswith("after ") for x in code.moves)
    by_itself = any(not x.trigger for x in code.moves)
    moves = tuple(x for x in spec.moves if (timed or not x.trigger.startswith("after ")) and (by_itself or x.trigger))
    return replace(spec, moves=moves, triggers=tuple(dict.fromkeys(x.trigger for x in moves)))


def _renamed_states(spec: Moves, states: Mapping[str, str], renames: Mapping[str, str], code: Moves) -> Iterator[Drift]:
    for old, new in states.items():
        common = {key(x) for x in (new, *spec.names.get(new, ()))} & {key(x) for x in (old, *code.names.get(old, ()))}
        common |= {new} & {code.written_states.get(old)}
        if not common and renames.get(old) != new:
            sides = Side(spec.states[new], new), Side(code.states[old], code.names[old][-1])
            yield Drift("renamed", "state", new, spec.name, *sides)


def _triggers(spec: Moves, triggers: Mapping[str, str], renames: Mapping[str, str], code: Moves) -> Iterator[Drift]:
    for old, new in triggers.items():
        if not same_event(old, new) and code.written_events.get(old) != new and renames.get(old) != new:
            ours = next(x.place for x in spec.moves if x.trigger == new)
            theirs = next(x.place for x in code.moves if x.trigger == old)
            yield Drift("renamed", "event", new, spec.name, Side(ours, new), Side(theirs, old))


def _states(spec: Moves, code: Moves, states: Mapping[str, str]) -> Iterator[Drift]:
    for name, place in code.states.items():
        if name not in states:
            title = code.names[name][-1]
            in_spec = f"state {_states_in_spec(code, states)[name]}"
            yield Drift(
                "added",
                "state",
                title,
                spec.name,
                Side(),
                Side(place if place is not NOWHERE else code.place, f"state {title}"),
                in_spec,
            )
    for name, place in spec.states.items():
        if name not in states.values():
            yield Drift("removed", "state", name, spec.name, Side(place, f"state {name}"), Side(code.place))


def _rows(spec: Moves, code: Moves, rows: Mapping[Move, _Row]) -> Iterator[Drift]:
    """Rows of one state and trigger are one row that leads elsewhere where each side has one that the other lacks."""
    ours, theirs = (_by_start(x.moves) for x in (spec, code))
    for start in dict.fromkeys([*ours, *theirs]):
        mine, other = (side.get(start, {}) for side in (ours, theirs))
        removed = [x for x in mine if x not in other]
        added = [x for x in other if x not in mine]
        if len(removed) == len(added) == 1:
            row = rows[added[0]]
            sides = Side(removed[0].place, row_text(removed[0])), Side(added[0].place, row.text)
            yield Drift("changed", "row", row_text(removed[0]), spec.name, *sides, row.in_spec)
            continue
        for x in removed:
            yield Drift("removed", "row", row_text(x), spec.name, Side(x.place, row_text(x)), Side(code.place))
        for x in added:
            yield Drift("added", "row", row_text(x), spec.name, Side(), Side(x.place, rows[x].text), rows[x].in_spec)


def _by_start(moves: tuple[Move, ...]) -> dict[tuple[str, str], dict[Move, None]]:
    moves_by_start: dict[tuple[str, str], dict[Move, None]] = defaultdict(dict)
    for x in moves:
        moves_by_start[x.source, x.trigger][x] = None
    return moves_by_start


def row_text(x: Move) -> str:
    """A move as a row of a spec."""
    arrow = "" if x.target is None else f" -> {x.target}"
    trigger = "" if not x.trigger else f" {x.trigger}" if x.trigger.startswith("after ") else f" on {x.trigger}"
    return f"{x.source}{arrow}{trigger}"
