"""Chooses the slow tests that `make test` runs each day: those that execute lines which no quick test executes.

    python tests/choose_daily_tests.py                # as many as execute all lines
    python tests/choose_daily_tests.py --seconds 120  # those that add most lines for their time

Writes `daily_tests.txt`. Which test executes which line, and how long it takes under `coverage`, is in the recordings
of `python tests/mutants.py --tier test`.
"""

from __future__ import annotations

import argparse
import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import inf

import slow_tests
from mutation.areas import ROOT, campaign
from mutation.relevance import Maps, Recording
from mutation.tree import Tree

Lines = Mapping[str, int]
"""File → the lines that are executed: bit 5 stands for line 5."""


def chosen(recording: Recording, slow: Iterable[str], seconds: float = inf) -> tuple[str, ...]:
    """Slow tests, those first that add most lines for their time to what is executed otherwise, until none adds any or
    their time is used up. A test whose processes could not be recorded counts like the others."""
    candidates = {*slow} & recording.seconds.keys()
    by_test: defaultdict[str, dict[str, int]] = defaultdict(dict)
    executed: Counter[str] = Counter()
    for bits in (recording.lines, recording.collected):
        for path, tests in bits.items():
            for test, lines in tests.items():
                if test in candidates:
                    by_test[test][path] = lines
                else:
                    executed[path] |= lines
    names: list[str] = []
    promises = [(-inf, test) for test in sorted(by_test)]
    while promises and seconds > 0:
        _, test = heapq.heappop(promises)
        gain = _count_new(by_test[test], executed)
        promise = -gain / max(recording.seconds[test], 0.01), test
        if promises and promise > promises[0]:
            if gain:
                heapq.heappush(promises, promise)  # it promised more when fewer lines were executed
        elif gain:
            names.append(test)
            seconds -= recording.seconds[test]
            for path, lines in by_test[test].items():
                executed[path] |= lines
    return tuple(names)


def _count_new(lines: Lines, executed: Lines) -> int:
    return sum((bits & ~executed[path]).bit_count() for path, bits in lines.items())


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description="Chooses the slow tests that run each day.")
    parser.add_argument("--seconds", type=float, default=inf, help="that they may take together, under coverage")
    given = parser.parse_args()
    of = campaign("test")
    files = {file for stages in of.areas.values() for stage in stages for file in stage}
    recording = Maps(of, Tree(ROOT)).recording(sorted(files))
    functions = slow_tests.slow_names()
    slow = [test for test in recording.seconds if slow_tests.function(test) in functions]
    names = chosen(recording, slow, given.seconds)
    slow_tests.DAILY.write_text("".join(f"{name}\n" for name in sorted(names)), "utf-8")
    print(f"{len(names)} of {len(slow)} cases, {sum(map(recording.seconds.__getitem__, names)):.0f} s under coverage")


if __name__ == "__main__":
    main()
