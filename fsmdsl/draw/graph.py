"""A machine as a graph to be drawn: what every picture format is made from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, assert_never

from fsmdsl import model as m
from fsmdsl.draw.text import clean, safe

Tone = Literal["seen", "unseen", "focus"]
"""What an overlay says of a state or transition: reached or fired, never so, or what the picture is about."""

Line = Literal["plain", "amended", "crash"]
"""How an edge is drawn."""

Flag = Literal["persistent", "volatile", "transient", "error", "final", "amended"]

JUNCTION = 3
"""From so many sources on, transitions that read the same flow together before they reach their target."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What an overlay says, and how often or why, in a few words."""

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
    """The document's label; empty without."""
    trigger: str
    guard: str
    line: Line
    tooltip: str
    mark: Mark | None = None


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
    """An arrow, or (into a junction) the first part of one. `transitions` are the indexes of all that it stands for."""

    id: str
    source: str
    target: str
    line: Line
    labels: tuple[Label, ...] = ()
    transitions: tuple[int, ...] = ()
    mark: Mark | None = None


@dataclass(frozen=True)
class Graph:
    """Nodes, a composite around its children, and edges between them by id."""

    id: str
    name: str
    doc: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

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
    over = overlay or Overlay()
    arrows = [arrow for t in machine.transitions for arrow in _arrows(machine, t)]
    crossing = [a for a in arrows if a.target is not None]
    joined, alone = _joined(crossing) if junctions else ({}, crossing)
    inside: dict[str, list[_Arrow]] = defaultdict(list)
    for a in arrows:
        if a.target is None:
            inside[a.source].append(a)
    label_ids = _Unique()
    joints = [_joint(key, rows, over, prefix, label_ids) for key, rows in joined.items()]
    edges = [*_starts(machine, prefix), *_direct(alone, over, prefix, label_ids), *(e for _, es in joints for e in es)]
    nodes = [*_states(machine, None, inside, over, prefix, label_ids), *(node for node, _ in joints)]
    if any(a.source == ANY for a in arrows):
        rows = _labels(inside[ANY], over, prefix, label_ids)
        nodes.append(Node(_id(prefix, ANY), "any", "any state", inside=rows, tooltip="every state that is not final"))
    return Graph(f"{prefix}{safe(machine.qualified)}", machine.display, machine.doc, tuple(nodes), tuple(edges))


# Transitions ---------------------------------------------------------------------------------------------------------

ANY = "*"


class _Row(NamedTuple):
    """How a transition reads; those that read the same and lead to the same state are drawn as one."""

    name: str
    trigger: str
    guard: str
    line: Line


@dataclass(frozen=True, slots=True)
class _Arrow:
    """A transition from state to state, as it is drawn: from `ANY`, and within one state (`target` None), too."""

    source: str
    target: str | None
    row: _Row
    transition: m.Transition


class _Unique:
    """Gives each name once, and a name with a number after that."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def __call__(self, name: str) -> str:
        self._given[name] += 1
        return name if self._given[name] == 1 else f"{name}-{self._given[name]}"


def _id(prefix: str, state: str) -> str:
    return f"{prefix}any" if state == ANY else f"{prefix}state-{safe(state)}"


def _arrows(machine: m.Machine, t: m.Transition) -> Iterator[_Arrow]:
    row = _row(t)
    if t.wild or t.target is None:
        yield _Arrow(ANY if t.wild else t.source, t.target, row, t)
        return
    for source, target in _ends(machine, t.source, t.target):
        yield _Arrow(source, target, row, t)


def _ends(machine: m.Machine, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Where the arrow begins and ends. No format draws one between a composite and a state in it well, so then the
    composite's leaves, or the leaf that is entered, stand for it."""
    into_own = source in machine.ancestors(target)
    out_of_own = target in machine.ancestors(source)
    if out_of_own:
        target = machine.entered(target)
    for leaf in machine.leaves_of(source) if into_own else [source]:
        yield leaf, target


def _row(t: m.Transition) -> _Row:
    line: Line = "amended" if t.amended is not None else "crash" if isinstance(t.trigger, m.OnCrash) else "plain"
    trigger = _trigger(t)
    name = clean(t.label or "")
    guard = "" if t.guard is None else clean(t.guard.span.text) or "…"
    return _Row("" if name == trigger else name, trigger, guard, line)


def _trigger(t: m.Transition) -> str:
    match t.trigger:
        case m.OnEvent(event, arguments):
            return clean(f"{event}({', '.join(arguments)})" if arguments else event)
        case m.OnOutcome() | m.OnTimer() | m.OnCrash() | m.Eventless():
            return clean(t.shown_trigger)
        case _:
            assert_never(t.trigger)


def _mark(over: Overlay, arrows: Iterable[_Arrow]) -> Mark | None:
    """One mark for several transitions: the strongest, with its note if it is the only one."""
    marks = [mark for a in arrows if (mark := over.transitions.get(a.transition.index)) is not None]
    if not marks:
        return None
    best = min(marks, key=lambda mark: ("focus", "seen", "unseen").index(mark.tone))
    return best if all(mark.note == best.note for mark in marks) else Mark(best.tone)


def _tooltip(*parts: str | None) -> str:
    return "\n".join(clean(part) for part in parts if part)


def _told(t: m.Transition) -> str:
    amended = f"amended: {t.amended}" if t.amended is not None else None
    return _tooltip(t.doc, t.span.text or t.name, amended)


# Labels and edges ----------------------------------------------------------------------------------------------------


def _labels(arrows: Sequence[_Arrow], over: Overlay, prefix: str, unique: _Unique) -> tuple[Label, ...]:
    """A label for each way to read, in the order of the text."""
    rows: dict[_Row, list[_Arrow]] = defaultdict(list)
    for a in arrows:
        rows[a.row].append(a)
    return tuple(_label(row, same, over, prefix, unique) for row, same in rows.items())


def _label(row: _Row, arrows: Sequence[_Arrow], over: Overlay, prefix: str, unique: _Unique) -> Label:
    tooltip = "\n".join(dict.fromkeys(_told(a.transition) for a in arrows))
    return Label(
        unique(f"{prefix}transition-{arrows[0].transition.index}"),
        row.name,
        row.trigger,
        row.guard,
        row.line,
        tooltip,
        _mark(over, arrows),
    )


def _edge(source: str, target: str, arrows: Sequence[_Arrow], over: Overlay, labels: tuple[Label, ...]) -> Edge:
    line = arrows[0].row.line
    name = f"edge-{source}-{target}" + (f"-{line}" if line != "plain" else "")
    transitions = tuple(dict.fromkeys(a.transition.index for a in arrows))
    return Edge(name, source, target, line, labels, transitions, _mark(over, arrows))


def _direct(arrows: Sequence[_Arrow], over: Overlay, prefix: str, unique: _Unique) -> Iterator[Edge]:
    """One edge for all transitions from one state to another that are drawn with the same line."""
    together: dict[tuple[str, str, Line], list[_Arrow]] = defaultdict(list)
    for a in arrows:
        assert a.target is not None
        together[a.source, a.target, a.row.line].append(a)
    for (source, target, _), same in together.items():
        labels = _labels(same, over, prefix, unique)
        yield _edge(_id(prefix, source), _id(prefix, target), same, over, labels)


_Bundle = tuple[tuple[str, ...], str, Line]
"""The sources that flow together, and where to."""


def _joined(arrows: Sequence[_Arrow]) -> tuple[dict[_Bundle, list[_Arrow]], list[_Arrow]]:
    """The transitions that flow together before their target, and the others."""
    readings: dict[tuple[str, _Row], list[_Arrow]] = defaultdict(list)
    for a in arrows:
        if a.target is not None and a.source not in (ANY, a.target):
            readings[a.target, a.row].append(a)
    joined: dict[_Bundle, list[_Arrow]] = defaultdict(list)
    for (target, row), same in readings.items():
        sources = tuple(dict.fromkeys(a.source for a in same))
        if len(sources) >= JUNCTION:
            joined[tuple(sorted(sources)), target, row.line].extend(same)
    taken = {id(a) for same in joined.values() for a in same}
    return joined, [a for a in arrows if id(a) not in taken]


def _joint(
    bundle: _Bundle, arrows: Sequence[_Arrow], over: Overlay, prefix: str, unique: _Unique
) -> tuple[Node, list[Edge]]:
    """A junction, the edges into it without labels, and the one out of it with all of them."""
    _, target, _ = bundle
    node = Node(f"{prefix}junction-{arrows[0].transition.index}", "junction")
    sources = dict.fromkeys(a.source for a in arrows)
    into = [_edge(_id(prefix, s), node.id, [a for a in arrows if a.source == s], over, ()) for s in sources]
    return node, [*into, _edge(node.id, _id(prefix, target), arrows, over, _labels(arrows, over, prefix, unique))]


# States --------------------------------------------------------------------------------------------------------------


def _starts(machine: m.Machine, prefix: str) -> Iterator[Edge]:
    for s in machine.states:
        if s.initial:
            start = _start(s.parent, prefix)
            yield Edge(f"edge-{start}", start, _id(prefix, s.name), "plain")


def _start(parent: str | None, prefix: str) -> str:
    return f"{prefix}start" if parent is None else f"{prefix}start-{safe(parent)}"


def _states(
    machine: m.Machine,
    parent: str | None,
    inside: Mapping[str, Sequence[_Arrow]],
    over: Overlay,
    prefix: str,
    unique: _Unique,
) -> Iterator[Node]:
    """The states directly in a composite (or the machine), after the start that leads to one of them."""
    states = [s for s in machine.states if s.parent == parent]
    if any(s.initial for s in states):
        yield Node(_start(parent, prefix), "start")
    for s in states:
        yield Node(
            _id(prefix, s.name),
            "state",
            clean(s.display),
            frozenset(_flags(s)),
            _tooltip(s.doc, f"amended: {s.amended}" if s.amended is not None else None),
            _labels(inside.get(s.name, ()), over, prefix, unique),
            tuple(_states(machine, s.name, inside, over, prefix, unique)),
            over.states.get(s.name),
        )


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
    if s.amended is not None:
        yield "amended"
