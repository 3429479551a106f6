"""The seeds that random tests try: a few in each run of the tests, others in a campaign."""

from __future__ import annotations

import os
from collections.abc import Sequence

import tiers


def seeds(usual: range) -> Sequence[int]:
    """Today's of the usual ones, or those of `FSM_SEEDS=from:to`, the last one left out, in the same steps."""
    given = os.environ.get("FSM_SEEDS")
    if not given:
        return tiers.today(usual)
    first, last = map(int, given.split(":"))
    return range(first, last, usual.step)
