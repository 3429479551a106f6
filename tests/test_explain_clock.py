"""Times of lines, and lines sorted by them in a window."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from tiers import today

from fsmdsl.interop.logs.clock import in_order, seconds

NOON = "2026-03-01T12:00:00"


@pytest.mark.parametrize(
    ("value", "time"),
    [
        (1, 1.0),
        (1.5, 1.5),
        ("1.5", 1.5),
        (NOON, datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()),
        (NOON + "+01:00", datetime(2026, 3, 1, 11, tzinfo=UTC).timestamp()),
        (True, None),
        (None, None),
        ([1], None),
        ("noon", None),
        (float("nan"), None),
        (10**400, None),
        ("1e999", None),
    ],
)
def test_a_time(value: object, time: float | None) -> None:
    assert seconds(value) == time


@pytest.mark.parametrize("seed", today(range(50)))
def test_items_are_sorted_in_a_window_and_given_out_as_soon_as_it_is_over(seed: int) -> None:
    dice = random.Random(seed)
    window = dice.choice([1.0, 3.0, 10.0])
    items = [(dice.choice([None, n / dice.choice([1, 2, 4]) + dice.randrange(8)]), n) for n in range(40)]
    times: list[float] = []
    for time, _ in items:
        own = times[-1] if time is None and times else time if time is not None else float("-inf")
        newest = max(times, default=float("-inf"))
        times.append(newest if own < newest - window else own)
    read, given = 0, []

    def source() -> Iterator[tuple[float | None, int]]:
        nonlocal read
        for read, item in enumerate(items, 1):  # noqa: B007
            yield item

    for n in in_order(source(), window):
        given.append(n)
        assert read == len(items) or times[n] <= max(times[:read]) - window
    assert given == sorted(range(len(items)), key=times.__getitem__)
