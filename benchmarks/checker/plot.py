"""A plot on logarithmic axes, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 80, 170, 46, 54

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
"""Distinguishable for the colour-blind (Okabe and Ito)."""

APART = 15.0
"""Pixels between two labels."""

Line = Sequence[tuple[float, float]]


def plot(title: str, across: str, up: str, lines: Mapping[str, Line]) -> str:
    """Lines through points, each with its name at its end."""
    axes = _Axes([p for line in lines.values() for p in line])
    ends = sorted((axes.y(max(line)[1]), name) for name, line in lines.items())
    at = -APART
    labels = {}
    for y, name in ends:
        labels[name] = at = max(y, at + APART)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(across)}</text>',
        f'<text transform="translate(18 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(up)}</text>',
        *axes.grid(),
    ]
    for n, (name, line) in enumerate(lines.items()):
        parts += _line(axes, name, line, labels[name], COLOURS[n % len(COLOURS)])
    return "\n".join([*parts, "</svg>", ""])


def _line(axes: _Axes, name: str, line: Line, label: float, colour: str) -> list[str]:
    places = [(axes.x(x), axes.y(y)) for x, y in sorted(line)]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    end = WIDTH - RIGHT + 14
    return [
        f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places),
        f'<path d="M{places[-1][0]:.1f} {places[-1][1]:.1f}L{end - 4} {label:.1f}" stroke="{colour}" '
        'stroke-width="0.5" stroke-dasharray="2 3"/>',
        f'<text x="{end}" y="{label + 4:.1f}" fill="{colour}">{escape(name)}</text>',
    ]


class _Axes:
    """Where a point is on the picture; both axes go from a power of ten to another."""

    def __init__(self, points: Line) -> None:
        self.across = _powers([x for x, _ in points])
        self.up = _powers([y for _, y in points])

    def x(self, value: float) -> float:
        return LEFT + (log10(value) - self.across[0]) / len(self.across[1:]) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (log10(value) - self.up[0]) / len(self.up[1:]) * (HEIGHT - TOP - BOTTOM)

    def grid(self) -> list[str]:
        elements = []
        for n in self.across:
            x = self.x(10.0**n)
            elements.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
            elements.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_power(n)}</text>')
        for n in self.up:
            y = self.y(10.0**n)
            elements.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
            elements.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_power(n)}</text>')
        return elements


def _powers(values: Sequence[float]) -> range:
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return range(low, max(high, low + 1) + 1)


def _power(n: int) -> str:
    return f'10<tspan dy="-5" font-size="9">{n}</tspan>'
