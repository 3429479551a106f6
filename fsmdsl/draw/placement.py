"""The last corrections to a picture that Graphviz has drawn: joined edges, and texts that nothing crosses.

Graphviz keeps labels apart from states. It does not keep them apart from the borders of composites, nor from edges that
leave their rank, and it leads edges through titles. A text in the way moves: a title along the top of its composite, a
label along its own edge, to the nearest free place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import floor, hypot
from xml.etree.ElementTree import Element

from fsmdsl.dataclasses import NamedTuple, dataclass, field

Point = tuple[float, float]

MARGIN = 1.5
"""Space around a text that stays free, in points."""

DISTANCES = (4.0, 12.0)
"""Distances of a moved label from its edge, in points."""

INSET = 6.0
"""Distance of a moved title from the sides of its composite, in points."""

LOWERED = (0.0, 5.0, 10.0, 15.0)
"""Distances by which a title may move down, in points."""

CELL = 40.0
"""Size of the cells of the grid in which obstacles are looked up, in points."""

SAMPLES = 12
"""Number of straight pieces that stand for a curve."""


def placed(root: Element) -> None:
    """Join the edges of a picture beside their labels, and move the texts that are in the way of something."""
    drawing = next((x for x in root if x.get("class") == "graph"), None)
    if drawing is None:
        return
    parts = _parts(drawing)
    for part in parts.edges.values():
        _join(part)
    frame = _frame(root, drawing)
    obstacles = _obstacles(drawing, parts)
    for composite in parts.composites:
        _place_title(composite, obstacles)
    labels = [(name, x) for name, part in parts.edges.items() for x in (_Block.of(part.texts),) if x is not None]
    covered = []
    for name, label in labels:
        if obstacles.meeting(label.box):
            covered.append((name, label))
        else:
            obstacles.add_box(label.box)
    for name, label in covered:
        _place_label(label, parts.edges[name].lines(), obstacles, frame)


# Parts of the picture ------------------------------------------------------------------------------------------------


class Box(NamedTuple):
    """An upright rectangle; `y` grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def moved(self, dx: float, dy: float) -> Box:
        return Box(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)

    def grown(self, by: float) -> Box:
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)

    def meets(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def within(self, other: Box) -> bool:
        across = other.left <= self.left and self.right <= other.right
        return across and other.top <= self.top and self.bottom <= other.bottom


@dataclass
class _Edge:
    """An edge: its parts before and behind a label that is a node, and that node's shaft and texts."""

    pieces: list[Element] = field(default_factory=list)
    shaft: list[tuple[Element, Element]] = field(default_factory=list)
    texts: list[Element] = field(default_factory=list)

    def lines(self) -> list[Sequence[Point]]:
        return [line for piece in self.pieces for path in piece.iter("path") for line in [_curve(path.get("d", ""))]]


@dataclass
class _Parts:
    edges: dict[str, _Edge] = field(default_factory=dict)
    nodes: list[Element] = field(default_factory=list)
    composites: list[Element] = field(default_factory=list)


def _parts(drawing: Element) -> _Parts:
    parts = _Parts()
    for group in drawing:
        name, kind = group.get("id", ""), group.get("class", "").partition(" ")[0]
        if kind == "cluster":
            parts.composites.append(group)
        elif kind == "edge":
            edge = parts.edges.setdefault(name.removesuffix("-head"), _Edge())
            edge.pieces.append(group)
            edge.texts.extend(group.iter("text"))
        elif kind == "node" and name.startswith("label-"):
            edge = parts.edges.setdefault(name.removeprefix("label-"), _Edge())
            edge.shaft.extend((group, x) for x in group if x.tag in ("polygon", "polyline"))
            edge.texts.extend(group.iter("text"))
        elif kind == "node":
            parts.nodes.append(group)
    return parts


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _points(text: str) -> list[Point]:
    numbers = [float(n) for n in _NUMBER.findall(text)]
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def _curve(d: str) -> list[Point]:
    """Points on a path of Graphviz, which has curves, or lines between points."""
    through = _points(d)
    if "C" not in d:
        return through
    line = through[:1]
    for n in range(0, len(through) - 3, 3):
        line.extend(_bezier(through[n : n + 4], step / SAMPLES) for step in range(1, SAMPLES + 1))
    return line


def _bezier(control: Sequence[Point], t: float) -> Point:
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    pairs = list(zip(weights, control, strict=True))
    return sum(w * x for w, (x, _) in pairs), sum(w * y for w, (_, y) in pairs)


def _outline(group: Element) -> list[Point]:
    """The border of a state or composite."""
    for x in group:
        match x.tag:
            case "path":
                return _curve(x.get("d", ""))
            case "polygon":
                return _points(x.get("points", ""))
            case "ellipse":
                cx, cy, rx, ry = (float(x.get(name, "0")) for name in ("cx", "cy", "rx", "ry"))
                return [(cx - rx, cy - ry), (cx + rx, cy + ry)]
    return []


def _around(points: Iterable[Point]) -> Box:
    xs, ys = zip(*points, strict=True)
    return Box(min(xs), min(ys), max(xs), max(ys))


def _text_box(text: Element) -> Box:
    """The box around the letters of a line."""
    size, width = float(text.get("font-size", "10")), float(text.get("textLength", "0"))
    x, y = float(text.get("x", "0")), float(text.get("y", "0"))
    left = x - width / 2 if text.get("text-anchor") == "middle" else x
    return Box(left, y - 0.75 * size, left + width, y + 0.22 * size)


@dataclass
class _Block:
    """Lines of text that move together."""

    texts: Sequence[Element]
    box: Box

    @staticmethod
    def of(texts: Sequence[Element]) -> _Block | None:
        boxes = [_text_box(x) for x in texts]
        if not boxes:
            return None
        corners = [p for x in boxes for p in ((x.left, x.top), (x.right, x.bottom))]
        return _Block(texts, _around(corners))

    def move(self, box: Box) -> None:
        dx, dy = box.left - self.box.left, box.top - self.box.top
        for text in self.texts:
            text.set("x", f"{float(text.get('x', '0')) + dx:.2f}")
            text.set("y", f"{float(text.get('y', '0')) + dy:.2f}")
        self.box = box


def _frame(root: Element, drawing: Element) -> Box:
    """The inside of the picture, in the coordinates of its parts."""
    _, _, width, height = map(float, _NUMBER.findall(root.get("viewBox", "")))
    moved = re.search(r"translate\((\S+)[ ,]+(\S+)\)", drawing.get("transform", ""))
    x, y = (0.0, 0.0) if moved is None else (float(moved[1]), float(moved[2]))
    return Box(-x, -y, width - x, height - y)


# Obstacles -----------------------------------------------------------------------------------------------------------

Segment = tuple[Point, Point]


@dataclass
class _Obstacles:
    """Boxes and pieces of lines, by the cells of a grid in which they are; each has a number."""

    cells: dict[tuple[int, int], list[tuple[int, Box | Segment]]] = field(default_factory=dict)
    count: int = 0

    def add_line(self, line: Sequence[Point]) -> None:
        self.count += 1
        for one, other in pairwise(line):
            self._add(_around((one, other)), (one, other))

    def add_box(self, box: Box) -> None:
        self.count += 1
        self._add(box, box)

    def _add(self, around: Box, obstacle: Box | Segment) -> None:
        for cell in _cells(around):
            self.cells.setdefault(cell, []).append((self.count, obstacle))

    def meeting(self, box: Box) -> int:
        """How many obstacles are in a box, or less than the margin away from it."""
        wide = box.grown(MARGIN)
        near = (x for cell in _cells(wide) for x in self.cells.get(cell, ()))
        return len({number for number, obstacle in near if _covers(obstacle, wide)})


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    for across in range(floor(box.left / CELL), floor(box.right / CELL) + 1):
        for down in range(floor(box.top / CELL), floor(box.bottom / CELL) + 1):
            yield across, down


def _covers(obstacle: Box | Segment, box: Box) -> bool:
    return obstacle.meets(box) if isinstance(obstacle, Box) else _crosses(obstacle, box)


def _crosses(segment: Segment, box: Box) -> bool:
    """Is a part of the segment in the box? (Liang and Barsky's clipping.)"""
    (x, y), (to_x, to_y) = segment
    first, last = 0.0, 1.0
    for start, length, low, high in ((x, to_x - x, box.left, box.right), (y, to_y - y, box.top, box.bottom)):
        if length == 0:
            if not low < start < high:
                return False
            continue
        enters, leaves = sorted(((low - start) / length, (high - start) / length))
        first, last = max(first, enters), min(last, leaves)
    return first < last


def _obstacles(drawing: Element, parts: _Parts) -> _Obstacles:
    """Everything that no label may cover, but for titles and labels."""
    obstacles = _Obstacles()
    for edge in parts.edges.values():
        for line in edge.lines():
            obstacles.add_line(line)
        for piece in edge.pieces:
            for arrowhead in piece.iter("polygon"):
                obstacles.add_box(_around(_points(arrowhead.get("points", ""))))
    for composite in parts.composites:
        obstacles.add_line(_outline(composite))
    for node in parts.nodes:
        if border := _outline(node):
            obstacles.add_box(_around(border))
    for text in drawing.findall("text"):  # the legend
        obstacles.add_box(_text_box(text))
    return obstacles


# Edges beside their labels -------------------------------------------------------------------------------------------


def _join(edge: _Edge) -> None:
    """A label that is a node has a line beside it, which ends a little before the parts of the edge do, and is a shade
    thinner. Each line of the edge (an amended one has two) goes on as itself instead."""
    if not edge.shaft or len(edge.pieces) != 2:
        return
    box = _around([p for _, x in edge.shaft for p in _points(x.get("points", ""))])
    ends = [[_nearest_end(path, box) for path in piece.iter("path")] for piece in edge.pieces]
    if not ends[0] or len(ends[0]) != len(ends[1]):
        return
    for group, x in edge.shaft:
        group.remove(x)
    look = {"stroke-linecap": "round", **next(edge.pieces[0].iter("path")).attrib}
    for (x, y), (to_x, to_y) in zip(*map(sorted, ends), strict=True):
        edge.pieces[0].append(Element("path", {**look, "d": f"M{x:g},{y:g} L{to_x:g},{to_y:g}"}))


def _nearest_end(path: Element, box: Box) -> Point:
    through = _points(path.get("d", ""))
    middle = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    return min(through[0], through[-1], key=lambda p: hypot(p[0] - middle[0], p[1] - middle[1]))


# Texts ---------------------------------------------------------------------------------------------------------------


def _place_title(composite: Element, obstacles: _Obstacles) -> None:
    """A title moves along the top of its composite, to the free place that is nearest to the middle; if there is none,
    a little down."""
    title = _Block.of([*composite.iter("text")])
    if title is None:
        return
    if obstacles.meeting(title.box):
        border = _around(_outline(composite))
        steps = range(0, floor(border.right - border.left), 3)
        places = (title.box.moved(step * sign, down) for down in LOWERED for step in steps for sign in (1, -1))
        inside = (x for x in places if border.left + INSET <= x.left and x.right <= border.right - INSET)
        title.move(_best([title.box, *inside], obstacles))
    obstacles.add_box(title.box)


def _place_label(label: _Block, lines: Iterable[Sequence[Point]], obstacles: _Obstacles, frame: Box) -> None:
    """A label moves to the nearest free place beside its edge; if there is none, to where it meets the least."""
    places = [x for x in _places(label.box, lines) if x.within(frame)]
    places.sort(key=lambda x: hypot(x.left - label.box.left, x.top - label.box.top))
    label.move(_best([label.box, *places], obstacles))
    obstacles.add_box(label.box)


def _best(places: Sequence[Box], obstacles: _Obstacles) -> Box:
    """The first free place; if there is none, the first of those that meet the fewest obstacles."""
    best, least = places[0], obstacles.meeting(places[0])
    for place in places[1:]:
        if least == 0:
            break
        if (number := obstacles.meeting(place)) < least:
            best, least = place, number
    return best


def _places(box: Box, lines: Iterable[Sequence[Point]]) -> Iterator[Box]:
    """Boxes of a size around each point of a line: beside it at several heights, above it and below it."""
    width, height = box.right - box.left, box.bottom - box.top
    for x, y in (point for line in lines for point in line):
        for distance in DISTANCES:
            for left in (x + distance, x - distance - width):
                for share in (0, 0.25, 0.5, 0.75, 1):
                    top = y - height * share
                    yield Box(left, top, left + width, top + height)
            for top in (y + distance, y - distance - height):
                for share in (0, 0.5, 1):
                    left = x - width * share
                    yield Box(left, top, left + width, top + height)
