"""All states of a small system as a picture: laid out by Graphviz in levels, drawn here, coloured in the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from fsmdsl.draw.metrics import text_width
from fsmdsl.draw.text import wrapped
from fsmdsl.report.data import Data
from fsmdsl.report.state_counts import Census
from fsmdsl.report.stepping import values_of
from fsmdsl.report.views import SpaceView
from fsmdsl.step.instances import Roster

RADIUS = 7
MARGIN = 14.0
LABELLED = 30
"""Up to so many states, each has the states of the instances written in it."""
LETTERS, SIZE, PAD = 26, 11, 8
"""Of a label: the most letters in a line, the size of its font, the room around it."""
INCH = 72.0

Point = tuple[float, float]


def layout(roster: Roster, counted: Census) -> str:
    """The states in Graphviz's language, to be drawn in the format `plain`. Only steps to a deeper state pull at the
    layout; the others would make it as wide as they are many."""
    depths = counted.depths
    look = 'node [shape=box, label="", width=0.19, height=0.19, fixedsize=true]; edge [arrowhead=none];'
    down = (f"{a} -> {b};" for a, b in counted.edges if depths[b] == depths[a] + 1)
    sizes = map(_size, _labels(roster, counted))
    nodes = (f"{n} [width={x / INCH:.2f}, height={y / INCH:.2f}];" for n, (x, y) in enumerate(sizes))
    gaps = "nodesep=0.2; ranksep=0.4;" if _has_labels(counted) else "nodesep=0.12; ranksep=0.3;"
    return "\n".join(["digraph {", f"{gaps} splines=line;", look, *nodes, *down, "}"])


def _has_labels(counted: Census) -> bool:
    return len(counted.worlds) <= LABELLED


def _labels(roster: Roster, counted: Census) -> list[list[str]]:
    """The lines in each state: those of its instances' states; none where there are too many."""
    if not _has_labels(counted):
        return [[] for _ in counted.worlds]
    return [_lines(values_of(roster, world)) for world in counted.worlds]


def _lines(values: Iterable[tuple[tuple[str, str], str]]) -> list[str]:
    return wrapped(", ".join(value for (_, field), value in values if not field), LETTERS, 3)


def _size(lines: Sequence[str]) -> Point:
    if not lines:
        return 2.0 * RADIUS, 2.0 * RADIUS
    wide = max(text_width(x, SIZE) for x in lines)
    return wide + 2 * PAD, len(lines) * SIZE * 1.25 + PAD


def space_view(roster: Roster, counted: Census, plain: str, name: str) -> SpaceView:
    """The picture, from what Graphviz says where each state is; `name` is what its ids begin with."""
    wide, high, places = _placed(plain)
    labels = _labels(roster, counted)
    forward: list[str] = []
    back: list[str] = []
    for a, b in counted.edges:
        (forward if counted.depths[b] == counted.depths[a] + 1 else back).append(_edge(places[a], places[b]))
    size = f'width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}"'
    label = f"All {len(counted.worlds)} states of {roster.system.name} and the steps between them"
    css_class = " named" if _has_labels(counted) else ""
    look = f'class="space{css_class}" id="{name}" role="img" aria-label="{escape(label)}"'
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {look} {size}>',
        f'<path class="steps" d="{"".join(forward)}"/>',
        f'<path class="steps back" d="{"".join(back)}"/>' if back else "",
        *(_node(n, place, counted, lines) for n, (place, lines) in enumerate(zip(places, labels, strict=True))),
        "</svg>",
    ]
    return SpaceView("\n".join(x for x in drawn if x), _data(roster, counted))


def _placed(plain: str) -> tuple[float, float, list[Point]]:
    """Width, height, and the place of each state, in the order of their numbers; Graphviz counts from below."""
    lines = [line.split() for line in plain.splitlines()]
    high = next(float(x[3]) for x in lines if x[0] == "graph") * INCH
    by_number = {
        int(x[1]): (float(x[2]) * INCH + MARGIN, high - float(x[3]) * INCH + MARGIN) for x in lines if x[0] == "node"
    }
    places = [by_number[n] for n in range(len(by_number))]
    wide = next(float(x[2]) for x in lines if x[0] == "graph") * INCH
    return wide + 2 * MARGIN, high + 2 * MARGIN, places


def _edge(a: Point, b: Point) -> str:
    """A line to a deeper state; any other step as an arc beside it."""
    (x, y), (to, down) = a, b
    if a == b:
        return f"M{x:.0f} {y:.0f}c14-14 14 14 0 0"
    if down > y:
        return f"M{x:.0f} {y:.0f}L{to:.0f} {down:.0f}"
    bend = min(abs(y - down) / 3 + abs(to - x) / 6, 60) + 8
    over, under = (x + to) / 2 + bend, (y + down) / 2 + (bend if y == down else 0)
    return f"M{x:.0f} {y:.0f}Q{over:.0f} {under:.0f} {to:.0f} {down:.0f}"


def _node(n: int, place: Point, counted: Census, lines: Sequence[str]) -> str:
    words = ["state", *(["first"] if counted.depths[n] == 0 else []), *(["failing"] if n in counted.failing else [])]
    x, y = place
    look = f'class="{" ".join(words)}" data-n="{n}" data-x="{x:.1f}" data-y="{y:.1f}"'
    if not lines:
        return f'<circle {look} cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"/>'
    wide, high = _size(lines)
    box = f'<rect {look} x="{x - wide / 2:.1f}" y="{y - high / 2:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="5"/>'
    first = y - (len(lines) - 1) * SIZE * 0.625 + SIZE * 0.35
    return box + "".join(_text(line, x, first + k * SIZE * 1.25) for k, line in enumerate(lines))


def _text(line: str, x: float, y: float) -> str:
    fit = f'textLength="{text_width(line, SIZE):.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {fit}>{escape(line)}</text>'


def _data(roster: Roster, counted: Census) -> Data:
    value_maps = [dict(values_of(roster, world)) for world in counted.worlds]
    places = list(dict.fromkeys(place for values in value_maps for place in values))
    fields = [
        (owner, name, _distinct(values.get((owner, name), "") for values in value_maps)) for owner, name in places
    ]
    return {
        "fields": [{"owner": owner, "name": name, "values": values} for owner, name, values in fields],
        "states": [[values.index(world.get((o, f), "")) for o, f, values in fields] for world in value_maps],
        "depths": counted.depths,
        "steps": [[a, b, label] for (a, b), label in counted.edges.items()],
        "failing": [[n, label] for n, label in counted.failing.items()],
    }


def _distinct(values: Iterator[str]) -> Sequence[str]:
    return list(dict.fromkeys(values))
