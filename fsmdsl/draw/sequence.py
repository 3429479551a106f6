"""What happened, in order, between the instances of a system: as Mermaid and PlantUML here, as SVG in `sequence_svg`.

The data is neutral, so that a counterexample, a scenario or a log can all be drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, assert_never

from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.draw import mermaid, plantuml
from fsmdsl.draw.text import wrapped

WIDTH = 36
"""Maximum length of a line of a note or message, in characters."""


@dataclass(frozen=True, slots=True)
class Participant:
    """A column: an instance with the state it begins in, a channel, or the environment."""

    name: str
    kind: Literal["instance", "channel", "environment"] = "instance"
    state: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What comes after this is one step."""

    title: str


@dataclass(frozen=True, slots=True)
class Message:
    """An event, or a message put into a channel (`posted`). Participants go by their place; None is outside."""

    source: int | None
    target: int | None
    text: str
    posted: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A participant's new state (or the same once more), and by what transition. Of an internal one, the state that it
    is in and stays in."""

    participant: int
    before: str
    after: str
    by: str = ""
    internal: bool = False

    @property
    def label(self) -> str:
        """`e0: Free → Used`, as notes print it; `died: in Started`."""
        arrow = f"in {self.before}" if self.internal else f"{self.before} → {self.after}"
        return f"{self.by}: {arrow}" if self.by else arrow


@dataclass(frozen=True, slots=True)
class Note:
    """Anything else: fields that changed, an event ignored, a crash (`participant` None: of the whole system)."""

    participant: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, and where."""

    participant: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LoopBegins:
    """What stands between this and the next `LoopEnds` is repeated."""

    title: str


@dataclass(frozen=True, slots=True)
class LoopEnds:
    """See `LoopBegins`."""


Item = Step | Message | Change | Note | Failure | LoopBegins | LoopEnds


@dataclass(frozen=True)
class Sequence:
    """Participants from left to right, and what happened from top to bottom."""

    title: str
    participants: tuple[Participant, ...]
    items: tuple[Item, ...]


def numbered(items: tuple[Item, ...]) -> Iterator[tuple[int, Item]]:
    """Each item with the number of its step; 0 before the first."""
    n = 0
    for item in items:
        n += isinstance(item, Step)
        yield n, item


def without(chart: Sequence, hidden: frozenset[int]) -> Sequence:
    """A sequence without some of its participants, by their places: what is sent to the others by one of them, or by
    them to one, comes from outside or goes there."""
    remaining = [n for n in range(len(chart.participants)) if n not in hidden]
    place = {old: new for new, old in enumerate(remaining)}
    items = (y for x in chart.items if (y := _moved(x, place)) is not None)
    return Sequence(chart.title, tuple(chart.participants[n] for n in remaining), tuple(items))


def _moved(x: Item, place: Mapping[int, int]) -> Item | None:
    """An item with the new places of its participants; None: all of them are hidden."""
    match x:
        case Message(source, target):
            ends = (None if n is None else place.get(n) for n in (source, target))
            moved = replace(x, source=next(ends), target=next(ends))
            return None if moved.source is None and moved.target is None else moved
        case Change(participant) | Note(int(participant)):
            return replace(x, participant=place[participant]) if participant in place else None
        case Failure(int(participant)):
            return replace(x, participant=place.get(participant))
        case _:
            return x


# Mermaid -------------------------------------------------------------------------------------------------------------


def as_mermaid(chart: Sequence) -> str:
    """A `sequenceDiagram`. Mermaid cannot colour single notes, so failures stand in a red frame."""
    columns = [f"p{i}" for i in range(len(chart.participants))] or ["p0"]
    lines = ["sequenceDiagram", f"    title {_mermaid(chart.title)}"]
    for name, p in zip(columns, chart.participants, strict=False):
        word = "actor" if p.kind == "environment" else "participant"
        state = f"<br/>{_mermaid(p.state)}" if p.state else ""
        lines.append(f"    {word} {name} as {_mermaid(p.name)}{state}")
    for n, item in numbered(chart.items):
        lines.extend(f"    {line}" for line in _mermaid_item(n, item, columns))
    return "\n".join(lines) + "\n"


def _mermaid_item(n: int, item: Item, columns: list[str]) -> Iterator[str]:
    everyone = columns[0] if len(columns) == 1 else f"{columns[0]},{columns[-1]}"
    match item:
        case Step(title):
            yield f"Note over {everyone}: {_mermaid(f'{n}: {title}')}"
        case Message(source, target, text, posted):
            ends = [end for end in (source, target) if end is not None] or [0]
            arrow = "-)" if posted else "->>"
            yield f"{columns[ends[0]]}{arrow}{columns[ends[-1]]}: {_mermaid(text)}"
        case Change(participant):
            yield f"Note over {columns[participant]}: {_mermaid(item.label)}"
        case Note(participant, text):
            yield f"Note over {everyone if participant is None else columns[participant]}: {_mermaid(text)}"
        case Failure(participant, text):
            yield "rect rgba(196, 50, 61, 0.25)"
            yield f"    Note over {everyone if participant is None else columns[participant]}: {_mermaid(text)}"
            yield "end"
        case LoopBegins(title):
            yield f"loop {_mermaid(title)}"
        case LoopEnds():
            yield "end"
        case _:
            assert_never(item)


def _mermaid(text: str) -> str:
    return mermaid.joined(wrapped(text, WIDTH)) or " "


# PlantUML ------------------------------------------------------------------------------------------------------------


def as_plantuml(chart: Sequence) -> str:
    """A PlantUML sequence diagram; an arrow from or to the edge comes from or goes outside."""
    columns = [f"p{i}" for i in range(len(chart.participants))] or ["p0"]
    lines = ["@startuml", "hide footbox", "skinparam shadowing false", f"title {_plantuml(chart.title)}"]
    for name, p in zip(columns, chart.participants, strict=False):
        word = {"instance": "participant", "channel": "queue", "environment": "actor"}[p.kind]
        state = f"\\n{_plantuml(p.state)}" if p.state else ""
        lines.append(f'{word} "{_plantuml(p.name)}{state}" as {name}')
    for n, item in numbered(chart.items):
        lines.append(_plantuml_item(n, item, columns))
    return "\n".join([*lines, "@enduml"]) + "\n"


def _plantuml_item(n: int, item: Item, columns: list[str]) -> str:
    everyone = columns[0] if len(columns) == 1 else f"{columns[0]},{columns[-1]}"
    match item:
        case Step(title):
            return f"== {_plantuml(f'{n}: {title}')} =="
        case Message(source, target, text, posted):
            tail = "[" if source is None else f"{columns[source]} "
            head = "]" if target is None else f" {columns[target]}"
            return f"{tail}{'->>' if posted else '->'}{head} : {_plantuml(text)}"
        case Change(participant):
            return f"rnote over {columns[participant]} #dbe9fb : {_plantuml(item.label)}"
        case Note(participant, text):
            return f"note over {everyone if participant is None else columns[participant]} : {_plantuml(text)}"
        case Failure(participant, text):
            place = everyone if participant is None else columns[participant]
            return f"note over {place} #f2b8bd : {_plantuml(text)}"
        case LoopBegins(title):
            return f"loop {_plantuml(title)}"
        case LoopEnds():
            return "end"
        case _:
            assert_never(item)


def _plantuml(text: str) -> str:
    return r"\n".join(plantuml.escaped(line) for line in wrapped(text, WIDTH)) or " "
