"""Durations as specs write them."""

from __future__ import annotations

import re

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))
MAX_MILLISECONDS = 10**12
"""Upper bound of a duration (exclusive), in milliseconds."""


def duration(milliseconds: float) -> str | None:
    """A number of milliseconds in the largest unit that divides it; None if it is not a whole number."""
    if not (0 <= milliseconds < MAX_MILLISECONDS) or milliseconds != int(milliseconds):
        return None
    whole = int(milliseconds)
    return next(f"{whole // size}{unit}" for size, unit in _UNITS if whole % size == 0)


def canonical(text: str) -> str:
    """A duration in the largest unit that divides it (`5min` for `300s`); any other text as it is."""
    match = re.fullmatch(r"([0-9]{1,15})(d|h|min|s|ms)", text)
    return text if match is None else duration(int(match[1]) * {b: a for a, b in _UNITS}[match[2]]) or text
