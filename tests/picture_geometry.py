"""What covers what in a diagram: the places of texts, lines, borders and boxes of an SVG, and where they meet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal
from xml.etree.ElementTree import Element, fromstring

XML = "{http://www.w3.org/2000/svg}"

Point = tuple[float, float]
Kind = Literal["label on edge", "label on border", "label on state", "label on text", "title on edge", "broken edge"]

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        beside = self.right <= other.left or other.right <= self.left
        return not beside and not (self.bottom <= other.top or other.bottom <= self.top)


@dataclass(frozen=True)
class Meeting:
    """One fault: a text with what covers it, or an edge that is not continuous."""

    kind: Kind
    text: str
    other: str


@dataclass(frozen=True)
class Edge:
    """The pieces of an edge as points close to each other; `label` is empty if the label is a node beside a shaft."""

    name: str
    pieces: list[list[Point]]
    label: list[tuple[str, Box]]


def meetings(svg: str) -> list[Meeting]:
    """Everything in a diagram that should not touch but does."""
    root = fromstring(svg)
    groups = [x for x in root.iter(f"{XML}g") if x.get("id")]
    edges: dict[str, Edge] = {}
    for group in groups:
        name = group.get("id", "")
        kinds = group.get("class", "").split()
        if "edge" in kinds or name.startswith("label-"):
            own = name.removeprefix("label-").removesuffix("-head")
            edge = edges.setdefault(own, Edge(own, [], []))
            edge.pieces.extend(lines_of(group))
            edge.label.extend(texts_of(group))
    nodes = {x.get("id", ""): x for x in groups if "node" in x.get("class", "").split()}
    nodes = {name: x for name, x in nodes.items() if not name.startswith("label-")}
    composites = {x.get("id", ""): x for x in groups if "cluster" in x.get("class", "").split()}
    return [*_labels(edges, nodes, composites), *_titles(edges, composites), *_broken(edges)]


def _labels(edges: dict[str, Edge], nodes: dict[str, Element], composites: dict[str, Element]) -> Iterator[Meeting]:
    borders = {name: outline(x) for name, x in composites.items()}
    boxes = {name: around(outline(x)) for name, x in nodes.items()}
    titles = [(name, text, box) for name, x in composites.items() for text, box in texts_of(x)]
    for edge in edges.values():
        for text, box in edge.label:
            for other in edges.values():
                if other.name != edge.name and any(crosses(p, box) for p in other.pieces):
                    yield Meeting("label on edge", text, other.name)
                if other.name > edge.name and any(box.meets(x) for _, x in other.label):
                    yield Meeting("label on text", text, other.name)
            if any(crosses(p, box) for p in edge.pieces):
                yield Meeting("label on edge", text, edge.name)
            yield from (Meeting("label on border", text, x) for x, line in borders.items() if crosses(line, box))
            yield from (Meeting("label on state", text, x) for x, other_box in boxes.items() if box.meets(other_box))
            yield from (Meeting("label on text", text, x) for x, _, other_box in titles if box.meets(other_box))


def _titles(edges: dict[str, Edge], composites: dict[str, Element]) -> Iterator[Meeting]:
    for x in composites.values():
        for text, box in texts_of(x):
            for edge in edges.values():
                if any(crosses(p, box) for p in edge.pieces):
                    yield Meeting("title on edge", text, edge.name)


def _broken(edges: dict[str, Edge]) -> Iterator[Meeting]:
    """Edges whose lines end somewhere between their first and their last point. (An amended edge has two lines.)"""
    for edge in edges.values():
        ends = [(piece[0], piece[-1]) for piece in edge.pieces]
        rest, lines = list(ends), 0
        while rest:
            lines += 1
            reached = [*rest.pop()]
            while following := [x for x in rest if any(near(p, q) for p in reached for q in x)]:
                rest = [x for x in rest if x not in following]
                reached += [p for x in following for p in x]
        if lines > (2 if edge.name.endswith("-amended") else 1):
            yield Meeting("broken edge", edge.name, edge.name)


def near(one: Point, other: Point) -> bool:
    return abs(one[0] - other[0]) < 0.3 and abs(one[1] - other[1]) < 0.3


def texts_of(group: Element) -> Iterator[tuple[str, Box]]:
    """Each line of text with the box around its letters."""
    for text in group.iter(f"{XML}text"):
        size, width = float(text.get("font-size", "10")), float(text.get("textLength", "0"))
        x, y = float(text.get("x", "0")), float(text.get("y", "0"))
        left = x - width / 2 if text.get("text-anchor") == "middle" else x
        yield "".join(text.itertext()), Box(left, y - 0.72 * size, left + width, y + 0.2 * size)


def lines_of(group: Element) -> Iterator[list[Point]]:
    """The lines of an edge, not its arrowhead."""
    for path in group.iter(f"{XML}path"):
        yield from ([*curve(x)] for x in path.get("d", "").split("M") if x)
    for line in group.iter(f"{XML}polyline"):
        yield points(line.get("points", ""))


def outline(group: Element) -> list[Point]:
    for x in group:
        if x.tag == f"{XML}path":
            return [*curve(x.get("d", ""))]
        if x.tag == f"{XML}polygon":
            return points(x.get("points", ""))
        if x.tag == f"{XML}ellipse":
            cx, cy, rx, ry = (float(x.get(name, "0")) for name in ("cx", "cy", "rx", "ry"))
            return [(cx - rx, cy - ry), (cx + rx, cy + ry)]
    return []


def points(text: str) -> list[Point]:
    numbers = [float(n) for n in NUMBER.findall(text)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def curve(d: str) -> Iterator[Point]:
    """Points on a path, close to each other."""
    through = points(d)
    yield through[0]
    if "L" in d:
        for one, other in pairwise(through):
            yield from (between(one, other, n / 20) for n in range(1, 21))
        return
    for n in range(0, len(through) - 3, 3):
        yield from (bezier(through[n : n + 4], t / 40) for t in range(1, 41))


def between(one: Point, other: Point, share: float) -> Point:
    return one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share


def bezier(p: list[Point], t: float) -> Point:
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    return (
        sum(w * q[0] for w, q in zip(weights, p, strict=True)),
        sum(w * q[1] for w, q in zip(weights, p, strict=True)),
    )


def around(line: list[Point]) -> Box:
    return Box(min(x for x, _ in line), min(y for _, y in line), max(x for x, _ in line), max(y for _, y in line))


def crosses(line: list[Point], box: Box) -> bool:
    """Does any part of the line lie in the box?"""
    for one, other in pairwise(line):
        if max(one[0], other[0]) <= box.left or min(one[0], other[0]) >= box.right:
            continue
        if max(one[1], other[1]) <= box.top or min(one[1], other[1]) >= box.bottom:
            continue
        if any(
            box.left < x < box.right and box.top < y < box.bottom
            for x, y in (between(one, other, n / 8) for n in range(9))
        ):
            return True
    return False
