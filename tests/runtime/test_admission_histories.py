"""Random histories of gated gangs. A thousand: `python tests/runtime/gated_histories.py --histories 1000`."""

from __future__ import annotations

from collections import Counter

import gated_histories
import pytest
from seeds import seeds

HISTORIES, STEPS = 32, 60


@pytest.mark.daily
def test_whatever_happens_gangs_are_admitted_whole_or_not_at_all() -> None:
    seen: Counter[str] = Counter()
    for seed in seeds(range(HISTORIES)):
        seen += gated_histories.run(seed, STEPS)
    assert all(seen[what] for what in ("admitted", "waiting", "patches lost", "answers lost", "journals lost")), seen
