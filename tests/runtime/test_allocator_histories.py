"""Random histories, with everything that must hold checked after every step.

Ten thousand: `python tests/runtime/histories.py --histories 10000`.
"""

from __future__ import annotations

from collections import Counter

import histories
import pytest

pytestmark = pytest.mark.full(reason="random histories, long")

HISTORIES, STEPS = 240, 40


def test_whatever_happens_the_books_are_right_and_nothing_is_leaked() -> None:
    seen: Counter[str] = Counter()
    for seed in range(HISTORIES):
        seen.update(histories.run(seed, STEPS).seen)
    assert all(seen[what] > 10 for what in histories.SEEN), seen
