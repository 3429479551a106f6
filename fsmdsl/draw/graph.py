"""A machine as a graph to be drawn: what every picture format is made from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.draw.arrows import ANY, Arrow, Bundle, Line, Row, arrows, bundles
from fsmdsl.draw.text import clean, safe

Tone = Literal["focus", "seen", "unseen"]
"""What an overlay says of a state or transition: what the picture is about; reached or followed; never so."""

Direction = Literal["TB", "LR"]
"""From top to bottom, or from left to right."""

Flag = Literal["persistent", "volatile", "transient", "error", "final", "resting", "amended"]


@dataclass(frozen=True, slots=True)
class Mark:
    """What an overlay says, and in a few words how often or why."""

    tone: Tone
    note: str = ""


@dataclass(frozen=True)
class Overlay:
    """Marks for states by name and for transitions by index."""

    states: Mapping[str, Mark] = field(default_factory=dict)
    transitions: Mapping[int, Mark] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Label:
    """What is written for one transition, or for several that read the same."""

    id: str
    name: str
    """The document's label; empty without one, and where it only repeats the trigger."""
    trigger: str
    guard: str
    line: Line
    tooltip: str
    mark: Mark | None = None
    transitions: tuple[int, ...] = ()
    """The indexes of all that it stands for."""


@dataclass(frozen=True, slots=True)
class Node:
    """A state with its internal transitions, or a pseudo state: `start`, `any` (the source `*`), `junction`."""

    id: str
    kind: Literal["state", "start", "any", "junction"]
    name: str = ""
    flags: frozenset[Flag] = frozenset()
    tooltip: str = ""
    inside: tuple[Label, ...] = ()
    children: tuple[Node, ...] = ()
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow, or the part of one before a junction. `transitions` are the indexes of all that it stands for."""

    id: str
    source: str
    target: str
    line: Line
    labels: tuple[Label, ...] = ()
    transitions: tuple[int, ...] = ()
    mark: Mark | None = None
    into_junction: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """What the spec's `layout` says: the direction in which ranks follow one another, and the states of each, by id."""

    direction: Direction
    ranks: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Graph:
    """Nodes, a composite around its children, and edges between them by id."""

    id: str
    name: str
    doc: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    grid: Grid | None = None

    @property
    def direction(self) -> Direction:
        """That of the spec's `layout`; without one from top to bottom."""
        return "TB" if self.grid is None else self.grid.direction

    def every(self) -> Iterator[Node]:
        """All nodes, a composite before its children."""
        stack = list(reversed(self.nodes))
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


def graph_of(machine: m.Machine, overlay: Overlay | None = None, *, junctions: bool = True, prefix: str = "") -> Graph:
    """The graph of a machine. `prefix` keeps the ids of several pictures on one page apart.

    Without `junctions` each source has an arrow of its own, for formats that could not draw a junction as one.
    """
    pen = _Pen(overlay or Overlay(), prefix)
    every = list(arrows(machine))
    joined = list(bundles(machine, every)) if junctions else []
    bundled = {id(a) for bundle in joined for a in bundle.arrows}
    alone = [a for a in every if a.target is not None and id(a) not in bundled]
    inside: dict[str, list[Arrow]] = defaultdict(list)
    for a in every:
        if a.target is None:
            inside[a.source].append(a)
    nodes = list(_states(machine, None, inside, joined, pen))
    if any(a.source == ANY for a in every):
        tip = "every state that is not final"
        nodes.append(Node(pen.state(ANY), "any", "any state", tooltip=tip, inside=pen.labels(inside[ANY])))
    edges = [*_starts(machine, pen), *_direct(alone, pen), *(e for bundle in joined for e in _flow(bundle, pen))]
    name = f"{prefix}{safe(machine.name)}"
    grid = _grid(machine, pen)
    return Graph(name, clean(machine.display), machine.doc, tuple(nodes), tuple(edges), grid)


def _grid(machine: m.Machine, pen: _Pen) -> Grid | None:
    """Without states that this machine lacks: a comparison draws parts of machines."""
    if machine.grid is None:
        return None
    ranks = (tuple(pen.state(s) for s in rank if s in machine.state_named) for rank in machine.grid.ranks)
    return Grid("TB" if machine.grid.way == "rows" else "LR", tuple(rank for rank in ranks if rank))


class _Pen:
    """Gives ids, labels and marks."""

    def __init__(self, overlay: Overlay, prefix: str) -> None:
        self.overlay = overlay
        self._prefix = prefix
        self._label_counts: Counter[str] = Counter()

    def state(self, name: str) -> str:
        return f"{self._prefix}any" if name == ANY else f"{self._prefix}state-{safe(name)}"

    def start(self, parent: str | None) -> str:
        return f"{self._prefix}start" if parent is None else f"{self._prefix}start-{safe(parent)}"

    def junction(self, bundle: Bundle) -> str:
        return f"{self._prefix}junction-{bundle.arrows[0].transition.index}"

    def edge(self, source: str, target: str, stands_for: Sequence[Arrow], *, into_junction: bool = False) -> Edge:
        """An edge between two nodes by id; labelled unless the labels follow behind a junction."""
        line = stands_for[0].row.line
        name = f"edge-{source}-{target}{'' if line == 'plain' else f'-{line}'}"
        labels = () if into_junction else self.labels(stands_for)
        indexes = tuple(dict.fromkeys(a.transition.index for a in stands_for))
        return Edge(name, source, target, line, labels, indexes, self.mark(stands_for), into_junction)

    def labels(self, written: Iterable[Arrow]) -> tuple[Label, ...]:
        """A label for each way to read, in the order of the text."""
        rows: dict[Row, list[Arrow]] = defaultdict(list)
        for a in written:
            rows[a.row].append(a)
        return tuple(self._label(row, same) for row, same in rows.items())

    def _label(self, row: Row, same: Sequence[Arrow]) -> Label:
        tooltip = "\n".join(dict.fromkeys(_tooltip(a.transition) for a in same))
        name = f"{self._prefix}transition-{same[0].transition.index}"
        self._label_counts[name] += 1
        again = self._label_counts[name]
        indexes = tuple(dict.fromkeys(a.transition.index for a in same))
        return Label(name if again == 1 else f"{name}-{again}", *row, tooltip, self.mark(same), indexes)

    def mark(self, stands_for: Iterable[Arrow]) -> Mark | None:
        """One mark for several transitions: the strongest, with the note if they share one."""
        marks = [mark for a in stands_for if (mark := self.overlay.transitions.get(a.transition.index)) is not None]
        if not marks:
            return None
        best = min(marks, key=lambda mark: ("focus", "seen", "unseen").index(mark.tone))
        return best if all(mark == best for mark in marks) else Mark(best.tone)


# Edges ---------------------------------------------------------------------------------------------------------------


def _starts(machine: m.Machine, pen: _Pen) -> Iterator[Edge]:
    for s in machine.states:
        if s.initial:
            start = pen.start(s.parent)
            yield Edge(f"edge-{start}", start, pen.state(s.name), "plain")


def _direct(alone: Iterable[Arrow], pen: _Pen) -> Iterator[Edge]:
    """One edge for all transitions from one state to another that are drawn with the same line."""
    together: dict[tuple[str, str, Line], list[Arrow]] = defaultdict(list)
    for a in alone:
        if a.target is not None:
            together[a.source, a.target, a.row.line].append(a)
    for (source, target, _), same in together.items():
        yield pen.edge(pen.state(source), pen.state(target), same)


def _flow(bundle: Bundle, pen: _Pen) -> Iterator[Edge]:
    """The edges into a junction, without labels, and the one out of it with all of them."""
    junction = pen.junction(bundle)
    for source in bundle.sources:
        own = [a for a in bundle.arrows if a.source == source]
        yield pen.edge(pen.state(source), junction, own, into_junction=True)
    yield pen.edge(junction, pen.state(bundle.target), bundle.arrows)


# States --------------------------------------------------------------------------------------------------------------


def _states(
    machine: m.Machine, parent: str | None, inside: Mapping[str, Sequence[Arrow]], joined: Sequence[Bundle], pen: _Pen
) -> Iterator[Node]:
    """What is directly in a composite (or in the machine): the start, states, junctions."""
    states = [s for s in machine.states if s.parent == parent]
    if any(s.initial for s in states):
        yield Node(pen.start(parent), "start")
    for s in states:
        yield Node(
            pen.state(s.name),
            "state",
            clean(s.display),
            frozenset(_flags(s)),
            _lines(s.doc, _reason(s.amended)),
            pen.labels(inside.get(s.name, ())),
            tuple(_states(machine, s.name, inside, joined, pen)) if s.children else (),
            pen.overlay.states.get(s.name),
        )
    for bundle in joined:
        if bundle.parent == parent:
            yield Node(pen.junction(bundle), "junction")


def _flags(s: m.State) -> Iterator[Flag]:
    if s.persistent:
        yield "persistent"
    if s.volatile:
        yield "volatile"
    if s.transient:
        yield "transient"
    if s.error:
        yield "error"
    if s.final:
        yield "final"
    if s.resting:
        yield "resting"
    if s.amended is not None:
        yield "amended"


# Tooltips ------------------------------------------------------------------------------------------------------------


def _tooltip(t: m.Transition) -> str:
    return _lines(t.doc, t.span.text or t.name, _reason(t.amended))


def _reason(amended: str | None) -> str:
    return "" if amended is None else f"amended: {amended}"


def _lines(*parts: str) -> str:
    return "\n".join(clean(part) for part in parts if part)
