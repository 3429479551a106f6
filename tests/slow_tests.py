"""Slow tests take turns in `make test`: some of the cases run today, others tomorrow.

`slow_tests.txt` names them. `pytest -n 3 --note-slow` writes it anew, with what the tests of that run have taken.
`daily_tests.txt` names the cases that run each day nevertheless, because no quick test executes the same lines:
`choose_daily_tests.py` writes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
import tiers

LIST = Path(__file__).with_suffix(".txt")
DAILY = LIST.with_name("daily_tests.txt")

SECONDS = 0.3
"""A test is slow if its cases take longer than this on average, on two slow cores that are shared by three workers."""


def of_today(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """All tests but the slow ones whose turn is another day."""
    if tiers.TURNS == 1:
        return [*items]
    names, daily = slow_names(), daily_names()
    slow = [
        x
        for x in items
        if function(x.nodeid) in names and x.nodeid not in daily and x.get_closest_marker("daily") is None
    ]
    resting = {x for n, x in enumerate(slow) if (n + tiers.DAY) % tiers.TURNS}
    return [x for x in items if x not in resting]


def slow_names() -> frozenset[str]:
    """The slow tests, each as `tests/test_x.py::test_y`, without its cases."""
    return frozenset(LIST.read_text("utf-8").splitlines())


def daily_names() -> frozenset[str]:
    """The cases of slow tests that run each day."""
    return frozenset(DAILY.read_text("utf-8").splitlines())


def function(nodeid: str) -> str:
    """A test without its case."""
    return nodeid.partition("[")[0]


class Stopwatch:
    """Measures tests, and lists those that are slow. What is listed and did not run remains."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The set-up, the call or the end of a case."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Writes the list."""
        cases: defaultdict[str, list[float]] = defaultdict(list)
        for nodeid, seconds in self.seconds.items():
            cases[function(nodeid)].append(seconds)
        slow = {name for name, seconds in cases.items() if sum(seconds) / len(seconds) > SECONDS}
        names = sorted(slow | (slow_names() - cases.keys()))
        LIST.write_text("".join(f"{name}\n" for name in names), "utf-8")
